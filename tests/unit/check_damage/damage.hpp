// Ways to break a correct plan and schedule on purpose.
//
//   for every kind: for every place where it fits: a broken copy -> the checker must refuse it
//
// Where a change would be harmless, the kind says so in its own `fits` by what the correct schedule does (see
// trace.hpp): a change that alters nothing that any byte, handle or limit depends on is not damage.
#pragma once

#include <functional>

#include "unit/check_damage/trace.hpp"

namespace tessera::damage {

// What a damage sees: the correct case, its trace, and which tensors are the same content.
struct Subject {
  const Case& correct;
  Trace trace;
  std::vector<int32_t> content;  // by tensor

  explicit Subject(const Case& c);
  bool runs(const Step& step) const { return trace.runs.contains(&step); }
};

// Gets a copy to break and a short name of the place.
using Broken = std::function<void(Case broken, std::string place)>;

struct Damage {
  std::string_view name;
  std::function<void(const Subject&, const Broken&)> everywhere;
};

std::vector<Damage> damages_of_steps();  // steps.cpp: waits, transfers, kernels, loops
std::vector<Damage> damages_of_plan();   // storage.cpp: lifetimes, offsets, aliases, arenas, buffers

}  // namespace tessera::damage
