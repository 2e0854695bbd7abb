// A packing as a picture: time to the right, bytes upwards, a rectangle for each buffer.
//
//   to_svg(problem, solution)   ->   "<svg ...>...</svg>", readable at 500 buffers; hovering shows id, lifetime, bytes
#pragma once

#include <string>

#include "plan/allocation/problem.hpp"

namespace tessera::allocation {

std::string to_svg(const Problem& problem, const Solution& solution);

}  // namespace tessera::allocation
