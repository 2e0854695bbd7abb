// The optimizers' steps, in place, one weight a node: plain descent, momentum, Adagrad and Adam, each in the forms that
// ONNX (ai.onnx.preview.training), ONNX Runtime (com.microsoft) and Deeploy give it. And the counter of the steps.
//
//   AdamWOptimizer(rate, step, w, g, m, v) -> (updated, w', m', v')       w' stands where w stood, m' and v' likewise
#include "graph/updates.hpp"

#include <charconv>
#include <cmath>

#include "ops/arguments.hpp"
#include "ops/pointwise.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

enum class Rule : uint8_t { Descent, Momentum, Adagrad, Adam };

// What a node's attributes say, whatever its form calls it. Decimal fractions as they were meant: 0.999f is 0.999, so
// that 1 - beta has all its digits.
struct Numbers {
  Rule rule = Rule::Descent;
  double l2 = 0, alpha = 0, fresh = 1, beta = 0, epsilon = 0, rate_decay = 0, decay = 0, shrunk = 0;
  bool nesterov = false, corrects = true, torch = false;
};

double decimal(const Attributes& attributes, std::string_view name, double otherwise) {
  const float value = attributes.real(name, static_cast<float>(otherwise));
  const auto text = fmt::format("{}", value);
  double meant = static_cast<double>(value);
  std::from_chars(text.data(), text.data() + text.size(), meant);
  return meant;
}

Numbers numbers(const Node& node) {
  const auto& a = node.attributes;
  Numbers n;
  if (node.op.type == "Momentum") {
    n.rule = Rule::Momentum;
    n.alpha = decimal(a, "alpha", 0);
    n.fresh = decimal(a, "beta", 1);
    n.l2 = decimal(a, "norm_coefficient", 0);
    n.nesterov = a.text("mode", "standard") == "nesterov";
  } else if (node.op.type == "Adagrad") {
    n.rule = Rule::Adagrad;
    n.rate_decay = decimal(a, "decay_factor", 0);
    n.epsilon = decimal(a, "epsilon", 1e-6);
    n.l2 = decimal(a, "norm_coefficient", 0);
  } else if (node.op.type == "Adam" || node.op.type == "AdamWOptimizer") {
    const bool runtime = node.op.type == "AdamWOptimizer";
    n.rule = Rule::Adam;
    n.alpha = decimal(a, "alpha", 0.9);
    n.fresh = 1 - n.alpha;
    n.beta = decimal(a, "beta", 0.999);
    n.epsilon = decimal(a, "epsilon", runtime ? 1e-8 : 1e-6);
    n.decay = runtime ? decimal(a, "weight_decay", 1e-2) : 0;
    n.l2 = decimal(a, "norm_coefficient", 0);
    n.shrunk = decimal(a, "norm_coefficient_post", 0);
    n.corrects = a.integer("correct_bias", 1) != 0;
    n.torch = runtime && a.integer("adam_mode", 0) == 0;
  } else {
    n.l2 = decimal(a, "weight_decay", 0);
  }
  return n;
}

const UpdateForm& form(const NodeContext& n) {
  return *update_form(n.node.op);
}

// Descent has its rate in several places.
int rate_of(const NodeContext& n) {
  if (form(n).rate >= 0) return form(n).rate;
  return n.has_input(2) ? 2 : -1;
}

