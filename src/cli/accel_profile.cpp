#include <map>
#include <memory>

#include "accel/compose.hpp"
#include "accel/profile.hpp"
#include "accel/project.hpp"
#include "cli/accel.hpp"
#include "cli/accel_options.hpp"
#include "memory/dram_timing.hpp"

namespace tessera::cli {
namespace {

using Json = nlohmann::ordered_json;

struct Flags {
  AccelJobFlags job;
  AccelMemoryFlags memory;
  bool json = false;
};

// A profile in full, and what one layer of each kind costs.
struct Profiled {
  accel::Profile profile;
  std::map<int64_t, int64_t> transfer_cycles;  // of each layer, by the board file's closed form
  std::vector<accel::LayerBound> layers;
  accel::Composed run;
};

// The board's file gives cycles a transfer at MLEN 64; a tile grows with the square of MLEN, rows with MLEN.
int64_t closed_form(const accel::SectionProfile& s, const target::DmaCycles& dma, int64_t mlen) {
  return s.tile_loads * dma.prefetch_m * mlen * mlen / (64 * 64) +
         (s.row_loads * dma.prefetch_v + s.row_stores * dma.store_v) * mlen / 64;
}

double link_rate(const accel::MemorySetup& setup) {
  return setup.link ? static_cast<double>(setup.link->bytes_per_second) : 0;
}

// What of a layer's bytes crosses the link each time it is used.
int64_t link_bytes(const accel::Composed& run, int64_t layer) {
  using enum accel::MemoryModelKind;
  int64_t bytes = 0;
  for (const auto& p : run.program.placements) {
    if (p.region.layer != layer) continue;
    const bool weight = p.region.kind == accel::Kind::Weight;
    const auto kind = run.setup.kind;
    if (weight ? kind == WeightStream || kind == HostStream || kind == LayerSwap : kind == KvSwap)
      bytes += static_cast<int64_t>(p.region.size);
  }
  return bytes;
}

Result<Profiled> profile_job(const Flags& flags) {
  std::error_code none;
  Profiled out;
  TRY(const auto board, find_board(flags.job.board));
  TRY(auto memory, resolve(flags.memory, board));
  accel::Job job;
  if (std::filesystem::exists(std::filesystem::path(flags.job.model) / "program.hex", none)) {
    if (const auto given = compile_option_given(flags.job); !given.empty())
      return input_error("{}: {} is compiled already", given, flags.job.model)
          .hint("compile it again with that option");
    TRY(auto project, accel::read_project(flags.job.model));
    job = std::move(project.job);
  } else {
    TRY(auto options, resolve(flags.job));
    options.numerics = false;
    TRY(job, accel::prepare(options));
  }
  TRY(job.machine.dma_overlaps, dma_overlaps(flags.memory));
  TRY(out.run, accel::compose(job, memory));
  const auto& program = out.run.program;
  TRY(out.profile, accel::static_profile(program.words, program.sections, program.machine));
  std::map<int64_t, int64_t> cycles, bytes;
  for (const auto& s : out.profile.sections) {
    cycles[s.layer] += s.total();
    if (board) out.transfer_cycles[s.layer] += closed_form(s, board->dma, program.machine.mlen);
  }
  // Layers between the first and the last are alike; the head follows them.
  const auto& measured = out.run.measured;
  const int64_t last = measured.options.layers ? measured.options.layers : measured.model.layers;
  for (size_t n = 0; n < measured.sections.size(); ++n) {
    const auto& part = out.run.run.sections[n];
    const int64_t l = measured.sections[n].layer;
    bytes[l == last ? out.run.layers : l] += part.bytes_read + part.bytes_written;
  }
  // What the memory model can give at best, so that no layer takes less than its bound.
  TRY(const auto dram, memory::dram_preset(out.run.setup.preset));
  const auto ddr = static_cast<double>(dram.sustained_bytes_per_second());
  for (const auto& [layer, busy] : cycles) {
    const auto of = bytes.contains(layer) ? layer : last - 1;
    out.layers.push_back(accel::bound_of(layer, busy, bytes[of], link_bytes(out.run, layer), program.machine, ddr,
                                         link_rate(out.run.setup)));
  }
  return out;
}

Json to_json(const Profiled& p) {
  Json classes = Json::object(), operators = Json::array(), layers = Json::array();
  for (int c = 0; c < accel::op_classes; ++c)
    classes[std::string(accel::name_of(static_cast<accel::OpClass>(c)))] = p.profile.cycles[c];
  for (const auto& s : p.profile.sections) {
    Json one = {{"layer", s.layer}, {"operator", s.op}, {"cycles", s.total()}, {"instructions", s.instructions}};
    for (int c = 0; c < accel::op_classes; ++c)
      one["classes"][std::string(accel::name_of(static_cast<accel::OpClass>(c)))] = s.cycles[c];
    operators.push_back(std::move(one));
  }
  const auto transfer = [&](int64_t layer) {
    const auto found = p.transfer_cycles.find(layer);
    return found == p.transfer_cycles.end() ? Json() : Json(found->second);
  };
  for (const auto& l : p.layers)
    layers.push_back({{"layer", l.layer},
                      {"compute_cycles", l.compute_cycles},
                      {"transfer_cycles", transfer(l.layer)},
                      {"compute_ns", l.compute_ns},
                      {"ddr_bytes", l.ddr_bytes},
                      {"ddr_ns", l.ddr_ns},
                      {"link_bytes", l.link_bytes},
                      {"link_ns", l.link_ns},
                      {"bound", l.bound}});
  return {{"model", p.run.program.model.name},
          {"regime", std::string(accel::name_of(p.run.setup.kind))},
          {"layers_composed", p.run.layers},
          {"cycles", p.profile.total()},
          {"instructions", p.profile.instructions},
          {"classes", classes},
          {"measured",
           {{"total_ns", (p.run.run.total.count + 999) / 1000},
            {"cycles", p.run.run.cycles},
            {"busy_cycles", p.run.run.busy_cycles},
            {"stall_cycles", p.run.run.stall_cycles}}},
          {"operators", operators},
          {"roofline", layers}};
}

void print_table(const Profiled& p) {
  const auto total = static_cast<double>(p.profile.total());
  fmt::print("{:<12} {:>14} {:>7}\n", "class", "cycles", "%");
  for (int c = 0; c < accel::op_classes; ++c)
    fmt::print("{:<12} {:>14} {:>7.2f}\n", accel::name_of(static_cast<accel::OpClass>(c)), p.profile.cycles[c],
               100 * static_cast<double>(p.profile.cycles[c]) / total);
  std::map<std::string, int64_t> operators;
  for (const auto& s : p.profile.sections) operators[s.op] += s.total();
  fmt::print("\n{:<12} {:>14} {:>7}\n", "operator", "cycles", "%");
  for (const auto& [op, cycles] : operators)
    fmt::print("{:<12} {:>14} {:>7.2f}\n", op, cycles, 100 * static_cast<double>(cycles) / total);
  fmt::print("\n{:<6} {:>14} {:>12} {:>12} {:>12}  {}\n", "layer", "cycles", "compute us", "DDR us", "link us",
             "bound by");
  for (const auto& l : p.layers)
    fmt::print("{:<6} {:>14} {:>12.1f} {:>12.1f} {:>12.1f}  {}\n", l.layer, l.compute_cycles, l.compute_ns / 1000,
               l.ddr_ns / 1000, l.link_ns / 1000, l.bound);
  fmt::print("\nregime {}; {}: {:.3f} ms, {} cycles, {} of them waiting\n", accel::name_of(p.run.setup.kind),
             p.run.layers > 3 ? "composed from two and three layers" : "run",
             static_cast<double>(p.run.run.total.count) / 1e9, p.run.run.cycles, p.run.run.stall_cycles);
}

}  // namespace

void add_accel_profile(CLI::App& group, Chosen& chosen) {
  auto* command = group.add_subcommand("profile", "Cycles by class, operator and layer, and what bounds each layer");
  command->footer(R"(Examples:
  tessera accel profile SmolLM2-135M --board nexys_video                      a prompt of 64 tokens
  tessera accel profile SmolLM2-135M --board custom_a7 --decode --tokens 1024 one token after 1024
  tessera accel profile llada-8b --board v80 --json                           8 billion weights, composed
  tessera accel profile out/ --board nexys_video                              a compiled folder)");
  auto flags = std::make_shared<Flags>();
  add_accel_job(*command, flags->job, "a compiled folder, a preset, or a folder with config.json", true);
  add_accel_memory(*command, flags->memory);
  command->add_flag("--json", flags->json, "one JSON object on standard output");
  command->callback([&chosen, flags] {
    chosen = [flags]() -> Result<int> {
      TRY(const auto profiled, profile_job(*flags));
      flags->json ? print_json(to_json(profiled)) : print_table(profiled);
      return 0;
    };
  });
}

}  // namespace tessera::cli
