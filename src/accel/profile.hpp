// Where a program's cycles go, from the same cost table as the machine, without running it: an instruction counts as
// often as the loops around it turn.
//
//   static_profile(program).sections[3].cycles[Matrix]        roofline(profile, board, ...) -> "DDR bound"
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include "accel/decoder.hpp"
#include "accel/isa.hpp"
#include "target/board.hpp"

namespace tessera::accel {

struct SectionProfile {
  std::string op;
  int64_t layer = 0;
  int64_t instructions = 0;
  std::array<int64_t, op_classes> cycles{};
  int64_t tile_loads = 0, row_loads = 0, row_stores = 0;  // transfers
  int64_t total() const;
};

struct Profile {
  std::vector<SectionProfile> sections;  // in the order of the program; operators that come again are added up
  std::array<int64_t, op_classes> cycles{};
  int64_t instructions = 0;
  int64_t total() const;
};

// Words that no section covers are "program".
Result<Profile> static_profile(std::span<const uint32_t> words, std::span<const Section> sections,
                               const MachineConfig& machine);

// What bounds a layer: the machine, its memory, or the link.
struct LayerBound {
  int64_t layer = 0;
  int64_t compute_cycles = 0;
  int64_t ddr_bytes = 0, link_bytes = 0;
  double compute_ns = 0, ddr_ns = 0, link_ns = 0;
  std::string bound;  // "compute", "ddr" or "link"
};
LayerBound bound_of(int64_t layer, int64_t compute_cycles, int64_t ddr_bytes, int64_t link_bytes,
                    const MachineConfig& machine, double ddr_bytes_per_second, double link_bytes_per_second);

}  // namespace tessera::accel
