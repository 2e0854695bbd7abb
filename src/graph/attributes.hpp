// The attributes of a node as the file had them. An operator reads them into its own typed struct once, and nobody
// else looks a name up.
//
//   Attributes a{{"alpha", 0.5f}, {"transB", int64_t{1}}};     a.real("alpha", 1.0f) -> 0.5f
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "graph/tensor.hpp"

namespace tessera {

using AttributeValue = std::variant<int64_t, float, std::string, std::vector<int64_t>, std::vector<float>,
                                    std::vector<std::string>, TensorData>;

class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries);

  void set(std::string name, AttributeValue value);
  const AttributeValue* find(std::string_view name) const;
  const std::vector<std::pair<std::string, AttributeValue>>& entries() const { return entries_; }  // sorted by name

  // The value, or the default where the attribute is absent.
  int64_t integer(std::string_view name, int64_t otherwise) const;
  float real(std::string_view name, float otherwise) const;
  std::string text(std::string_view name, std::string otherwise) const;
  std::optional<std::vector<int64_t>> integers(std::string_view name) const;
  std::optional<std::vector<float>> reals(std::string_view name) const;

 private:
  std::vector<std::pair<std::string, AttributeValue>> entries_;
};

}  // namespace tessera
