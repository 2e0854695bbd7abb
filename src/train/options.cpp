#include "train/options.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace tessera::train {

namespace {

constexpr std::array kLosses{std::pair{"cross_entropy", Loss::CrossEntropy},
                             std::pair{"nll", Loss::Nll},
                             std::pair{"mse", Loss::Mse},
                             std::pair{"l1", Loss::L1},
                             std::pair{"huber", Loss::Huber},
                             std::pair{"bce", Loss::Bce},
                             std::pair{"bce_logits", Loss::BceLogits}};
constexpr std::array kOptimizers{std::pair{"sgd", Optimizer::Sgd}, std::pair{"momentum", Optimizer::Momentum},
                                 std::pair{"adam", Optimizer::Adam}, std::pair{"adamw", Optimizer::AdamW},
                                 std::pair{"adagrad", Optimizer::Adagrad}};

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

float momentum_of(const Options& options) {
  return options.tuning.momentum.value_or(options.optimizer == Optimizer::Momentum ? 0.9f : 0.0f);
}

float learning_rate_of(const Options& options) {
  const bool adam = options.optimizer == Optimizer::Adam || options.optimizer == Optimizer::AdamW;
  return options.learning_rate.value_or(adam ? 1e-3f : 1e-2f);
}

Result<void> check_tuning(const Options& options) {
  const auto chosen = options.optimizer.value_or(Optimizer::Sgd);
  const bool descent = chosen == Optimizer::Sgd || chosen == Optimizer::Momentum;
  const bool adam = chosen == Optimizer::Adam || chosen == Optimizer::AdamW;
  const auto& tuning = options.tuning;
  struct Rule {
    const char* option;
    bool given, applies;
  };
  for (auto& [option, given, applies] :
       {Rule{"--momentum", tuning.momentum.has_value(), descent}, Rule{"--nesterov", tuning.nesterov, descent},
        Rule{"--beta1", tuning.beta1.has_value(), adam}, Rule{"--beta2", tuning.beta2.has_value(), adam},
        Rule{"--epsilon", tuning.epsilon.has_value(), adam || chosen == Optimizer::Adagrad}})
    if (given && !applies)
      return input_error("{} does not apply to --optimizer {}", option, name_of(chosen))
          .hint("`tessera train --help` says which numbers each optimizer has");
  if (tuning.nesterov && momentum_of(options) == 0)
    return input_error("--nesterov needs a momentum").hint("for example --optimizer momentum --nesterov");
  return {};
}

}  // namespace tessera::train
