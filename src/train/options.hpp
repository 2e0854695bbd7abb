// What the user chose about the training.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tessera::train {

enum class Loss : uint8_t { CrossEntropy, Mse };
Result<Loss> parse_loss(std::string_view name);
std::string_view name_of(Loss loss);

enum class Optimizer : uint8_t { Sgd };
Result<Optimizer> parse_optimizer(std::string_view name);
std::string_view name_of(Optimizer optimizer);

struct Options {
  std::optional<Loss> loss;              // needed for an inference graph, refused for one that has a loss already
  std::optional<Optimizer> optimizer;    // default: SGD, or what the graph holds
  std::optional<float> learning_rate;    // default 0.01, or what the graph says
  std::optional<std::string> trainable;  // all (default), last:K, bias, or comma-separated name patterns with * and ?
};

}  // namespace tessera::train
