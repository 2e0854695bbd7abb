// Elementwise operators that are written as others: Sum and Mean of any number of operands, and DivGrad.
#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/spread.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Result<std::vector<TensorType>> infer_sum(const NodeContext& n) {
  CHECK_OK(takes(n, 1, SIZE_MAX));
  for (size_t i = 0; i < n.node.inputs.size(); ++i) {
    if (!n.has_input(i)) return n.error(fmt::format("input {} is missing", i));
    CHECK_OK(is_float(n, i));
  }
  TRY(auto shape, broadcast_inputs(n));
  return std::vector<TensorType>{{DType::F32, shape}};
}

template <bool mean>
Result<std::vector<Array>> reference_sum(const NodeContext& n, std::span<const Array> in) {
  TRY(auto shape, broadcast_inputs(n));
  auto at = spread_inputs(shape, in);
  Array y{DType::F32, shape, std::vector<double>(static_cast<size_t>(count(shape)))};
  for (size_t k = 0; k < in.size(); ++k)
    for (size_t i = 0; i < y.v.size(); ++i) y.v[i] += in[k].v[at[k][i]];
  if (mean)
    for (auto& v : y.v) v /= static_cast<double>(in.size());
  return std::vector{std::move(y)};
}

// One after the other, in their order.
template <bool mean>
Result<std::vector<TensorId>> expand_sum(ExpandContext& e) {
  auto name = e.build.name(e.node.outputs[0]);
  auto sum = e.node.inputs[0];
  for (size_t i = 1; i < e.node.inputs.size(); ++i)
    sum = e.build.node({"", "Add"}, {sum, e.node.inputs[i]}, {}, fmt::format("{}.sum{}", name, i));
  if (mean && e.node.inputs.size() > 1)
    sum = e.build.node({"", "Div"}, {sum, e.build.scalar(static_cast<float>(e.node.inputs.size()), name + ".count")},
                       {}, name + ".mean");
  CHECK_OK(e.build.status());
  return std::vector{sum};
}

template <bool mean>
constexpr Operator sum(std::string_view type, std::string_view summary) {
  return {.domain = "",
          .type = type,
          .since = 6,
          .summary = summary,
          .verified = "onnx, torch",
          .infer = infer_sum,
          .reference = reference_sum<mean>,
          .expand = expand_sum<mean>};
}

// dA = dY / B and dB = -dY (A / B) / B, each summed back to its shape.

Result<std::vector<TensorType>> infer_div_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 3, 3));
  for (size_t i = 0; i < 3; ++i) CHECK_OK(is_float(n, i));
  auto shape = broadcast(n.in(1), n.in(2));
  if (!shape) return n.error(shape.error().message()).hint(shape.error().way_out());
  if (*shape != n.in(0))
    return n.error(fmt::format("dY is {}, but A / B is {}", to_string(n.in(0)), to_string(*shape)));
  return std::vector{n.input(1).type, n.input(2).type};
}

Result<std::vector<Array>> reference_div_grad(const NodeContext&, std::span<const Array> in) {
  auto at = spread_inputs(in[0].shape, in);
  Array da{DType::F32, in[1].shape, std::vector<double>(in[1].v.size())};
  Array db{DType::F32, in[2].shape, std::vector<double>(in[2].v.size())};
  for (size_t i = 0; i < in[0].v.size(); ++i) {
    double dy = in[0].v[i], a = in[1].v[at[1][i]], b = in[2].v[at[2][i]];
    da.v[at[1][i]] += dy / b;
    db.v[at[2][i]] -= dy * a / b / b;
  }
  return std::vector{std::move(da), std::move(db)};
}

Result<std::vector<TensorId>> expand_div_grad(ExpandContext& e) {
  auto& build = e.build;
  auto dy = e.node.inputs[0], a = e.node.inputs[1], b = e.node.inputs[2];
  Shape shape_a = build.type(a).shape, shape_b = build.type(b).shape;
  std::vector<TensorId> made(e.node.outputs.size());
  auto quotient = build.node({"", "Div"}, {dy, b}, {}, e.node.name + ".quotient");
  if (!made.empty() && e.node.outputs[0]) made[0] = reduce_to(build, quotient, shape_a, e.node.name + ".dA");
  if (made.size() > 1 && e.node.outputs[1]) {
    auto ratio = build.node({"", "Div"}, {a, b}, {}, e.node.name + ".ratio");
    auto product = build.node({"", "Mul"}, {quotient, ratio}, {}, e.node.name + ".product");
    auto full = build.node({"", "Neg"}, {product}, {}, e.node.name + ".negative");
    made[1] = reduce_to(build, full, shape_b, e.node.name + ".dB");
  }
  CHECK_OK(build.status());
  return made;
}

}  // namespace

namespace defined {

const Operator Sum = sum<false>("Sum", "the sum of all operands, broadcast");
const Operator Mean = sum<true>("Mean", "the mean of all operands, broadcast");
const Operator DivGrad{.domain = "com.microsoft",
                       .type = "DivGrad",
                       .summary = "gradients of A / B by both, broadcast",
                       .verified = "torch, reference",
                       .infer = infer_div_grad,
                       .reference = reference_div_grad,
                       .expand = expand_div_grad};

}  // namespace defined
}  // namespace tessera::ops
