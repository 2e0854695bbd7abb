#include "run/chip.hpp"

#include <chrono>
#include <cstring>

#include "emit/emit.hpp"
#include "run/placement.hpp"
#include "run/rules.hpp"
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

  // All that inferences gave, one after the other.
  Result<std::vector<std::byte>> outputs() const {
    TRY(auto stretch, array<uint32_t>("ts_outputs_in_ram"));
    if (stretch.size() != 2 || stretch[1] == 0) return array<std::byte>("ts_outputs");
    std::vector<uint8_t> bytes(stretch[1]);
    if (!machine_.read_l3(stretch[0], bytes)) return internal_error("the outputs do not lie in the external RAM");
    auto raw = std::as_bytes(std::span(bytes));
    return std::vector<std::byte>(raw.begin(), raw.end());
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

// The controller's time, node by node, from the marks of runtime/chip/profile.h.
class Profile {
 public:
  explicit Profile(const schedule::Schedule& schedule) {
    for (const auto* entry : {&schedule.training, &schedule.optimizer}) {
      for (const auto* section : emit::emitted_sections(*entry)) nodes_.push_back({.node = section->node});
      nodes_.push_back({});  // the end of an entry point
    }
  }

  void mark(uint32_t value, const sim::Moment& now) {
    enum : uint32_t { kNode, kKernel, kWait, kEnd };
    const uint32_t kind = value & 3;
    if (kind == kNode) {
      if (running_) leave(now);
      running_ = value >> 2 < nodes_.size() ? &nodes_[value >> 2] : nullptr;
      if (running_ && running_->node.index < 0) running_ = nullptr;
      begun_ = now;
    } else if (kind != kEnd) {
      doing_ = kind;
      since_ = now.cycle;
    } else if (running_) {
      (doing_ == kKernel ? running_->computed : running_->waited) += now.cycle - since_;
    }
  }

  NodeId running() const { return running_ ? running_->node : NodeId{}; }

  std::vector<NodeCycles> nodes() const {
    auto all = nodes_;
    std::erase_if(all, [](const NodeCycles& n) { return n.node.index < 0; });
    return all;
  }

 private:
  void leave(const sim::Moment& now) {
    running_->all += now.cycle - begun_.cycle;
    running_->dma.l2_l1 += now.dma.l2_l1 - begun_.dma.l2_l1;
    running_->dma.l3_l2 += now.dma.l3_l2 - begun_.dma.l3_l2;
    running_->dma.any += now.dma.any - begun_.dma.any;
  }

  std::vector<NodeCycles> nodes_;  // by mark
  NodeCycles* running_ = nullptr;
  sim::Moment begun_;
  uint64_t since_ = 0;
  uint32_t doing_ = 0;
};

// Tells a recorder, if there is one, what comes to the arenas of a running chip.
class ArenaWatch {
 public:
  ArenaWatch(const sim::Elf& elf, Recorder* recorder) : recorder_(recorder) {
    for (const char* name : {"ts_l1", "ts_l2"}) bases_.push_back(elf.find(name) ? elf.find(name)->address : 0);
  }
  void look_at(const sim::Machine& machine, const Memory& memory) { machine_ = &machine, memory_ = &memory; }

  void mark(uint32_t value) {
    enum : uint32_t { kNode = 0 };
    if (!recorder_ || !machine_ || (value & 3) != kNode) return;
    recorder_->node(value >> 2, [&](plan::LevelId level, uint32_t offset, std::span<uint8_t> bytes) {
      return level == 2 ? machine_->read_l3(l3() + offset, bytes)
                        : machine_->read(bases_[static_cast<size_t>(level)] + offset, bytes);
    });
  }
  void stored(bool in_l3, uint32_t address, std::span<const uint8_t> bytes) {
    if (machine_) recorder_->stored(in_l3 ? 2 : 1, address - (in_l3 ? l3() : bases_[1]), bytes);
  }

 private:
  uint32_t l3() const { return memory_->value<uint32_t>("ts_l3").value_or(0); }

  Recorder* recorder_;
  std::vector<uint32_t> bases_;
  const sim::Machine* machine_ = nullptr;
  const Memory* memory_ = nullptr;
};

Result<Counters> read_counters(const Memory& memory, const sim::RunResult& run, const Compiled& compiled,
                               const Profile& profile) {
  Counters counters;
  TRY(counters.train_cycles, memory.value<uint64_t>("ts_train_cycles"));
  TRY(counters.optimizer_cycles, memory.value<uint64_t>("ts_optimizer_cycles"));
  counters.instructions = run.instructions;
  counters.l2_l1_bytes = run.dma.l2_to_l1 + run.dma.l1_to_l2;
  counters.assumed = compiled.target.assumed;
  counters.nodes = profile.nodes();
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
  TRY(auto recorded, memory.outputs());
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

// With the name of what the transfer was about.
std::optional<std::string> rule_text(const std::optional<BrokenRule>& broken, const Placement& placement, NodeId node) {
  if (!broken) return std::nullopt;
  auto name = placement.name(broken->address, false, node);
  return name ? fmt::format("{}: {}", broken->text, *name) : broken->text;
}

// A program of ours that a chip refuses is our bug, unless it was asked for every doubt. `during`: the operator.
Error failed(const Error& error, const std::optional<std::string>& rule, const std::string& during, bool sanitize) {
  const auto what = during + (rule ? *rule : error.message());
  if (sanitize) return mismatch("sanitizer: {}", what);
  return internal_error("the emitted program failed on the virtual chip: {}", what)
      .hint("--sanitize finds the first wrong access");
}

}  // namespace

Result<RunResult> run_chip(const fs::path& project, const Compiled& compiled, const ChipOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  TRY(auto program, build_chip(project, compiled.target, with_grants(options, compiled)));
  TRY(auto elf, sim::load_elf(program.elf.string()));
  RunResult result{.build_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count()};

  sim::Options machine_options{.sanitize = options.sanitize, .l3 = std::move(program.ram)};
  Profile profile(compiled.schedule);
  ArenaWatch watch(elf, options.recorder);
  machine_options.on_mark = [&](int core, uint32_t value, const sim::Moment& now) {
    if (core != compiled.target.controller) return;
    profile.mark(value, now);
    watch.mark(value);
  };
  if (options.recorder)
    machine_options.on_stored = [&](bool l3, uint32_t address, std::span<const uint8_t> bytes) {
      watch.stored(l3, address, bytes);
    };
  const auto symbol = [&](std::string_view name) { return elf.find(name) ? elf.find(name)->address : 0; };
  const Placement placement(compiled, {symbol("ts_l1"), symbol("ts_l2"), symbol("__l3_heap")});
  if (options.sanitize) {
    machine_options.arenas_only = true;
    machine_options.regions = placement.regions();
    machine_options.name = [&](uint32_t address, bool l3) { return placement.name(address, l3, profile.running()); };
  }
  TRY(auto machine, sim::Machine::create(compiled.target, elf, std::move(machine_options)));
  const Memory memory(machine, elf);
  watch.look_at(machine, memory);
  auto run = machine.run();
  if (!run) {
    const NodeId node = profile.running();
    const auto& graph = compiled.program.graph;
    const std::string during =
        node.index < 0 ? "" : fmt::format("during {} {}: ", to_string(graph.at(node).op), graph.at(node).name);
    const auto broken = broken_rule(machine, elf, compiled.target.controller);
    return failed(run.error(), rule_text(broken, placement, node), during, options.sanitize);
  }
  if (run->exit_code != 0 && run->exit_code != kMismatchCode)
    return internal_error("the emitted program ended with exit code {}: {}", run->exit_code, run->output);
  result.matched = run->exit_code == 0;
  result.run_seconds = run->seconds;
  CHECK_OK(read_results(memory, compiled, result));
  TRY(result.counters, read_counters(memory, *run, compiled, profile));
  result.bits = digest_of(result);
  return result;
}

}  // namespace tessera::run
