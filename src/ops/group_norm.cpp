// InstanceNormalization, GroupNormalization, MeanVarianceNormalization and LpNormalization, and one gradient node for
// all of them. Beyond what ONNX names they give their statistics, mean and inv_std, where a gradient asks for them.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/normalization.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

constexpr std::string_view microsoft = "com.microsoft";

enum class Kind {
  Instance,
  GroupScale,
  ChannelScale,
  MeanVariance,
  Lp
};  // GroupNormalization is the two in the middle

constexpr bool has_scale(Kind kind) {
  return kind != Kind::MeanVariance && kind != Kind::Lp;
}

Result<void> not_empty(const NodeContext& n) {
  if (count(n.in(0)) > 0) return {};
  return n.error(fmt::format("'{}' is {}: it has no elements", n.input(0).name, to_string(n.input(0).type)));
}

// Samples, channels and space, with the channels in groups.
Result<NormShape> grouped(const NodeContext& n, int64_t groups) {
  auto& shape = n.in(0);
  if (shape.size() < 2)
    return n.error(fmt::format("'{}' is {}; it needs an axis of samples and one of channels", n.input(0).name,
                               to_string(n.input(0).type)));
  if (groups == 0) groups = shape[1];
  if (groups < 0 || shape[1] % groups != 0)
    return n.error(fmt::format("num_groups is {}, but '{}' has {} channels", groups, n.input(0).name, shape[1]))
        .hint("num_groups must divide the number of channels");
  return NormShape{.outer = shape[0],
                   .groups = groups,
                   .parts = shape[1] / groups,
                   .inner = count(Shape(shape.begin() + 2, shape.end()))};
}

// Axes that are normalised over, among others: [kept, over, kept, over], each of them one or more axes, or none.
Result<NormShape> over_axes(const NodeContext& n, const std::vector<int64_t>& axes) {
  NormShape s;
  int64_t* stages[] = {&s.outer, &s.rows, &s.groups, &s.inner};
  size_t stage = 0;
  for (size_t i = 0; i < n.in(0).size(); ++i) {
    if (n.in(0)[i] == 1) continue;
    bool over = std::ranges::binary_search(axes, static_cast<int64_t>(i));
    if (over != (stage % 2 == 1)) ++stage;
    if (stage == 4)
      return n.error(fmt::format("normalises over axes [{}], which are too scattered", fmt::join(axes, ", ")))
          .hint("transpose the data so that the axes form at most two runs, the last one at the end");
    *stages[stage] *= n.in(0)[i];
  }
  if (s.groups * s.inner == 1) std::swap(s.rows, s.inner);  // one run: its elements stand side by side
  return s;
}

template <Kind kind>
Result<NormShape> shape_of(const NodeContext& n) {
  auto& attributes = n.node.attributes;
  if (kind == Kind::Instance) return grouped(n, 0);
  if (kind == Kind::MeanVariance) {
    TRY(auto axes, axes_of(n, attributes.integers("axes").value_or(std::vector<int64_t>{0, 2, 3}), n.in(0).size()));
    return over_axes(n, axes);
  }
  if (kind == Kind::Lp) {
    TRY(auto axis, axis_of(n, attributes.integer("axis", -1), n.in(0).size()));
    return over_axes(n, {axis});
  }
  auto groups = attributes.integer("num_groups", 0);
  if (groups < 1) return n.error(fmt::format("num_groups is {}; it must be given, and positive", groups));
  return grouped(n, groups);
}

int at(const NodeContext& n, size_t output) {
  return n.has_output(output) ? static_cast<int>(output) : -1;
}

template <Kind kind>
NormRule rule_of(const NodeContext& n) {
  if (kind == Kind::Lp) return n.node.attributes.integer("p", 2) == 1 ? NormRule::L1 : NormRule::L2;
  return kind == Kind::MeanVariance ? NormRule::Deviation : NormRule::Variance;
}

