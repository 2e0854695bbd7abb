#include "ops/window.hpp"

#include <algorithm>
#include <limits>

namespace tessera::ops {
namespace {

Result<std::vector<int64_t>> list(const NodeContext& n, const char* name, size_t size, int64_t otherwise,
                                  int64_t least) {
  auto given = n.node.attributes.integers(name);
  if (!given || given->empty()) return std::vector<int64_t>(size, otherwise);
  if (given->size() != size) return n.error(fmt::format("{} has {} entries; {} are needed", name, given->size(), size));
  for (auto v : *given)
    if (v < least) return n.error(fmt::format("{} has the entry {}; the least is {}", name, v, least));
  return *given;
}

// All that both directions read, without the sizes of either side and without pads.
Result<Window> frame(const NodeContext& n, size_t rank, const Shape& weights) {
  if (rank < 1 || rank > 3)
    return n.error(fmt::format("slides over {} spatial axes; 1 to 3 are possible", rank))
        .hint("the first two axes of the data are batch and channels");
  Shape kernel = weights;
  if (auto given = n.node.attributes.integers("kernel_shape"); given && !given->empty()) {
    if (!weights.empty() && *given != weights)
      return n.error(fmt::format("kernel_shape is {}, but the weights have {}", to_string(*given), to_string(weights)));
    kernel = *given;
  }
  if (kernel.size() != rank)
    return n.error(
        fmt::format("the kernel {} has not as many axes as the data has spatial ones, {}", to_string(kernel), rank));
  for (auto k : kernel)
    if (k < 1) return n.error(fmt::format("the kernel is {}; every extent must be at least 1", to_string(kernel)));
  TRY(auto strides, list(n, "strides", rank, 1, 1));
  TRY(auto dilations, list(n, "dilations", rank, 1, 1));
  Window w;
  w.rank = rank;
  for (size_t i = 0; i < rank; ++i) {
    auto& a = w.axes[3 - rank + i];
    a.kernel = kernel[i];
    a.stride = strides[i];
    a.dilation = dilations[i];
  }
  return w;
}

enum class Pads { Given, None, Upper, Lower };
Result<Pads> pads_of(const NodeContext& n, Window& w) {
  auto mode = n.node.attributes.text("auto_pad", "NOTSET");
  // A negative padding leaves elements out.
  TRY(auto pads, list(n, "pads", 2 * w.rank, 0, std::numeric_limits<int32_t>::min()));
  for (size_t i = 0; i < w.rank; ++i) {
    w.axes[3 - w.rank + i].pad = pads[i];
    w.axes[3 - w.rank + i].pad_end = pads[w.rank + i];
  }
  if (mode == "NOTSET" || mode.empty()) return Pads::Given;
  for (auto& a : w.axes) a.pad = a.pad_end = 0;
  if (mode == "VALID") return Pads::None;
  if (mode == "SAME_UPPER") return Pads::Upper;
  if (mode == "SAME_LOWER") return Pads::Lower;
  return n.error(fmt::format("auto_pad is '{}'", mode)).hint("it is NOTSET, VALID, SAME_UPPER or SAME_LOWER");
}

// The odd element goes to the end with Upper.
void share(WindowAxis& a, int64_t total, Pads pads) {
  total = std::max<int64_t>(total, 0);
  a.pad = pads == Pads::Upper ? total / 2 : total - total / 2;
  a.pad_end = total - a.pad;
}

Result<void> slide(const NodeContext& n, WindowAxis& a, Pads pads) {
  if (pads == Pads::Upper || pads == Pads::Lower) {
    a.out = (a.in + a.stride - 1) / a.stride;
    share(a, (a.out - 1) * a.stride + a.span() - a.in, pads);
    return {};
  }
  auto room = a.in + a.pad + a.pad_end - a.span();
  if (room < 0)
    return n
        .error(fmt::format("a window of {} does not fit {} elements with pads {} and {}", a.span(), a.in, a.pad,
                           a.pad_end))
        .hint("larger data, a smaller kernel or dilation, or more padding");
  bool up = n.node.attributes.integer("ceil_mode", 0) != 0;
  a.out = (up ? room + a.stride - 1 : room) / a.stride + 1;
  // A window that would start in the padding at the end is none.
  if (up && (a.out - 1) * a.stride >= a.in + a.pad) --a.out;
  return {};
}

Shape own(const Window& w, int64_t WindowAxis::*what) {
  Shape shape;
  for (size_t i = 3 - w.rank; i < 3; ++i) shape.push_back(w.axes[i].*what);
  return shape;
}

// Widened where a tile would touch nothing, and where all of them together would leave an end untouched: without tiles
// the kernel works on the tensor where it stands.
AxisMap touching(int dim, int64_t coefficient, int64_t offset, int64_t window, int64_t positions, int64_t extent) {
  auto last = (positions - 1) * coefficient;
  auto end = std::max<int64_t>({offset + window, 1, extent - last});
  auto from = std::min<int64_t>({offset, 0, extent - 1 - last});
  return {{{dim, coefficient}}, from, end - from};
}

int64_t floor_div(int64_t a, int64_t b) {
  return a >= 0 ? a / b : -((-a + b - 1) / b);
}

}  // namespace

Shape Window::in_shape() const {
  return own(*this, &WindowAxis::in);
}
Shape Window::out_shape() const {
  return own(*this, &WindowAxis::out);
}

Attributes Window::attributes() const {
  auto pads = own(*this, &WindowAxis::pad), ends = own(*this, &WindowAxis::pad_end);
  pads.insert(pads.end(), ends.begin(), ends.end());
  return {{"kernel_shape", own(*this, &WindowAxis::kernel)},
          {"strides", own(*this, &WindowAxis::stride)},
          {"dilations", own(*this, &WindowAxis::dilation)},
          {"pads", pads}};
}

bool Window::pointwise() const {
  return std::ranges::all_of(
      axes, [](auto& a) { return a.kernel == 1 && a.stride == 1 && a.pad == 0 && a.pad_end == 0 && a.in == a.out; });
}

Result<Window> sliding_window(const NodeContext& n, const Shape& in, const Shape& kernel) {
  TRY(auto w, frame(n, in.size(), kernel));
  TRY(auto pads, pads_of(n, w));
  for (size_t i = 0; i < w.rank; ++i) {
    auto& a = w.axes[3 - w.rank + i];
    a.in = in[i];
    CHECK_OK(slide(n, a, pads));
  }
  return w;
}

Result<Window> transposed_window(const NodeContext& n, const Shape& out, const Shape& kernel) {
  TRY(auto w, frame(n, out.size(), kernel));
  TRY(auto pads, pads_of(n, w));
  TRY(auto extra, list(n, "output_padding", w.rank, 0, 0));
  auto wanted = n.node.attributes.integers("output_shape");
  if (wanted && wanted->size() == w.rank + 2) wanted->erase(wanted->begin(), wanted->begin() + 2);
  if (wanted && wanted->size() != w.rank)
    return n.error(fmt::format("output_shape has {} entries; {} are needed", wanted->size(), w.rank));
  for (size_t i = 0; i < w.rank; ++i) {
    auto& a = w.axes[3 - w.rank + i];
    a.out = out[i];
    auto reach = (a.out - 1) * a.stride + a.span() + extra[i];
    bool same = pads == Pads::Upper || pads == Pads::Lower;
    if (wanted || same) {
      a.in = wanted ? (*wanted)[i] : a.out * a.stride;
      share(a, reach - a.in, pads);
    } else {
      a.in = reach - a.pad - a.pad_end;
    }
    if (a.in < 1)
      return n.error(fmt::format("the output would have the extent {} along spatial axis {}", a.in, i))
          .hint("smaller pads, or a larger output_shape");
  }
  return w;
}

Window flattened(const Window& w) {
  Window flat;
  flat.rank = w.rank;
  flat.axes[2].in = flat.axes[2].out = w.inputs();
  return flat;
}

void for_each_tap(const Window& w, const std::function<void(int64_t, int64_t, int64_t)>& visit) {
  struct Hit {
    int64_t out, in, tap;
  };
  std::array<std::vector<Hit>, 3> hits;
  for (size_t i = 0; i < 3; ++i) {
    auto& a = w.axes[i];
    for (int64_t o = 0; o < a.out; ++o)
      for (int64_t k = 0; k < a.kernel; ++k)
        if (auto at = o * a.stride + k * a.dilation - a.pad; at >= 0 && at < a.in) hits[i].push_back({o, at, k});
  }
  auto& [z, y, x] = w.axes;
  for (auto& hz : hits[0])
    for (auto& hy : hits[1])
      for (auto& hx : hits[2])
        visit((hz.out * y.out + hy.out) * x.out + hx.out, (hz.in * y.in + hy.in) * x.in + hx.in,
              (hz.tap * y.kernel + hy.tap) * x.kernel + hx.tap);
}

// Elements behind the last window that nobody sees belong to it all the same: the whole space then touches the whole
// operand, which an untiled kernel finds where it lives.
AxisMap seen(const WindowAxis& a, int dim) {
  auto unseen = std::max<int64_t>(0, a.in - ((a.out - 1) * a.stride - a.pad + a.span()));
  return touching(dim, a.stride, -a.pad, a.span() + unseen, a.out, a.in);
}

AxisMap stretch(const WindowAxis& a, int dim) {
  return {{{dim, a.stride}}, 0, a.stride};
}

// Position o sees element i with a tap k where o * stride = i + pad - k * dilation.
AxisMap seeing(const WindowAxis& a, int dim) {
  auto first = -floor_div(a.span() - 1 - a.pad, a.stride), last = floor_div(a.stride - 1 + a.pad, a.stride);
  return touching(dim, 1, first, last - first + 1, stretches(a), a.out);
}

int64_t stretches(const WindowAxis& a) {
  return (a.in + a.stride - 1) / a.stride;
}

Expr start(const AxisMap& map, const Expr& lo) {
  auto at = lo * map.terms[0].coefficient + map.offset;
  return map.offset >= 0 ? at : max(at, Expr(0));
}

}  // namespace tessera::ops
