// What a kernel call of a convolution takes, as measured on the virtual chip: by the way that the kernel goes for the
// tile's shape.
#include <algorithm>
#include <cmath>

#include "ops/conv.hpp"
#include "ops/product.hpp"

namespace tessera::ops {
namespace {

// A tile's extents.
struct Extents {
  double n = 1, g = 1, m = 1, c = 1;
  std::array<double, 3> places{1, 1, 1};
};

double quarters(double n) {
  return std::ceil(n / 4);
}

// The cores set up their walks with code that the caches have forgotten since the last call, in part or most of it.
constexpr double kBlocksStart = 2500, kRowsStart = 2000;

double shared(double items, double each, int cores) {
  return 250 + std::ceil(items / cores) * each;
}

// Positions at the edges of an axis, where not every tap meets an element.
double edge_positions(const WindowAxis& a) {
  auto high = (a.in - a.span() + a.pad) / a.stride + 1;
  auto low = (a.pad + a.stride - 1) / a.stride;
  return static_cast<double>(a.out - std::max<int64_t>(std::min(high, a.out) - low, 0));
}

// Blocks of four positions by four channels, over `terms` channels in; axes by their number of positions and taps.
struct BlockAxis {
  double places = 1, edges = 0, taps = 1;  // of a tile
};
// How the taps of a row stand: any way, three side by side, or so that the positions at the edges of x go with the
// others, four in a row.
enum class Taps { Any, Three, Rows };

// One rectangle of positions with the same taps: what a core sets up, for it and for each of its sheets.
constexpr double kRectangle = 355, kSheet = 80;

// At an edge, half of the taps or more meet an element.
double met(const BlockAxis& a) {
  return (a.taps + 1) / std::max(1.0, 2 * a.taps);
}

struct Sheet {
  double effort = 0, block = 0, rectangles = 0;  // cycles of all blocks, of one of them; how many rectangles
};
Sheet by_rows(const BlockAxis& z, const BlockAxis& y, const BlockAxis& x, double terms, int cores) {
  const double begin = 122, many = x.places / 4, rows = terms * z.taps * y.taps, in_y = y.places - y.edges;
  double row = x.taps == 3 ? (cores > 4 ? 105 : 86) : (cores > 4 ? 69.5 : 58), line = many * row - 2 * x.edges;
  return {y.places * many * begin + (in_y + y.edges * met(y)) * rows * line, begin + rows * row,
          y.edges + (in_y > 0 ? 1 : 0)};
}
Sheet by_blocks(const BlockAxis& z, const BlockAxis& y, const BlockAxis& x, double terms, bool three, int cores) {
  double in_y = y.places - y.edges, in_x = x.places - x.edges;
  double inner = quarters(in_y * in_x), sides = x.edges * quarters(in_y), ends = y.edges * quarters(in_x);
  double corners = y.edges * x.edges;           // single positions
  const double beside = three ? 0.78 : met(x);  // two taps of three; in a loop they take as long as they are many
  double rows = z.taps * y.taps, taps = x.taps;
  if (taps == 1) taps = y.taps, rows = z.taps;
  // What a row of three taps loads and moves is hidden, but for its beginning.
  double tap = cores > 4 ? 37.7 : 34;
  double row = three ? (cores > 4 ? 107 : 90) : 24 + tap * taps, each = terms * rows * row;
  if (rows * taps <= 1) each = terms * rows * taps * tap;
  // Rows of fours need no list of their positions.
  const bool fours = !three && std::fmod(in_x, 4) == 0;
  const double begin = rows * taps == 0 ? 60 : fours ? 140 : 236;
  double effort = inner * (begin + each) + sides * (begin + each * beside) + ends * (begin + each * met(y)) +
                  corners * (0.6 * begin + 0.84 * each * beside * met(y));
  return {effort, begin + each, (y.edges + (in_y > 0 ? 1 : 0)) * (x.edges + (in_x > 0 ? 1 : 0))};
}
double blocks(const std::array<BlockAxis, 3>& axes, double planes, double channels, double terms, Taps kind,
              int cores) {
  auto& [z, y, x] = axes;
  const bool rows = kind == Taps::Rows && std::fmod(x.places, 4) == 0 && std::fmod(channels, 4) == 0;
  auto sheet =
      rows ? by_rows(z, y, x, terms, cores) : by_blocks(z, y, x, terms, x.taps == 3 && kind != Taps::Any, cores);
  // Cores have shares of the same effort, but for a part of a block where they do not have whole sheets.
  const double sheets = planes * quarters(channels) * z.places, uneven = std::fmod(sheets, cores) == 0 ? 0 : 0.12;
  return z.places * sheet.rectangles * (kRectangle + kSheet * std::max(1.0, sheets / cores)) +
         sheets * sheet.effort / cores + uneven * sheet.block;
}

// The mean of all tiles: the first and the last along an axis of `whole` positions have its edges, the others none.
double mean_of_blocks(std::array<BlockAxis, 3> axes, const std::array<double, 3>& whole, double planes, double channels,
                      double terms, Taps taps, int cores) {
  struct Kind {
    double edges, share;
  };
  auto kinds = [&](size_t i) -> std::vector<Kind> {
    auto tiles = std::ceil(whole[i] / axes[i].places);
    if (tiles <= 1 || axes[i].edges == 0) return {{axes[i].edges, 1}};
    auto edges = std::min(axes[i].places, std::ceil(axes[i].edges / 2));
    if (tiles <= 2) return {{edges, 1}};
    return {{edges, 2 / tiles}, {0, 1 - 2 / tiles}};
  };
  double sum = 0;
  for (auto& y : kinds(1))
    for (auto& x : kinds(2)) {
      axes[1].edges = y.edges, axes[2].edges = x.edges;
      sum += y.share * x.share * blocks(axes, planes, channels, terms, taps, cores);
    }
  return sum;
}

// A plane of its own, row by row.
double rows(double planes, double high, double wide, double row_taps, double taps, bool three, bool by_two, int cores) {
  double row = three ? 250 + wide * (5 + row_taps * (by_two ? 14 : 10)) : 350 + row_taps * taps * (130 + 8 * wide);
  return shared(planes * high, row, cores);
}

double small(const ConvSpace& s, const Extents& t, int cores) {
  auto& w = s.conv.window.axes;
  bool three = w[2].kernel == 3 && w[2].dilation == 1;
  if (t.c == 1 && t.m < 4)
    return kRowsStart + rows(t.n * t.g * t.m, t.places[0] * t.places[1], t.places[2],
                             static_cast<double>(w[0].kernel * w[1].kernel), static_cast<double>(w[2].kernel),
                             three && w[2].stride <= 2, w[2].stride == 2, cores);
  std::array<BlockAxis, 3> axes;
  std::array<double, 3> whole;
  for (size_t i = 0; i < 3; ++i) {
    axes[i] = {t.places[i], edge_positions(w[i]), static_cast<double>(w[i].kernel)};
    whole[i] = static_cast<double>(w[i].out);
  }
  auto kind = three ? Taps::Three : Taps::Any;
  if (three && w[2].stride <= 2 && w[2].pad <= 1 && w[2].pad_end <= 1) kind = Taps::Rows;
  return kBlocksStart + mean_of_blocks(axes, whole, t.n * t.g, t.m, t.c, kind, cores);
}

// By phases: outputs with the same remainder by the stride.
double large(const ConvSpace& s, const Extents& t, int cores) {
  auto& w = s.conv.window.axes;
  double sum = t.m == 1 && t.c < 4 ? kRowsStart : kBlocksStart;
  std::array<BlockAxis, 3> axes;
  std::array<double, 3> whole;
  for (size_t i = 0; i < 3; ++i) whole[i] = static_cast<double>(stretches(w[i]));
  auto taps = [](const WindowAxis& a, int64_t phase) {
    int64_t n = 0;
    for (int64_t k = 0; k < a.kernel; ++k) n += (phase + a.pad) % a.stride == k * a.dilation % a.stride;
    return static_cast<double>(n);
  };
  const double phase_start = w[0].stride * w[1].stride * w[2].stride > 1 ? 1230 : 0;
  for (int64_t z = 0; z < w[0].stride; ++z)
    for (int64_t y = 0; y < w[1].stride; ++y)
      for (int64_t x = 0; x < w[2].stride; ++x) {
        const int64_t phase[] = {z, y, x};
        for (size_t i = 0; i < 3; ++i) {
          axes[i] = {t.places[i], 0, taps(w[i], phase[i])};
          if (w[i].pad + w[i].pad_end > 0) axes[i].edges = std::clamp(axes[i].taps - 1, 0.0, whole[i]);
        }
        bool three = axes[2].taps == 3 && w[2].stride == 1 && w[2].dilation == 1;
        auto kind = !three ? Taps::Any : w[2].pad >= 1 && w[2].pad_end >= 1 ? Taps::Rows : Taps::Three;
        if (axes[2].taps == 2 && w[2].stride == 2 && w[2].dilation == 1) kind = Taps::Rows;
        if (t.m == 1 && t.c < 4)
          sum += rows(t.n * t.g * t.c, t.places[0] * t.places[1], t.places[2], axes[0].taps * axes[1].taps,
                      axes[2].taps, three, false, cores);
        else
          sum += phase_start + mean_of_blocks(axes, whole, t.n * t.g, t.c, t.m, kind, cores);
      }
  return sum;
}

double weights(const ConvSpace& s, const Extents& t, int cores) {
  auto& w = s.conv.window.axes;
  const bool half = cores > 4;  // of an FPU
  auto kernel = [&](size_t i) { return static_cast<double>(w[i].kernel); };
  // Rows and columns of positions that a tap meets, on average; the tiles along an axis share what it misses.
  auto met = [&](size_t i) {
    double outside = static_cast<double>((w[i].pad + w[i].pad_end) * (w[i].kernel / 2)) /
                     std::max(1.0, kernel(i) * static_cast<double>(w[i].stride));
    return std::max(1.0, t.places[i] - outside / std::ceil(static_cast<double>(w[i].out) / t.places[i]));
  };
  double high = t.n * met(0) * met(1), wide = met(2), taps = kernel(0) * kernel(1) * kernel(2);
  double planes = t.g * t.m;
  if (t.c == 1 && t.m < 4 && planes >= cores && w[2].kernel == 3 && w[2].dilation == 1 && w[2].stride <= 2) {
    double plane = w[1].kernel == 3 ? 1120 + kernel(0) * high * (10 + (half ? 24.5 : 21) * t.places[2])
                                    : 350 + kernel(0) * kernel(1) * high * (100 + 10 * t.places[2]);
    return 2000 + shared(planes, plane, cores);
  }
  // The walk over the taps, and blocks at each: sums are taken and stored, rows turn.
  auto walk = [&](double mine, double each) { return 2300 + 170 * std::min(taps, mine) + mine * each; };
  // Eight output channels by a single input channel.
  if (t.c == 1 && std::fmod(t.m, 8) == 0)
    return walk(std::ceil(planes / 8 * taps / cores), 350 + high * (20 + 25 * wide));
  // A column of four input channels, or of two or three that are left; one that is left goes by taps of a row.
  double fours = std::floor(t.c / 4), rest = t.c - 4 * fours, lines = quarters(t.m), pieces = quarters(kernel(2));
  double columns = std::min(kernel(2), 4.0), part = t.m < 4 ? t.m / 3 : 1;
  const double step = half ? 33.1 : 29.7, turn = half ? 22 : 36, three = half ? 0.76 : 0.82;
  auto block = [&](double width) { return 180 + high * (turn + step * part * width * wide); };
  double row = 1600 + high * (50 + (half ? 37 : 35) * columns / 4 * part * t.places[2]);
  double whole = t.g * lines * fours * taps, left = rest > 1 ? t.g * lines * taps : 0;
  double pieced = rest == 1 ? t.g * lines * kernel(0) * kernel(1) * pieces : 0;
  double items = whole + left + pieced;
  double each = (whole * block(1) + left * block(rest == 3 ? three : 0.69) + pieced * row) / std::max(items, 1.0);
  return walk(std::ceil(items / cores), each);
}

}  // namespace

double conv_cycles(const ConvSpace& s, std::span<const int64_t> tile, int cores) {
  auto len = [&](int d) { return static_cast<double>(tile[static_cast<size_t>(d)]); };
  Extents t{len(s.n), len(s.g), len(s.m), len(s.c), {len(s.place[0]), len(s.place[1]), len(s.place[2])}};
  if (s.matrices()) {
    auto whole = [&](int d) { return tile[static_cast<size_t>(d)]; };
    if (s.product == ConvProduct::Weights)
      return 900 + t.n * matmul_cycles(1, whole(s.m), whole(s.c), whole(s.place[2]), cores, 0);
    bool back = s.product == ConvProduct::Large;
    const double apart = back ? 0.95 : 1.08;  // the rows of one operand stand as far apart as a plane is large
    return 900 + apart * matmul_cycles(whole(s.n), whole(back ? s.c : s.m), whole(s.place[2]), whole(back ? s.m : s.c),
                                       cores, 0);
  }
  if (s.product == ConvProduct::Weights) return weights(s, t, cores);
  return s.product == ConvProduct::Small ? small(s, t, cores) : large(s, t, cores);
}

}  // namespace tessera::ops
