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

// Where there is little memory, smaller tiles cost more than estimated: less is paid for them. Where there is much,
// most operators have a tile or two: what hides more of them is a call of the kernel, and more than it saves. And where
// the bus to L3 is busy most of the time, what hides from one operator shows in another.
HidingPrice hiding_price(Bytes l1, double busy) {
  constexpr double kMost = 0.08, kByKilobyte = 0.00145, kForACycle = 36, kScarce = 64, kFree = 0.2, kTaken = 0.4;
  constexpr double kTooLittle = 16, kEnough = 48;
  const double kilobytes = static_cast<double>(l1.count) / 1024, scarce = std::min(1.0, kScarce / kilobytes);
  const double idle = std::clamp((kTaken - busy) / (kTaken - kFree), 0.0, 1.0);
  const double tight = std::clamp((kilobytes - kTooLittle) / (kEnough - kTooLittle), 0.0, 1.0);
  return {std::min(kMost, kByKilobyte * kilobytes * tight), kForACycle * scarce * scarce * scarce * idle};
}

}  // namespace tessera::plan