Result<void> check_attributes(const NodeContext& n) {
  const auto& a = n.node.attributes;
  if (rate_of(n) < 0 && !a.find("lr"))
    return n.error("has no learning rate").hint("give the attribute lr, or a third input");
  const auto mode = a.text("mode", "standard");
  if (n.node.op.type == "Momentum" && mode != "standard" && mode != "nesterov")
    return n.error(fmt::format("mode is '{}'", mode)).hint("standard or nesterov");
  if (const auto adam = a.integer("adam_mode", 0); adam != 0 && adam != 1)
    return n.error(fmt::format("adam_mode is {}", adam)).hint("0 is PyTorch's order, 1 that of Transformers");
  const auto what = numbers(n.node);
  if (what.rule == Rule::Adam)
    for (auto& [name, value] : {std::pair{"alpha", what.alpha}, std::pair{"beta", what.beta}})
      if (!(value >= 0 && value < 1)) return n.error(fmt::format("{} is {}: it must lie in [0, 1)", name, value));
  return {};
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  const auto& f = form(n);
  const size_t weight = static_cast<size_t>(f.weight), least = weight + static_cast<size_t>(f.groups());
  CHECK_OK(takes(n, least, std::max(least, static_cast<size_t>(f.rate < 0 ? 3 : f.signal + 1))));
  for (size_t i = weight; i < least; ++i) {
    CHECK_OK(is_float(n, i));
    CHECK_OK(same_shape(n, weight, i));
  }
  if (const int rate = rate_of(n); rate >= 0) {
    CHECK_OK(is_float(n, static_cast<size_t>(rate)));
    CHECK_OK(one_element(n, static_cast<size_t>(rate)));
  }
  if (f.step >= 0) {
    CHECK_OK(is_one_of(n, static_cast<size_t>(f.step), {DType::I64}));
    CHECK_OK(one_element(n, static_cast<size_t>(f.step)));
  }
  if (f.signal >= 0 && n.has_input(static_cast<size_t>(f.signal))) {
    CHECK_OK(is_one_of(n, static_cast<size_t>(f.signal), {DType::Bool, DType::U8}));
    CHECK_OK(one_element(n, static_cast<size_t>(f.signal)));
  }
  CHECK_OK(check_attributes(n));
  std::vector<TensorType> types;
  if (f.flag == 0) types.push_back({DType::Bool, {1}});
  types.resize(types.size() + 1 + static_cast<size_t>(f.states), n.input(weight).type);
  return types;
}

std::vector<Alias> aliases(const NodeContext& n) {
  const auto& f = form(n);
  std::vector<Alias> all;
  if (n.has_output(static_cast<size_t>(f.updated))) all.push_back({Alias::Kind::InPlace, f.weight, f.updated});
  for (int s = 0; s < f.states; ++s)
    if (n.has_output(static_cast<size_t>(f.updated + 1 + s)))
      all.push_back({Alias::Kind::InPlace, f.gradient + 1 + s, f.updated + 1 + s});
  return all;
}

Result<TileMap> tile_map(const NodeContext& n) {
  const auto& f = form(n);
  for (int o = f.updated; o <= f.updated + f.states; ++o)
    if (!n.has_output(static_cast<size_t>(o)))
      return n.error("changes its weight and its states but does not give them all as outputs")
          .hint("name the outputs that hold them");
  auto map = flat_space(n, count(n.in(static_cast<size_t>(f.weight))));
  // A weight of one element is not a flag: it follows the dimension, the numbers beside it do not.
  for (int i : {rate_of(n), f.step, f.signal})
    if (i >= 0 && n.has_input(static_cast<size_t>(i))) map.inputs[static_cast<size_t>(i)].axes = {AxisMap::whole(1)};
  if (f.flag >= 0 && n.has_output(static_cast<size_t>(f.flag)))
    map.outputs[static_cast<size_t>(f.flag)].axes = {AxisMap::whole(1)};
  return map;
}

std::string_view function_of(Rule rule) {
  switch (rule) {
    case Rule::Momentum:
      return "ts_momentum";
    case Rule::Adagrad:
      return "ts_adagrad";
    case Rule::Adam:
      return "ts_adam";
    case Rule::Descent:
      break;
  }
  return "ts_sgd";
}

