#include "plan/allocation/bounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace tessera::allocation {

Padding padding(const Model& model) {
  Padding result;
  result.spare.assign(model.columns, 0);
  int64_t grain = 0;
  for (const Item& item : model.items) grain = std::gcd(grain, item.is_fixed() ? item.fixed : item.alignment);
  result.grain = model.windows || grain == 0 ? 1 : grain;
  if (result.grain == 1) return result;
  for (const Item& item : model.items)
    for (const Piece& piece : item.pieces) {
      const int64_t spare = align_to(piece.high, result.grain) - piece.high;
      for (int c = piece.first; c <= piece.last; ++c) result.spare[c] = std::max(result.spare[c], spare);
    }
  return result;
}

int64_t live_bound(const Model& model) {
  const Padding padded = padding(model);
  std::vector<int64_t> sum(model.columns, 0), mine(model.columns, 0);
  int64_t bound = 0;
  for (const Item& item : model.items) {
    bound = std::max(bound, (item.is_fixed() ? item.fixed : 0) + item.size);
    // Windows of one item may overlap in a column: the largest counts.
    for (const Piece& piece : item.pieces)
      for (int c = piece.first; c <= piece.last; ++c)
        mine[c] = std::max(mine[c], align_to(piece.high - piece.low, padded.grain));
    for (const Piece& piece : item.pieces)
      for (int c = piece.first; c <= piece.last; ++c) sum[c] += std::exchange(mine[c], 0);
  }
  for (int c = 0; c < model.columns; ++c) bound = std::max(bound, sum[c] - padded.spare[c]);
  return bound;
}

Heights::Heights(const Model& model, bool on) {
  constexpr int64_t kMost = 1 << 14;  // beyond it, nearly every height is a sum of sizes
  int64_t total = 0;
  for (const Item& item : model.items) {
    // Alignment and fixed offsets lift stacks to heights that are no sums.
    if (item.alignment != 1 || item.is_fixed() || model.windows || item.size > kMost - total) on = false;
    if (!on) return;
    total += item.size;
  }
  total_ = total;
  possible_.assign(total / 64 + 1, 0);
  possible_[0] = 1;
  std::vector<int64_t> steps;
  for (const Item& item : model.items) {
    // An item that is lower at times carries others at those lower heights, too.
    steps.assign(1, item.size);
    for (const Piece& piece : item.pieces) steps.push_back(piece.high);
    std::sort(steps.begin(), steps.end());
    steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
    const std::vector<uint64_t> before = possible_;
    for (int64_t step : steps) add_shifted(before, step);
  }
}

void Heights::add_shifted(const std::vector<uint64_t>& before, int64_t step) {
  const int64_t words = step / 64, bits = step % 64;
  for (int64_t k = static_cast<int64_t>(possible_.size()) - 1; k >= words; --k) {
    uint64_t word = before[k - words] << bits;
    if (bits > 0 && k > words) word |= before[k - words - 1] >> (64 - bits);
    possible_[k] |= word;
  }
}

bool Heights::possible(int64_t height) const {
  return (possible_[height / 64] >> (height % 64) & 1) != 0;
}

int64_t Heights::at_least(int64_t height) const {
  for (int64_t h = height; h <= total_; ++h)
    if (possible(h)) return h;
  return height;
}

int64_t Heights::at_most(int64_t height) const {
  if (height > total_) return height;
  while (height >= 0 && !possible(height)) --height;
  return height;
}

}  // namespace tessera::allocation