template <Kind kind>
Result<Normalization> describe(const NodeContext& n) {
  TRY(auto shape, shape_of<kind>(n));
  Normalization d{.shape = shape, .x = 0, .y = at(n, 0), .mean = at(n, 1), .inv_std = at(n, 2)};
  if (has_scale(kind)) {
    d.params = kind == Kind::ChannelScale && shape.parts > 1 ? NormParams::Part : NormParams::Group;
    d.scale = 1;
    d.bias = 2;
  }
  d.around_zero = kind == Kind::Lp;
  d.rule = rule_of<kind>(n);
  d.epsilon = kind == Kind::MeanVariance ? 1e-9f : kind == Kind::Lp ? 0 : n.node.attributes.real("epsilon", 1e-5f);
  return d;
}

template <Kind kind>
Result<std::vector<TensorType>> infer(const NodeContext& n) {
  CHECK_OK(takes(n, has_scale(kind) ? 3 : 1, has_scale(kind) ? 3 : 1));
  CHECK_OK(is_float(n, 0));
  CHECK_OK(not_empty(n));
  TRY(auto d, describe<kind>(n));
  for (size_t i : {1, 2}) {
    if (!has_scale(kind)) break;
    CHECK_OK(is_float(n, i));
    int64_t wanted = kind == Kind::ChannelScale ? n.in(0)[1] : d.shape.groups;
    if (count(n.in(i)) != wanted)
      return n
          .error(
              fmt::format("'{}' is {}; it must have {} elements", n.input(i).name, to_string(n.input(i).type), wanted))
          .hint("GroupNormalization has a scale and a bias a group before operator set 21, and a channel since then");
  }
  if (kind == Kind::Lp)
    if (auto p = n.node.attributes.integer("p", 2); p != 1 && p != 2)
      return n.error(fmt::format("p is {}; it must be 1 or 2", p));
  TensorType statistics{DType::F32, {d.shape.outer, d.shape.groups}};
  return std::vector{n.input(0).type, statistics, statistics};
}

// As for LayerNormalization: one node where a group is small, else one for dX and one for the parameters.
constexpr int64_t small_group = 4096;

template <Kind kind>
Result<std::vector<TensorId>> gradient(GradientContext& g) {
  auto& build = g.build;
  std::vector<TensorId> d(g.node.inputs.size());
  if (!g.d_outputs[0]) return d;
  NodeContext n{build.graph(), g.node};
  TRY(auto forward, describe<kind>(n));
  TRY(auto types, infer<kind>(n));
  auto& s = forward.shape;
  std::vector<TensorId> inputs{g.d_outputs[0], g.node.inputs[0], has_scale(kind) ? g.node.inputs[1] : TensorId{},
                               kind == Kind::Lp ? TensorId{} : build.output(g.node, 1, types[1], "mean"),
                               build.output(g.node, 2, types[2], "inv_std")};
  Attributes attributes{{"shape", std::vector<int64_t>{s.outer, s.rows, s.groups, s.parts, s.inner}},
                        {"rule", static_cast<int64_t>(forward.rule)}};
  auto names = gradient_names(g, has_scale(kind) ? 3 : 1);
  names.resize(3);
  auto part = [&](std::vector<std::string> wanted) {
    if (std::ranges::all_of(wanted, [](auto& name) { return name.empty(); })) return;
    auto made = build.node({std::string(microsoft), "NormalizationGrad"}, inputs, attributes, wanted);
    for (size_t i = 0; i < d.size(); ++i)
      if (made[i]) d[i] = made[i];
  };
  if (s.terms() <= small_group) {
    part(names);
  } else {
    part({names[0], "", ""});
    part({"", names[1], names[2]});
  }
  CHECK_OK(build.status());
  return d;
}

