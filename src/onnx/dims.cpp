#include "onnx/dims.hpp"

#include <algorithm>
#include <set>

namespace tessera::onnx {

namespace {

// The name under which the user can reach an axis: its own, or INPUT.AXIS.
std::string key(const DeclaredShape& shape, size_t axis) {
  auto& name = shape.axes[axis].name;
  return name.empty() ? fmt::format("{}.{}", shape.tensor, axis) : name;
}

std::string to_string(const DeclaredShape& shape) {
  std::vector<std::string> parts;
  for (auto& a : shape.axes)
    parts.push_back(a.size ? fmt::format("{}", *a.size) : a.name.empty() ? std::string("?") : a.name);
  return fmt::format("[{}]", fmt::join(parts, ","));
}

// The names that the options bind must occur, and sizes must be sizes.
Result<void> check_options(std::span<const DeclaredShape> inputs, std::span<const std::string> elsewhere,
                           const DimOptions& options) {
  if (options.batch && *options.batch < 1)
    return input_error("--batch {}: a batch has at least one sample", *options.batch);
  std::set<std::string> reachable, shown;
  for (auto& input : inputs)
    for (size_t a = 0; a < input.axes.size(); ++a)
      if (!input.axes[a].size) shown.insert(key(input, a));
  reachable = shown;
  reachable.insert(elsewhere.begin(), elsewhere.end());
  for (auto& [name, size] : options.dims) {
    if (size < 1) return input_error("--dim {}={}: a dimension is at least 1", name, size);
    if (reachable.contains(name)) continue;
    auto error = input_error("--dim {}={}: the model has no dimension of that name", name, size);
    if (shown.empty()) return std::move(error).hint("all of its inputs have fixed shapes");
    return std::move(error).hint(fmt::format("its inputs have: {}", fmt::join(shown, ", ")));
  }
  return {};
}

// A batch that the file fixes cannot be changed from outside. Weights may be inputs too, so an input whose first axis
// is open settles the matter, and otherwise the first input that has an axis does.
Result<void> check_fixed_batch(std::span<const DeclaredShape> inputs, const DimOptions& options) {
  if (!options.batch) return {};
  const DeclaredShape* first = nullptr;
  for (auto& input : inputs) {
    if (input.axes.empty()) continue;
    if (!input.axes[0].size) return {};
    if (!first) first = &input;
  }
  if (!first) return input_error("--batch {}: no input of the model has a batch axis", *options.batch);
  if (*first->axes[0].size == *options.batch) return {};
  return input_error("--batch {}: the file fixes the batch at {} (input '{}' is {})", *options.batch,
                     *first->axes[0].size, first->tensor, to_string(*first))
      .hint(fmt::format("leave --batch out, or export the model with a named first dimension (in PyTorch: "
                        "dynamic_axes={{'{}': {{0: 'N'}}}})",
                        first->tensor));
}

// First axes that have no size yet are the batch. A name that the user gave a size keeps it, but if that leaves no axis
// for --batch, the two contradict each other.
Result<void> bind_batch(std::span<const DeclaredShape> inputs, const DimOptions& options, BoundDims& bound) {
  const DeclaredShape* other = nullptr;
  bool taken = false;
  for (auto& input : inputs) {
    if (input.axes.empty() || input.axes[0].size) continue;
    auto size = options.batch.value_or(1);
    if (bound.emplace(key(input, 0), size).first->second == size)
      taken = true;
    else
      other = &input;
  }
  if (!options.batch || taken || !other) return {};
  auto name = key(*other, 0);
  return input_error("--dim {}={} and --batch {} contradict each other: '{}' is the first axis of input '{}'", name,
                     bound.at(name), *options.batch, name, other->tensor)
      .hint("leave one of them out");
}

}  // namespace

Result<BoundDims> bind_dims(std::span<const DeclaredShape> inputs, std::span<const std::string> elsewhere,
                            const DimOptions& options) {
  CHECK_OK(check_options(inputs, elsewhere, options));
  CHECK_OK(check_fixed_batch(inputs, options));
  BoundDims bound = options.dims;
  CHECK_OK(bind_batch(inputs, options, bound));
  for (auto& input : inputs)
    for (size_t a = 0; a < input.axes.size(); ++a) {
      if (input.axes[a].size || bound.contains(key(input, a))) continue;
      auto what = input.axes[a].name.empty() ? fmt::format("axis {}", a) : fmt::format("dimension '{}'", key(input, a));
      return input_error("{} of input '{}' {} has no size", what, input.tensor, to_string(input))
          .hint(fmt::format("say it with --dim {}=N", key(input, a)));
    }
  return bound;
}

std::optional<Shape> resolve(const DeclaredShape& declared, const BoundDims& dims) {
  Shape shape;
  for (size_t a = 0; a < declared.axes.size(); ++a) {
    auto& axis = declared.axes[a];
    if (axis.size) {
      shape.push_back(*axis.size);
      continue;
    }
    auto found = dims.find(key(declared, a));
    if (found == dims.end()) return std::nullopt;
    shape.push_back(found->second);
  }
  return shape;
}

}  // namespace tessera::onnx
