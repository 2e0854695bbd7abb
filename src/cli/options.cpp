#include "cli/options.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <utility>

namespace tessera::cli {
namespace {

constexpr int64_t kMost = int64_t{1} << 31;

// One of a few words, or what they are.
template <class Value, size_t N>
Result<Value> parse_word(std::string_view option, std::string_view text,
                         const std::array<std::pair<std::string_view, Value>, N>& words) {
  std::string known;
  for (auto& [word, value] : words) {
    if (word == text) return value;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", word);
  }
  return input_error("{} {}: unknown value", option, text).hint("one of: " + known);
}

Result<void> parse_dim(const std::string& text, onnx::DimOptions& dims) {
  auto equals = text.find('=');
  if (equals == std::string::npos || equals == 0)
    return input_error("--dim {}: not of the form NAME=N", text).hint("for example --dim N=4");
  auto name = text.substr(0, equals);
  TRY(auto size, parse_integer("--dim " + name, std::string_view(text).substr(equals + 1), 1, kMost));
  auto [entry, fresh] = dims.dims.emplace(name, size);
  if (!fresh && entry->second != size)
    return input_error("--dim {}={} contradicts --dim {}={}", name, size, name, entry->second);
  return {};
}

}  // namespace

Result<std::optional<Bytes>> parse_budget(std::string_view option, const Text& text) {
  if (!text) return std::optional<Bytes>();
  auto bytes = parse_bytes(*text);
  if (!bytes) return std::move(bytes.error()).within(option);
  if (bytes->count == 0 && option != "--l3")
    return input_error("{} {}: a budget must be more than nothing", option, *text);
  return std::optional(*bytes);
}

Result<int64_t> parse_integer(std::string_view option, std::string_view text, int64_t least, int64_t most) {
  int64_t value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code == std::errc::invalid_argument || end != text.data() + text.size())
    return input_error("{} {}: not a whole number", option, text);
  if (code != std::errc() || value < least || value > most)
    return input_error("{} {}: must lie between {} and {}", option, text, least, most);
  return value;
}

Result<double> parse_number(std::string_view option, std::string_view text, double least, double most) {
  double value = 0;
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return input_error("{} {}: not a number", option, text);
  if (value < least || value > most) return input_error("{} {}: must lie between {} and {}", option, text, least, most);
  return value;
}

void add_model(CLI::App& command, ModelFlags& flags) {
  command.add_option("model", flags.model, "ONNX file, or a name of the zoo (`tessera zoo list`)")
      ->type_name("MODEL")
      ->required();
  add_dims(command, flags);
}

void add_dims(CLI::App& command, ModelFlags& flags) {
  command.add_option("--batch", flags.batch, "samples in a micro-batch")->type_name("N");
  command.add_option("--dim", flags.dims, "size of a named dimension; may be repeated")
      ->type_name("NAME=N")
      ->allow_extra_args(false);
  command.add_option("--optimizer-graph", flags.optimizer_graph, "the ONNX optimizer graph beside a training graph")
      ->type_name("FILE");
  command.add_option("--weights", flags.weights, "initial weights by name, instead of the model's (.npz)")
      ->type_name("FILE");
}

Result<run::ModelSource> resolve(const ModelFlags& flags) {
  run::ModelSource source{.model = flags.model, .optimizer_graph = flags.optimizer_graph, .weights = flags.weights};
  if (flags.batch) {
    TRY(source.dims.batch, parse_integer("--batch", *flags.batch, 1, kMost));
  }
  for (auto& dim : flags.dims) CHECK_OK(parse_dim(dim, source.dims));
  return source;
}

void add_device(CLI::App& command, DeviceFlags& flags) {
  command.add_option("--target", flags.target, "chip: a name (`tessera targets`) or a .yaml file")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--tiling", flags.tiling, "off: every operator in one call on whole tensors")->type_name("on|off");
  command.add_option("--buffering", flags.buffering, "slots an operand's tiles pass through")
      ->type_name("auto|single|double");
  command
      .add_option("--halos", flags.halos,
                  "what neighbouring tiles of L1 share: kept from one to the next (default), or fetched again")
      ->type_name("keep|fetch");
  command.add_option("--home", flags.home, "memory that tensors live in (auto: by cost)")->type_name("auto|L2|L3");
  command.add_option("--l1", flags.l1, "budget of the nearest memory (default: the chip's)")->type_name("64k");
  command.add_option("--l2", flags.l2, "budget of the next memory, beside code and stacks (default: the chip's)")
      ->type_name("2M");
  command.add_option("--l3", flags.l3, "budget of the external memory (default: the chip's; 0: none)")->type_name("8M");
  command.add_option("--code", flags.code, "what code may take of L2 (default: by the number of operators)")
      ->type_name("128k");
  command.add_option("--cores", flags.cores, "cores that work (default: all of the chip's)")->type_name("N");
}