// (dY, X, [scale], [mean], inv_std) -> dX, dScale, dBias, with the space as an attribute.
Result<NormalizationGrad> describe_grad(const NodeContext& n) {
  auto s = n.node.attributes.integers("shape").value_or(std::vector<int64_t>{});
  if (s.size() != 5 || count(s) != count(n.in(1)))
    return n.error(fmt::format("shape is [{}]; it must have five numbers, for the {} elements of '{}'",
                               fmt::join(s, ", "), count(n.in(1)), n.input(1).name));
  auto rule = n.node.attributes.integer("rule", 0);
  if (rule < 0 || rule > 3) return n.error(fmt::format("rule {} is not known", rule));
  NormalizationGrad d{.shape = {s[0], s[1], s[2], s[3], s[4]},
                      .scale = n.has_input(2) ? 2 : -1,
                      .mean = n.has_input(3) ? 3 : -1,
                      .inv_std = 4,
                      .dx = at(n, 0),
                      .dscale = at(n, 1),
                      .dbias = at(n, 2),
                      .rule = static_cast<NormRule>(rule),
                      .around_zero = !n.has_input(3)};
  if (n.has_input(2) && d.shape.parts > 1 && count(n.in(2)) != d.shape.groups) d.params = NormParams::Part;
  return d;
}

Result<std::vector<TensorType>> infer_grad(const NodeContext& n) {
  if (n.node.inputs.size() != 5 || !n.has_input(0) || !n.has_input(1) || !n.has_input(4))
    return n.error("takes dY, X, scale, mean and inv_std, of which scale and mean may be absent");
  for (size_t i = 0; i < 5; ++i)
    if (n.has_input(i)) CHECK_OK(is_float(n, i));
  CHECK_OK(same_shape(n, 0, 1));
  TRY(auto d, describe_grad(n));
  auto params = d.params == NormParams::Part ? d.shape.groups * d.shape.parts : d.shape.groups;
  for (auto [input, elements] :
       {std::pair{2, params}, std::pair{3, d.shape.statistics()}, std::pair{4, d.shape.statistics()}}) {
    auto i = static_cast<size_t>(input);
    if (n.has_input(i) && count(n.in(i)) != elements)
      return n.error(
          fmt::format("'{}' is {}; it must have {} elements", n.input(i).name, to_string(n.input(i).type), elements));
  }
  TensorType param{DType::F32, n.has_input(2) ? n.in(2) : Shape{params}};
  return std::vector{n.input(1).type, param, param};
}

template <Kind kind>
constexpr Operator normalization(std::string_view type, std::string_view summary, std::string_view verified, int since,
                                 int until = 0) {
  return {.domain = "",
          .type = type,
          .since = since,
          .until = until,
          .summary = summary,
          .verified = verified,
          .infer = infer<kind>,
          .reference = norm_reference<describe<kind>>,
          .gradient = gradient<kind>,
          .tile_map = norm_tile_map<describe<kind>>,
          .kernel = norm_kernel<describe<kind>>,
          .cycles = norm_cycles<describe<kind>>,
          .far_stack = 2};
}

}  // namespace

namespace defined {

const Operator InstanceNormalization = normalization<Kind::Instance>(
    "InstanceNormalization", "by the statistics of each channel of each sample", "onnx, torch", 6);
const Operator GroupNormalizationByGroup = normalization<Kind::GroupScale>(
    "GroupNormalization", "by the statistics of groups of channels, with a scale a group", "reference, torch", 18, 20);
const Operator GroupNormalization = normalization<Kind::ChannelScale>(
    "GroupNormalization", "by the statistics of groups of channels, with a scale a channel", "torch", 21);
const Operator MeanVarianceNormalization = normalization<Kind::MeanVariance>(
    "MeanVarianceNormalization", "(x - mean) / deviation over axes", "onnx, torch", 9);
const Operator LpNormalization =
    normalization<Kind::Lp>("LpNormalization", "x / (sum(|x|^p))^(1/p) along `axis`, p 1 or 2", "torch", 1);
const Operator NormalizationGrad{.domain = microsoft,
                                 .type = "NormalizationGrad",
                                 .summary = "gradient of Instance-, Group-, MeanVariance- and LpNormalization",
                                 .verified = "torch",
                                 .infer = infer_grad,
                                 .reference = norm_reference<describe_grad>,
                                 .tile_map = norm_tile_map<describe_grad>,
                                 .kernel = norm_kernel<describe_grad>,
                                 .cycles = norm_cycles<describe_grad>,
                                 .far_stack = 2};

}  // namespace defined
}  // namespace tessera::ops
