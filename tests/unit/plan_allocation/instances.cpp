#include "instances.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "plan/allocation/random.hpp"

namespace tessera::allocation::test {
namespace {

void add_gap(Random& random, bool window, Buffer& buffer) {
  const int64_t length = buffer.upper - buffer.lower;
  if (length < 3) return;
  Gap gap;
  gap.lower = buffer.lower + 1 + random.below(length - 2);
  gap.upper = gap.lower + 1 + random.below(buffer.upper - gap.lower - 1);
  if (window) {
    gap.window_lower = Bytes(random.below(buffer.size.count));
    gap.window_upper = gap.window_lower + Bytes(random.below((buffer.size - gap.window_lower).count + 1));
  }
  buffer.gaps.push_back(gap);
}

Buffer small_buffer(Random& random, int index, const Kinds& kinds) {
  Buffer buffer;
  buffer.id = fmt::format("b{}", index);
  buffer.lower = random.below(8);
  buffer.upper = buffer.lower + 1 + random.below(5);
  buffer.size = Bytes(1 + random.below(9));
  if (kinds.alignment && random.below(2) == 0) buffer.alignment = int64_t{1} << random.below(4);
  if (kinds.gaps && random.below(2) == 0) add_gap(random, kinds.windows, buffer);
  return buffer;
}

struct Rectangle {
  int64_t lower, upper, from, to;
  double area() const { return static_cast<double>(upper - lower) * static_cast<double>(to - from); }
};

// Somewhere in the middle half, on a multiple of `grain`.
int64_t cut(Random& random, int64_t from, int64_t to, int64_t grain) {
  const int64_t steps = (to - from) / grain;
  return from + grain * std::clamp<int64_t>(steps / 4 + random.below(steps / 2 + 1), 1, steps - 1);
}

}  // namespace

Problem small_problem(uint64_t seed, int most, const Kinds& kinds) {
  Random random(seed);
  Problem problem;
  const int count = 1 + static_cast<int>(random.below(most));
  for (int i = 0; i < count; ++i) problem.buffers.push_back(small_buffer(random, i, kinds));
  // One fixed buffer cannot contradict another.
  if (kinds.fixed) {
    Buffer& buffer = problem.buffers[random.below(count)];
    buffer.offset = Bytes(buffer.alignment * random.below(12));
  }
  if (count < 4) return problem;
  if (kinds.share) {
    problem.share.push_back({0, 2});
    problem.buffers[2].offset.reset();
    problem.buffers[2].alignment = problem.buffers[0].alignment;
  }
  if (kinds.apart) problem.apart = {{1, 3}, {0, 1}};
  return problem;
}

Problem perfect_packing(int buffers, int64_t height, uint64_t seed, int loose) {
  constexpr int64_t kGrain = 1024;
  Random random(seed);
  std::vector<Rectangle> cuts{{0, 4096, 0, height}};
  while (static_cast<int>(cuts.size()) < buffers) {
    const auto largest =
        std::max_element(cuts.begin(), cuts.end(), [](const auto& a, const auto& b) { return a.area() < b.area(); });
    const bool wide = largest->upper - largest->lower >= 2, tall = largest->to - largest->from >= 2 * kGrain;
    if (!wide && !tall) break;
    Rectangle rest = *largest;
    if (wide && (!tall || random.below(2) == 0))
      largest->upper = rest.lower = cut(random, rest.lower, rest.upper, 1);
    else
      largest->to = rest.from = cut(random, rest.from, rest.to, kGrain);
    cuts.push_back(rest);
  }
  for (size_t k = cuts.size(); k > 1; --k) std::swap(cuts[k - 1], cuts[random.below(static_cast<int64_t>(k))]);
  Problem problem;
  for (const Rectangle& r : cuts) {
    if (random.below(100) < loose) continue;
    Buffer buffer;
    buffer.id = fmt::format("{}", problem.buffers.size());
    buffer.lower = r.lower, buffer.upper = r.upper, buffer.size = Bytes(r.to - r.from);
    problem.buffers.push_back(buffer);
  }
  return problem;
}

Problem random_problem(int buffers, int live, uint64_t seed) {
  Random random(seed);
  Problem problem;
  for (int i = 0; i < buffers; ++i) {
    Buffer buffer;
    buffer.id = fmt::format("{}", i);
    buffer.lower = random.below(buffers);
    buffer.upper = buffer.lower + 1 + random.below(2 * live);
    buffer.size = Bytes(64 * (1 + random.below(random.below(8) == 0 ? 1000 : 60)));
    problem.buffers.push_back(buffer);
  }
  return problem;
}

}  // namespace tessera::allocation::test
