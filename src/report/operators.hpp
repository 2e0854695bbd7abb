// The coverage table, from the definitions: every operator (and every form of it) with its operator sets,
// gradient, tiling and what it is verified against.
//
//   Softmax   13+   yes   all but the axis   onnx, torch   exp(x) / sum(exp(x)) along `axis`
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tessera::report {

std::string operators_text();      // for a terminal
std::string operators_markdown();  // for docs/operators.md
nlohmann::ordered_json operators_json();

}  // namespace tessera::report
