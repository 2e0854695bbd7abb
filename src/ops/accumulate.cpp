// InPlaceAccumulatorV2(buffer, grad, [reset]): buffer = reset ? grad : buffer + grad, where it stands.
#include "ops/arguments.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// Which output is the accumulated buffer; -1 where the node only says that it was updated. ONNX Runtime's outputs are
// (updated, buffer_out), Deeploy's only one is the buffer.
int accumulated_output(const NodeContext& n) {
  if (n.node.outputs.size() > 1) return n.has_output(1) ? 1 : -1;
  // One output: a flag by its declared type is ONNX Runtime's, anything else is the buffer.
  return n.has_output(0) && n.output(0).type.dtype == DType::Bool ? -1 : 0;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 3));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(is_float(n, 1));
  if (n.in(0) != n.in(1))
    return n
        .error(fmt::format("the buffer '{}' is {} and the gradient '{}' is {}; they must have one shape",
                           n.input(0).name, to_string(n.in(0)), n.input(1).name, to_string(n.in(1))))
        .hint("declare the accumulator with the shape of its parameter's gradient");
  if (n.has_input(2)) {
    CHECK_OK(is_one_of(n, 2, {DType::Bool, DType::U8}));
    CHECK_OK(one_element(n, 2));
  }
  TensorType buffer = n.input(0).type;
  if (n.node.outputs.size() == 1 && accumulated_output(n) == 0) return std::vector{buffer};
  return std::vector<TensorType>{{DType::Bool, {1}}, buffer};
}

std::vector<Alias> aliases(const NodeContext& n) {
  int out = accumulated_output(n);
  if (out < 0) return {};
  return {{Alias::Kind::InPlace, 0, out}};
}

Result<TileMap> tile_map(const NodeContext& n) {
  if (accumulated_output(n) < 0)
    return n.error("changes its buffer but does not give it as an output")
        .hint("name the node's second output, the accumulated buffer");
  auto map = flat_space(n, count(n.in(0)));
  // A buffer of one element is not a flag: it follows the dimension, the flags do not.
  if (n.has_input(2)) map.inputs[2].axes = {AxisMap::whole(1)};
  if (n.node.outputs.size() > 1 && n.has_output(0)) map.outputs[0].axes = {AxisMap::whole(1)};
  return map;
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  std::vector<KernelCall::Field> fields{input_field("buffer", 0), input_field("grad", 1)};
  if (n.has_input(2)) fields.push_back(input_field("reset", 2));
  fields.push_back(output_field("out", accumulated_output(n)));
  if (n.node.outputs.size() > 1 && n.has_output(0)) fields.push_back(output_field("updated", 0));
  fields.push_back(flat_count(tile));
  return {"ts_accumulate", "update", std::move(fields)};
}

double cycles(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], 8, cores);
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  Array buffer = in[1];
  bool reset = n.has_input(2) && in[2].v[0] != 0;
  for (size_t i = 0; i < buffer.v.size() && !reset; ++i) buffer.v[i] += in[0].v[i];
  if (n.node.outputs.size() == 1 && accumulated_output(n) == 0) return std::vector{std::move(buffer)};
  return std::vector{Array{DType::Bool, {1}, {1}}, std::move(buffer)};
}

}  // namespace

namespace defined {

const Operator InPlaceAccumulatorV2{.domain = "com.microsoft",
                                    .type = "InPlaceAccumulatorV2",
                                    .summary = "reset ? buffer = grad : buffer += grad, in place",
                                    .verified = "reference",
                                    .infer = infer,
                                    .reference = reference,
                                    .aliases = aliases,
                                    .tile_map = tile_map,
                                    .kernel = kernel,
                                    .cycles = cycles};

}  // namespace defined
}  // namespace tessera::ops
