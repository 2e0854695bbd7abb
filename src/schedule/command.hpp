// A region of a tensor as commands that a DMA engine can do: contiguous axes merge into lines, lines into 2-D commands,
// and what is still too large or of higher rank becomes a loop of them.
//
//   W[128,784], region [64:128, 0:392]  ->  64 lines of 1568 bytes, 3136 apart;   [.., 0:784] -> one line of 200704
//   bytes
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ops/tile_map.hpp"
#include "target/target.hpp"

namespace tessera::schedule {

// PMSIS keeps 16 bits of the size of a 1-D command of the cluster's engine; a multiple of 8 keeps every chunk aligned.
// Commands to the external memory have no such limit, and go in chunks only where they exceed their engine's.
inline constexpr int64_t kLongestLine = 65528;

// One loop around the command: what a step of it adds on either side, in bytes.
struct CommandLoop {
  std::string name;
  Expr count;
  int64_t most = 1;  // the largest value of count
  Expr far_step, near_step;
};

struct Command {
  std::vector<CommandLoop> loops;  // outermost first; empty: a single command
  Expr far_byte;                   // of the region's first element, in what it is taken from
  Expr near_byte = 0;              // and where it comes to
  Expr line, lines = 1, far_stride = 0;
  // Where a loop cuts lines or bytes into chunks, the last chunk is shorter: the command's own extent is
  // min(chunk, total - index * chunk) along that loop.
  int chunked = -1;           // index into loops, or -1
  bool chunks_lines = false;  // else bytes of the one line
  int64_t chunk = 0;

  Expr pieces() const;
  int64_t most_pieces() const;
};

// What a region is taken from: the whole tensor, or the box of it that stands in a slot of an outer level.
struct Container {
  ops::SymbolicBox box;
  // By axis, whether the region spans it whatever the tile. A tile whose numbers are known may happen to, but its
  // transfer has as many pieces as any other's: who waits for it may not know the numbers. Absent: as the box says.
  std::optional<std::vector<bool>> spanned = {};
  static Container whole(const ops::OperandMap& map);
};

// The tile that a region is a part of where it comes to: shorter along some axes, so that only what stands within the
// last of them is one run of both.
struct PartOf {
  ops::SymbolicBox tile;
  std::vector<size_t> axes;
};

// From one index of an axis to the next, where a box is dense.
Expr inner_bytes(const ops::SymbolicBox& box, size_t axis, int64_t element_size);

// `box` is the region, `largest` the lengths that it never exceeds; both in elements of the operand's view.
Command command_for(const Container& from, const ops::SymbolicBox& box, const std::vector<int64_t>& largest,
                    int64_t element_size, const target::DmaEngine& engine,
                    const std::optional<PartOf>& part = std::nullopt);

}  // namespace tessera::schedule
