// The numbers that an elementwise function takes beside its operand: attributes of the node, fields of the kernel.
//
//   Elu: {{"alpha", 1}}      attributes.real("alpha", 1) -> .alpha = 0x1p+0f
#pragma once

#include <string_view>
#include <vector>

#include "ops/operator.hpp"

namespace tessera::ops {

struct Parameter {
  std::string_view name;  // of the attribute; empty: there is none
  float otherwise = 0;
};

struct Parameters {
  Parameter alpha, beta;
};

struct ParameterValues {
  float alpha = 0, beta = 0;
};

inline ParameterValues values_of(const NodeContext& n, const Parameters& p) {
  return {n.node.attributes.real(p.alpha.name, p.alpha.otherwise),
          n.node.attributes.real(p.beta.name, p.beta.otherwise)};
}

// Those that the function has, as the kernel's fields alpha and beta.
inline void add_parameters(std::vector<KernelCall::Field>& fields, const Parameters& p, ParameterValues values) {
  if (!p.alpha.name.empty()) fields.push_back({"alpha", values.alpha});
  if (!p.beta.name.empty()) fields.push_back({"beta", values.beta});
}

}  // namespace tessera::ops
