// The machine that a board has room for.
//
//   machine_for(nexys_video, SmolLM2, {})  -> MLEN 64, BLEN 16, HLEN 64, 100 MHz, 1.43 MiB of SRAM
#pragma once

#include <optional>

#include "accel/machine_config.hpp"
#include "accel/model.hpp"
#include "target/board.hpp"

namespace tessera::accel {

struct TileOptions {
  std::optional<int> mlen, blen, hlen;  // none: the largest tile that the board is known to hold and the model suits
  bool sram_unlimited = false;
};

// Without a board: MLEN 64, BLEN 4, 1 GHz, the library's latencies, no limit on the SRAM.
Result<MachineConfig> machine_for(const std::optional<target::Board>& board, const Model& model,
                                  const TileOptions& options);

}  // namespace tessera::accel