void add_training(CLI::App& command, TrainingFlags& flags) {
  command.add_option("--loss", flags.loss, "loss of an inference graph, the mean over the batch")
      ->type_name("cross_entropy|nll|mse|l1|huber|bce|bce_logits");
  command.add_option("--optimizer", flags.optimizer, "update of the weights (default sgd)")
      ->type_name("sgd|momentum|adam|adamw|adagrad");
  command.add_option("--lr", flags.lr, "learning rate (default: the graph's own, else 0.01; adam and adamw 0.001)")
      ->type_name("X");
  command.add_option("--momentum", flags.momentum, "of sgd (default 0) and momentum (default 0.9)")->type_name("X");
  command.add_flag("--nesterov", flags.nesterov, "momentum that looks one step ahead");
  command.add_option("--beta1", flags.beta1, "of adam and adamw (default 0.9)")->type_name("X");
  command.add_option("--beta2", flags.beta2, "of adam and adamw (default 0.999)")->type_name("X");
  command.add_option("--epsilon", flags.epsilon, "of adam and adamw (default 1e-8) and adagrad (default 1e-10)")
      ->type_name("X");
  command.add_option("--weight-decay", flags.weight_decay, "of every optimizer (default 0; adamw 0.01)")
      ->type_name("X");
  command
      .add_option("--trainable", flags.trainable,
                  "all, last:K, bias, lora:RANK, or patterns of names: 'fc2.*,*.bias', or '!pos.*' for all but those "
                  "(default all)")
      ->type_name("WHAT");
  command.add_option("--lora-alpha", flags.lora_alpha, "adapters count alpha/rank times (default 16)")->type_name("X");
  command.add_option("--lora-layers", flags.lora_layers, "linear layers that get adapters: 'q,v' (default all)")
      ->type_name("PATTERNS");
  command
      .add_option("--bn", flags.bn,
                  "batch norm by the statistics of the batch, or by the running ones as they are (default train)")
      ->type_name("train|frozen");
  command.add_flag("--straight-through", flags.straight_through,
                   "gradients pass Round, Floor and Ceil as if nothing had been rounded (default: they are 0 there)");
}

void add_run(CLI::App& command, RunFlags& flags, const std::string& default_steps) {
  command.add_option("--data", flags.data, "samples (.npz; default: synthetic ones that the network can learn)")
      ->type_name("FILE");
  command.add_option("--steps", flags.steps, fmt::format("updates of the weights (default {})", default_steps))
      ->type_name("N");
  command.add_option("--accumulate", flags.accumulate, "micro-batches whose gradients an update sums (default 1)")
      ->type_name("N");
}

Result<void> resolve(const RunFlags& flags, run::RunOptions& options, run::CompileOptions& compile) {
  constexpr int64_t kMostSteps = 1'000'000;
  options.data = flags.data;
  if (flags.steps) {
    TRY(options.steps, parse_integer("--steps", *flags.steps, 1, kMostSteps));
  }
  if (flags.accumulate) {
    TRY(options.accumulate, parse_integer("--accumulate", *flags.accumulate, 1, kMostSteps));
    compile.plan.accumulate = options.accumulate;
  }
  return {};
}

void add_mode(CLI::App& command, Text& mode) {
  command.add_option("--mode", mode, "default: train where a loss is known (of the zoo, the graph or --loss)")
      ->type_name("train|infer");
}

Result<run::Mode> resolve_mode(const Text& mode, const ModelFlags& model, const TrainingFlags& training,
                               const RunFlags& run) {
  if (!mode) return run::Mode::Auto;
  if (*mode == "train") return run::Mode::Train;
  if (*mode != "infer") return input_error("--mode {}: unknown value", *mode).hint("one of: train, infer");
  struct Given {
    const char* option;
    const Text& text;
  };
  for (auto& [option, text] :
       {Given{"--loss", training.loss}, Given{"--optimizer", training.optimizer}, Given{"--lr", training.lr},
        Given{"--trainable", training.trainable}, Given{"--bn", training.bn}, Given{"--steps", run.steps},
        Given{"--accumulate", run.accumulate}, Given{"--optimizer-graph", model.optimizer_graph}})
    if (text) return input_error("--mode infer contradicts {} {}", option, *text);
  return run::Mode::Infer;
}

Result<void> contradictions(const ModelFlags& model, const TrainingFlags& training) {
  if (model.optimizer_graph && training.optimizer)
    return input_error("--optimizer {} contradicts --optimizer-graph {}", *training.optimizer, *model.optimizer_graph)
        .hint("the graph says how the weights are updated; leave --optimizer out");
  return {};
}

