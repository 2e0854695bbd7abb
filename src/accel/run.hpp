// Runs a program on the machine against a memory model: how long it takes, what it moves, and what comes out.
//
//   auto result = run_program(program, memory_model, {});         timing alone: no bytes are needed
//   run_program(program, memory_model, {.image = &bytes});        with numerics; KV and logits end up in the image
#pragma once

#include <functional>
#include <map>
#include <string_view>
#include <vector>

#include "accel/decoder.hpp"
#include "accel/memory_model.hpp"

namespace tessera::accel {

struct RunOptions {
  std::vector<uint8_t>* image = nullptr;  // the memory; null: timing alone
  memory::Picoseconds start;              // where an earlier program on the same memory model ended
  bool host = true;                       // embeddings come over the link first, logits go over it last
  // Called with a probe's tensor, rows of `model.hidden` floats, where there are numerics.
  std::function<void(const Probe&, const std::vector<float>&)> probed;
  std::function<void(std::string_view)> progress;  // told of each layer that begins
};

struct RunResult {
  int64_t cycles = 0;        // of the machine, waits included
  int64_t busy_cycles = 0;   // of its instructions
  int64_t stall_cycles = 0;  // waiting for the DMA
  int64_t link_cycles = 0;   // of them, for what comes over the link
  int64_t host_cycles = 0;   // waiting for the host, before and after
  int64_t instructions = 0;
  memory::Picoseconds total;  // from the start until the memory has drained
  memory::Picoseconds link;  // in use: bytes on the wire, or nothing there and the machine waits for what is on its way
  memory::Picoseconds compute;  // all but the waits for the link: the machine's instructions and its own memory
  MemoryStatistics memory;
  struct Part {
    int64_t cycles = 0, stall_cycles = 0, bytes_read = 0, bytes_written = 0;
  };
  std::vector<Part> sections;              // as Program::sections
  std::map<std::string, int64_t> classes;  // busy cycles by class of instruction
};

Result<RunResult> run_program(const Program& program, MemoryModel& memory, const RunOptions& options);

}  // namespace tessera::accel
