// What a model needs on a machine at a length of context, and where that makes the regime change. Solved from the
// layout that the compiler makes, not sampled.
//
//   longest_context(sizes, 192 MiB) -> 3776: up to there everything fits, one token more and KV is swapped
#pragma once

#include <functional>
#include <optional>

#include "accel/decoder.hpp"
#include "accel/manifest.hpp"
#include "accel/memory_models.hpp"

namespace tessera::accel {

// Bytes of the regions while the model works at that context: a decode step, or all tokens of a model that has none.
Result<KindTotals> bytes_at(const Model& model, const MachineConfig& machine, int64_t context);

// The longest context whose regions all fit; none where not even one token does. `most` bounds the search.
Result<std::optional<int64_t>> longest_context(const Model& model, const MachineConfig& machine, uint64_t capacity,
                                               int64_t most = int64_t{1} << 22);

}  // namespace tessera::accel