KernelCall kernel(const NodeContext& n, const TileSymbols& tile) {
  const auto& f = form(n);
  const auto what = numbers(n.node);
  std::vector<KernelCall::Field> fields{input_field("w", f.weight), input_field("g", f.gradient)};
  for (int s = 0; s < f.states; ++s) fields.push_back(input_field(s == 0 ? "m" : "v", f.gradient + 1 + s));
  fields.push_back(output_field("out", f.updated));
  for (int s = 0; s < f.states; ++s) fields.push_back(output_field(s == 0 ? "m_out" : "v_out", f.updated + 1 + s));
  if (const int rate = rate_of(n); rate >= 0)
    fields.push_back(input_field("rate", rate));
  else
    fields.push_back({"fixed_rate", n.node.attributes.real("lr", 0)});
  if (f.step >= 0) fields.push_back(input_field("step", f.step));
  if (f.signal >= 0 && n.has_input(static_cast<size_t>(f.signal))) fields.push_back(input_field("signal", f.signal));
  if (f.flag >= 0 && n.has_output(static_cast<size_t>(f.flag))) fields.push_back(output_field("updated", f.flag));
  fields.push_back(flat_count(tile));
  auto number = [&](const char* name, double value) {
    if (value != 0) fields.push_back({name, static_cast<float>(value)});
  };
  number("l2", what.l2);
  if (what.rule == Rule::Momentum || what.rule == Rule::Adam) {
    number("alpha", what.alpha);
    number("fresh", what.fresh);
  }
  number("epsilon", what.epsilon);
  number("rate_decay", what.rate_decay);
  if (what.nesterov) fields.push_back({"nesterov", Expr(1)});
  if (what.rule != Rule::Adam) return {std::string(function_of(what.rule)), "update", std::move(fields)};
  number("beta", what.beta);
  number("fresh2", 1 - what.beta);
  if (what.corrects) number("log_alpha", std::max(std::log(what.alpha), -1e30));
  if (what.corrects) number("log_beta", std::max(std::log(what.beta), -1e30));
  number("decay", what.decay);
  number("shrunk", what.shrunk);
  fields.push_back({"mode", Expr(what.torch ? 0 : 1)});
  return {std::string(function_of(what.rule)), "update", std::move(fields)};
}

double cycles(const NodeContext& n, std::span<const int64_t> tile, int cores) {
  switch (numbers(n.node).rule) {
    case Rule::Momentum:
      return team_cycles(tile[0], 12, cores);
    case Rule::Adagrad:
    case Rule::Adam:
      return team_cycles(tile[0], ElementCost(45, 2).on(cores), cores);
    case Rule::Descent:
      break;
  }
  return team_cycles(tile[0], 8, cores);
}

// One element: the weight and its states, as the papers say.
struct Element {
  double w, m, v;
};
Element stepped(const Numbers& n, Element e, double g, double rate, double step) {
  g += n.l2 * e.w;
  switch (n.rule) {
    case Rule::Descent:
      e.w -= rate * g;
      break;
    case Rule::Momentum:
      e.m = n.alpha * e.m + (step > 0 ? n.fresh : 1) * g;
      e.w -= rate * (n.nesterov ? g + n.alpha * e.m : e.m);
      break;
    case Rule::Adagrad:
      e.m += g * g;
      e.w -= rate / (1 + step * n.rate_decay) * g / (std::sqrt(e.m) + n.epsilon);
      break;
    case Rule::Adam: {
      e.m = n.alpha * e.m + (1 - n.alpha) * g;
      e.v = n.beta * e.v + (1 - n.beta) * g * g;
      const bool corrects = n.corrects && step > 0;
      const double first = corrects ? 1 - std::pow(n.alpha, step) : 1,
                   second = corrects ? 1 - std::pow(n.beta, step) : 1;
      if (n.torch) {
        e.w -= rate * n.decay * e.w;
        e.w -= rate / first * e.m / (std::sqrt(e.v / second) + n.epsilon);
      } else {
        e.w -= rate * std::sqrt(second) / first * e.m / (std::sqrt(e.v) + n.epsilon);
        e.w -= rate * n.decay * e.w;
      }
      e.w *= 1 - n.shrunk;
      break;
    }
  }
  return e;
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  const auto& f = form(n);
  const auto what = numbers(n.node);
  auto at = [&](int i) -> const Array& { return in[static_cast<size_t>(i)]; };
  const int rate_at = rate_of(n);
  const double rate = rate_at >= 0 ? at(rate_at).v[0] : static_cast<double>(n.node.attributes.real("lr", 0));
  const double step = f.step >= 0 ? at(f.step).v[0] : 1;
  const bool wanted = f.signal < 0 || !n.has_input(static_cast<size_t>(f.signal)) || at(f.signal).v[0] != 0;
  std::vector<Array> out;
  if (f.flag == 0) out.push_back({DType::Bool, {1}, {wanted ? 1.0 : 0.0}});
  out.push_back(at(f.weight));
  for (int s = 0; s < f.states; ++s) out.push_back(at(f.gradient + 1 + s));
  if (!wanted) return out;
  Array* const first = &out[static_cast<size_t>(f.updated)];
  for (size_t i = 0; i < first->v.size(); ++i) {
    Element e{first[0].v[i], f.states > 0 ? first[1].v[i] : 0, f.states > 1 ? first[2].v[i] : 0};
    e = stepped(what, e, at(f.gradient).v[i], rate, step);
    first[0].v[i] = e.w;
    if (f.states > 0) first[1].v[i] = e.m;
    if (f.states > 1) first[2].v[i] = e.v;
  }
  return out;
}

