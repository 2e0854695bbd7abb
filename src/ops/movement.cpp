#include "ops/movement.hpp"

#include <algorithm>
#include <limits>

#include "ops/broadcast.hpp"

namespace tessera::ops {

std::vector<size_t> dense_steps(const Shape& shape) {
  std::vector<size_t> step(shape.size());
  size_t below = 1;
  for (size_t i = shape.size(); i-- > 0; below *= static_cast<size_t>(shape[i])) step[i] = below;
  return step;
}

Around around(const Shape& shape, size_t axis) {
  Around a;
  for (size_t i = 0; i < shape.size(); ++i) (i < axis ? a.outer : i == axis ? a.extent : a.inner) *= shape[i];
  return a;
}

double copy_cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  double elements = 1;
  for (auto extent : tile) elements *= static_cast<double>(extent);
  double lines = elements / static_cast<double>(tile.back());
  return 120 + (elements * 6 + lines * 30) / cores;
}

Expr kernel_type(DType dtype) {
  switch (dtype) {
    case DType::F32:
      return 0;
    case DType::I32:
      return 1;
    case DType::I64:
      return 2;
    case DType::U8:
    case DType::Bool:
      break;
  }
  return 3;
}

Result<int64_t> scatter_reduction(const NodeContext& n) {
  const char* names[] = {"none", "add", "mul", "max", "min"};
  auto name = n.node.attributes.text("reduction", "none");
  for (int64_t i = 0; i < 5; ++i)
    if (name == names[i]) return i;
  return n.error(fmt::format("has the reduction '{}'; known are none, add, mul, max and min", name));
}

double combined(int64_t reduction, double old, double update) {
  switch (reduction) {
    case 0:
      return update;
    case 1:
      return old + update;
    case 2:
      return old * update;
    case 3:
      return std::max(old, update);
    default:
      return std::min(old, update);
  }
}

TensorId zeros(Builder& build, const TensorType& type, const std::string& name) {
  auto zero = build.constant(TensorData::zeros({type.dtype, {}}), name + ".zero");
  return build.node({"", "Expand"}, {zero, build.integers(type.shape, name + ".shape")}, {}, name);
}

TensorId cut_out(Builder& build, TensorId x, const std::vector<Cut>& cuts, const std::string& name) {
  std::vector<int64_t> starts, ends, axes, steps;
  for (size_t a = 0; a < cuts.size(); ++a) {
    auto& c = cuts[a];
    starts.push_back(c.start);
    // Walking backwards to the front ends before element 0, which only a number far below can say.
    auto end = c.start + c.step * c.size;
    ends.push_back(end < 0 ? std::numeric_limits<int64_t>::min() : end);
    axes.push_back(static_cast<int64_t>(a));
    steps.push_back(c.step);
  }
  return build.node({"", "Slice"},
                    {x, build.integers(starts, name + ".starts"), build.integers(ends, name + ".ends"),
                     build.integers(axes, name + ".axes"), build.integers(steps, name + ".steps")},
                    {}, name);
}

namespace {

TensorId reshape(Builder& build, TensorId x, const Shape& shape, const std::string& name) {
  return build.node({"", "Reshape"}, {x, build.integers(shape, name + ".shape")}, {{"allowzero", int64_t{1}}}, name);
}

TensorId pad(Builder& build, TensorId x, std::vector<int64_t> before, const std::vector<int64_t>& after,
             const std::string& name) {
  before.insert(before.end(), after.begin(), after.end());
  auto zero = build.constant(TensorData::zeros({build.type(x).dtype, {}}), name + ".zero");
  return build.node({"", "Pad"}, {x, build.integers(before, name + ".pads"), zero}, {}, name);
}

// Elements along an axis, `step` apart: each gets a row of its own, which is filled up with zeros.
TensorId spread_out(Builder& build, TensorId x, size_t axis, int64_t step, const std::string& name) {
  Shape shape = build.type(x).shape, rows = shape, spread = shape;
  auto at = static_cast<long>(axis);
  rows.insert(rows.begin() + at + 1, 1);
  spread[axis] *= step;
  std::vector<int64_t> before(rows.size()), after(rows.size());
  after[axis + 1] = step - 1;
  return reshape(build, pad(build, reshape(build, x, rows, name + ".rows"), before, after, name + ".filled"), spread,
                 name);
}

}  // namespace

TensorId put_back(Builder& build, TensorId dy, const Shape& shape, const std::vector<Cut>& cuts,
                  const std::string& name) {
  std::vector<Cut> turned;
  bool backwards = false, needed = false;
  std::vector<int64_t> before, after;
  for (auto& c : cuts) {
    turned.push_back(c.step < 0 ? Cut{c.size - 1, -1, c.size} : Cut{0, 1, c.size});
    backwards |= c.step < 0;
  }
  if (backwards) dy = cut_out(build, dy, turned, name + ".turned");
  for (size_t a = 0; a < cuts.size(); ++a) {
    auto& c = cuts[a];
    auto step = std::abs(c.step), start = c.step < 0 ? c.start + c.step * (c.size - 1) : c.start;
    auto length = c.size == 1 ? 1 : c.size * step;  // the last element's zeros may reach beyond the shape
    if (step > 1 && c.size > 1) dy = spread_out(build, dy, a, step, fmt::format("{}.spread{}", name, a));
    before.push_back(start);
    after.push_back(shape[a] - start - length);
    needed |= before.back() != 0 || after.back() != 0;
  }
  return needed ? pad(build, dy, before, after, name) : dy;
}

}  // namespace tessera::ops
