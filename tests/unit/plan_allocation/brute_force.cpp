#include "brute_force.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace tessera::allocation::test {
namespace {

// Does the buffer hold its bytes at this moment?
bool holds(const Buffer& buffer, int64_t time) {
  if (time < buffer.lower || time >= buffer.upper) return false;
  for (const Gap& gap : buffer.gaps)
    if (gap.lower <= time && time < gap.upper) return false;
  return true;
}

class Enumeration {
 public:
  explicit Enumeration(const Problem& problem) : problem_(problem) {
    for (int b = 0; b < static_cast<int>(problem.buffers.size()); ++b) {
      const auto same = std::find_if(problem.share.begin(), problem.share.end(),
                                     [&](const auto& group) { return std::count(group.begin(), group.end(), b) > 0; });
      if (same == problem.share.end())
        units_.push_back({b});
      else if (same->front() == b)
        units_.push_back(*same);
    }
    const size_t n = units_.size();
    lift_.assign(n, std::vector<int64_t>(n, 0));
    for (size_t below = 0; below < n; ++below)
      for (size_t above = 0; above < n; ++above)
        if (below != above) lift_[below][above] = lift(units_[below], units_[above]);
    offset_.assign(n, -1);
  }

  int64_t best() {
    place(0, 0);
    return best_;
  }

 private:
  using Unit = std::vector<int>;  // buffers at one offset

  // How far above the offset of `below` the offset of `above` must be, if that one is the higher.
  int64_t lift(const Unit& below, const Unit& above) const {
    int64_t result = 0;
    for (int x : below)
      for (int y : above) {
        for (int64_t t = 0; t < 16; ++t)
          if (holds(problem_.buffers[x], t) && holds(problem_.buffers[y], t))
            result = std::max(result, problem_.buffers[x].size.count);
        for (auto [a, b] : problem_.apart)
          if ((a == x && b == y) || (a == y && b == x)) result = std::max(result, size(below));
      }
    return result;
  }

  int64_t size(const Unit& unit) const {
    int64_t result = 0;
    for (int b : unit) result = std::max(result, problem_.buffers[b].size.count);
    return result;
  }

  void place(size_t count, int64_t height) {
    if (height >= best_) return;
    if (count == units_.size()) {
      best_ = height;
      return;
    }
    for (size_t u = 0; u < units_.size(); ++u) {
      if (offset_[u] >= 0) continue;
      int64_t at = 0, alignment = 1, fixed = -1;
      for (size_t v = 0; v < units_.size(); ++v)
        if (offset_[v] >= 0 && lift_[v][u] > 0) at = std::max(at, offset_[v] + lift_[v][u]);
      for (int b : units_[u]) {
        alignment = std::lcm(alignment, problem_.buffers[b].alignment);
        if (problem_.buffers[b].offset) fixed = problem_.buffers[b].offset->count;
      }
      at = (at + alignment - 1) / alignment * alignment;
      if (fixed >= 0 && at > fixed) continue;
      offset_[u] = fixed >= 0 ? fixed : at;
      place(count + 1, std::max(height, offset_[u] + size(units_[u])));
      offset_[u] = -1;
    }
  }

  const Problem& problem_;
  std::vector<Unit> units_;
  std::vector<std::vector<int64_t>> lift_;
  std::vector<int64_t> offset_;
  int64_t best_ = std::numeric_limits<int64_t>::max();
};

}  // namespace

Bytes best_height(const Problem& problem) {
  return Bytes(Enumeration(problem).best());
}

}  // namespace tessera::allocation::test
