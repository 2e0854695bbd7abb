// What an operator is: everything that any pass wants to know of it, in one place. An operator is a file here, a
// kernel in runtime/kernels, a line in table.cpp, and its test cases.
//
//   const Operator* gemm = find({"", "Gemm"});     gemm->infer(NodeContext{graph, node}) -> {f32[4,128]}
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"
#include "base/expr.hpp"
#include "graph/graph.hpp"
#include "ops/tile_map.hpp"

namespace tessera::ops {

// A node with the graph around it, as every function of an operator sees it.
struct NodeContext {
  const Graph& graph;
  const Node& node;

  bool has_input(size_t i) const { return i < node.inputs.size() && node.inputs[i]; }
  bool has_output(size_t i) const { return i < node.outputs.size() && node.outputs[i]; }
  const Tensor& input(size_t i) const { return graph.at(node.inputs[i]); }
  const Tensor& output(size_t i) const { return graph.at(node.outputs[i]); }
  const Shape& in(size_t i) const { return input(i).type.shape; }
  const Shape& out(size_t i) const { return output(i).type.shape; }
  // The value of an input that is known at compile time (axes, shapes), or nothing.
  std::optional<TensorData> value(size_t i) const;
  // "node 'fc1' (Gemm): " + message, as an input error.
  Error error(std::string message) const;
};

// Values for the plain reference: any element type as doubles.
struct Array {
  DType dtype = DType::F32;
  Shape shape;
  std::vector<double> v;
};

// A gradient is written as nodes. `d_outputs[i]` is the gradient of output i (absent where nothing depends on it);
// the result has, for every wanted input, the tensor that holds its gradient.
class Builder;
struct GradientContext {
  Builder& build;
  const Node& node;  // a copy: building nodes does not move it
  std::vector<TensorId> d_outputs;
  std::vector<bool> wanted;  // by input
};

// An operator that is honestly a composition is written out as nodes, so that its gradient, tiling and kernels are
// theirs: before the backward pass, or behind it where it has a gradient of its own. The result has a tensor for every
// output that the node has; an empty result says that this node stands as it is.
struct ExpandContext {
  Builder& build;
  const Node& node;  // a copy: building nodes does not move it
};

// Storage that outputs share with inputs.
struct Alias {
  enum class Kind : uint8_t {
    View,     // the same bytes under another shape: no work at all
    InPlace,  // the output replaces the input where it stands
  };
  Kind kind = Kind::View;
  int input = 0;
  int output = 0;
};

// The kernel's view of a tile: where it starts and how long it is along each dimension of the space; for each output
// (and scratch) whether this tile is the first and the last of its reduction (1 or 0).
struct TileSymbols {
  SymbolicBox box;
  std::vector<Expr> first, last;  // by output
};

struct OperandRef {
  enum class Kind : uint8_t { Input, Output, Scratch };
  Kind kind = Kind::Input;
  int index = 0;
};

// A call of a kernel: `pi_cl_team_fork(cores, function, &(function_args){...})`; a field's value is an operand's
// address (NULL where it is absent), a number that may depend on the tile, an array of such, or a float.
struct KernelCall {
  struct Field {
    std::string name;
    std::variant<OperandRef, Expr, std::vector<Expr>, float> value;
  };
  std::string function;  // "ts_gemm": declared in kernels/<header>.h with struct ts_gemm_args
  std::string header;    // "gemm"
  std::vector<Field> fields;
};

// Element types: Types{DType::F32, DType::I64}.contains(DType::I64).
class Types {
 public:
  constexpr Types(std::initializer_list<DType> types) {
    for (auto type : types) bits_ |= bit(type);
  }
  constexpr bool contains(DType type) const { return (bits_ & bit(type)) != 0; }
  constexpr bool operator==(const Types&) const = default;
  std::vector<std::string_view> names() const;  // {"f32", "i64"}

 private:
  static constexpr uint32_t bit(DType type) { return 1u << static_cast<uint32_t>(type); }
  uint32_t bits_ = 0;
};
inline constexpr Types floats{DType::F32}, truths{DType::Bool};
inline constexpr Types wide_numbers{DType::F32, DType::I64, DType::I32};
inline constexpr Types numbers{DType::F32, DType::I64, DType::I32, DType::U8};
inline constexpr Types any_type{DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool};

struct Operator {
  std::string_view domain;  // "" or "com.microsoft"
  std::string_view type;
  int since = 1, until = 0;   // operator-set versions in which this form stands; until 0: to this day
  std::string_view summary;   // for `tessera ops`
  std::string_view verified;  // against what it is tested: "onnx, torch", "torch", "reference"
  std::string_view whole;     // what must lie in L1 as a whole ("the axis"); empty: every dimension tiles
  Types types = floats;       // of its data; indices, axes and masks have their own

  Result<std::vector<TensorType>> (*infer)(const NodeContext&) = nullptr;  // one type an output, present or not
  Result<std::vector<Array>> (*reference)(const NodeContext&, std::span<const Array> inputs) = nullptr;
  Result<std::vector<TensorId>> (*gradient)(GradientContext&) = nullptr;  // null: training through it is meaningless
  std::vector<Alias> (*aliases)(const NodeContext&) = nullptr;            // null: none
  Result<TileMap> (*tile_map)(const NodeContext&) = nullptr;              // null: a pure view, or expanded
  KernelCall (*kernel)(const NodeContext&, const TileSymbols&) = nullptr;
  double (*cycles)(const NodeContext&, std::span<const int64_t> tile, int cores) = nullptr;  // of one kernel call
  double far_stack = 1;  // times as many where the cores' stacks lie in L2: their frames and spills come from there
  int64_t (*macs)(const NodeContext&) = nullptr;  // multiply-adds of the whole node; null: none

  Result<std::vector<TensorId>> (*expand)(ExpandContext&) = nullptr;  // null: never a composition
  uint32_t known = 0;     // bit i: input i is used at compile time (axes, shapes, scales) and must be known then
  bool of_types = false;  // the result depends on nothing but the inputs' types (Shape): always known at compile time
  // The kernel only copies: at every point of the space, output 0 is input 0. A tile whose elements stand in the same
  // order in both needs no kernel: what the DMA brought, it takes on.
  bool copies = false;
};

// Every operator, in the order of the table.
std::span<const Operator* const> table();
// The form of an operator that stands in the given version of its operator set (0: the newest), or null.
const Operator* find(const OpName& name, int version = 0);
// The definition of a node's operator, or an error that names the node and says what to do.
Result<const Operator*> definition(const Graph& graph, const Node& node);

bool is_view(const Operator& op);

}  // namespace tessera::ops
