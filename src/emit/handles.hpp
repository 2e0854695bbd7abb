// Which engine a request belongs to: a request of the cluster's DMA and one of the external RAM are different types in
// C, while the schedule numbers them together.
//
//   In on engine 0 with handle 1 + t % 2, t < 4   ->   requests 1 and 2 are the cluster's
#pragma once

#include <vector>

#include "base/error.hpp"
#include "schedule/schedule.hpp"
#include "target/target.hpp"

namespace tessera::emit {

enum class Engine : uint8_t {
  Cluster,  // pi_cl_dma_*: L2 - L1
  Ram,      // pi_cl_ram_*: L3 - L2
};

Engine kind_of(const target::Target& target, int engine);

// By handle. A handle that serves engines of both kinds is our bug.
Result<std::vector<Engine>> engines_of_handles(const schedule::Schedule& schedule, const target::Target& target);

// The smallest and the largest value of an expression whose variables lie in the given ranges.
struct Range {
  int64_t low = 0, high = 0;
};
Range range_of(const Expr& e, std::span<const Range> variables);

}  // namespace tessera::emit
