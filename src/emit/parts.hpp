// A transfer that is too long for one command goes in parts, one after the other through one request. The schedule says
// so in a loop; in C, the helper that moves bytes has that loop.
//
//   loop part < 2 { if part > 0: wait 7;  fetch x + part * 65528, min(65528, 70000 - part * 65528), handle 7 }
//                                                                          ->   fetch x, 70000, handle 7
#pragma once

#include <optional>

#include "emit/handles.hpp"
#include "schedule/schedule.hpp"

namespace tessera::emit {

// The whole of what such a loop moves; nothing for another loop.
std::optional<schedule::Transfer> whole_of_parts(const schedule::Loop& loop);

// Whether something goes in parts with an engine of that kind.
bool moves_parts(const schedule::Schedule& schedule, const target::Target& target, Engine engine);

}  // namespace tessera::emit
