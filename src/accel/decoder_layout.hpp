// Where every tensor of a decoder lies in memory.
//
//   lay_out(shape, machine) -> X at 0, COS, SIN, mask, then each layer's weights in the order of their use, then K and
//   V
#pragma once

#include <map>

#include "accel/decoder_emit.hpp"

namespace tessera::accel {

struct DecoderLayout {
  std::vector<Placement> placements;
  int64_t bytes = 0;

  const Placement& at(int64_t layer, const std::string& tensor) const { return placements[index.at({layer, tensor})]; }
  // Elements, then scales.
  Source source(const Placement& p, uint32_t precision) const;

  std::map<std::pair<int64_t, std::string>, size_t> index;
};

DecoderLayout lay_out(const DecoderShape& s, const MachineConfig& machine);

}  // namespace tessera::accel
