#include "plan/smallest.hpp"

#include <algorithm>

namespace tessera::plan {

std::optional<Bytes> smallest_that(const BudgetRange& range, const std::function<bool(Bytes)>& fits) {
  const auto step = range.step.count;
  const auto bytes = [&](int64_t steps) { return std::min(Bytes(steps * step), range.most); };
  const auto works = [&](int64_t steps) { return fits(bytes(steps)); };
  int64_t low = range.refused.count < 0 ? -1 : range.refused.count / step;  // does not fit
  int64_t high = (range.most.count + step - 1) / step;
  if (low >= high) return std::nullopt;
  auto guess = std::clamp((range.guess.count + step - 1) / step, low + 1, high);
  if (works(guess)) {
    high = guess;
    for (int64_t less = 1; high - less > low; less *= 4) {
      if (!works(high - less)) {
        low = high - less;
        break;
      }
      high -= less;
    }
  } else {
    low = guess;
    if (low == high || !works(high)) return std::nullopt;
    for (int64_t more = std::max<int64_t>(1, guess / 64); low + more < high; more *= 2) {
      if (works(low + more)) {
        high = low + more;
        break;
      }
      low += more;
    }
  }
  while (high - low > 1) {
    auto middle = low + (high - low) / 2;
    (works(middle) ? high : low) = middle;
  }
  return bytes(high);
}

}  // namespace tessera::plan
