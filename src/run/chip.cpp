#include "run/chip.hpp"

#include <chrono>
#include <cstring>

#include "emit/emit.hpp"
#include "run/placement.hpp"
#include "sim/elf.hpp"
#include "sim/machine.hpp"

namespace tessera::run {

namespace {

namespace fs = std::filesystem;

constexpr int kMismatchCode = 1;  // of the harness: a loss is not what the reference says

// The chip's memory after, or in the middle of, a run; symbols are those of the harness.
class Memory {
 public:
  Memory(const sim::Machine& machine, const sim::Elf& elf) : machine_(machine), elf_(elf) {}

  template <class T>
  Result<std::vector<T>> array(std::string_view symbol) const {
    const auto* found = elf_.find(symbol);
    if (!found) return internal_error("the program has no symbol {}", symbol);
    std::vector<uint8_t> bytes(found->size);
    if (!machine_.read(found->address, bytes)) return internal_error("{} does not lie in memory", symbol);
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }

  template <class T>
  Result<T> value(std::string_view symbol) const {
    TRY(auto values, array<T>(symbol));
    if (values.size() != 1) return internal_error("{} has not the size of one value", symbol);
    return values[0];
  }

  uint32_t address(std::string_view symbol) const {
    const auto* found = elf_.find(symbol);
    return found ? found->address : 0;
  }

  // A tensor at its home.
  Result<TensorData> tensor(const Compiled& compiled, TensorId id) const {
    const auto& type = compiled.program.graph.at(id).type;
    const auto home = compiled.plan.storage_of[static_cast<size_t>(id.index)];
    const auto& storage = compiled.plan.storages.at(static_cast<size_t>(home.index));
    const auto offset = static_cast<uint32_t>(storage.offset.count);
    std::vector<uint8_t> bytes(static_cast<size_t>(type.bytes().count));
    bool there = false;
    if (storage.level == 2) {
      TRY(auto arena, value<uint32_t>("ts_l3"));
      there = machine_.read_l3(arena + offset, bytes);
    } else {
      there = machine_.read(address("ts_l2") + offset, bytes);
    }
    if (!there) return internal_error("'{}' does not lie in memory", compiled.program.graph.at(id).name);
    auto raw = std::as_bytes(std::span(bytes));
    return TensorData(type, {raw.begin(), raw.end()});
  }

 private:
  const sim::Machine& machine_;
  const sim::Elf& elf_;
};

// As runtime/harness/harness.h lays them out.
struct Stamp {
  uint32_t cycle, waited, computed;
};
struct NodeSums {
  uint64_t all, waited, computed;
};

// The node of every stamp; none at the end of an entry point.
std::vector<NodeId> nodes_of_stamps(const schedule::Schedule& schedule) {
  std::vector<NodeId> nodes;
  for (const auto* entry : {&schedule.training, &schedule.optimizer}) {
    for (const auto* section : emit::emitted_sections(*entry)) nodes.push_back(section->node);
    nodes.push_back({});
  }
  return nodes;
}

// The node that runs: the latest stamp says it.
NodeId running_node(const Memory& memory, const std::vector<NodeId>& nodes) {
  auto stamps = memory.array<Stamp>("ts_profile_stamps");
  if (!stamps || stamps->empty()) return {};
  size_t latest = 0;
  for (size_t i = 1; i < stamps->size(); ++i)
    if (static_cast<int32_t>((*stamps)[i].cycle - (*stamps)[latest].cycle) > 0) latest = i;
  return latest < nodes.size() && (*stamps)[latest].cycle != 0 ? nodes[latest] : NodeId{};
}

Result<Counters> read_counters(const Memory& memory, const sim::RunResult& run, const Compiled& compiled) {
  Counters counters;
  TRY(counters.train_cycles, memory.value<uint64_t>("ts_train_cycles"));
  TRY(counters.optimizer_cycles, memory.value<uint64_t>("ts_optimizer_cycles"));
  counters.instructions = run.instructions;
  counters.l2_l1_bytes = run.dma.l2_to_l1 + run.dma.l1_to_l2;
  counters.assumed = compiled.target.assumed;
  TRY(auto sums, memory.array<NodeSums>("ts_profile_nodes"));
  auto nodes = nodes_of_stamps(compiled.schedule);
  for (size_t i = 0; i < std::min(sums.size(), nodes.size()); ++i)
    if (nodes[i].index >= 0) counters.nodes.push_back({nodes[i], sums[i].all, sums[i].waited, sums[i].computed});
  return counters;
}

Result<void> read_results(const Memory& memory, const Compiled& compiled, RunResult& result) {
  const auto& program = compiled.program;
  for (const auto& parameter : program.parameters) {
    TRY(auto value, memory.tensor(compiled, parameter.weight));
    result.parameters.push_back({program.graph.at(parameter.weight).name, std::move(value)});
  }
  if (program.training()) {
    TRY(result.losses, memory.array<float>("ts_losses"));
    return {};
  }
  if (program.graph.outputs.empty()) return {};
  TRY(auto recorded, memory.array<std::byte>("ts_outputs"));
  std::span<const std::byte> rest(recorded);
  while (true) {
    for (auto id : program.graph.outputs) {
      const auto& tensor = program.graph.at(id);
      const auto bytes = static_cast<size_t>(tensor.type.bytes().count);
      if (bytes > rest.size()) return {};
      result.outputs.push_back(
          {tensor.name, TensorData(tensor.type, {rest.begin(), rest.begin() + static_cast<std::ptrdiff_t>(bytes)})});
      rest = rest.subspan(bytes);
    }
    if (rest.empty()) return {};
  }
}

// A program of ours that a chip refuses is our bug, unless it was asked for every doubt.
Error failed(Error error, bool sanitize) {
  if (sanitize) return std::move(error).within("sanitizer");
  return internal_error("the emitted program failed on the virtual chip: {}", error.message())
      .hint("--sanitize finds the first wrong access");
}

}  // namespace

Result<RunResult> run_chip(const fs::path& project, const Compiled& compiled, const ChipOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  TRY(auto program, build_chip(project, compiled.target, options));
  TRY(auto elf, sim::load_elf(program.elf.string()));
  RunResult result{.build_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};

  sim::Options machine_options{.sanitize = options.sanitize, .l3 = std::move(program.ram)};
  const sim::Machine* running = nullptr;  // for names, which are asked for while it runs
  const auto nodes = nodes_of_stamps(compiled.schedule);
  const auto symbol = [&](std::string_view name) { return elf.find(name) ? elf.find(name)->address : 0; };
  const Placement placement(compiled, {symbol("ts_l1"), symbol("ts_l2"), 0});
  if (options.sanitize) {
    machine_options.arenas_only = true;
    machine_options.regions = placement.regions();
    machine_options.name = [&](uint32_t address, bool l3) {
      return running ? placement.name(address, l3, running_node(Memory(*running, elf), nodes)) : std::nullopt;
    };
  }
  TRY(auto machine, sim::Machine::create(compiled.target, elf, std::move(machine_options)));
  running = &machine;
  auto run = machine.run();
  if (!run) return failed(std::move(run).error(), options.sanitize);
  if (run->exit_code != 0 && run->exit_code != kMismatchCode)
    return internal_error("the emitted program ended with exit code {}: {}", run->exit_code, run->output);
  result.matched = run->exit_code == 0;
  result.run_seconds = run->seconds;
  const Memory memory(machine, elf);
  CHECK_OK(read_results(memory, compiled, result));
  TRY(result.counters, read_counters(memory, *run, compiled));
  result.bits = digest_of(result);
  return result;
}

}  // namespace tessera::run
