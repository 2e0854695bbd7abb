// Two directories that `compile` or a run has written, compared.
//
//   TRY(auto d, run::difference("a", "b"));     d.first -> the first operator whose outputs have other bits
#pragma once

#include "base/error.hpp"
#include "report/difference.hpp"

namespace tessera::run {

Result<report::Difference> difference(const std::string& a, const std::string& b);

}  // namespace tessera::run
