// The sizes of named and unknown dimensions: what the user said, else 1 for a batch.
//
//   x: [N, 3, H, W] with --batch 4 --dim H=32 --dim W=32   ->   x: [4, 3, 32, 32]
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/tensor.hpp"

namespace tessera::onnx {

struct DimOptions {
  std::map<std::string, int64_t> dims;  // --dim NAME=N; an axis without a name answers to INPUT.AXIS ("x.2")
  std::optional<int64_t> batch;         // --batch N
};

// One axis as a file declares it: a size, a name, or neither (unknown).
struct Axis {
  std::optional<int64_t> size;
  std::string name;
};
struct DeclaredShape {
  std::string tensor;
  std::vector<Axis> axes;
};

using BoundDims = std::map<std::string, int64_t>;  // every name that has a size

// The size of every name, from the graph inputs that the harness fills. `elsewhere` are names that occur only on other
// tensors: the user may bind them, nobody has to.
Result<BoundDims> bind_dims(std::span<const DeclaredShape> inputs, std::span<const std::string> elsewhere,
                            const DimOptions& options);

// The shape with every name replaced, or nothing where a size is unknown.
std::optional<Shape> resolve(const DeclaredShape& shape, const BoundDims& dims);

}  // namespace tessera::onnx
