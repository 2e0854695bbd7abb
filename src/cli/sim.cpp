// tessera sim FILE.elf: run a bare-metal program on the virtual chip.
#include <cstdio>
#include <nlohmann/json.hpp>

#include <memory>

#include "cli/command.hpp"
#include "run/rules.hpp"
#include "sim/machine.hpp"
#include "sim/trace.hpp"

namespace tessera::cli {
namespace {

struct SimArguments {
  std::string file, target = "siracusa", timing = "on", trace, l3;
  bool sanitize = false, json = false;
  uint64_t limit = 0;
};

nlohmann::ordered_json to_json(const sim::Stalls& s) {
  return {{"load_use", s.load_use}, {"l1_conflict", s.l1_conflict}, {"l2", s.l2},         {"peripheral", s.peripheral},
          {"fpu", s.fpu},           {"divide", s.divide},           {"branch", s.branch}, {"multiply", s.multiply},
          {"icache", s.icache},     {"dma_queue", s.dma_queue}};
}

nlohmann::ordered_json to_json(const sim::RunResult& r, const target::Target& t, const SimArguments& a) {
  nlohmann::ordered_json out{
      {"program", a.file},
      {"target", t.name},
      {"timing", a.timing == "on"},
      {"exit_code", r.exit_code},
      {"output", r.output},
      {"cluster_cycles", r.cluster_cycles},
      {"soc_cycles", r.soc_cycles},
      {"instructions", r.instructions},
      {"run_seconds", r.seconds},
      {"dma_bytes",
       {{"L2_to_L1", r.dma.l2_to_l1},
        {"L1_to_L2", r.dma.l1_to_l2},
        {"L3_to_L2", r.dma.l3_to_l2},
        {"L2_to_L3", r.dma.l2_to_l3}}},
      {"dma_cycles", {{"L2_L1", r.dma_cycles.l2_l1}, {"L3_L2", r.dma_cycles.l3_l2}, {"any", r.dma_cycles.any}}}};
  for (const auto& c : r.cores)
    out["cores"].push_back({{"name", c.name},
                            {"cycles", c.cycles},
                            {"asleep", c.asleep},
                            {"instructions", c.instructions},
                            {"loads", c.loads},
                            {"stores", c.stores},
                            {"stalls", to_json(c.stalls)}});
  if (!t.assumed.empty()) out["assumed"] = t.assumed;
  return out;
}

Result<std::vector<uint8_t>> read_image(const std::string& path) {
  std::vector<uint8_t> bytes;
  if (path.empty()) return bytes;
  std::FILE* in = std::fopen(path.c_str(), "rb");
  if (!in) return input_error("{}: cannot be read", path);
  uint8_t buffer[65536];
  for (size_t n; (n = std::fread(buffer, 1, sizeof buffer, in)) > 0;) bytes.insert(bytes.end(), buffer, buffer + n);
  std::fclose(in);
  return bytes;
}

Result<int> run(const SimArguments& a) {
  TRY(auto target, target::load_target(a.target, target::default_target_directory()));
  TRY(auto elf, sim::load_elf(a.file));
  sim::TraceSink trace;
  sim::Options options;
  options.timing = a.timing == "on";
  options.sanitize = a.sanitize;
  options.instruction_limit = a.limit;
  options.l3 = elf.l3;
  if (!a.l3.empty()) {
    TRY(options.l3, read_image(a.l3));
  }
  if (!a.trace.empty()) options.trace = &trace;
  if (!a.json)
    options.on_output = [](std::string_view text) {
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    };
  auto machine = sim::Machine::create(target, elf, std::move(options));
  if (!machine) return std::unexpected(std::move(machine).error().within(a.file));
  auto result = machine->run();
  if (!a.trace.empty()) CHECK_OK(trace.write(a.trace));
  if (!result) {
    if (const auto broken = run::broken_rule(*machine, elf, target.controller))
      return Error(result.error().kind(), broken->text);
    return std::unexpected(std::move(result).error());
  }
  if (a.json)
    fmt::print("{}\n", to_json(*result, target, a).dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  return result->exit_code;
}

constexpr const char* kExamples = R"(Examples:
  tessera sim program.elf                        run it, print what it prints, exit with its code
  tessera sim program.elf --json                 cycles of every core, stalls, bytes moved
  tessera sim program.elf --sanitize             stop at the first race, stray access or deadlock
  tessera sim program.elf --trace run.json       a timeline for chrome://tracing or ui.perfetto.dev
  tessera sim program.elf --timing off           results only, as fast as possible)";

}  // namespace

void add_sim(CLI::App& app, Chosen& chosen) {
  auto a = std::make_shared<SimArguments>();
  auto* sub = app.add_subcommand("sim", "Run a bare-metal ELF on the virtual chip");
  sub->footer(kExamples);
  sub->add_option("file", a->file, "A 32-bit RISC-V executable for the target's memory map")
      ->required()
      ->type_name("FILE.elf");
  sub->add_option("--target", a->target, "The chip: a name of targets/ or a .yaml file")->capture_default_str();
  sub->add_option("--timing", a->timing, "Count cycles, or only run")
      ->check(CLI::IsMember({"on", "off"}))
      ->capture_default_str();
  sub->add_flag("--sanitize", a->sanitize, "Stop at the first wrong access, race, illegal transfer or deadlock");
  sub->add_option("--trace", a->trace, "Write a timeline of cores, functions and DMA channels")->type_name("FILE");
  sub->add_option("--l3", a->l3,
                  "What L3 holds at the start (default: what the program's section .ts_data holds for it)")
      ->type_name("FILE");
  sub->add_option("--limit", a->limit, "Stop after this many instructions")->type_name("N");
  sub->add_flag("--json", a->json, "Print one JSON object");
  sub->callback([a, &chosen] { chosen = [a] { return run(*a); }; });
}

}  // namespace tessera::cli
