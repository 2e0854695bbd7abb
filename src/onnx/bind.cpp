#include "onnx/bind.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

namespace tessera::onnx {

Slot slot(const Graph& graph, TensorId input, std::vector<std::string> aliases) {
  return {.name = graph.at(input).name, .type = graph.at(input).type, .aliases = std::move(aliases)};
}

namespace {

// "[2,0]": where element i stands.
std::string position(const Shape& shape, int64_t i) {
  Shape index(shape.size());
  for (size_t a = shape.size(); a-- > 0;) {
    index[a] = i % shape[a];
    i /= shape[a];
  }
  return to_string(index);
}

template <class T>
bool holds(double v) {
  // Both bounds are exact as doubles; the upper one is the first value that does not fit.
  constexpr auto lowest = static_cast<double>(std::numeric_limits<T>::min());
  constexpr auto beyond = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
  return v == std::trunc(v) && v >= lowest && v < beyond;
}

bool holds(DType type, double v) {
  switch (type) {
    case DType::F32:
      return true;
    case DType::I64:
      return holds<int64_t>(v);
    case DType::I32:
      return holds<int32_t>(v);
    case DType::U8:
      return holds<uint8_t>(v);
    case DType::Bool:
      return v == 0 || v == 1;
  }
  return false;
}

Result<TensorData> checked_cast(const TensorData& data, DType to) {
  if (data.type().dtype == DType::F32) {
    auto values = data.as<float>();
    auto nan = std::ranges::find_if(values, [](float v) { return std::isnan(v); });
    if (nan != values.end()) return input_error("NaN at {}", position(data.shape(), nan - values.begin()));
  }
  if (data.type().dtype == to) return data;
  for (int64_t i = 0; i < data.type().elements(); ++i)
    if (!holds(to, data.at(i)))
      return input_error("{} at {} does not fit {}", data.at(i), position(data.shape(), i), name_of(to))
          .hint(fmt::format("it takes {}; store whole numbers in its range", name_of(to)));
  return cast(data, to);
}

std::string shape_text(const Slot& slot, Rows rows) {
  if (rows == Rows::Exact || slot.type.shape.empty()) return to_string(slot.type.shape);
  Shape rest(slot.type.shape.begin() + 1, slot.type.shape.end());
  return rest.empty() ? "[samples]" : fmt::format("[samples,{}]", fmt::join(rest, ","));
}

bool fits(const Slot& slot, const Shape& shape, Rows rows) {
  auto& wanted = slot.type.shape;
  if (rows == Rows::Exact || wanted.empty()) return shape == wanted;
  return shape.size() == wanted.size() && std::equal(shape.begin() + 1, shape.end(), wanted.begin() + 1);
}

Result<TensorData> bind_one(const Slot& slot, const NamedArray& array, Rows rows, const std::string& source) {
  auto where = fmt::format("{}: array '{}'", source, array.name);
  auto data = array.data;
  // One number is one number, whether the file calls it [] or [1].
  if (data.type().elements() == 1 && slot.type.elements() == 1 && data.shape().size() + slot.type.shape.size() == 1)
    data = data.reshaped(slot.type.shape);
  if (!fits(slot, data.shape(), rows))
    return input_error("{} is {}, but {} '{}' {} {}", where, to_string(data.shape()), slot.what, slot.name,
                       slot.what == "input" ? "takes" : "is", shape_text(slot, rows));
  if (data.type().elements() == 0) return input_error("{} is {}: it has no values", where, to_string(data.shape()));
  auto value = checked_cast(data, slot.type.dtype);
  if (!value) return std::move(value).error().within(where);
  return value;
}

std::string list_of(std::span<const NamedArray> arrays) {
  std::vector<std::string> names;
  for (auto& a : arrays) names.push_back(a.name);
  return names.empty() ? "no arrays at all" : fmt::format("{}", fmt::join(names, ", "));
}

// For every slot the array that has its name, or one of its other names.
std::vector<std::optional<size_t>> by_name(std::span<const Slot> slots, std::span<const NamedArray> arrays) {
  std::vector<std::optional<size_t>> chosen(slots.size());
  std::vector<bool> taken(arrays.size());
  auto take = [&](size_t s, const std::string& name) {
    for (size_t a = 0; a < arrays.size() && !chosen[s]; ++a)
      if (!taken[a] && arrays[a].name == name) {
        chosen[s] = a;
        taken[a] = true;
      }
  };
  for (size_t s = 0; s < slots.size(); ++s) take(s, slots[s].name);
  for (size_t s = 0; s < slots.size(); ++s)
    for (auto& alias : slots[s].aliases) take(s, alias);
  return chosen;
}

// The slots that no name reached take the arrays that are left, in order.
Result<std::vector<size_t>> choose(std::span<const Slot> slots, std::span<const NamedArray> arrays,
                                   const std::string& source, std::vector<std::string>& notes) {
  auto chosen = by_name(slots, arrays);
  std::vector<size_t> left, result;
  for (size_t a = 0; a < arrays.size(); ++a)
    if (std::ranges::find(chosen, std::optional(a)) == chosen.end()) left.push_back(a);
  std::vector<std::string> guessed;
  size_t next = 0;
  const bool named = std::ranges::any_of(chosen, [](auto& array) { return array.has_value(); });
  for (size_t s = 0; s < slots.size(); ++s) {
    if (!chosen[s]) {
      if (next == left.size() || (slots[s].careful && named)) {
        auto names = slots[s].aliases;
        names.insert(names.begin(), slots[s].name);
        names.erase(std::unique(names.begin(), names.end()), names.end());
        return input_error("{}: no array for {} '{}' ({}); the file has {}", source, slots[s].what, slots[s].name,
                           to_string(slots[s].type), list_of(arrays))
            .hint(fmt::format("an array named '{}' is needed", fmt::join(names, "' or '")));
      }
      chosen[s] = left[next++];
      guessed.push_back(fmt::format("'{}' as '{}'", arrays[*chosen[s]].name, slots[s].name));
    }
    result.push_back(*chosen[s]);
  }
  if (!guessed.empty()) notes.push_back(fmt::format("{}: bound in order: {}", source, fmt::join(guessed, ", ")));
  std::vector<std::string> ignored;
  for (; next < left.size(); ++next) ignored.push_back(arrays[left[next]].name);
  if (!ignored.empty()) notes.push_back(fmt::format("{}: ignored: {}", source, fmt::join(ignored, ", ")));
  return result;
}

}  // namespace

Result<Binding> bind_arrays(std::span<const Slot> slots, std::span<const NamedArray> arrays, Rows rows,
                            const std::string& source) {
  Binding binding;
  TRY(auto chosen, choose(slots, arrays, source, binding.notes));
  for (size_t s = 0; s < slots.size(); ++s) {
    TRY(auto value, bind_one(slots[s], arrays[chosen[s]], rows, source));
    binding.values.push_back(std::move(value));
  }
  return binding;
}

}  // namespace tessera::onnx
