#include "ops/loss_attributes.hpp"

#include "ops/arguments.hpp"

namespace tessera::ops {

namespace {

constexpr std::string_view names[] = {"none", "sum", "mean"};

}  // namespace

Result<LossReduction> reduction_of(const NodeContext& n) {
  auto name = n.node.attributes.text("reduction", "mean");
  for (auto r : {LossReduction::None, LossReduction::Sum, LossReduction::Mean})
    if (name == reduction_name(r)) return r;
  return n.error(fmt::format("reduction '{}' is not known; it is mean, sum or none", name));
}

std::string reduction_name(LossReduction reduction) {
  return std::string(names[static_cast<size_t>(reduction)]);
}

Result<LossAttributes> loss_attributes(const NodeContext& n, int ignore_input) {
  LossAttributes loss;
  TRY(loss.reduction, reduction_of(n));
  if (n.node.attributes.find("ignore_index")) loss.ignore = n.node.attributes.integer("ignore_index", 0);
  if (ignore_input >= 0 && n.has_input(static_cast<size_t>(ignore_input))) {
    TRY(auto value, known_integers(n, static_cast<size_t>(ignore_input), "ignore_index"));
    if (value.size() != 1) return n.error(fmt::format("ignore_index has {} elements; it must have one", value.size()));
    loss.ignore = value[0];
  }
  return loss;
}

Result<Lines> class_lines(const NodeContext& n, const ClassOperands& operands) {
  auto at = [](int i) { return static_cast<size_t>(i); };
  CHECK_OK(is_float(n, at(operands.scores)));
  CHECK_OK(is_one_of(n, at(operands.labels), {DType::I64, DType::I32}));
  auto &scores = n.input(at(operands.scores)), &labels = n.input(at(operands.labels));
  auto& shape = scores.type.shape;
  if (shape.size() < 2)
    return n.error(fmt::format("the scores '{}' are {}; they need an axis of samples and one of classes", scores.name,
                               to_string(scores.type)));
  Shape expected = shape;
  expected.erase(expected.begin() + 1);
  if (labels.type.shape != expected)
    return n
        .error(fmt::format("the labels '{}' are {} for scores '{}' of {}; they must be {}", labels.name,
                           to_string(labels.type.shape), scores.name, to_string(shape), to_string(expected)))
        .hint("labels have the shape of the scores without axis 1, the classes");
  if (n.has_input(at(operands.weights))) {
    CHECK_OK(is_float(n, at(operands.weights)));
    auto& weights = n.input(at(operands.weights));
    if (weights.type.shape != Shape{shape[1]})
      return n.error(fmt::format("the weights '{}' are {}; there are {} classes", weights.name,
                                 to_string(weights.type.shape), shape[1]));
  }
  return Lines{shape[0], shape[1], count(Shape(shape.begin() + 2, shape.end()))};
}

std::vector<KernelCall::Field> label_fields(const NodeContext& n, const ClassOperands& operands,
                                            const LossAttributes& loss, int64_t classes) {
  auto dtype = n.input(static_cast<size_t>(operands.labels)).type.dtype;
  // A label outside of the classes never counts: only an ignored class is news to the kernel.
  int64_t ignore = loss.ignore.value_or(-1);
  return {{"label_words", Expr(size_of(dtype) / 4)},
          {"ignore", Expr(ignore >= 0 && ignore < classes ? ignore : -1)},
          {"reduction", Expr(static_cast<int>(loss.reduction))}};
}

std::optional<int64_t> counted_label(double label, const LossAttributes& loss, int64_t classes) {
  if (!(label >= 0 && label < static_cast<double>(classes))) return std::nullopt;
  auto index = static_cast<int64_t>(label);
  if (index == loss.ignore) return std::nullopt;
  return index;
}

double label_weight(std::optional<int64_t> label, const Array* weights) {
  return !label ? 0 : weights ? weights->v[static_cast<size_t>(*label)] : 1;
}

}  // namespace tessera::ops
