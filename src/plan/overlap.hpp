// What a node may fetch while the node before it still runs, and what may still leave while the node after runs: the
// bytes must be there, and nobody may need them meanwhile.
//
//   conv (4 tiles) -> relu (3 tiles):   relu's first x lies in conv's tiles 0 and 1, which are home: early
#pragma once

#include "plan/tiling.hpp"

namespace tessera::plan {

// A node with its tiles, as its neighbours see it.
struct Planned {
  const TilingProblem* problem = nullptr;
  const Tiling* tiling = nullptr;
  std::vector<Traveller> travellers;
  std::vector<StorageId> storage;  // by traveller; -1 for scratch
};

// Whether the first tile of traveller t of `node`, on its outermost hop, can be asked for while `before` runs.
bool can_be_early(const Planned& before, const Planned& node, size_t t);

// Whether `after` can begin while the last tiles of traveller t of `node` are on their way home.
bool can_be_late(const Planned& node, size_t t, const Planned& after);

}  // namespace tessera::plan
