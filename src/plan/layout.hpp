// Offsets: homes and slots of every memory, by their lifetimes.
#pragma once

#include "plan/placement.hpp"

namespace tessera::plan {

// Does not fit: says which memory is too small. Where slots of neighbours are in each other's way, they give up
// overlapping rather than fail.
Result<Plan> lay_out(const train::Program& program, const Storages& storages, Chained chained, const Budgets& budgets);

}  // namespace tessera::plan
