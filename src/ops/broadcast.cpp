#include "ops/broadcast.hpp"

#include <algorithm>

namespace tessera::ops {

namespace {

// The extent of a right-aligned operand along an axis of a shape of the given rank; 1 where it has no such axis.
int64_t aligned(const Shape& shape, size_t rank, size_t axis) {
  size_t missing = rank - shape.size();
  return axis < missing ? 1 : shape[axis - missing];
}

}  // namespace

Result<Shape> broadcast(const Shape& a, const Shape& b) {
  size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    int64_t x = aligned(a, rank, i), y = aligned(b, rank, i);
    if (x != y && x != 1 && y != 1)
      return input_error("the shapes {} and {} do not broadcast: axis {} has {} and {}", to_string(a), to_string(b),
                         static_cast<int64_t>(i) - static_cast<int64_t>(rank), x, y)
          .hint("axes are aligned from the last; they must be equal, or one of them 1");
    out[i] = x == 1 ? y : x;
  }
  return out;
}

Result<Shape> broadcast(std::span<const Shape> shapes) {
  Shape out;
  for (auto& shape : shapes) {
    TRY(out, broadcast(out, shape));
  }
  return out;
}

TensorId reduce_to(Builder& build, TensorId grad, const Shape& target, const std::string& name) {
  if (!grad) return grad;
  Shape shape = build.type(grad).shape, kept, dropped;
  std::vector<int64_t> axes;
  for (size_t i = 0; i < shape.size(); ++i) {
    bool reduced = shape[i] != 1 && aligned(target, shape.size(), i) == 1;
    if (reduced) axes.push_back(static_cast<int64_t>(i));
    if (!reduced) dropped.push_back(shape[i]);
    kept.push_back(reduced ? 1 : shape[i]);
  }
  if (!axes.empty()) {
    bool keep = kept == target || dropped != target;
    bool done = kept == target || dropped == target;
    grad = build.node({"", "ReduceSum"}, {grad, build.integers(axes, name + ".axes")}, {{"keepdims", int64_t{keep}}},
                      done ? name : name + ".sum");
    shape = keep ? kept : dropped;
  }
  if (shape == target) return grad;
  return build.node({"", "Reshape"}, {grad, build.integers(target, name + ".shape")}, {}, name);
}

BroadcastSpace collapse(const Shape& whole, std::span<const Shape> operands) {
  size_t rank = whole.size();
  Shape extents;
  std::vector<std::vector<bool>> moves;  // by dimension, by operand
  for (size_t i = 0; i < rank; ++i) {
    if (whole[i] == 1) continue;
    std::vector<bool> here;
    for (auto& shape : operands) here.push_back(aligned(shape, rank, i) != 1);
    if (!moves.empty() && moves.back() == here) {
      extents.back() *= whole[i];
    } else {
      extents.push_back(whole[i]);
      moves.push_back(std::move(here));
    }
  }
  if (extents.empty()) {
    extents.push_back(1);
    moves.emplace_back(operands.size(), true);
  }
  BroadcastSpace space;
  space.operands.resize(operands.size());
  for (size_t d = 0; d < extents.size(); ++d) {
    int dim = static_cast<int>(d);
    space.dims.push_back({extents.size() == 1 ? "i" : fmt::format("i{}", d), extents[d]});
    space.whole.view.push_back(extents[d]);
    space.whole.axes.push_back(AxisMap::along(dim));
    for (size_t o = 0; o < operands.size(); ++o) {
      space.operands[o].view.push_back(moves[d][o] ? extents[d] : 1);
      space.operands[o].axes.push_back(moves[d][o] ? AxisMap::along(dim) : AxisMap::whole(1));
    }
  }
  return space;
}

std::vector<Expr> strides(const OperandMap& map, const SymbolicBox& tile) {
  std::vector<Expr> by_dim(tile.len.size(), Expr(0));
  Expr step = 1;
  for (size_t a = map.axes.size(); a-- > 0;) {
    auto& axis = map.axes[a];
    if (axis.terms.empty()) {
      step = step * axis.window;
      continue;
    }
    auto dim = static_cast<size_t>(axis.terms[0].dim);
    by_dim[dim] = step;
    step = step * tile.len[dim];
  }
  return by_dim;
}

std::vector<Expr> strides(const OperandMap& map, const TileMap& space, const SymbolicBox& tile) {
  std::vector<Expr> by_dim(tile.len.size(), Expr(0));
  auto box = region(map, tile, space);
  Expr step = 1;
  for (size_t a = map.axes.size(); a-- > 0;) {
    for (auto& [dim, c] : map.axes[a].terms)
      by_dim[static_cast<size_t>(dim)] = by_dim[static_cast<size_t>(dim)] + step * c;
    step = step * box.len[a];
  }
  return by_dim;
}

std::vector<size_t> offsets(const Shape& shape, const std::vector<size_t>& step) {
  std::vector<size_t> all{0};
  for (size_t i = 0; i < shape.size(); ++i) {
    std::vector<size_t> finer;
    finer.reserve(all.size() * static_cast<size_t>(shape[i]));
    for (auto base : all)
      for (size_t j = 0; j < static_cast<size_t>(shape[i]); ++j) finer.push_back(base + j * step[i]);
    all = std::move(finer);
  }
  return all;
}

std::vector<size_t> spread(const Shape& shape, const Shape& operand) {
  std::vector<size_t> step(shape.size());
  size_t dense = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    auto extent = static_cast<size_t>(aligned(operand, shape.size(), i));
    step[i] = extent == 1 ? 0 : dense;
    dense *= extent;
  }
  return offsets(shape, step);
}

}  // namespace tessera::ops
