// The time of a layer in the middle of a model, and what it is made of: for the tests and the benchmark of streaming.
//
//   layer_times(custom_a7, smollm, {.past = 4096, .tokens = 1}, {.kind = WeightStream, .link = 1'000'000'000})
//   {.total = 4.86e-3, .link = 3.98e-3}
#pragma once

#include "accel/board_machine.hpp"
#include "accel/memory_models.hpp"
#include "accel/run.hpp"
#include "target/target.hpp"

namespace tessera::accel::test {

struct StreamCase {
  MemoryModelKind kind = MemoryModelKind::Resident;
  int64_t link = 1'000'000'000;  // bytes a second
  bool overlap = true;           // off: --dma blocking --prefetch off
};

struct Times {
  double total = 0, busy = 0, link = 0;  // seconds
  double transfers = 0;
  double link_in_use = 0,
         compute = 0;  // as the run counts them: with latencies that are waited for, without such waits
};

inline Times run_layers(const target::Board& board, const Model& model, const StreamCase& c, DecoderOptions options) {
  auto machine = machine_for(board, model, {}).value();
  machine.weights = *find_format(board.weight_type), machine.kv = *find_format(board.kv_type);
  machine.dma_overlaps = c.overlap;
  options.context = options.past + options.tokens, options.head = false;
  const auto program = compile_decoder(model, machine, options).value();
  MemoryOptions memory{.kind = c.kind, .board = board, .regions = program.regions(), .host_bandwidth = c.link};
  memory.prefetch = c.overlap;
  auto memory_model = make_memory_model(memory).value();
  const auto r = run_program(program, *memory_model, {.host = false}).value();
  return {static_cast<double>(r.total.count) * 1e-12,
          static_cast<double>(program.machine.time_of(r.busy_cycles).count) * 1e-12,
          static_cast<double>(r.memory.link_bytes) / static_cast<double>(c.link),
          static_cast<double>(r.classes.at("memory")),
          static_cast<double>(r.link.count) * 1e-12,
          static_cast<double>(r.compute.count) * 1e-12};
}

inline Times layer_times(const target::Board& board, const Model& model, const StreamCase& c, DecoderOptions options) {
  options.layers = 2;
  const auto two = run_layers(board, model, c, options);
  options.layers = 4;
  const auto four = run_layers(board, model, c, options);
  return {(four.total - two.total) / 2,
          (four.busy - two.busy) / 2,
          (four.link - two.link) / 2,
          (four.transfers - two.transfers) / 2,
          (four.link_in_use - two.link_in_use) / 2,
          (four.compute - two.compute) / 2};
}

}  // namespace tessera::accel::test
