#include "graph/attributes.hpp"

#include <algorithm>

namespace tessera {

Attributes::Attributes(std::initializer_list<std::pair<std::string, AttributeValue>> entries) {
  for (auto& [name, value] : entries) set(name, value);
}

void Attributes::set(std::string name, AttributeValue value) {
  auto at = std::ranges::lower_bound(entries_, name, {}, &std::pair<std::string, AttributeValue>::first);
  if (at != entries_.end() && at->first == name)
    at->second = std::move(value);
  else
    entries_.insert(at, {std::move(name), std::move(value)});
}

const AttributeValue* Attributes::find(std::string_view name) const {
  for (auto& [key, value] : entries_)
    if (key == name) return &value;
  return nullptr;
}

namespace {

template <class T>
const T* typed(const Attributes& attributes, std::string_view name) {
  auto* value = attributes.find(name);
  return value ? std::get_if<T>(value) : nullptr;
}

}  // namespace

int64_t Attributes::integer(std::string_view name, int64_t otherwise) const {
  auto* v = typed<int64_t>(*this, name);
  return v ? *v : otherwise;
}
float Attributes::real(std::string_view name, float otherwise) const {
  auto* v = typed<float>(*this, name);
  return v ? *v : otherwise;
}
std::string Attributes::text(std::string_view name, std::string otherwise) const {
  auto* v = typed<std::string>(*this, name);
  return v ? *v : otherwise;
}
std::optional<std::vector<int64_t>> Attributes::integers(std::string_view name) const {
  auto* v = typed<std::vector<int64_t>>(*this, name);
  return v ? std::optional(*v) : std::nullopt;
}
std::optional<std::vector<float>> Attributes::reals(std::string_view name) const {
  auto* v = typed<std::vector<float>>(*this, name);
  return v ? std::optional(*v) : std::nullopt;
}

}  // namespace tessera
