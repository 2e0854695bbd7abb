// Groups of options that several subcommands share. Flags hold what was typed; `resolve` turns it into the values that
// the pipeline takes, or says what is wrong with it.
//
//   tessera train m.onnx --l1 64k --batch 4   ->   ModelSource{"m.onnx", .batch = 4}, CompileOptions{.plan.l1 = 65536}
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/command.hpp"
#include "run/options.hpp"

namespace tessera::cli {

using Text = std::optional<std::string>;

struct ModelFlags {
  std::string model;
  std::vector<std::string> dims;
  Text batch, optimizer_graph, weights;
};
void add_model(CLI::App& command, ModelFlags& flags);
void add_dims(CLI::App& command, ModelFlags& flags);  // all but the model itself
Result<run::ModelSource> resolve(const ModelFlags& flags);

struct DeviceFlags {
  std::string target = "siracusa";
  Text tiling, buffering, halos, home, l1, l2, l3, code, cores;
};
void add_device(CLI::App& command, DeviceFlags& flags);

struct TrainingFlags {
  Text loss, optimizer, lr, trainable, bn, lora_alpha, lora_layers;
  Text momentum, beta1, beta2, epsilon, weight_decay;
  bool nesterov = false, straight_through = false;
};
void add_training(CLI::App& command, TrainingFlags& flags);

// Options that cannot both be meant.
Result<void> contradictions(const ModelFlags& model, const TrainingFlags& training);

Result<run::CompileOptions> resolve(const DeviceFlags& device, const TrainingFlags& training, run::Mode mode);

struct EngineFlags {
  Text engine, tolerance, seed;
  bool sanitize = false;
};
void add_engine(CLI::App& command, EngineFlags& flags);
// Fills what these flags say into `options`; `compared` tells whether there is anything that --tolerance can apply to.
Result<void> resolve(const EngineFlags& flags, bool compared, std::string_view compare_option,
                     run::RunOptions& options);

// How long a run is, and on what.
struct RunFlags {
  Text steps, accumulate, data;
};
void add_run(CLI::App& command, RunFlags& flags, const std::string& default_steps);
Result<void> resolve(const RunFlags& flags, run::RunOptions& options, run::CompileOptions& compile);

// --mode train|infer; what speaks of training contradicts the second.
void add_mode(CLI::App& command, Text& mode);
Result<run::Mode> resolve_mode(const Text& mode, const ModelFlags& model, const TrainingFlags& training,
                               const RunFlags& run);

struct OutputFlags {
  Text directory;
  bool json = false;
};

// "64k"; nothing where nothing was typed.
Result<std::optional<Bytes>> parse_budget(std::string_view option, const Text& text);

// Numbers as typed: "--steps 0" -> "--steps 0: must lie between 1 and 1000000".
Result<int64_t> parse_integer(std::string_view option, std::string_view text, int64_t least, int64_t most);
Result<double> parse_number(std::string_view option, std::string_view text, double least, double most);

}  // namespace tessera::cli
