#include "accel/compose.hpp"

namespace tessera::accel {
namespace {

struct Measured {
  Program program;
  RunResult run;
};

Result<Measured> measure(const Job& job, const MemoryOptions& memory, const MemorySetup& whole, int64_t layers) {
  Measured m;
  auto options = job.decoder;
  options.layers = layers;
  TRY(m.program, compile_decoder(job.model, job.machine, options));
  TRY(const auto model, make_memory_model(for_part(memory, whole, m.program.regions())));
  TRY(m.run, run_program(m.program, *model, {.progress = job.options.progress}));
  return m;
}

// a + times * (b - a) of everything that is a sum.
void extend(RunResult& a, const RunResult& b, int64_t times) {
  const auto grow = [&](auto& x, auto y) { x += static_cast<std::remove_reference_t<decltype(x)>>((y - x) * times); };
  grow(a.cycles, b.cycles);
  grow(a.busy_cycles, b.busy_cycles);
  grow(a.stall_cycles, b.stall_cycles);
  grow(a.instructions, b.instructions);
  grow(a.link_cycles, b.link_cycles);
  a.total += (b.total - a.total) * times;
  a.link += (b.link - a.link) * times;
  a.compute += (b.compute - a.compute) * times;
  for (auto& [name, cycles] : a.classes) grow(cycles, b.classes.at(name));
  auto& m = a.memory;
  const auto& n = b.memory;
  grow(m.bytes_read, n.bytes_read);
  grow(m.bytes_written, n.bytes_written);
  for (size_t k = 0; k < m.read_by_kind.bytes.size(); ++k) {
    grow(m.read_by_kind.bytes[k], n.read_by_kind.bytes[k]);
    grow(m.written_by_kind.bytes[k], n.written_by_kind.bytes[k]);
  }
  grow(m.resident_bytes, n.resident_bytes);
  grow(m.after_swap_bytes, n.after_swap_bytes);
  grow(m.streamed_bytes, n.streamed_bytes);
  grow(m.swaps, n.swaps);
  grow(m.swapped_bytes, n.swapped_bytes);
  grow(m.written_back_bytes, n.written_back_bytes);
  grow(m.link_bytes, n.link_bytes);
  m.link_busy += (n.link_busy - m.link_busy) * times;
}

}  // namespace

Result<Composed> compose(const Job& job, const MemoryOptions& memory) {
  Composed c;
  TRY(c.program, compile_decoder(job.model, job.machine, job.decoder));
  c.layers = job.decoder.layers ? job.decoder.layers : job.model.layers;
  auto whole = memory;
  whole.regions = c.program.regions();
  TRY(c.setup, set_up_memory(whole));
  if (c.layers <= 3) {
    TRY(const auto model, make_memory_model(whole));
    TRY(c.run, run_program(c.program, *model, {.progress = job.options.progress}));
    c.measured = c.program;
    return c;
  }
  TRY(const auto two, measure(job, memory, c.setup, 2));
  TRY(auto three, measure(job, memory, c.setup, 3));
  c.run = two.run;
  extend(c.run, three.run, c.layers - 2);
  c.run.sections = std::move(three.run.sections);
  c.measured = std::move(three.program);
  return c;
}

}  // namespace tessera::accel
