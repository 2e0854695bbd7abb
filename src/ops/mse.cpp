// MSELoss(x, target) and MSELossGrad(dLoss, x, target), reduction mean, sum or none.
#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/loss_attributes.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

constexpr int64_t block = 16;  // TS_MSE_BLOCK of the kernel

bool reduced(const NodeContext& n) {
  return reduction_of(n).value() != Reduction::None;
}

// What a reduced loss divides its sum by.
double divisor(const NodeContext& n, int64_t elements) {
  return reduction_of(n).value() == Reduction::Mean ? static_cast<double>(elements) : 1;
}

Result<void> check_pair(const NodeContext& n, size_t x) {
  CHECK_OK(is_float(n, x));
  CHECK_OK(is_float(n, x + 1));
  CHECK_OK(same_shape(n, x, x + 1));
  CHECK_OK(reduction_of(n));
  return {};
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  CHECK_OK(check_pair(n, 0));
  return std::vector<TensorType>{{DType::F32, reduced(n) ? Shape{} : n.in(0)}};
}

// A reduced loss is tiled by blocks, whose partial sums do not depend on the tile.
Result<TileMap> tile_map(const NodeContext& n) {
  int64_t elements = count(n.in(0)), blocks = (elements + block - 1) / block;
  if (!reduced(n)) return flat_space(n, elements);
  OperandMap by_block{true, {elements}, {{{{0, block}}, 0, block}}};
  OperandMap one{true, {1}, {AxisMap::whole(1)}};
  return TileMap{.dims = {{"block", blocks}},
                 .inputs = {by_block, by_block},
                 .outputs = {one},
                 .scratch = {{DType::F32, {true, {blocks}, {AxisMap::along(0)}}}, {DType::F32, one}}};
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  std::vector<KernelCall::Field> fields{input_field("x", 0), input_field("target", 1), output_field("loss", 0)};
  if (!reduced(n)) {
    fields.push_back(flat_count(tile));
    return {"ts_squared_error", "mse", std::move(fields)};
  }
  int64_t elements = count(n.in(0));
  Expr whole_blocks = tile.box.len[0] * block, rest = Expr(elements) - tile.box.lo[0] * block;
  fields.push_back(scratch_field("blocks", 0));
  fields.push_back(scratch_field("lost", 1));
  fields.push_back({"n", elements % block == 0 ? whole_blocks : min(whole_blocks, rest)});
  fields.push_back({"first", tile.first[0]});
  fields.push_back({"last", tile.last[0]});
  fields.push_back({"divisor", static_cast<float>(divisor(n, elements))});
  return {"ts_mse", "mse", std::move(fields)};
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  if (!reduced(n)) return team_cycles(tile[0], 9, cores);
  return team_cycles(tile[0], 10 + 8 * block, cores) + 9 * static_cast<double>(tile[0]);
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  Array loss{DType::F32, in[0].shape, {}};
  double sum = 0;
  for (size_t i = 0; i < in[0].v.size(); ++i) {
    double d = in[0].v[i] - in[1].v[i];
    loss.v.push_back(d * d);
    sum += d * d;
  }
  if (reduced(n)) loss = {DType::F32, {}, {sum / divisor(n, count(in[0].shape))}};
  return std::vector{std::move(loss)};
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(2);
  auto& build = g.build;
  auto name = [&](size_t i) { return build.name(g.node.inputs[i]) + "_grad"; };
  TRY(auto reduction, reduction_of(NodeContext{build.graph(), g.node}));
  auto dx = build.node({"com.microsoft", "MSELossGrad"}, {g.d_outputs[0], g.node.inputs[0], g.node.inputs[1]},
                       {{"reduction", reduction_name(reduction)}}, g.wanted[0] ? name(0) : name(1) + ".negative");
  if (g.wanted[0]) d[0] = dx;
  if (g.wanted[1]) d[1] = build.node({"", "Neg"}, {dx}, {}, name(1));
  CHECK_OK(build.status());
  return d;
}

// The gradient node.

Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(check_pair(n, 1));
  CHECK_OK(reduced(n) ? one_element(n, 0) : same_shape(n, 0, 1));
  return std::vector{n.input(1).type};
}

Result<TileMap> tile_map_grad(const NodeContext& n) {
  return flat_space(n, count(n.in(1)));
}

KernelCall kernel_grad(const NodeContext& n, const TileSymbols& tile) {
  return {"ts_mse_grad",
          "mse",
          {input_field("dloss", 0),
           input_field("x", 1),
           input_field("target", 2),
           output_field("dx", 0),
           flat_count(tile),
           {"each", Expr(int{!reduced(n)})},
           {"scale", static_cast<float>(2 / divisor(n, count(n.in(1))))}}};
}

double cycles_grad(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], 11, cores);
}

Result<std::vector<Array>> reference_grad(const NodeContext& n, std::span<const Array> in) {
  Array dx{DType::F32, in[1].shape, {}};
  double scale = 2 / divisor(n, count(in[1].shape));
  for (size_t i = 0; i < in[1].v.size(); ++i)
    dx.v.push_back(in[0].v[reduced(n) ? 0 : i] * scale * (in[1].v[i] - in[2].v[i]));
  return std::vector{std::move(dx)};
}

}  // namespace

namespace defined {

const Operator MSELoss{.domain = "com.microsoft",
                       .type = "MSELoss",
                       .summary = "(x - target)^2, reduction mean, sum or none",
                       .verified = "torch",
                       .infer = infer,
                       .reference = reference,
                       .gradient = gradient,
                       .tile_map = tile_map,
                       .kernel = kernel,
                       .cycles = cycles};
const Operator MSELossGrad{.domain = "com.microsoft",
                           .type = "MSELossGrad",
                           .summary = "gradient of MSELoss from dLoss, x, target",
                           .verified = "torch",
                           .infer = infer_grad,
                           .reference = reference_grad,
                           .tile_map = tile_map_grad,
                           .kernel = kernel_grad,
                           .cycles = cycles_grad};

}  // namespace defined
}  // namespace tessera::ops
