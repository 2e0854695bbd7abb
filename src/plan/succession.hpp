// Homes that pass from hand to hand: an element-wise node may leave its result where its input stood, tile by tile, if
// nobody asks for the input any more. Slots in nearer memories stay apart.
//
//   bn (last read by relu), relu = Relu(bn)   ->   relu's home is bn's
#pragma once

#include <vector>

#include "base/error.hpp"
#include "train/program.hpp"

namespace tessera::plan {

struct Succession {
  TensorId before, after;  // `after` may have the bytes of `before`
};

// One at most for each tensor, in the order of the nodes. Whether all that shares bytes with `before` is over by then
// is left to who knows.
Result<std::vector<Succession>> successions(const train::Program& program);

}  // namespace tessera::plan
