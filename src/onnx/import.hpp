// An ONNX file as a graph.
//
//   file: x float[N,784], w float[784,10], y = MatMul(x, w)
//   import_onnx("m.onnx", {.batch = 4}) -> input x: f32[4,784], parameter w: f32[784,10], node MatMul -> y
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "onnx/dims.hpp"

namespace tessera::onnx {

using ImportOptions = DimOptions;

struct ImportedModel {
  Graph graph;
  std::vector<std::string> notes;  // what a user should know although nothing is wrong
  int opset = 0;                   // of the default domain
  int64_t ir_version = 0;
  std::string producer;  // "pytorch 1.13.1"; may be empty
  BoundDims dims;        // what the named dimensions came to
};

// What stands in the graph afterwards:
//  - An initializer is a Constant where it is of an integer type, bool or a scalar (rank 0; but a member of a PyTorch
//    module may be one), else a Parameter, also where the file lists it among the inputs. Which parameters are trained,
//    and whether an input is a weight or an accumulator, is for src/train to say; it may change roles. A Constant node
//    becomes a Constant tensor. An initializer that nothing reads is left out.
//  - double, float16 and bfloat16 become f32; int8, int16 and uint16 become i32 and uint32 and uint64 become i64
//    (values only: an input of such a type is refused).
//  - Node.version is the operator-set version of its domain; "ai.onnx" is "". Types of tensors that nodes make are the
//    declared ones where the file declares them in full, else default: ops::infer_types fills them in.
//  - Sequences are known by their elements and vanish: SequenceConstruct, SequenceEmpty, SequenceInsert, SequenceErase,
//    SequenceAt and SequenceLength leave nothing. An update of several weights becomes one node a weight.
// Control flow, local functions, sparse tensors and strings are refused, by name of the node or tensor.
Result<ImportedModel> import_onnx(const std::filesystem::path& path, const ImportOptions& options);

// A weight that a training graph trains.
struct Trained {
  std::string name;
  TensorType type;
};

// An optimizer graph, whose inputs may be sequences: of these weights, in this order, of their gradients (called
// <weight>_grad) and of their moments (<weight>.<sequence>).
Result<ImportedModel> import_optimizer(const std::filesystem::path& path, const std::vector<Trained>& trained);

// The same from memory; tensors kept in files of their own are refused unless `folder` says where they are.
Result<ImportedModel> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options,
                                  const std::filesystem::path& folder = {});

}  // namespace tessera::onnx
