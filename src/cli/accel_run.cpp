#include <algorithm>
#include <cmath>
#include <memory>

#include "accel/compose.hpp"
#include "accel/dump.hpp"
#include "accel/project.hpp"
#include "cli/accel.hpp"
#include "cli/accel_options.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  AccelJobFlags job;
  AccelMemoryFlags memory;
  Text dump;
  bool json = false;
};

// What a run is about and what came out of it, whether in full or composed.
struct Report {
  const accel::Job& job;
  const accel::Program& program;
  const accel::RunResult& run;
  const accel::MemoryStatistics& memory;
  const accel::MemorySetup& setup;
  memory::Picoseconds total, link, compute;
  bool composed = false;
  const accel::JobResult* result = nullptr;  // where there were numerics, or several steps
};

Json by_kind(const accel::MemoryStatistics::ByKind& k) {
  return {{"weight", k[accel::Kind::Weight]}, {"kv", k[accel::Kind::Kv]}, {"activation", k[accel::Kind::Activation]}};
}

Json count_regions(const accel::Program& program) {
  int64_t counts[3] = {};
  for (const auto& p : program.placements) ++counts[static_cast<size_t>(p.region.kind)];
  return {{"weight", counts[0]}, {"kv", counts[1]}, {"activation", counts[2]}};
}

int64_t nanoseconds(memory::Picoseconds t) {
  return (t.count + 999) / 1000;
}

Json to_json(const Report& r) {
  const auto& machine = r.program.machine;
  const bool hbm = r.setup.kind == accel::MemoryModelKind::Hbm;
  Json out = {{"model", r.job.model.name},
              {"board", r.job.options.board ? Json(r.job.options.board->name) : Json()},
              {"layers", r.program.options.layers ? r.program.options.layers : r.job.model.layers},
              {"past", r.program.options.past},
              {"new_tokens", r.program.options.tokens},
              {"mlen", machine.mlen},
              {"blen", machine.blen},
              {"hlen", machine.hlen},
              {"clock_hz", machine.clock_hz},
              {"total_ns", nanoseconds(r.total)},
              {"cycles", r.run.cycles},
              {"busy_cycles", r.run.busy_cycles},
              {"stall_cycles", r.run.stall_cycles},
              {"host_cycles", r.run.host_cycles},
              {"instructions", r.run.instructions},
              {"classes", r.run.classes},
              {"bytes_read", r.memory.bytes_read},
              {"bytes_written", r.memory.bytes_written},
              {"by_kind", by_kind(r.memory.read_by_kind)},
              {"written_by_kind", by_kind(r.memory.written_by_kind)},
              {"regions", count_regions(r.program)},
              {"regime", r.memory.regime},
              {"resident_bytes", r.memory.resident_bytes},
              {"after_swap_bytes", r.memory.after_swap_bytes},
              {"swapped_bytes", r.memory.swapped_bytes},
              {"written_back_bytes", r.memory.written_back_bytes},
              {"swaps", r.memory.swaps},
              {"streamed_bytes", r.memory.streamed_bytes},
              {"link_ns", nanoseconds(r.link)},
              {"link_bytes", r.memory.link_bytes},
              {"host_bytes",
               {{"in", r.result ? r.result->host_in : r.program.host_bytes_in},
                {"out", r.result ? r.result->host_out : r.program.host_bytes_out}}}};
  // What a model does not look at is not repeated in its output.
  if (!hbm) {
    out["compute_ns"] = nanoseconds(r.compute);
    out["capacity"] = r.setup.capacity;
    out["capacity_source"] = r.setup.capacity_source;
    out["link_source"] = r.setup.link_source;
    out["chosen_by_auto"] = r.setup.chosen_by_auto;
  }
  for (const auto& [name, value] : r.memory.inner) out["memory"][name] = value;
  out["composed"] = r.composed;
  out["max_error"] = nullptr;
  out["tokens"] = Json::array();
  if (const auto* j = r.result; j && !j->image.empty()) {
    if (!j->layer_errors.empty()) out["max_error"] = std::ranges::max(j->layer_errors);
    out["layer_errors"] = j->layer_errors;
    out["logit_error"] = j->logit_error;
    out["quantisation"] = {{"weights", j->weight_error ? Json(*j->weight_error) : Json()}, {"kv", j->cache_error}};
    out["tokens"] = j->tokens;
  }
  if (r.result && r.result->steps.size() > 1)
    for (const auto step : r.result->steps) out["steps_ns"].push_back(nanoseconds(step));
  auto notes = r.job.notes;
  notes.insert(notes.end(), r.memory.notes.begin(), r.memory.notes.end());
  out["notes"] = notes;
  return out;
}

std::string link_text(const accel::MemorySetup& setup) {
  if (!setup.link) return "no link";
  return fmt::format("{:g} MB/s, {}", static_cast<double>(setup.link->bytes_per_second) / 1e6, setup.link_source);
}

