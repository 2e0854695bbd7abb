// A whole run: model, weights, machine and memory put together, tokens in and tokens out.
//
//   TRY(auto job, prepare({.model = "SmolLM2-135M", .board = board}));  TRY(auto done, run_job(job, memory_options));
//   done.tokens -> {4711}, done.total -> 0.36 s, done.layer_errors -> below 1.5 %
#pragma once

#include <memory>
#include <optional>

#include "accel/board_machine.hpp"
#include "accel/memory_models.hpp"
#include "accel/run.hpp"
#include "accel/weights.hpp"

namespace tessera::accel {

struct JobOptions {
  std::string model;                   // a preset, or a folder with config.json
  std::optional<std::string> weights;  // a folder with safetensors; none: the model's folder, else seeded
  std::optional<target::Board> board;
  TileOptions tile;
  std::optional<std::string>
      format;  // of numbers in memory; none: the board's, else OCP's, and PLENA's with its layout
  int64_t layers = 0;
  int64_t tokens = 64;
  bool decode = false;  // one token more, after `tokens`
  bool head = true;
  Layout layout = Layout::Own;
  int64_t generate = 1;         // tokens to choose; each further one is a decode step
  std::vector<int64_t> prompt;  // none: seeded
  std::vector<int64_t> forced;  // tokens that the steps after the first work on, whatever was chosen
  uint64_t seed = 1;
  bool dma_overlaps = true;
  std::optional<bool> numerics;                    // none: where the memory's image is of a size that a computer holds
  std::function<void(std::string_view)> progress;  // what is being done; none: nobody wants to know
};

struct Job {
  JobOptions options;
  Model model;
  MachineConfig machine;
  DecoderOptions decoder;
  std::shared_ptr<Weights> weights;  // none: a compiled folder has them in its image alone
  bool numerics = true;
  std::vector<std::string> notes;

  bool seeded() const { return !from_folder; }
  bool from_folder = false;
};

Result<Job> prepare(const JobOptions& options);

// The prompt: what was given, or seeded words.
std::vector<int64_t> prompt_of(const Job& job);
// The memory before the job's first program: weights, tables, embeddings, and for a decode step the cache of its past.
Result<std::vector<uint8_t>> starting_image(const Job& job, const Program& program);

struct JobResult {
  Program program;                         // the first one that was timed
  RunResult run;                           // cycles of all, sections of it
  int64_t host_in = 0, host_out = 0;       // bytes, of all
  std::vector<memory::Picoseconds> steps;  // of each program
  memory::Picoseconds total;               // of all
  memory::Picoseconds link, compute;       // likewise
  MemoryStatistics memory;                 // of all
  std::vector<int64_t> tokens;             // that were chosen
  std::vector<double> layer_errors;        // against fp32, the largest of all steps
  double cache_error = 0;                  // what quantisation costs
  std::optional<double> weight_error;      // none: the exact weights are not known
  double logit_error = 0;
  std::vector<uint8_t> image;
};

struct JobHooks {
  // Every step's tensors, for whoever wants to check them.
  std::function<void(int64_t step, const Program&, const std::vector<uint8_t>& image,
                     const std::vector<std::vector<float>>& inputs, const std::vector<std::vector<float>>& outputs)>
      stepped;
};

Result<JobResult> run_job(const Job& job, const Program& program, std::vector<uint8_t> image, MemoryModel& memory,
                          const JobHooks& hooks = {});

}  // namespace tessera::accel
