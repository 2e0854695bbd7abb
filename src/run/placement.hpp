// Who lives where at a moment of a run: addresses of a chip's memory -> tensors and operators, for the sanitizer.
//
//   Placement(...).name(0x10004010, false, node) -> "'fc1.weight' of Gemm fc1 + 16"
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "run/pipeline.hpp"
#include "sim/machine.hpp"

namespace tessera::run {

// Where the arenas begin: addresses in L1 and L2, an offset in L3.
using ArenaBases = std::vector<uint32_t>;

class Placement {
 public:
  Placement(const Compiled& compiled, ArenaBases bases);

  // While `node` runs; nothing where neither its slots nor a living storage cover the address.
  std::optional<std::string> name(uint32_t address, bool l3, NodeId node) const;

  // The arenas as the run finds them: what is computed before it is read has not been written yet.
  std::vector<sim::Region> regions() const;

 private:
  struct Slot {
    NodeId node;
    plan::LevelId level;
    Bytes offset, size;
    std::string holds;
  };
  std::string text(const std::string& tensor, NodeId node, int64_t byte) const;

  const Compiled& compiled_;
  ArenaBases bases_;
  std::vector<Slot> slots_;
};

}  // namespace tessera::run
