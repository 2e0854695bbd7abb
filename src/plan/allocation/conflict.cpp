#include "plan/allocation/conflict.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <numeric>

namespace tessera::allocation {
namespace {

using Clock = std::chrono::steady_clock;

enum class Verdict { Fits, DoesNot, Unknown };

// A few buffers of a problem, with the relations among them.
class Subset {
 public:
  Subset(const Problem& problem, Bytes capacity, const Options& options)
      : problem_(problem), capacity_(capacity), options_(options) {
    options_.minimize = false;
    options_.improved = {};
    limited_ = options.seconds > 0;
    end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
  }

  Problem take(const std::vector<int>& chosen) const {
    std::vector<int> number(problem_.buffers.size(), -1);
    Problem small;
    small.capacity = capacity_;
    for (int b : chosen) {
      number[b] = static_cast<int>(small.buffers.size());
      small.buffers.push_back(problem_.buffers[b]);
    }
    for (const auto& group : problem_.share) {
      std::vector<int> rest;
      for (int b : group)
        if (number[b] >= 0) rest.push_back(number[b]);
      if (rest.size() > 1) small.share.push_back(std::move(rest));
    }
    for (auto [a, b] : problem_.apart)
      if (number[a] >= 0 && number[b] >= 0) small.apart.emplace_back(number[a], number[b]);
    return small;
  }

  Result<Verdict> judge(const std::vector<int>& chosen, Bytes* bound = nullptr) {
    if (limited_) {
      options_.seconds = std::chrono::duration<double>(end_ - Clock::now()).count();
      if (options_.seconds <= 0) return Verdict::Unknown;
    }
    TRY(const Solution solution, allocate(take(chosen), options_));
    if (bound) *bound = solution.lower_bound;
    if (solution.height <= capacity_) return Verdict::Fits;
    return solution.lower_bound > capacity_ ? Verdict::DoesNot : Verdict::Unknown;
  }

 private:
  const Problem& problem_;
  const Bytes capacity_;
  Options options_;
  bool limited_ = false;
  Clock::time_point end_;
};

bool counts(const Buffer& buffer) {
  return buffer.gaps.empty() && buffer.size.count > 0;
}

// The moments at which the live sizes add up to more than the capacity, the most overfull first.
std::vector<int64_t> overfull_moments(const std::vector<const Buffer*>& buffers, Bytes capacity) {
  std::map<int64_t, int64_t> change;
  for (const Buffer* buffer : buffers) {
    change[buffer->lower] += buffer->size.count;
    change[buffer->upper] -= buffer->size.count;
  }
  std::vector<std::pair<int64_t, int64_t>> moments;
  int64_t live = 0;
  for (auto [time, by] : change) {
    live += by;
    if (live > capacity.count) moments.emplace_back(-live, time);
  }
  std::sort(moments.begin(), moments.end());
  std::vector<int64_t> times;
  for (auto [_, time] : moments) times.push_back(time);
  return times;
}

// The largest buffers of one moment that add up to more than the capacity: where that happens, it takes the fewest.
// Buffers that share an offset hold the same bytes, so of each group the largest stands for all.
std::vector<int> overfull_set(const Problem& problem, Bytes capacity) {
  std::vector<char> hidden(problem.buffers.size(), 0);
  for (const auto& group : problem.share) {
    const int largest = *std::max_element(
        group.begin(), group.end(), [&](int a, int b) { return problem.buffers[a].size < problem.buffers[b].size; });
    for (int b : group) hidden[b] = b != largest;
  }
  std::vector<int> by_size, best;
  std::vector<const Buffer*> counted;
  for (int b = 0; b < static_cast<int>(problem.buffers.size()); ++b)
    if (!hidden[b] && counts(problem.buffers[b])) by_size.push_back(b), counted.push_back(&problem.buffers[b]);
  std::stable_sort(by_size.begin(), by_size.end(),
                   [&](int a, int b) { return problem.buffers[a].size > problem.buffers[b].size; });
  size_t work = 20'000'000;  // buffers looked at: enough for every moment of thousands
  for (int64_t time : overfull_moments(counted, capacity)) {
    std::vector<int> chosen;
    Bytes sum{};
    for (int b : by_size) {
      if (sum > capacity || (!best.empty() && chosen.size() >= best.size())) break;
      if (problem.buffers[b].lower > time || time >= problem.buffers[b].upper) continue;
      chosen.push_back(b);
      sum += problem.buffers[b].size;
    }
    if (sum > capacity && (best.empty() || chosen.size() < best.size())) best = chosen;
    if (work < by_size.size()) break;
    work -= by_size.size();
  }
  return best;
}

// Buffers that a conflict can do without are taken out, in halves first, then one by one, the smallest first.
Result<bool> shrink(const Problem& problem, Subset& subset, std::vector<int>& chosen) {
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](int a, int b) { return problem.buffers[a].size > problem.buffers[b].size; });
  bool certain = true;
  for (size_t chunk = std::max<size_t>(chosen.size() / 2, 1);; chunk = chunk / 2) {
    certain = true;
    for (size_t end = chosen.size(); end > 0;) {
      const size_t begin = end > chunk ? end - chunk : 0;
      std::vector<int> rest(chosen.begin(), chosen.begin() + begin);
      rest.insert(rest.end(), chosen.begin() + end, chosen.end());
      TRY(const Verdict verdict, subset.judge(rest));
      if (verdict == Verdict::DoesNot) chosen = rest;
      certain = certain && verdict != Verdict::Unknown;
      end = begin;
    }
    if (chunk <= 1) return certain;
  }
}