void print_table(const Report& r) {
  const auto ms = [](memory::Picoseconds t) { return static_cast<double>(t.count) / 1e9; };
  const auto steps = r.result && r.result->steps.size() > 1
                         ? fmt::format(" and {} steps more", r.result->steps.size() - 1)
                         : std::string();
  fmt::print("{}, {} token{} after {}{}: {:.3f} ms, {} cycles ({} busy, {} waiting for memory, {} for the host)\n",
             r.job.model.name, r.program.options.tokens, r.program.options.tokens == 1 ? "" : "s",
             r.program.options.past, steps, ms(r.total), r.run.cycles, r.run.busy_cycles, r.run.stall_cycles,
             r.run.host_cycles);
  fmt::print("read {} bytes (weights {}, KV {}, activations {}), written {}\n", r.memory.bytes_read,
             r.memory.read_by_kind[accel::Kind::Weight], r.memory.read_by_kind[accel::Kind::Kv],
             r.memory.read_by_kind[accel::Kind::Activation], r.memory.bytes_written);
  fmt::print("regime {}", r.memory.regime);
  if (r.setup.kind != accel::MemoryModelKind::Hbm)
    fmt::print(": capacity {} ({}), {} swaps of {} bytes, {} streamed\nlink {:.3f} ms ({}), compute {:.3f} ms",
               r.setup.capacity, r.setup.capacity_source, r.memory.swaps, r.memory.swapped_bytes,
               r.memory.streamed_bytes, ms(r.link), link_text(r.setup), ms(r.compute));
  fmt::print("\n");
  if (const auto* j = r.result; j && !j->image.empty()) {
    if (!j->layer_errors.empty())
      fmt::print("largest error of a layer against fp32 {:.2f} %; ", 100 * std::ranges::max(j->layer_errors));
    fmt::print("quantisation: ");
    if (j->weight_error) fmt::print("weights {:.2f} %, ", 100 * *j->weight_error);
    fmt::print("KV {:.2f} %\n", 100 * j->cache_error);
    if (!j->tokens.empty()) fmt::print("tokens {}\n", fmt::join(j->tokens, " "));
  }
  if (r.composed) fmt::print("composed from runs of two and three layers\n");
  for (const auto& note : r.job.notes) fmt::print("note: {}\n", note);
  for (const auto& note : r.memory.notes) fmt::print("note: {}\n", note);
}

int report(const Flags& flags, const Report& r) {
  flags.json ? print_json(to_json(r)) : print_table(r);
  return 0;
}

Result<int> run_full(const Flags& flags, const accel::Job& job, const accel::Program& program,
                     std::vector<uint8_t> image, accel::MemoryOptions memory) {
  memory.regions = program.regions();
  TRY(const auto setup, accel::set_up_memory(memory));
  TRY(const auto model, accel::make_memory_model(memory));
  accel::StepDump dump;
  accel::JobHooks hooks;
  if (flags.dump) {
    if (image.empty()) return input_error("--dump: there is nothing to dump without numerics");
    hooks.stepped = [&dump](int64_t step, const auto& of, const auto& bytes, const auto& inputs, const auto& outputs) {
      dump.add(step, of, bytes, inputs, outputs);
    };
  }
  TRY(const auto done, accel::run_job(job, program, std::move(image), *model, hooks));
  if (flags.dump) CHECK_OK(dump.write(*flags.dump));
  return report(flags, {job, program, done.run, done.memory, setup, done.total, done.link, done.compute, false, &done});
}

Result<int> run_folder(const Flags& flags) {
  if (const auto given = compile_option_given(flags.job); !given.empty())
    return input_error("{}: {} is compiled already", given, flags.job.model).hint("compile it again with that option");
  TRY(auto project, accel::read_project(flags.job.model));
  auto& job = project.job;
  TRY(job.options.board, find_board(flags.job.board));
  job.options.progress = slow_progress();
  TRY(project.program.machine.dma_overlaps, dma_overlaps(flags.memory));
  TRY(const auto memory, resolve(flags.memory, job.options.board));
  const auto& board = job.options.board;
  if (const auto clock = project.program.machine.clock_hz;
      board && std::abs(board->clock_mhz * 1e6 - static_cast<double>(clock)) > 1)
    job.notes.push_back(fmt::format(
        "compiled for a machine at {:g} MHz: of {} the memory and the link are taken, not its clock of {:g} MHz",
        static_cast<double>(clock) / 1e6, board->name, board->clock_mhz));
  if (flags.job.numerics && *flags.job.numerics == "off") project.image.clear();
  return run_full(flags, job, project.program, std::move(project.image), memory);
}

Result<int> run(const Flags& flags) {
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::path(flags.job.model) / "program.hex", none)) return run_folder(flags);
  TRY(auto options, resolve(flags.job));
  TRY(options.dma_overlaps, dma_overlaps(flags.memory));
  TRY(const auto job, accel::prepare(options));
  TRY(const auto memory, resolve(flags.memory, options.board));
  const int64_t layers = options.layers ? options.layers : job.model.layers;
  if (!job.numerics && layers > 3 && !memory.manifest) {
    TRY(const auto done, accel::compose(job, memory));
    return report(flags, {job, done.program, done.run, done.run.memory, done.setup, done.run.total, done.run.link,
                          done.run.compute, true, nullptr});
  }
  TRY(const auto program, accel::compile_decoder(job.model, job.machine, job.decoder));
  std::vector<uint8_t> image;
  if (job.numerics) {
    TRY(image, accel::starting_image(job, program));
  }
  return run_full(flags, job, program, std::move(image), memory);
}

}  // namespace

void add_accel_run(CLI::App& group, Chosen& chosen) {
  auto* command = group.add_subcommand("run", "Run a decoder on the machine: time, traffic, tokens, errors");
  command->footer(R"(Examples:
  tessera accel run SmolLM2-135M --board nexys_video                 a prompt of 64 tokens
  tessera accel run SmolLM2-135M --board custom_a7 --decode          the token after it
  tessera accel run SmolLM2-135M --board v80 --generate 8            eight tokens
  tessera accel run out/ --memory-model kv-swap --ddr-capacity 4M    a compiled folder in another regime)");
  auto flags = std::make_shared<Flags>();
  add_accel_job(*command, flags->job, "a compiled folder, a preset, or a folder with config.json", true);
  add_accel_memory(*command, flags->memory);
  command->add_option("--dump", flags->dump, "inputs, outputs, weights and KV of every layer and step, as fp32")
      ->type_name("F.safetensors");
  command->add_flag("--json", flags->json, "one JSON object on standard output");
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
