#include "plan/allocation/allocate.hpp"

#include <algorithm>
#include <chrono>
#include <deque>

#include "plan/allocation/model.hpp"
#include "plan/allocation/part_solver.hpp"

namespace tessera::allocation {
namespace {

using Clock = std::chrono::steady_clock;

// The parts of one problem; the highest of them decides, so it gets the next round.
class Solver {
 public:
  Solver(const Problem& problem, const Options& options, const Model& model)
      : problem_(problem), options_(options), model_(model), parts_(split(model, options.use.decompose)) {
    if (options.seconds > 0)
      deadline_ =
          Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    // What holds nothing at any time stands where it must, or on the ground.
    for (const Item& item : model.items)
      if (item.pieces.empty()) ground_ = std::max(ground_, std::max<int64_t>(item.fixed, 0) + item.size);
    // The first answer comes from first-fit alone, for the whole: it is not stopped by the clock.
    for (const Part& part : parts_) solvers_.emplace_back(part.model, options.use, [this] { return late(); });
  }

  Solution run() {
    report();
    while (!late()) {
      const auto highest =
          std::max_element(solvers_.begin(), solvers_.end(), [](auto& a, auto& b) { return a.height() < b.height(); });
      const int64_t left = options_.steps - steps();
      if (highest == solvers_.end() || highest->done(goal()) || left <= 0) break;
      const int64_t before = height();
      highest->round(goal(), left);
      if (height() < before) report();
    }
    return solution();
  }

 private:
  bool late() const { return deadline_ && Clock::now() >= *deadline_; }

  int64_t height() const {
    int64_t result = ground_;
    for (const PartSolver& solver : solvers_) result = std::max(result, solver.height());
    return result;
  }
  int64_t lower() const {
    int64_t result = ground_;
    for (const PartSolver& solver : solvers_) result = std::max(result, solver.lower());
    return result;
  }
  int64_t steps() const {
    int64_t result = 0;
    for (const PartSolver& solver : solvers_) result += solver.steps();
    return result;
  }
  // Lower than this is of no use.
  int64_t goal() const {
    if (options_.minimize || !problem_.capacity) return lower();
    return std::max(lower(), problem_.capacity->count / model_.unit);
  }

  Solution solution() const {
    std::vector<int64_t> of_item(model_.items.size(), 0);
    for (size_t i = 0; i < model_.items.size(); ++i) of_item[i] = std::max<int64_t>(model_.items[i].fixed, 0);
    for (size_t p = 0; p < parts_.size(); ++p)
      for (size_t i = 0; i < parts_[p].origin.size(); ++i) of_item[parts_[p].origin[i]] = solvers_[p].offsets()[i];
    Solution result;
    result.height = Bytes(height() * model_.unit);
    result.lower_bound = Bytes(lower() * model_.unit);
    result.steps = steps();
    for (int item : model_.item_of) result.offsets.push_back(Bytes(of_item[item] * model_.unit));
    return result;
  }

  void report() const {
    if (options_.improved) options_.improved(solution());
  }

  const Problem& problem_;
  const Options& options_;
  const Model& model_;
  const std::vector<Part> parts_;
  std::deque<PartSolver> solvers_;
  std::optional<Clock::time_point> deadline_;
  int64_t ground_ = 0;
};

}  // namespace

Result<Solution> allocate(const Problem& problem, const Options& options) {
  TRY(const Model model, compile(problem, options.use));
  return Solver(problem, options, model).run();
}

Result<Solution> first_fit_by_size(const Problem& problem) {
  TRY(const Model model, compile(problem, {}));
  FirstFit first_fit(model);
  std::vector<int64_t> offsets;
  Solution result;
  result.height = Bytes(first_fit.pack(sorted_by(order_keys(model, Order::Size)), offsets) * model.unit);
  for (const Part& part : split(model, true))
    result.lower_bound = std::max(result.lower_bound, Bytes(live_bound(part.model) * model.unit));
  for (int item : model.item_of) result.offsets.push_back(Bytes(offsets[item] * model.unit));
  return result;
}

}  // namespace tessera::allocation
