// BatchNormalization in all its forms, BatchNormInternal, and their gradient: statistics of a channel over the batch
// and space, in training those of the batch at hand, else the running ones.
//
// In training, running = momentum * running + (1 - momentum) * batch; the variance that enters is the population's, as
// ONNX says, or with the attribute `unbiased` = 1 that of a sample, as PyTorch has it. Running statistics that live for
// the whole run (State, Parameter) are updated in place.
#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/normalization.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

constexpr std::string_view microsoft = "com.microsoft";

enum class Form { Old, Onnx, Internal };  // before operator set 14, since then, and ONNX Runtime's for training

// Output of the old forms: Y, mean, var, saved_mean, saved_var; and of the others: Y, mean, var, saved_mean,
// saved_inv_std, the last two beyond what ONNX names. The old forms get saved_inv_std as a sixth.
template <Form form>
constexpr size_t inv_std_output = form == Form::Old ? 5 : 4;

template <Form form>
bool training(const NodeContext& n) {
  bool more = false;
  for (size_t o = 1; o < n.node.outputs.size(); ++o) more |= n.has_output(o);
  if (form == Form::Old) return more;
  return n.node.attributes.integer("training_mode", form == Form::Internal && more) != 0;
}

// Before operator set 9, spatial = 0 gives every position of a sample its own statistics.
bool by_position(const NodeContext& n) {
  return n.node.op.domain.empty() && n.node.version < 9 && n.node.version > 0 &&
         n.node.attributes.integer("spatial", 1) == 0;
}

Result<NormShape> shape_of(const NodeContext& n, size_t x) {
  auto& shape = n.in(x);
  if (shape.empty()) return n.error(fmt::format("'{}' is a scalar; it needs an axis of samples", n.input(x).name));
  NormShape s{.rows = shape[0]};
  s.groups = shape.size() > 1 ? shape[1] : 1;
  for (size_t i = 2; i < shape.size(); ++i) (by_position(n) ? s.groups : s.inner) *= shape[i];
  return s;
}

// Inputs that have one element a channel.
Result<void> per_channel(const NodeContext& n, const NormShape& s, std::initializer_list<size_t> inputs) {
  for (auto i : inputs) {
    CHECK_OK(is_float(n, i));
    if (count(n.in(i)) == s.groups) continue;
    return n
        .error(fmt::format("'{}' is {}; '{}' has {} channels", n.input(i).name, to_string(n.input(i).type),
                           n.input(0).name, s.groups))
        .hint("scale, bias, mean and variance have one element a channel, which is axis 1 of the data");
  }
  return {};
}

int at(const NodeContext& n, size_t output) {
  return n.has_output(output) ? static_cast<int>(output) : -1;
}

template <Form form>
Result<Normalization> describe(const NodeContext& n) {
  TRY(auto shape, shape_of(n, 0));
  Normalization d{.shape = shape, .x = 0, .scale = 1, .bias = 2, .old_mean = 3, .old_variance = 4, .y = at(n, 0)};
  d.epsilon = n.node.attributes.real("epsilon", 1e-5f);
  d.momentum = n.node.attributes.real("momentum", 0.9f);
  d.unbiased = n.node.attributes.integer("unbiased", 0) != 0;
  d.given = !training<form>(n);
  if (d.given) return d;
  d.new_mean = at(n, 1);
  d.new_variance = at(n, 2);
  d.mean = at(n, 3);
  d.variance = form == Form::Old ? at(n, 4) : -1;
  d.inv_std = at(n, inv_std_output<form>);
  return d;
}

template <Form form>
Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, 5, 5));
  CHECK_OK(is_float(n, 0));
  TRY(auto shape, shape_of(n, 0));
  CHECK_OK(per_channel(n, shape, {1, 2, 3, 4}));
  if (!training<form>(n))
    for (size_t o = 1; o < n.node.outputs.size(); ++o)
      if (n.has_output(o))
        return n.error(fmt::format("gives '{}', but is not in training", n.output(o).name))
            .hint("set training_mode to 1, or take the output away");
  if (count(n.in(0)) == 0)
    return n.error(fmt::format("'{}' is {}: it has no elements", n.input(0).name, to_string(n.input(0).type)));
  std::vector<TensorType> types(inv_std_output<form> + 1, n.input(3).type);
  types[0] = n.input(0).type;
  types[2] = n.input(4).type;
  return types;
}

