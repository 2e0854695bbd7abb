// What the user chose about the training.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace tessera::train {

enum class Loss : uint8_t { CrossEntropy, Nll, Mse, L1, Huber, Bce, BceLogits };
Result<Loss> parse_loss(std::string_view name);
std::string_view name_of(Loss loss);

enum class Optimizer : uint8_t { Sgd, Momentum, Adagrad, Adam, AdamW };
Result<Optimizer> parse_optimizer(std::string_view name);
std::string_view name_of(Optimizer optimizer);

// Numbers of the optimizer, under PyTorch's names; what is not given is as in PyTorch.
struct Tuning {
  std::optional<float> momentum;      // sgd (default 0), momentum (default 0.9)
  bool nesterov = false;              // sgd, momentum
  std::optional<float> beta1, beta2;  // adam, adamw (default 0.9 and 0.999)
  std::optional<float> epsilon;       // adam, adamw (default 1e-8), adagrad (1e-10)
  std::optional<float> weight_decay;  // all (default 0; adamw 0.01)
};

// How batch norms of an inference graph train: by the statistics of each batch, which the running ones follow, or by
// the running ones as they are. Scale and bias train either way.
enum class BatchNorm : uint8_t { Train, Frozen };

struct Options {
  std::optional<Loss> loss;            // needed for an inference graph, refused for one that has a loss already
  std::optional<Optimizer> optimizer;  // default: SGD, or what the graph holds
  Tuning tuning;
  std::optional<float> learning_rate;      // default: what the graph says, else 0.01, or 0.001 of adam and adamw
  std::optional<std::string> trainable;    // all (default), last:K, bias, lora:RANK, or name patterns with * and ?
  std::optional<float> lora_alpha;         // default 16
  std::optional<std::string> lora_layers;  // default: all linear layers
  BatchNorm batch_norm = BatchNorm::Train;
  bool straight_through = false;  // gradients pass Round, Floor and Ceil as if nothing had been rounded
};

float momentum_of(const Options& options);
float learning_rate_of(const Options& options);

// A number that the chosen optimizer does not have is refused.
Result<void> check_tuning(const Options& options);

}  // namespace tessera::train
