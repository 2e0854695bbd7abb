// targets/NAME.yaml -> Target. Every key is required (after `extends`), so no number hides in the code.
#include <algorithm>
#include <filesystem>

#include "target/reader.hpp"
#include "target/target.hpp"

namespace tessera::target {
namespace {

void read_cores(Reader& r, const YAML::Node& node, Target& t) {
  const std::string path = "cores";
  r.read(node, path, "count", t.cores);
  FIELD(t, workers), FIELD(t, controller), FIELD(t, controller_works), FIELD(t, cluster_id), FIELD(t, fc_cluster_id);
  r.read(node, path, "isa", t.cluster_isa);
  FIELD(t, fc_isa), FIELD(t, silicon_lacks), FIELD(t, macs_per_cycle);
}

Memory read_memory(Reader& r, const YAML::Node& node, const std::string& path) {
  Memory m;
  FIELD(m, level), FIELD(m, base), FIELD(m, size), FIELD(m, alignment), FIELD(m, banks);
  if (node.IsMap() && node["addressable"]) FIELD(m, addressable);
  return m;
}

DmaEngine read_engine(Reader& r, const YAML::Node& node, const std::string& path) {
  DmaEngine e;
  FIELD(e, name), FIELD(e, near), FIELD(e, far), FIELD(e, max_rank), FIELD(e, max_bytes), FIELD(e, alignment);
  FIELD(e, length_alignment), FIELD(e, in_flight), FIELD(e, queue_per_core), FIELD(e, queue_per_direction);
  FIELD(e, burst), FIELD(e, setup_in), FIELD(e, setup_out), FIELD(e, bytes_per_cycle_in), FIELD(e, bytes_per_cycle_out);
  FIELD(e, per_line_in), FIELD(e, per_line_out);
  return e;
}

Cache read_cache(Reader& r, const YAML::Node& parent, const char* key) {
  Cache c;
  const std::string path = std::string("timing.cache.") + key;
  auto node = r.child(parent, "timing.cache", key);
  if (!node) return c;
  FIELD(c, sets), FIELD(c, ways), FIELD(c, banks), FIELD(c, miss);
  for (int n : {c.sets, c.banks})
    if (n <= 0 || (n & (n - 1)) != 0) r.fail(path, "sets and banks must be powers of two");
  if (c.ways < 1 || c.ways > 16) r.fail(path, "ways must be 1 to 16");
  return c;
}

void read_pipeline(Reader& r, const YAML::Node& node, Timing& t) {
  const std::string path = "timing.pipeline";
  FIELD(t, taken_branch), FIELD(t, jump), FIELD(t, mul), FIELD(t, mulh), FIELD(t, mul_use), FIELD(t, load_use);
  FIELD(t, word_crossing), FIELD(t, div_base), FIELD(t, div_negative_base), FIELD(t, div_zero), FIELD(t, fdiv);
  FIELD(t, fsqrt), FIELD(t, float_load_reload);
}

void read_access(Reader& r, const YAML::Node& node, Timing& t) {
  const std::string path = "timing.access";
  FIELD(t, l2), FIELD(t, l2_hidden_queue), FIELD(t, cluster_peripheral), FIELD(t, apb), FIELD(t, event_unit_port);
  FIELD(t, dma_port), FIELD(t, fc_l2), FIELD(t, fc_apb), FIELD(t, fc_cluster);
}

void read_engines(Reader& r, const YAML::Node& timing, Timing& t) {
  auto dma = r.child(timing, "timing", "dma"), hyper = r.child(timing, "timing", "hyper");
  for (auto [key, field] : {std::pair{"queue", &Timing::dma_queue},
                            {"issue", &Timing::dma_issue},
                            {"read_latency", &Timing::dma_read_latency},
                            {"write_latency", &Timing::dma_write_latency},
                            {"ports", &Timing::dma_ports},
                            {"burst", &Timing::dma_burst},
                            {"bytes_per_cycle", &Timing::dma_bytes_per_cycle},
                            {"reads_in_flight", &Timing::dma_reads_in_flight},
                            {"writes_in_flight", &Timing::dma_writes_in_flight}})
    if (dma) r.read(dma, "timing.dma", key, t.*field);
  for (auto [key, field] : {std::pair{"command", &Timing::hyper_command},
                            {"turnaround", &Timing::hyper_turnaround},
                            {"end", &Timing::hyper_end},
                            {"start_soc", &Timing::hyper_start_soc},
                            {"read_end_soc", &Timing::hyper_read_end_soc},
                            {"write_end_soc", &Timing::hyper_write_end_soc},
                            {"write_word_soc", &Timing::hyper_write_word_soc}})
    if (hyper) r.read(hyper, "timing.hyper", key, t.*field);
}

void read_timing(Reader& r, const YAML::Node& timing, Timing& t) {
  if (auto node = r.child(timing, "timing", "clocks")) {
    const std::string path = "timing.clocks";
    FIELD(t, cluster_period_ps), FIELD(t, soc_period_ps);
    if (t.cluster_period_ps <= 0 || t.soc_period_ps <= 0) r.fail(path, "periods must be positive");
  }
  if (auto node = r.child(timing, "timing", "pipeline")) read_pipeline(r, node, t);
  if (auto node = r.child(timing, "timing", "access")) read_access(r, node, t);
  if (auto node = r.child(timing, "timing", "fpu")) {
    r.read(node, "timing.fpu", "units", t.fpus), r.read(node, "timing.fpu", "dividers", t.dividers);
    if (t.fpus < 1 || t.dividers < 1) r.fail("timing.fpu", "at least one unit of each");
  }
  if (auto node = r.child(timing, "timing", "event_unit")) {
    const std::string path = "timing.event_unit";
    FIELD(t, elw), FIELD(t, wake_up);
  }
  if (auto node = r.child(timing, "timing", "cache")) {
    const std::string path = "timing.cache";
    FIELD(t, line_bytes);
    if (t.line_bytes != 16) r.fail(path + ".line_bytes", "only 16 is supported");
    t.l0 = read_cache(r, node, "l0"), t.l0_controller = read_cache(r, node, "l0_controller");
    t.shared_cache = read_cache(r, node, "shared"), t.fc_cache = read_cache(r, node, "fc");
  }
  read_engines(r, timing, t);
}

void read_registers(Reader& r, const YAML::Node& node, Registers& g) {
  const std::string path = "registers";
  FIELD(g, l1_alias), FIELD(g, test_and_set), FIELD(g, cluster), FIELD(g, event_unit), FIELD(g, dma), FIELD(g, fll);
  FIELD(g, udma), FIELD(g, soc_control), FIELD(g, soc_events), FIELD(g, fc_icache), FIELD(g, fc_interrupt);
  FIELD(g, fc_timer), FIELD(g, exit);
  r.read(node, path, "stdout", g.stdout_);
}

// What must be true of any chip that the rest of the program can plan for.
void check(Reader& r, const Target& t) {
  if (t.cores < 1 || t.cores > 15) r.fail("cores.count", "1 to 15 cluster cores are supported");
  if (t.workers < 1 || t.workers > t.cores) r.fail("cores.workers", "must be 1 to cores.count");
  if (t.controller >= t.cores) r.fail("cores.controller", "is no core of the cluster");
  for (const char* level : {"L1", "L2", "L3"}) {
    const Memory* m = t.memory(level);
    if (!m || m->size.count <= 0 || m->size.count > (int64_t{1} << 30))
      r.fail("memories", fmt::format("{} is missing, empty or over 1G", level));
    else if (m->banks < 1 || (m->banks & (m->banks - 1)) != 0 || m->banks > 64)
      r.fail("memories", fmt::format("{}: banks must be a power of two, 64 at most", level));
  }
  // First tiles of an operator's operands are all asked for before one is waited for.
  constexpr int least_in_flight = 8;
  for (const auto& e : t.engines) {
    if (!t.memory(e.near) || !t.memory(e.far)) r.fail("dma", fmt::format("{} joins an unknown memory", e.name));
    if (e.in_flight < least_in_flight)
      r.fail("dma",
             fmt::format("{}: in_flight is {}; fewer than {} are not supported", e.name, e.in_flight, least_in_flight));
  }
}

Result<Target> read_target(const YAML::Node& root, const std::string& file) {
  Reader r(file);
  Target t;
  r.read(root, "", "name", t.name), r.read(root, "", "description", t.description);
  if (auto node = r.child(root, "", "cores")) read_cores(r, node, t);
  auto memories = r.child(root, "", "memories"), engines = r.child(root, "", "dma");
  for (size_t i = 0; memories && i < memories.size(); ++i)
    t.memories.push_back(read_memory(r, memories[i], fmt::format("memories[{}]", i)));
  for (size_t i = 0; engines && i < engines.size(); ++i)
    t.engines.push_back(read_engine(r, engines[i], fmt::format("dma[{}]", i)));
  if (auto node = r.child(root, "", "stacks")) {
    r.read(node, "stacks", "fabric_controller", t.stacks.fabric_controller);
    r.read(node, "stacks", "controller", t.stacks.controller);
    r.read(node, "stacks", "worker", t.stacks.worker);
  }
  if (auto node = r.child(root, "", "timing")) read_timing(r, node, t.timing);
  if (auto node = r.child(root, "", "registers")) read_registers(r, node, t.registers);
  if (auto node = r.child(root, "", "assumed"))
    for (const auto& item : node) t.assumed.push_back(item.IsScalar() ? item.Scalar() : "");
  if (r.problem().empty()) check(r, t);
  if (!r.problem().empty()) return input_error("{}", r.problem());
  return t;
}

}  // namespace

Result<Target> load_target(std::string_view name_or_path, const std::string& directory) {
  const auto path = path_of(name_or_path, directory);
  const auto known = [&] { return known_names("targets", list_targets(directory), directory); };
  std::error_code ec;
  if (!std::filesystem::exists(path, ec))
    return input_error("there is no target '{}' ({})", name_or_path, path.string()).hint(known());
  TRY(auto root, load_yaml(path));
  if (is_board(root))
    return input_error("'{}' is an accelerator board, not a chip", name_or_path)
        .hint(fmt::format("{}; a board is for tessera accel ... --board {}", known(), name_or_path));
  return reading(path, root, [&](const YAML::Node& node) { return read_target(node, path.string()); });
}

}  // namespace tessera::target