constexpr Operator update(std::string_view domain, std::string_view type, std::string_view summary,
                          std::string_view verified = "torch") {
  return {.domain = domain,
          .type = type,
          .summary = summary,
          .verified = verified,
          .infer = infer,
          .reference = reference,
          .aliases = aliases,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles};
}

// The counter of the steps: count + 1, where it stands.
Result<std::vector<TensorType>> infer_increment(const NodeContext& n) {
  CHECK_OK(takes(n, 1, 1));
  CHECK_OK(is_one_of(n, 0, {DType::I64}));
  CHECK_OK(one_element(n, 0));
  return std::vector{n.input(0).type};
}
Result<std::vector<Array>> increased(const NodeContext&, std::span<const Array> in) {
  Array out = in[0];
  out.v[0] += 1;
  return std::vector{std::move(out)};
}
std::vector<Alias> counts_in_place(const NodeContext&) {
  return {{Alias::Kind::InPlace, 0, 0}};
}
Result<TileMap> one_count(const NodeContext& n) {
  return flat_space(n, 1);
}
KernelCall increment(const NodeContext&, const TileSymbols&) {
  return {"ts_increment", "update", {input_field("count", 0), output_field("out", 0)}};
}
double increment_cycles(const NodeContext&, std::span<const int64_t>, int cores) {
  return team_cycles(1, 4, cores);
}

}  // namespace

namespace defined {

const Operator SGD = update("", "SGD", "w - lr * g, in place; lr as attribute or input");
const Operator SGDMicrosoft = update(kMicrosoft, "SGD", "the same in ONNX Runtime's domain");
const Operator SGDOptimizer = update(kMicrosoft, "SGDOptimizer", "W - lr * G, in place, from lr, W, G");
const Operator SGDOptimizerV2 = update(kMicrosoft, "SGDOptimizerV2", "the same for each tensor of a sequence");
const Operator AdamWOptimizer =
    update(kMicrosoft, "AdamWOptimizer", "Adam with decoupled weight decay, in place, for each tensor of a sequence");
const Operator Momentum = update(kPreview, "Momentum", "momentum, plain or Nesterov's, in place", "onnx, torch");
const Operator Adagrad = update(kPreview, "Adagrad", "Adagrad, in place", "onnx, torch");
const Operator Adam = update(kPreview, "Adam", "Adam, in place", "onnx");

const Operator Increment{.domain = "org.tessera",
                         .type = "Increment",
                         .summary = "the counter of the optimizer's steps, in place",
                         .verified = "reference",
                         .infer = infer_increment,
                         .reference = increased,
                         .aliases = counts_in_place,
                         .tile_map = one_count,
                         .kernel = increment,
                         .cycles = increment_cycles};

}  // namespace defined
}  // namespace tessera::ops
