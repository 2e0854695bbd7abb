// Losses of x and a target, element by element: MSELoss, L1Loss, HuberLoss, BCELoss, BCEWithLogitsLoss (x, target), and
// their gradients (dLoss, x, target), reduction mean, sum or none. They mean what PyTorch's do.
#include <algorithm>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/loss_attributes.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

constexpr int64_t block = 16;  // TS_LOSS_BLOCK of the kernel

// One of the family: its kernels' name, its value and slopes along x and along the target, cycles an element.
struct Mse {
  static constexpr const char* kernel = "mse";
  static constexpr bool of_difference = true;
  static constexpr double cycles = 8;
  static double value(double x, double t, double) { return (x - t) * (x - t); }
  static double slope(double x, double t, double) { return 2 * (x - t); }
};
struct L1 {
  static constexpr const char* kernel = "l1";
  static constexpr bool of_difference = true;
  static constexpr double cycles = 8;
  static double value(double x, double t, double) { return std::abs(x - t); }
  static double slope(double x, double t, double) { return (x > t) - (x < t); }
};
struct Huber {
  static constexpr const char* kernel = "huber";
  static constexpr bool of_difference = true;
  static constexpr double cycles = 12;
  static double value(double x, double t, double delta) {
    double d = std::abs(x - t);
    return d < delta ? d * d / 2 : delta * (d - delta / 2);
  }
  static double slope(double x, double t, double delta) { return std::clamp(x - t, -delta, delta); }
};
struct Bce {
  static constexpr const char* kernel = "bce";
  static constexpr bool of_difference = false;
  static constexpr double cycles = 60;
  static double value(double x, double t, double) {
    return -(t * std::max(std::log(x), -100.0) + (1 - t) * std::max(std::log(1 - x), -100.0));
  }
  static double slope(double x, double t, double) { return (x - t) / std::max(x * (1 - x), 1e-12); }
};
struct BceLogits {
  static constexpr const char* kernel = "bce_logits";
  static constexpr bool of_difference = false;
  static constexpr double cycles = 60;
  static double value(double x, double t, double) {
    return std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::abs(x)));
  }
  static double slope(double x, double t, double) { return 1 / (1 + std::exp(-x)) - t; }
};

float delta(const NodeContext& n) {
  return n.node.attributes.real("delta", 1);
}

bool reduced(const NodeContext& n) {
  return reduction_of(n).value() != LossReduction::None;
}

// What a reduced loss divides its sum by.
double divisor(const NodeContext& n, int64_t elements) {
  return reduction_of(n).value() == LossReduction::Mean ? static_cast<double>(elements) : 1;
}

Result<void> check_pair(const NodeContext& n, size_t x) {
  CHECK_OK(is_float(n, x));
  CHECK_OK(is_float(n, x + 1));
  CHECK_OK(same_shape(n, x, x + 1));
  CHECK_OK(reduction_of(n));
  if (!(delta(n) > 0)) return n.error(fmt::format("delta is {}; it must be positive", delta(n)));
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

template <class Loss>
KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  std::vector<KernelCall::Field> fields{input_field("x", 0), input_field("target", 1), output_field("loss", 0)};
  fields.push_back({"delta", delta(n)});
  if (!reduced(n)) {
    fields.push_back(flat_count(tile));
    return {fmt::format("ts_loss_{}_each", Loss::kernel), "loss", std::move(fields)};
  }
  int64_t elements = count(n.in(0));
  Expr whole_blocks = tile.box.len[0] * block, rest = Expr(elements) - tile.box.lo[0] * block;
  fields.push_back(scratch_field("blocks", 0));
  fields.push_back(scratch_field("lost", 1));
  fields.push_back({"n", elements % block == 0 ? whole_blocks : min(whole_blocks, rest)});
  fields.push_back({"first", tile.first[0]});
  fields.push_back({"last", tile.last[0]});
  fields.push_back({"divisor", static_cast<float>(divisor(n, elements))});
  return {fmt::format("ts_loss_{}", Loss::kernel), "loss", std::move(fields)};
}

template <class Loss>
double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  if (!reduced(n)) return team_cycles(tile[0], Loss::cycles + 1, cores);
  return team_cycles(tile[0], 10 + Loss::cycles * block, cores) + 9 * static_cast<double>(tile[0]);
}

template <class Loss>
Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  Array loss{DType::F32, in[0].shape, {}};
  double sum = 0;
  for (size_t i = 0; i < in[0].v.size(); ++i) {
    loss.v.push_back(Loss::value(in[0].v[i], in[1].v[i], delta(n)));
    sum += loss.v.back();
  }
  if (reduced(n)) loss = {DType::F32, {}, {sum / divisor(n, count(in[0].shape))}};
  return std::vector{std::move(loss)};
}

