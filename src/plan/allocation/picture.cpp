#include "plan/allocation/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/svg.hpp"

namespace tessera::allocation {
namespace {

constexpr double kWidth = 1600, kHeight = 1000, kLeft = 90, kRight = 30, kTop = 60, kBottom = 60;

// The moments at which something changes stand at equal distances: a short, crowded phase is as readable as a long one.
class Canvas {
 public:
  Canvas(const Problem& problem, const Solution& solution) {
    for (const Buffer& buffer : problem.buffers) {
      if (buffer.lower == buffer.upper) continue;
      times_.insert(times_.end(), {buffer.lower, buffer.upper});
      for (const Gap& gap : buffer.gaps) times_.insert(times_.end(), {gap.lower, gap.upper});
    }
    std::sort(times_.begin(), times_.end());
    times_.erase(std::unique(times_.begin(), times_.end()), times_.end());
    top_ = std::max(solution.height, problem.capacity.value_or(Bytes(0))).count;
  }

  double x(int64_t time) const {
    const double at = static_cast<double>(std::lower_bound(times_.begin(), times_.end(), time) - times_.begin());
    const double steps = std::max<double>(1, static_cast<double>(times_.size()) - 1);
    return kLeft + at / steps * (kWidth - kLeft - kRight);
  }
  double y(int64_t byte) const {
    const double part = static_cast<double>(byte) / static_cast<double>(std::max<int64_t>(top_, 1));
    return kHeight - kBottom - part * (kHeight - kTop - kBottom);
  }
  const std::vector<int64_t>& times() const { return times_; }
  int64_t top() const { return top_; }

 private:
  std::vector<int64_t> times_;
  int64_t top_ = 0;
};

void draw_block(const Canvas& canvas, int64_t lower, int64_t upper, int64_t from, int64_t to, std::string& out) {
  const double x = canvas.x(lower), w = canvas.x(upper) - x, y = canvas.y(to), h = canvas.y(from) - y;
  if (lower < upper && from < to)
    out += fmt::format("<path d=\"M{:.1f} {:.1f}h{:.1f}v{:.1f}h{:.1f}z\"/>", x, y, w, h, -w);
}

void draw_name(const Canvas& canvas, const Buffer& buffer, int64_t offset, std::string& out) {
  const double x = canvas.x(buffer.lower), y = canvas.y(offset + buffer.size.count);
  out += svg::label({x, y, canvas.x(buffer.upper) - x, canvas.y(offset) - y}, buffer.id);
}

void draw_buffers(const Canvas& canvas, const Problem& problem, const Solution& solution, std::string& out) {
  int64_t largest = 1;
  for (const Buffer& buffer : problem.buffers) largest = std::max(largest, buffer.size.count);
  std::string names;
  out += "<g stroke=\"#333\" stroke-width=\"0.5\">\n";
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    const Buffer& buffer = problem.buffers[b];
    const int64_t offset = solution.offsets[b].count, end = offset + buffer.size.count;
    const double share = std::sqrt(static_cast<double>(buffer.size.count) / static_cast<double>(largest));
    out += fmt::format("<g fill=\"{}\"><title>{}: {} bytes at [{}, {}), times [{}, {})</title>", svg::colour(b, share),
                       svg::escaped(buffer.id), buffer.size.count, offset, end, buffer.lower, buffer.upper);
    int64_t now = buffer.lower;
    for (const Gap& gap : buffer.gaps) {
      draw_block(canvas, now, gap.lower, offset, end, out);
      draw_block(canvas, gap.lower, gap.upper, offset + gap.window_lower.count, offset + gap.window_upper.count, out);
      now = gap.upper;
    }
    draw_block(canvas, now, buffer.upper, offset, end, out);
    out += "</g>\n";
    draw_name(canvas, buffer, offset, names);
  }
  out += "</g>\n<g text-anchor=\"middle\" fill=\"#111\" pointer-events=\"none\">" + names + "</g>\n";
}

void draw_axes(const Canvas& canvas, std::string& out) {
  const double right = kWidth - kRight, bottom = kHeight - kBottom;
  out += "<g stroke=\"#ddd\" stroke-width=\"1\">";
  const int64_t step = svg::byte_step(canvas.top());
  for (int64_t byte = 0; byte <= canvas.top(); byte += step)
    out += fmt::format("<path d=\"M{:.0f} {:.1f}H{:.0f}\"/>", kLeft, canvas.y(byte), right);
  out += "</g>\n<g fill=\"#444\" font-size=\"12\" text-anchor=\"end\">";
  for (int64_t byte = 0; byte <= canvas.top(); byte += step)
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\">{}</text>", kLeft - 6, canvas.y(byte) + 4,
                       format_bytes(Bytes(byte)));
  out += "</g>\n<g fill=\"#444\" font-size=\"11\" text-anchor=\"middle\">";
  const size_t every = std::max<size_t>(1, canvas.times().size() / 16);
  for (size_t k = 0; k < canvas.times().size(); k += every)
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.0f}\">{}</text>", canvas.x(canvas.times()[k]), bottom + 18,
                       canvas.times()[k]);
  out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\">time (one step for each birth or death)</text></g>\n",
                     (kLeft + right) / 2, bottom + 42);
}

void draw_level(const Canvas& canvas, Bytes level, const char* name, const char* stroke, std::string& out) {
  out += fmt::format(
      "<path d=\"M{:.0f} {:.1f}H{:.0f}\" stroke=\"{}\" stroke-width=\"2\" stroke-dasharray=\"8 4\"><title>{} "
      "{}</title></path>\n",
      kLeft, canvas.y(level.count), kWidth - kRight, stroke, name, level.count);
}

std::string heading(const Problem& problem, const Solution& solution) {
  std::string text = fmt::format("{} buffers, height {} bytes, lower bound {}, ", problem.buffers.size(),
                                 solution.height.count, solution.lower_bound.count);
  text += solution.optimal() ? "proven optimal" : fmt::format("gap {:.2f} %", 100 * solution.gap());
  if (problem.capacity) text += fmt::format(", capacity {}", problem.capacity->count);
  return text;
}

}  // namespace

std::string to_svg(const Problem& problem, const Solution& solution) {
  const Canvas canvas(problem, solution);
  std::string out = svg::opening(kWidth, kHeight);
  out += fmt::format("<text x=\"{:.0f}\" y=\"34\" font-size=\"20\">{}</text>\n", kLeft, heading(problem, solution));
  draw_axes(canvas, out);
  draw_buffers(canvas, problem, solution, out);
  draw_level(canvas, solution.lower_bound, "lower bound", "#06c", out);
  if (problem.capacity) draw_level(canvas, *problem.capacity, "capacity", "#c00", out);
  out += svg::kClosing;
  return out;
}

}  // namespace tessera::allocation
