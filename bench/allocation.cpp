// The allocator against first-fit by size, in the same run: how the time of the first answer grows, and what search
// gains.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <filesystem>

#include "plan/allocation/allocate.hpp"
#include "plan/allocation/csv.hpp"
#include "plan/allocation/random.hpp"

namespace tessera::allocation {
namespace {

// Time on the processor, so that what else runs on the machine does not count. All this runs on one core.
double seconds_since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
}

// About `live` buffers are alive at a time; a few are large.
Problem random_problem(int buffers, int live, uint64_t seed) {
  Random random(seed);
  Problem problem;
  for (int i = 0; i < buffers; ++i) {
    Buffer buffer{.id = fmt::format("{}", i), .lower = random.below(buffers)};
    buffer.upper = buffer.lower + 1 + random.below(2 * live);
    buffer.size = Bytes(64 * (1 + random.below(random.below(8) == 0 ? 1000 : 60)));
    problem.buffers.push_back(std::move(buffer));
  }
  return problem;
}

struct Timed {
  Solution solution;
  double seconds;
};

template <class Solve>
Timed timed(Solve solve) {
  const auto start = std::clock();
  Solution solution = solve().value();
  return {std::move(solution), seconds_since(start)};
}

void print_curve(int live) {
  fmt::print("\nrandom buffers, about {} alive at a time\n", live);
  fmt::print("{:>8} {:>14} {:>14} {:>16} {:>18}\n", "buffers", "first-fit", "first answer", "us per buffer",
             "height/first-fit");
  for (int buffers = 100; buffers <= 12'800; buffers *= 2) {
    const Problem problem = random_problem(buffers, live, 1);
    const Timed simple = timed([&] { return first_fit_by_size(problem); });
    const Timed first = timed([&] { return allocate(problem, {.steps = 0}); });
    fmt::print("{:>8} {:>11.2f} ms {:>11.2f} ms {:>16.2f} {:>18.4f}\n", buffers, 1e3 * simple.seconds,
               1e3 * first.seconds, 1e6 * first.seconds / buffers,
               static_cast<double>(first.solution.height.count) / static_cast<double>(simple.solution.height.count));
  }
}

// The first moment at which the answer was within `percent` of the best height of this run.
double reached(const std::vector<Timed>& answers, Bytes best, int percent) {
  for (const Timed& answer : answers)
    if (answer.solution.height.count <= best.count + best.count / 100 * percent) return answer.seconds;
  return -1;
}

void print_instance(const std::filesystem::path& file, int64_t steps) {
  Problem problem = read_csv(file).value();
  const Timed simple = timed([&] { return first_fit_by_size(problem); });
  std::vector<Timed> answers;
  const auto start = std::clock();
  Options options{.minimize = true, .steps = steps};
  options.improved = [&](const Solution& better) { answers.push_back({better, seconds_since(start)}); };
  const Timed best = timed([&] { return allocate(problem, options); });
  problem.capacity = Bytes(1 << 20);
  const Timed fitting = timed([&] { return allocate(problem); });
  fmt::print("{:<22} {:>9} {:>9} {:>7.2f} {:>8.4f} {:>10.1f} {:>11.1f} {:>9.1f}\n", file.filename().string(),
             best.solution.height.count, best.solution.lower_bound.count, 100 * best.solution.gap(),
             static_cast<double>(best.solution.height.count) / static_cast<double>(simple.solution.height.count),
             1e3 * fitting.seconds, 1e3 * reached(answers, best.solution.height, 2), 1e3 * best.seconds);
}

void print_instances(const std::filesystem::path& folder, int64_t steps) {
  if (!std::filesystem::exists(folder)) return;
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".csv") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  fmt::print("\n{:<22} {:>9} {:>9} {:>7} {:>8} {:>10} {:>11} {:>9}\n", "instance", "height", "bound", "gap %", "/ff",
             "1M in ms", "2 % in ms", "all ms");
  for (const auto& file : files) print_instance(file, steps);
}

}  // namespace
}  // namespace tessera::allocation

int main(int argc, char** argv) {
  using namespace tessera::allocation;
  for (int live : {10, 50}) print_curve(live);
  print_instances(TESSERA_ROOT "/tests/data/allocation", 100'000);
  print_instances(argc > 1 ? argv[1] : TESSERA_ROOT "/../shared/data/allocation", 100'000);
}