// Along the target: of the losses of a difference, the other way round; BCE is linear in it.
template <class Loss>
TensorId target_gradient(GradientContext& g, TensorId dx, const std::string& name) {
  auto& build = g.build;
  auto node = [&](const char* op, std::vector<TensorId> inputs, const std::string& suffix) {
    return build.node({"", op}, std::move(inputs), {}, name + suffix);
  };
  if (Loss::of_difference) return node("Neg", {dx}, "");
  auto x = g.node.inputs[0];
  auto share = static_cast<float>(1 / divisor(NodeContext{build.graph(), g.node}, build.type(x).elements()));
  auto scale = node("Mul", {g.d_outputs[0], build.scalar(-share, name + ".share")}, ".scale");
  if (std::is_same_v<Loss, Bce>) {
    auto rest = node("Sub", {build.scalar(1, name + ".one"), x}, ".rest");
    x = node("Sub", {node("Log", {x}, ".log"), node("Log", {rest}, ".log_rest")}, ".logit");
  }
  return node("Mul", {x, scale}, "");
}

template <class Loss>
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  std::vector<TensorId> d(2);
  auto& build = g.build;
  auto name = [&](size_t i) { return build.name(g.node.inputs[i]) + "_grad"; };
  TensorId dx;
  if (g.wanted[0] || Loss::of_difference)
    dx = build.node({"com.microsoft", g.node.op.type + "Grad"}, {g.d_outputs[0], g.node.inputs[0], g.node.inputs[1]},
                    g.node.attributes, g.wanted[0] ? name(0) : name(1) + ".negative");
  if (g.wanted[0]) d[0] = dx;
  if (g.wanted[1]) d[1] = target_gradient<Loss>(g, dx, name(1));
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

template <class Loss>
KernelCall kernel_grad(const NodeContext& n, const TileSymbols& tile) {
  return {fmt::format("ts_loss_{}_grad", Loss::kernel),
          "loss",
          {input_field("dloss", 0),
           input_field("x", 1),
           input_field("target", 2),
           output_field("dx", 0),
           flat_count(tile),
           {"each", Expr(int{!reduced(n)})},
           {"scale", static_cast<float>(1 / divisor(n, count(n.in(1))))},
           {"delta", delta(n)}}};
}

template <class Loss>
double cycles_grad(const NodeContext&, std::span<const int64_t> tile, int cores) {
  return team_cycles(tile[0], Loss::cycles + 3, cores);
}

template <class Loss>
Result<std::vector<Array>> reference_grad(const NodeContext& n, std::span<const Array> in) {
  Array dx{DType::F32, in[1].shape, {}};
  double scale = 1 / divisor(n, count(in[1].shape));
  for (size_t i = 0; i < in[1].v.size(); ++i)
    dx.v.push_back(in[0].v[reduced(n) ? 0 : i] * scale * Loss::slope(in[1].v[i], in[2].v[i], delta(n)));
  return std::vector{std::move(dx)};
}

constexpr std::string_view microsoft = "com.microsoft";

template <class Loss>
constexpr Operator loss(std::string_view type, std::string_view summary) {
  return {.domain = microsoft,
          .type = type,
          .summary = summary,
          .verified = "torch",
          .infer = infer,
          .reference = reference<Loss>,
          .gradient = gradient<Loss>,
          .tile_map = tile_map,
          .kernel = kernel<Loss>,
          .cycles = cycles<Loss>};
}

template <class Loss>
constexpr Operator loss_grad(std::string_view type, std::string_view summary) {
  return {.domain = microsoft,
          .type = type,
          .summary = summary,
          .verified = "torch",
          .infer = infer_grad,
          .reference = reference_grad<Loss>,
          .tile_map = tile_map_grad,
          .kernel = kernel_grad<Loss>,
          .cycles = cycles_grad<Loss>};
}

}  // namespace

namespace defined {

const Operator MSELoss = loss<Mse>("MSELoss", "(x - target)^2, reduction mean, sum or none");
const Operator MSELossGrad = loss_grad<Mse>("MSELossGrad", "gradient of MSELoss from dLoss, x, target");
const Operator L1Loss = loss<L1>("L1Loss", "|x - target|, reduction mean, sum or none");
const Operator L1LossGrad = loss_grad<L1>("L1LossGrad", "gradient of L1Loss from dLoss, x, target");
const Operator HuberLoss = loss<Huber>("HuberLoss", "(x - target)^2 / 2 within delta, linear beyond");
const Operator HuberLossGrad = loss_grad<Huber>("HuberLossGrad", "gradient of HuberLoss from dLoss, x, target");
const Operator BCELoss = loss<Bce>("BCELoss", "cross-entropy of probabilities x and target");
const Operator BCELossGrad = loss_grad<Bce>("BCELossGrad", "gradient of BCELoss from dLoss, x, target");
const Operator BCEWithLogitsLoss = loss<BceLogits>("BCEWithLogitsLoss", "BCELoss of the logistic function of x");
const Operator BCEWithLogitsLossGrad =
    loss_grad<BceLogits>("BCEWithLogitsLossGrad", "gradient of BCEWithLogitsLoss from dLoss, x, target");

}  // namespace defined
}  // namespace tessera::ops
