#include "accel/job.hpp"

#include <algorithm>

#include "accel/images.hpp"
#include "accel/reference.hpp"
#include "train/random.hpp"

namespace tessera::accel {
namespace {

constexpr int64_t kLargestImage = int64_t{3} << 30;
constexpr int64_t kMadeUpWords = 256;  // of a model whose vocabulary nobody knows

// A memory that takes no time, for programs that only make something for others.
class UntimedMemory : public MemoryModel {
 public:
  TransferId submit(memory::Picoseconds, std::span<const LineRequest>) override { return {0}; }
  TransferId host_transfer(memory::Picoseconds, Bytes) override { return {0}; }
  memory::Picoseconds finish(TransferId) override { return {}; }
  memory::Picoseconds drain(memory::Picoseconds now) override { return now; }
  MemoryStatistics statistics() const override { return {}; }
};

Result<Model> model_of(const JobOptions& options) {
  const std::filesystem::path folder(options.weights.value_or(options.model));
  std::error_code none;
  if (std::filesystem::is_directory(folder, none)) {
    if (std::filesystem::exists(folder / "config.json", none)) return read_model_config(folder / "config.json");
    if (!options.weights) return input_error("{}: has no config.json", folder.string());
  } else if (options.weights) {
    return input_error("--weights {}: no such folder", *options.weights);
  }
  return find_model(options.model);
}

struct Step {
  RunResult run;
  std::vector<std::vector<float>> inputs, outputs;  // of each layer
};

Result<Step> run_step(const Program& program, MemoryModel& memory, memory::Picoseconds start,
                      std::vector<uint8_t>* image, const std::function<void(std::string_view)>& progress) {
  Step step;
  const auto& m = program.model;
  const int64_t layers = program.options.layers ? program.options.layers : m.layers;
  step.inputs.assign(layers, std::vector<float>(program.options.tokens * m.hidden));
  step.outputs = step.inputs;
  RunOptions options{.image = image, .start = start, .progress = progress};
  options.probed = [&](const Probe& p, const std::vector<float>& values) {
    auto& to = p.name == "input" ? step.inputs : step.outputs;
    std::copy(values.begin(), values.end(), to[p.layer].begin() + p.first_token * m.hidden);
  };
  TRY(step.run, run_program(program, memory, options));
  return step;
}

// Cycles and instructions of one more step; its sections are its own.
void add(RunResult& all, const RunResult& one) {
  for (auto field : {&RunResult::cycles, &RunResult::busy_cycles, &RunResult::stall_cycles, &RunResult::link_cycles,
                     &RunResult::host_cycles, &RunResult::instructions})
    all.*field += one.*field;
  for (const auto& [name, cycles] : one.classes) all.classes[name] += cycles;
}

double cache_error(const Program& program, const std::vector<uint8_t>& image, int64_t layer,
                   const LayerReference& reference) {
  const auto& m = program.model;
  const int64_t past = program.options.past, length = past + program.options.tokens, d = m.head_dim;
  double worst = 0;
  for (const char* which : {"k", "v"}) {
    const auto all = read_cache(program, image, layer, which, length);
    std::vector<float> now;
    for (int64_t kv = 0; kv < m.kv_heads; ++kv)
      now.insert(now.end(), all.begin() + (kv * length + past) * d, all.begin() + (kv + 1) * length * d);
    worst = std::max(worst, relative_error(now, which[0] == 'k' ? reference.key : reference.value));
  }
  return worst;
}

void judge(const Program& program, const std::vector<uint8_t>& image, const Step& step,
           const std::function<void(std::string_view)>& progress, JobResult& result) {
  const auto layers = static_cast<int64_t>(step.inputs.size());
  result.layer_errors.resize(step.inputs.size());
  for (int64_t l = 0; l < layers; ++l) {
    if (progress) progress(fmt::format("comparing layer {} of {} with fp32", l + 1, layers));
    const auto reference = reference_layer(program, image, l, step.inputs[l]);
    auto& error = result.layer_errors[l];
    error = std::max(error, relative_error(step.outputs[l], reference.output));
    result.cache_error = std::max(result.cache_error, cache_error(program, image, l, reference));
  }
  const auto logits = read_logits(program, image);
  if (logits.empty()) return;
  const int64_t hidden = program.model.hidden;
  const std::vector<float> row(step.outputs.back().end() - hidden, step.outputs.back().end());
  result.logit_error = std::max(result.logit_error, relative_error(logits, reference_logits(program, image, row)));
}

Result<double> weight_error(const Job& job, const Program& program, const std::vector<uint8_t>& image) {
  double worst = 0;
  for (const char* tensor : {"q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"}) {
    TRY(const auto exact, exact_weight(program, *job.weights, 0, tensor));
    worst = std::max(worst, relative_error(read_weight(program, image, 0, tensor), exact));
  }
  return worst;
}

}  // namespace

Result<Job> prepare(const JobOptions& options) {
  Job job{.options = options};
  TRY(job.model, model_of(options));
  TRY(job.machine, machine_for(options.board, job.model, options.tile));
  const bool plena = options.layout == Layout::Plena;
  const auto format = [&](const std::string& of_board) {
    return find_format(options.format.value_or(plena ? "plena" : options.board ? of_board : "ocp"));
  };
  TRY(job.machine.weights, format(options.board ? options.board->weight_type : ""));
  TRY(job.machine.kv, format(options.board ? options.board->kv_type : ""));
  job.machine.dma_overlaps = options.dma_overlaps;
  const int64_t tokens = options.prompt.empty() ? options.tokens : static_cast<int64_t>(options.prompt.size());
  job.options.tokens = tokens;
  job.decoder = {.layers = options.layers,
                 .past = options.decode ? tokens : 0,
                 .tokens = options.decode ? 1 : tokens,
                 .context = tokens + (options.decode ? 1 : 0) + std::max<int64_t>(options.generate - 1, 0),
                 .head = options.head,
                 .layout = options.layout};
  if (plena && (job.decoder.past || tokens > job.machine.mlen || options.generate > 1))
    return input_error("PLENA's layout is for one prefill of at most MLEN tokens")
        .hint("leave --layout out for decode steps and longer prompts");
  if (options.head && !job.model.vocabulary) {
    job.notes.push_back(fmt::format("{} has no known vocabulary, so no lm_head: no token comes out", job.model.name));
    job.decoder.head = false;
  }
  if (options.generate > 1 && (!job.decoder.head || !job.model.causal))
    return input_error("--generate {}: {} chooses no tokens", options.generate, job.model.name);
  const std::filesystem::path folder(options.weights.value_or(options.model));
  std::error_code none;
  if (options.weights || std::filesystem::is_directory(folder, none)) {
    job.from_folder = true;
    TRY(job.weights, read_weights(folder));
  } else {
    job.weights = synthetic_weights(options.seed);
  }
  if (options.board) {
    const auto& tiles = options.board->tiles;
    const auto same = [&](const target::TileHint& t) {
      return t.mlen == job.machine.mlen && t.blen == job.machine.blen;
    };
    if (std::none_of(tiles.begin(), tiles.end(), same))
      job.notes.push_back(fmt::format("{} is not known to hold an array of {}/{}", options.board->name,
                                      job.machine.mlen, job.machine.blen));
  }
  const int64_t layers = options.layers ? options.layers : job.model.layers;
  const int64_t parameters = layers * job.model.layer_parameters() + job.model.vocabulary * job.model.hidden;
  job.numerics = options.numerics.value_or(parameters < kLargestImage);
  if (!job.numerics && !options.numerics) job.notes.push_back("the model is too large to compute with: timing alone");
  return job;
}

std::vector<int64_t> prompt_of(const Job& job) {
  if (!job.options.prompt.empty()) return job.options.prompt;
  train::Random random(job.options.seed ^ 0x70726f6d7074ull);
  std::vector<int64_t> words(static_cast<size_t>(job.options.tokens));
  const int64_t many = job.model.vocabulary ? job.model.vocabulary : kMadeUpWords;
  for (auto& w : words) w = static_cast<int64_t>(random.below(static_cast<uint64_t>(many)));
  return words;
}

Result<std::vector<uint8_t>> starting_image(const Job& job, const Program& program) {
  TRY(auto image, make_image(program, *job.weights, job.options.progress));
  const auto prompt = prompt_of(job);
  if (!job.decoder.past) {
    CHECK_OK(set_tokens(program, *job.weights, prompt, image));
    return image;
  }
  // The past's cache, made as the machine makes it; the new token is the one it would have chosen.
  auto options = job.decoder;
  options.past = 0, options.tokens = job.decoder.past;
  TRY(const auto before, compile_decoder(job.model, job.machine, options));
  auto longer = image;
  longer.resize(static_cast<size_t>(before.memory_bytes));
  CHECK_OK(set_tokens(before, *job.weights, prompt, longer));
  UntimedMemory untimed;
  CHECK_OK(run_program(before, untimed, {.image = &longer, .progress = job.options.progress}));
  CHECK_OK(copy_cache(before, longer, program, image));
  const auto logits = read_logits(before, longer);
  const int64_t next = logits.empty() ? prompt.back() : std::max_element(logits.begin(), logits.end()) - logits.begin();
  const int64_t one[] = {next};
  CHECK_OK(set_tokens(program, *job.weights, one, image));
  return image;
}

Result<JobResult> run_job(const Job& job, const Program& first, std::vector<uint8_t> image, MemoryModel& memory,
                          const JobHooks& hooks) {
  JobResult result{.program = first};
  auto* bytes = image.empty() ? nullptr : &image;
  Program program = first;
  for (int64_t n = 0; n < std::max<int64_t>(job.options.generate, 1); ++n) {
    if (n) {
      auto options = job.decoder;
      options.past = job.decoder.past + job.decoder.tokens + n - 1, options.tokens = 1;
      TRY(program, compile_decoder(job.model, job.machine, options));
      if (bytes) {
        const auto& forced = job.options.forced;
        const auto index = static_cast<size_t>(n - 1);
        const int64_t one[] = {index < forced.size() ? forced[index] : result.tokens.back()};
        CHECK_OK(set_tokens(program, *job.weights, one, image));
      }
    }
    TRY(const auto step, run_step(program, memory, result.total, bytes, job.options.progress));
    result.steps.push_back(step.run.total);
    result.total += step.run.total, result.link += step.run.link, result.compute += step.run.compute;
    result.host_in += program.host_bytes_in, result.host_out += program.host_bytes_out;
    n == 0 ? void(result.run = step.run) : add(result.run, step.run);
    if (!bytes) continue;
    if (!program.probes.empty()) judge(program, image, step, job.options.progress, result);
    if (hooks.stepped) hooks.stepped(n, program, image, step.inputs, step.outputs);
    const auto logits = read_logits(program, image);
    if (logits.empty()) continue;
    result.tokens.push_back(std::max_element(logits.begin(), logits.end()) - logits.begin());
  }
  if (bytes && job.weights) {
    TRY(result.weight_error, weight_error(job, first, image));
  }
  result.memory = memory.statistics();
  result.image = std::move(image);
  return result;
}

}  // namespace tessera::accel
