#include "train/options.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::train {

namespace {

constexpr std::array kLosses{std::pair{"cross_entropy", Loss::CrossEntropy}, std::pair{"mse", Loss::Mse}};
constexpr std::array kOptimizers{std::pair{"sgd", Optimizer::Sgd}};

template <class Table>
auto parse(std::string_view what, const Table& table, std::string_view name) -> Result<decltype(table[0].second)> {
  std::string known;
  for (auto& [spelling, value] : table) {
    if (name == spelling) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", spelling);
  }
  return input_error("unknown {} '{}'", what, name).hint("one of: " + known);
}

template <class Table, class Value>
std::string_view spelled(const Table& table, Value value) {
  return std::ranges::find(table, value, [](auto& entry) { return entry.second; })->first;
}

}  // namespace

Result<Loss> parse_loss(std::string_view name) {
  return parse("loss", kLosses, name);
}
std::string_view name_of(Loss loss) {
  return spelled(kLosses, loss);
}
Result<Optimizer> parse_optimizer(std::string_view name) {
  return parse("optimizer", kOptimizers, name);
}
std::string_view name_of(Optimizer optimizer) {
  return spelled(kOptimizers, optimizer);
}

}  // namespace tessera::train