// Looks at every set of `size` buffers, where they are few enough, for one that conflicts.
struct Survey {
  bool complete = false;      // every set was judged: with nothing found, there is none
  std::vector<int> conflict;  // the first found
};
Result<Survey> survey(const Problem& problem, Subset& subset, size_t size) {
  constexpr double kMost = 3000;
  const size_t count = problem.buffers.size();
  double sets = 1;
  for (size_t k = 0; k < size; ++k) sets *= static_cast<double>(count - k) / static_cast<double>(k + 1);
  Survey result;
  if (sets > kMost) return result;
  result.complete = true;
  std::vector<char> in(count, 0);
  std::fill(in.begin(), in.begin() + size, 1);
  do {
    std::vector<int> chosen;
    for (size_t b = 0; b < count; ++b)
      if (in[b]) chosen.push_back(static_cast<int>(b));
    TRY(const Verdict verdict, subset.judge(chosen));
    result.complete = result.complete && verdict != Verdict::Unknown;
    if (verdict == Verdict::DoesNot) result.conflict = chosen;
  } while (result.conflict.empty() && std::prev_permutation(in.begin(), in.end()));
  return result;
}

// Fewer buffers than this cannot exceed the capacity, whatever their lifetimes: without padding, sizes must add up to
// it.
size_t fewest_by_size(const Problem& problem, Bytes capacity) {
  std::vector<int64_t> sizes;
  for (const Buffer& buffer : problem.buffers) {
    if (buffer.offset || buffer.alignment > 1) return 1;
    sizes.push_back(buffer.size.count);
  }
  std::sort(sizes.rbegin(), sizes.rend());
  size_t count = 0;
  for (int64_t sum = 0; count < sizes.size() && sum <= capacity.count; ++count) sum += sizes[count];
  return count;
}

}  // namespace

Result<Conflict> smallest_conflict(const Problem& problem, Bytes capacity, const Options& options) {
  Subset subset(problem, capacity, options);
  Conflict conflict;
  std::vector<int> chosen = overfull_set(problem, capacity);
  if (chosen.empty()) {
    chosen.resize(problem.buffers.size());
    std::iota(chosen.begin(), chosen.end(), 0);
    TRY(const Verdict verdict, subset.judge(chosen));
    if (verdict != Verdict::DoesNot) return conflict;
  }
  TRY(conflict.irreducible, shrink(problem, subset, chosen));
  // Conflicts only grow: when no set of one buffer fewer conflicts, no smaller one does.
  const size_t fewest = std::max<size_t>(1, fewest_by_size(problem, capacity));
  for (conflict.minimum = chosen.size() <= fewest; !conflict.minimum && conflict.irreducible;) {
    TRY(const Survey fewer, survey(problem, subset, chosen.size() - 1));
    if (fewer.conflict.empty()) {
      conflict.minimum = fewer.complete;
      break;
    }
    chosen = fewer.conflict;
    TRY(conflict.irreducible, shrink(problem, subset, chosen));
    conflict.minimum = chosen.size() <= fewest;
  }
  std::sort(chosen.begin(), chosen.end());
  conflict.buffers = chosen;
  TRY(const Verdict verdict, subset.judge(chosen, &conflict.lower_bound));
  (void)verdict;
  return conflict;
}

}  // namespace tessera::allocation
