#include "check/shadow.hpp"

namespace tessera::check {

bool overlap(const Stretch& a, const Stretch& b) {
  if (a.level != b.level || a.at >= b.end() || b.at >= a.end()) return false;
  if (a.lines > b.lines) return overlap(b, a);
  for (int64_t i = 0; i < a.lines; ++i) {
    int64_t lo = a.at + i * a.stride, hi = lo + a.line;
    if (hi <= b.at) continue;
    // The last line of b that starts before this one ends.
    int64_t k = b.lines > 1 ? std::min((hi - 1 - b.at) / b.stride, b.lines - 1) : 0;
    if (b.at + k * b.stride + b.line > lo) return true;
  }
  return false;
}

int64_t volume(const ops::Box& box) {
  int64_t n = 1;
  for (auto len : box.len) n *= len;
  return n;
}

bool inside(const ops::Box& box, const Shape& view) {
  if (box.lo.size() != view.size() || box.len.size() != view.size()) return false;
  for (size_t a = 0; a < view.size(); ++a)
    if (box.lo[a] < 0 || box.len[a] <= 0 || box.len[a] > view[a] || box.lo[a] > view[a] - box.len[a]) return false;
  return true;
}

}  // namespace tessera::check