template <Form form>
std::vector<Alias> aliases(const NodeContext& n) {
  std::vector<Alias> in_place;
  for (int i : {3, 4}) {
    auto role = n.input(static_cast<size_t>(i)).role;
    if (n.has_output(static_cast<size_t>(i - 2)) && (role == Role::State || role == Role::Parameter))
      in_place.push_back({Alias::Kind::InPlace, i, i - 2});
  }
  return in_place;
}

// The gradient is one node, whatever of it is wanted. Running statistics have none: nothing learns them.
template <Form form>
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  auto& build = g.build;
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.d_outputs[0] || !(g.wanted[0] || g.wanted[1] || g.wanted[2])) return d;
  NodeContext n{build.graph(), g.node};
  bool frozen = !training<form>(n);
  auto mean = g.node.inputs[3], spread = g.node.inputs[4];
  auto type = build.type(mean);
  if (!frozen) {
    mean = build.output(g.node, 3, type, "saved_mean");
    spread = build.output(g.node, inv_std_output<form>, type, "saved_inv_std");
  }
  Attributes attributes{{"epsilon", g.node.attributes.real("epsilon", 1e-5f)}};
  if (frozen) attributes.set("frozen", int64_t{1});
  if (by_position(n)) attributes.set("spatial", int64_t{0});
  auto made = build.node({std::string(microsoft), "BatchNormalizationGrad"},
                         {g.d_outputs[0], g.node.inputs[0], g.node.inputs[1], mean, spread}, std::move(attributes),
                         gradient_names(g, 3));
  for (size_t i = 0; i < 3; ++i) d[i] = made[i];
  CHECK_OK(build.status());
  return d;
}

// (dY, X, scale, saved_mean, saved_inv_std) -> dX, dScale, dBias. With `frozen` the statistics are the running ones,
// (..., mean, var), and do not depend on X.
Result<NormalizationGrad> describe_grad(const NodeContext& n) {
  TRY(auto shape, shape_of(n, 1));
  if (n.node.attributes.integer("spatial", 1) == 0) shape = {.rows = shape.rows, .groups = shape.groups * shape.inner};
  bool frozen = n.node.attributes.integer("frozen", 0) != 0;
  return NormalizationGrad{.shape = shape,
                           .dy = 0,
                           .x = 1,
                           .scale = 2,
                           .mean = 3,
                           .inv_std = 4,
                           .dx = at(n, 0),
                           .dscale = at(n, 1),
                           .dbias = at(n, 2),
                           .variance = frozen,
                           .frozen = frozen,
                           .epsilon = n.node.attributes.real("epsilon", 1e-5f)};
}

Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  CHECK_OK(takes(n, 5, 5));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(is_float(n, 1));
  CHECK_OK(same_shape(n, 0, 1));
  TRY(auto d, describe_grad(n));
  CHECK_OK(per_channel(n, d.shape, {2, 3, 4}));
  return std::vector{n.input(1).type, n.input(2).type, n.input(2).type};
}

template <Form form>
constexpr Operator batch_norm(std::string_view domain, std::string_view type, std::string_view summary,
                              std::string_view verified, int since, int until = 0) {
  return {.domain = domain,
          .type = type,
          .since = since,
          .until = until,
          .summary = summary,
          .verified = verified,
          .infer = infer<form>,
          .reference = norm_reference<describe<form>>,
          .gradient = gradient<form>,
          .aliases = aliases<form>,
          .tile_map = norm_tile_map<describe<form>>,
          .kernel = norm_kernel<describe<form>>,
          .cycles = norm_cycles<describe<form>>,
          .far_stack = 2};
}

}  // namespace

namespace defined {

const Operator BatchNormalizationOld = batch_norm<Form::Old>(
    "", "BatchNormalization", "by the running statistics, or with more outputs than Y by the batch's", "onnx, torch", 7,
    13);
const Operator BatchNormalization = batch_norm<Form::Onnx>(
    "", "BatchNormalization", "by the running statistics, or with training_mode by the batch's", "onnx, torch", 14);
const Operator BatchNormInternal = batch_norm<Form::Internal>(
    microsoft, "BatchNormInternal", "BatchNormalization that keeps its statistics", "reference, torch", 1);
const Operator BatchNormalizationGrad{.domain = microsoft,
                                      .type = "BatchNormalizationGrad",
                                      .summary = "gradient of BatchNormalization from dY, X, scale and the statistics",
                                      .verified = "torch",
                                      .infer = infer_grad,
                                      .reference = norm_reference<describe_grad>,
                                      .tile_map = norm_tile_map<describe_grad>,
                                      .kernel = norm_kernel<describe_grad>,
                                      .cycles = norm_cycles<describe_grad>,
                                      .far_stack = 2};

}  // namespace defined
}  // namespace tessera::ops
