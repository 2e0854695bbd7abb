#include "accel/run.hpp"

#include <algorithm>

#include "accel/decoder_shape.hpp"
#include "accel/machine.hpp"

namespace tessera::accel {
namespace {

std::vector<float> read_probe(const Machine& machine, const Probe& probe, int64_t hidden, int64_t mlen) {
  std::vector<float> values(static_cast<size_t>(probe.tokens * hidden));
  for (int64_t t = 0; t < probe.tokens; ++t)
    for (int64_t j = 0; j < hidden; ++j)
      values[t * hidden + j] = machine.vector_row(probe.tensor.row + j / mlen * probe.tensor.rows + t)[j % mlen];
  return values;
}

// The host sent the rows, and no KV is older than a prompt. A later pass finds what those before it used: every layer's
// KV in turn, and the tables, which all layers use.
void say_what_is_there(const Program& program, MemoryModel& memory) {
  auto machine = program.machine;
  const auto shape = shape_decoder(program.model, machine, program.options);
  if (shape && !shape->single_chunk()) memory.weights_are_read_again();
  memory.spare_sram(program.machine.spare_sram());
  for (const auto& p : program.placements)
    if (!p.bf16) memory.scales_follow(p.region.offset, Bytes(p.rows * p.columns));
  const bool first = program.options.past == 0;
  for (const auto kind : {Kind::Kv, Kind::Activation})
    for (const auto& p : program.placements) {
      if (p.region.kind != kind) continue;
      // PLENA's host leaves the rows for the program to fetch.
      const bool sent = p.tensor == "x" && program.options.layout == Layout::Own;
      const Bytes bytes(static_cast<int64_t>(p.region.size));
      if (sent || (kind == Kind::Kv && first))
        memory.nothing_to_bring(p.region.offset, bytes);
      else if (!first)
        memory.left_by_earlier_passes(p.region.offset, bytes);
    }
}

}  // namespace

Result<RunResult> run_program(const Program& program, MemoryModel& memory, const RunOptions& options) {
  if (options.image && static_cast<int64_t>(options.image->size()) < program.memory_bytes)
    return input_error("a memory image of {} bytes; the program needs {}", options.image->size(), program.memory_bytes);
  CHECK_OK(check(program.machine));
  Machine machine(program.machine, memory, program.memory_bytes, options.image);
  CHECK_OK(machine.load(program.words));
  machine.preload_fp(program.fp_sram);
  RunResult result;
  machine.wait_until(options.start);
  const auto begin = machine.cycles();
  const auto host = [&](int64_t bytes) {
    if (!options.host || bytes == 0) return;
    const auto before = machine.cycles();
    const auto sent = memory.host_transfer(machine.time(), Bytes(bytes));
    machine.wait_until(memory.finish(sent));
    result.link += memory.over_link(sent).latency;
    result.host_cycles += machine.cycles() - before;
  };
  const auto wire = memory.statistics().link_busy;
  say_what_is_there(program, memory);
  host(program.host_bytes_in);
  auto probe = program.probes.begin();
  const auto advance = [&](uint32_t pc) -> Result<void> {
    for (; probe != program.probes.end() && probe->at <= pc; ++probe) {
      CHECK_OK(machine.run_until(probe->at));
      if (options.image && options.probed)
        options.probed(*probe, read_probe(machine, *probe, program.model.hidden, program.machine.mlen));
    }
    return machine.run_until(pc);
  };
  int64_t layer = -1;
  for (const auto& section : program.sections) {
    const int64_t layers = program.options.layers ? program.options.layers : program.model.layers;
    if (options.progress && section.layer != std::exchange(layer, section.layer))
      options.progress(fmt::format("{} tokens after {}, layer {} of {}", program.options.tokens, program.options.past,
                                   std::min(layer + 1, layers), layers));
    const auto cycles = machine.cycles(), stalls = machine.stall_cycles();
    const auto read = machine.bytes_read(), written = machine.bytes_written();
    CHECK_OK(advance(section.end));
    result.sections.push_back({machine.cycles() - cycles, machine.stall_cycles() - stalls, machine.bytes_read() - read,
                               machine.bytes_written() - written});
  }
  CHECK_OK(advance(static_cast<uint32_t>(program.words.size())));
  machine.finish_transfers();
  host(program.host_bytes_out);
  result.total = std::max(machine.time(), memory.drain(machine.time())) - options.start;
  if (memory.stuck()) return internal_error("a transfer of {} never ended", program.model.name);
  result.cycles = machine.cycles() - begin;
  result.stall_cycles = machine.stall_cycles();
  result.busy_cycles = result.cycles - result.stall_cycles - result.host_cycles;
  result.instructions = machine.instructions();
  for (int c = 0; c < op_classes; ++c)
    result.classes[std::string(name_of(static_cast<OpClass>(c)))] = machine.busy(static_cast<OpClass>(c));
  result.link_cycles = machine.link_cycles();
  result.memory = memory.statistics();
  result.link += machine.link_latency() + result.memory.link_busy - wire;
  result.compute = result.total - program.machine.time_of(result.link_cycles + result.host_cycles);
  return result;
}

}  // namespace tessera::accel
