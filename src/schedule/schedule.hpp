// The schedule: every loop, transfer, wait and kernel call, explicit. Nothing about buffers, slots, handles or waits is
// implied by names or left to a later pass; what is written here is what the emitted C does.
//
//   loop t < 4: { if t+1 < 4: fetch fc1.weight[.., 392*(t+1)] -> slot (t+1)%2, handle 1+(t+1)%2;  wait 1+t%2;  kernel
//   fc1(k = t*196) }
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/expr.hpp"
#include "base/units.hpp"
#include "graph/graph.hpp"
#include "ops/operator.hpp"
#include "plan/plan.hpp"

namespace tessera::schedule {

struct BufferId {
  int32_t index = -1;
  auto operator<=>(const BufferId&) const = default;
};

// Where a slot is, and when its bytes are its own.
struct Stand {
  Bytes offset;  // in the level's arena
  plan::Lifetime life;
  bool operator==(const Stand&) const = default;
};

// A place in a memory: the home of a storage, or the slots through which an operand's tiles pass.
struct Buffer {
  std::string name;  // a C identifier, unique
  plan::LevelId level = 0;
  Bytes offset;     // of slot 0
  Bytes slot_size;  // slot i stands at offset + i * slot_size, unless slot 1 has a stand of its own
  int slots = 1;
  plan::Lifetime life;
  plan::StorageId storage;      // of a home; -1 for slots
  std::optional<Stand> second;  // of two slots

  Stand stand(int64_t slot) const { return second && slot == 1 ? *second : Stand{offset + slot_size * slot, life}; }
  Bytes stride() const { return second ? second->offset - offset : slot_size; }
  // Its parts that stand and live as one: all of it, or each of two slots.
  struct Part {
    Stand stand;
    Bytes size;
  };
  std::vector<Part> parts() const {
    if (!second) return {{{offset, life}, slot_size * slots}};
    return {{{offset, life}, slot_size}, {*second, slot_size}};
  }
};

// A slot of a buffer, chosen by an expression (t % 2), and a byte within it.
struct Place {
  BufferId buffer;
  Expr slot = 0;
  Expr byte = 0;
};

// One command of a DMA engine: `lines` lines of `line` bytes. Far is the outer memory, near the inner one. Lines are
// dense in the near memory and `far_stride` bytes apart in the far one; a plain copy is one line.
struct Transfer {
  enum class Direction : uint8_t { In, Out };  // In: towards the nearest memory
  Direction direction = Direction::In;
  int engine = 0;  // index into Target::engines
  TensorId tensor;
  ops::SymbolicBox region;  // what it moves, as elements of the operand's view: for people, reports and the checker
  Place far, near;
  Expr line, lines = 1, far_stride = 0;  // bytes, count, bytes
  Expr handle;
};

struct Wait {
  Expr handle;
};

// What a tile shares with the one before it goes from the slot of that to its own, by the cores and without an engine:
// `lines` lines of `rows` rows, from as many bytes apart to as many. Both may be one slot.
struct Keep {
  TensorId tensor;
  ops::SymbolicBox region;  // as elements of the operand's view
  Place from, to;
  Expr row, rows, lines = 1;            // bytes, count, count
  Expr from_stride = 0, to_stride = 0;  // bytes
};

// A tile is put together where the one before stands: what it keeps of that moves within the slot, and the rest of it,
// which came dense to the other slot, goes behind each line. Lines move further apart or closer together, so what is
// kept first goes aside, behind the rest.
struct PutTogether {
  Keep kept, rest;
};

struct Kernel {
  NodeId node;
  ops::SymbolicBox tile;                        // of the operator's iteration space
  std::vector<Place> inputs, outputs, scratch;  // by operand; buffer -1 where absent
  ops::KernelCall call;  // no function: output 0 is input 0 where it stands, and nothing is called
};

struct Step;
using Block = std::vector<Step>;

struct Loop {
  int variable = 0;
  Expr count;
  Block body;
};
struct Let {  // names a value for the steps that follow in the same block
  int variable = 0;
  Expr value;
};
struct If {
  Expr condition;
  Block then;
};

struct Step {
  std::variant<Loop, Let, If, Transfer, Wait, Keep, PutTogether, Kernel> v;
};

// All that one node does, in order. Whatever it leaves in flight is waited for by a later section of the same entry
// point at the latest.
struct Section {
  NodeId node;
  std::vector<std::string> variables;  // names of the section's variables, by number
  Block body;
};

struct Schedule {
  std::vector<Buffer> buffers;     // homes first, in the order of Plan::storages
  int handles = 0;                 // requests that exist: 0 .. handles-1
  std::vector<Section> training;   // TrainingNetwork, or the whole of an inference
  std::vector<Section> optimizer;  // OptimizerNetwork
};

// A page to read.
std::string to_string(const Schedule& schedule, const Graph& graph);

}  // namespace tessera::schedule
