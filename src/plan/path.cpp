#include "plan/path.hpp"

#include <algorithm>
#include <limits>

namespace tessera::plan {

Path shortest(const std::vector<Stage>& stages, double weight) {
  struct Stop {
    double price = 0, cycles = 0;
    size_t from = 0;
  };
  std::vector<std::vector<Stop>> stops(stages.size());
  for (size_t i = 0; i < stages.size(); ++i)
    for (size_t c = 0; c < stages[i].cycles.size(); ++c) {
      Stop best{.price = i == 0 ? 0 : std::numeric_limits<double>::infinity()};
      for (size_t b = 0; i > 0 && b < stops[i - 1].size(); ++b) {
        auto& edge = stages[i].edges[b][c];
        auto price = stops[i - 1][b].price + weight * edge.shown - edge.saved;
        if (price < best.price) best = {price, stops[i - 1][b].cycles - edge.saved, b};
      }
      const double own = stages[i].cycles[c], shown = stages[i].shown.empty() ? 0 : stages[i].shown[c];
      stops[i].push_back({best.price + own + weight * shown, best.cycles + own, best.from});
    }
  Path path{.picks = std::vector<size_t>(stages.size())};
  if (stages.empty()) return path;
  auto at = static_cast<size_t>(std::ranges::min_element(stops.back(), {}, &Stop::price) - stops.back().begin());
  path.cycles = stops.back()[at].cycles;
  for (size_t i = stages.size(); i-- > 0; at = stops[i][at].from) path.picks[i] = at;
  return path;
}

Path hiding(const std::vector<Stage>& stages, HidingPrice most) {
  const auto fastest = shortest(stages, 0);
  auto chosen = fastest;
  // Past the first weight that is too dear, what a lighter one buys may still be cheap: the steps are halved.
  double weight = 0;
  for (double step = most.a_cycle; step >= 0.25; step /= 2) {
    if (weight + step > most.a_cycle) continue;
    auto path = shortest(stages, weight + step);
    if (path.cycles > (1 + most.part) * fastest.cycles) continue;
    weight += step;
    chosen = std::move(path);
  }
  return chosen;
}

}  // namespace tessera::plan
