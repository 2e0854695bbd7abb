// Drafts of nodes, operator by operator: operands of the right ranks, attributes that fit them. A wrong guess costs a
// try, no more.
//
//   recipes_of_movement().at("Reshape")(maker, 13)  ->  {x, [2, -1]}, no attributes
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/maker.hpp"

namespace tessera::test {

using Drafted = std::optional<Draft>;
using Recipe = std::function<Drafted(Maker& m, int version)>;
using Recipes = std::map<std::string, Recipe, std::less<>>;

// By operator type, a file for each family.
Recipes recipes_of_movement();
Recipes recipes_of_products();  // matrices, convolutions, pools
Recipes recipes_of_norms();     // and of losses

int64_t axis_for(Maker& m, TensorId x);
std::vector<int64_t> some_axes(Maker& m, TensorId x);
// An input from version `since` on, an attribute before.
Drafted axes_input_or_attribute(Maker& m, int version, TensorId x, std::vector<int64_t> axes, int since,
                                Attributes a = {});

}  // namespace tessera::test
