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

// The array and the vector unit multiply in the DSP slices: what the part has of them decides about any tile.
Result<void> check_multipliers(const target::Board& board, const target::TileHint& tile) {
  const auto has = board.resources.multipliers();
  if (tile.multipliers() <= has) return {};
  auto fits = tile;
  while (fits.blen > 1 && fits.multipliers() > has) fits.blen /= 2;
  const auto known = board.tiles.empty() ? fits : board.tiles.back();
  auto hint = fmt::format("--mlen {} --blen {} is known to fit", known.mlen, known.blen);
  if (fits.multipliers() <= has)
    hint += fmt::format("; at --mlen {}, --blen {} has enough of them", fits.mlen, fits.blen);
  return does_not_fit(
             "a tile of {}/{} needs {} multipliers ({} x {} of the array, {} of the vector unit); {} has {}: "
             "{} DSP slices of {}",
             tile.mlen, tile.blen, tile.multipliers(), tile.blen, tile.blen, tile.mlen, board.name, has,
             board.resources.dsp, board.resources.products_per_dsp)
      .hint(hint + "; --sram unlimited lifts the board's limits");
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
  if (board && !options.sram_unlimited) CHECK_OK(check_multipliers(*board, {machine.mlen, machine.blen}));
  machine.hlen = options.hlen.value_or(static_cast<int>(std::min<int64_t>(model.head_dim, machine.mlen)));
  return machine;
}

}  // namespace tessera::accel
