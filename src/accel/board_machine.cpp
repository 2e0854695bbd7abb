#include "accel/board_machine.hpp"

#include <algorithm>

namespace tessera::accel {
namespace {

Latency latency_of(const target::UnitLatency& u) {
  return {.systolic_overhead = u.systolic,
          .add = u.add,
          .multiply = u.mul,
          .exp = u.exp,
          .reciprocal = u.reci,
          .max = u.max,
          .sum = u.sum,
          .scalar_basic = u.fp_basic,
          .scalar_exp = u.fp_exp,
          .scalar_sqrt = u.fp_sqrt,
          .scalar_reciprocal = u.fp_reci,
          .integer = u.integer};
}

bool suits(const target::TileHint& tile, const Model& model) {
  const int64_t slot = std::min<int64_t>(tile.mlen, model.head_dim);
  return (tile.mlen % model.head_dim == 0 || model.head_dim % tile.mlen == 0) && slot % tile.blen == 0;
}

}  // namespace

Result<MachineConfig> machine_for(const std::optional<target::Board>& board, const Model& model,
                                  const TileOptions& options) {
  MachineConfig machine;
  target::TileHint tile{64, 4};
  if (board) {
    machine.latency = latency_of(board->latency);
    machine.clock_hz = static_cast<int64_t>(board->clock_mhz * 1e6 + 0.5);
    machine.sram_bytes = board->sram().count;
    tile = {};
    for (const auto& hint : board->tiles)  // smallest first; an option narrows the choice
      if (suits(hint, model) && hint.mlen == options.mlen.value_or(hint.mlen) &&
          hint.blen == options.blen.value_or(hint.blen))
        tile = hint;
    if (!tile.mlen && !(options.mlen && options.blen))
      return input_error("{} is known to hold no tile that suits {}", board->name, model.name)
          .hint("--mlen and --blen choose one");
  }
  if (options.sram_unlimited) machine.sram_bytes = 0;
  machine.mlen = options.mlen.value_or(tile.mlen);
  machine.blen = options.blen.value_or(tile.blen);
  if (board && !options.sram_unlimited)
    for (const auto& t : board->too_large)
      if (machine.mlen >= t.mlen && machine.blen >= t.blen)
        return does_not_fit("{} has no room for a tile of {}/{}: {}/{} is known not to fit", board->name, machine.mlen,
                            machine.blen, t.mlen, t.blen)
            .hint(fmt::format("--mlen {} --blen {} fit; --sram unlimited lifts the board's limit",
                              board->tiles.back().mlen, board->tiles.back().blen));
  machine.hlen = options.hlen.value_or(static_cast<int>(std::min<int64_t>(model.head_dim, machine.mlen)));
  return machine;
}

}  // namespace tessera::accel
