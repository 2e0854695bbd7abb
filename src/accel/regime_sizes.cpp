#include "accel/regime_sizes.hpp"

#include "accel/decoder_layout.hpp"

namespace tessera::accel {

Result<KindTotals> bytes_at(const Model& model, const MachineConfig& machine, int64_t context) {
  auto m = machine;
  m.sram_bytes = 0;  // where things lie in memory does not depend on what is on chip
  DecoderOptions options{.tokens = context, .context = context};
  if (model.causal) options.past = context - 1, options.tokens = 1;
  TRY(const auto shape, shape_decoder(model, m, options));
  std::vector<Region> regions;
  for (auto& p : lay_out(shape, m).placements) regions.push_back(p.region);
  return totals_of(regions);
}

Result<std::optional<int64_t>> longest_context(const Model& model, const MachineConfig& machine, uint64_t capacity,
                                               int64_t most) {
  const auto fits = [&](int64_t context) -> Result<bool> {
    TRY(const auto bytes, bytes_at(model, machine, context));
    return choose_regime(bytes.weight, bytes.kv + bytes.activation, capacity) == MemoryModelKind::Resident;
  };
  TRY(const bool any, fits(1));
  if (!any) return std::optional<int64_t>();
  int64_t good = 1, bad = most + 1;  // more context never needs less
  while (bad - good > 1) {
    const int64_t middle = good + (bad - good) / 2;
    TRY(const bool ok, fits(middle));
    (ok ? good : bad) = middle;
  }
  return std::optional(good);
}

}  // namespace tessera::accel
