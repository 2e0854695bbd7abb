// What the reports' JSON has in common: keys in the order in which they are written, and null for what is not known.
//
//   or_null(std::optional<double>()) -> null       or_null(std::optional(1.5)) -> 1.5
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

namespace tessera::report {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace tessera::report