namespace {

Result<void> resolve(const TrainingFlags& flags, train::Options& options) {
  auto& tuning = options.tuning;
  struct Number {
    const char* option;
    const Text& text;
    std::optional<float>& value;
    double most;
  };
  for (auto& [option, text, value, most] :
       {Number{"--lr", flags.lr, options.learning_rate, 1e6}, Number{"--momentum", flags.momentum, tuning.momentum, 1},
        Number{"--beta1", flags.beta1, tuning.beta1, 0.999999}, Number{"--beta2", flags.beta2, tuning.beta2, 0.999999},
        Number{"--epsilon", flags.epsilon, tuning.epsilon, 1e6},
        Number{"--weight-decay", flags.weight_decay, tuning.weight_decay, 1e6},
        Number{"--lora-alpha", flags.lora_alpha, options.lora_alpha, 1e6}})
    if (text) {
      TRY(auto number, parse_number(option, *text, 0, most));
      value = static_cast<float>(number);
    }
  tuning.nesterov = flags.nesterov;
  options.trainable = flags.trainable;
  options.straight_through = flags.straight_through;
  options.lora_layers = flags.lora_layers;
  if (flags.bn) {
    TRY(options.batch_norm,
        parse_word("--bn", *flags.bn,
                   std::to_array<std::pair<std::string_view, train::BatchNorm>>(
                       {{"train", train::BatchNorm::Train}, {"frozen", train::BatchNorm::Frozen}})));
  }
  return {};
}

}  // namespace

Result<run::CompileOptions> resolve(const DeviceFlags& device, const TrainingFlags& training, run::Mode mode) {
  run::CompileOptions options{.mode = mode, .target = device.target};
  using plan::Buffering;
  if (device.tiling) {
    TRY(options.plan.tiling,
        parse_word("--tiling", *device.tiling,
                   std::to_array<std::pair<std::string_view, bool>>({{"on", true}, {"off", false}})));
  }
  if (device.buffering) {
    TRY(options.plan.buffering,
        parse_word("--buffering", *device.buffering,
                   std::to_array<std::pair<std::string_view, Buffering>>(
                       {{"auto", Buffering::Auto}, {"single", Buffering::Single}, {"double", Buffering::Double}})));
  }
  if (device.halos) {
    using plan::Halos;
    TRY(options.plan.halos, parse_word("--halos", *device.halos,
                                       std::to_array<std::pair<std::string_view, Halos>>(
                                           {{"keep", Halos::Keep}, {"fetch", Halos::Fetch}})));
  }
  if (device.home) {
    using plan::Home;
    TRY(options.plan.home, parse_word("--home", *device.home,
                                      std::to_array<std::pair<std::string_view, Home>>(
                                          {{"auto", Home::Auto}, {"L2", Home::L2}, {"L3", Home::L3}})));
  }
  TRY(options.plan.l1, parse_budget("--l1", device.l1));
  TRY(options.plan.l2, parse_budget("--l2", device.l2));
  TRY(options.plan.l3, parse_budget("--l3", device.l3));
  TRY(options.plan.code, parse_budget("--code", device.code));
  if (device.cores) {
    TRY(options.cores, parse_integer("--cores", *device.cores, 1, 1024));
  }
  if (training.loss) {
    TRY(options.train.loss, train::parse_loss(*training.loss));
  }
  if (training.optimizer) {
    TRY(options.train.optimizer, train::parse_optimizer(*training.optimizer));
  }
  CHECK_OK(resolve(training, options.train));
  return options;
}

void add_engine(CLI::App& command, EngineFlags& flags) {
  command
      .add_option("--engine", flags.engine,
                  "what runs the emitted C: the virtual chip (default), this machine's threads, or GVSoC")
      ->type_name("sim|host|gvsoc");
  command.add_option("--tolerance", flags.tolerance, "largest error, relative to max(1, |reference|) (default 1e-3)")
      ->type_name("X");
  command.add_option("--seed", flags.seed, "of synthetic samples and of --sanitize (default 1)")->type_name("N");
  command.add_flag("--sanitize", flags.sanitize,
                   "stop at the first wrong access: race, stray access, read of unwritten bytes");
}

Result<void> resolve(const EngineFlags& flags, bool compared, std::string_view compare_option,
                     run::RunOptions& options) {
  if (flags.engine) {
    using run::Engine;
    TRY(options.engine, parse_word("--engine", *flags.engine,
                                   std::to_array<std::pair<std::string_view, Engine>>(
                                       {{"sim", Engine::Sim}, {"host", Engine::Host}, {"gvsoc", Engine::Gvsoc}})));
  }
  if (flags.tolerance) {
    if (!compared)
      return input_error("--tolerance {} has nothing to apply to without {}", *flags.tolerance, compare_option);
    TRY(options.tolerance, parse_number("--tolerance", *flags.tolerance, 0, 1e6));
  }
  if (flags.seed) {
    TRY(auto seed, parse_integer("--seed", *flags.seed, 0, INT64_MAX));
    options.seed = static_cast<uint64_t>(seed);
  }
  options.sanitize = flags.sanitize;
  return {};
}

}  // namespace tessera::cli
