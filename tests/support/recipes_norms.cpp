// Normalisations and losses.
#include <algorithm>
#include <numeric>

#include "support/recipes.hpp"

namespace tessera::test {

namespace {

Drafted batch_norm(Maker& m, int) {
  auto x = m.ranked(2, 5);
  if (!x) return {};
  Shape c{m.shape(x)[1]};
  bool training = m.pick(2);
  return Draft{{x, m.fresh(c), m.fresh(c), m.fixed(c, -1, 1), m.fixed(c, 0.5f, 2)},
               {{"training_mode", int64_t{training}}, {"epsilon", 0.01f}, {"spatial", int64_t{m.pick(4) > 0}}},
               training ? 3u : 1u,
               1};
}

Drafted layer_norm(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  Shape s(m.shape(x).begin() + axis, m.shape(x).end());
  Draft d{{x, m.fresh(s)}, {{"axis", axis}, {"epsilon", 0.01f}}};
  if (m.pick(2)) d.inputs.push_back(m.fresh(s));
  return d;
}

Drafted group_norm(Maker& m, int version) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  auto c = m.shape(x)[1], groups = c % 2 == 0 && m.pick(2) ? c / 2 : m.one_of<int64_t>({1, c});
  Shape p{version < 21 ? groups : c};
  return Draft{{x, m.fresh(p), m.fresh(p)}, {{"num_groups", groups}, {"epsilon", 0.01f}}};
}

Drafted instance_norm(Maker& m, int) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  Shape c{m.shape(x)[1]};
  return Draft{{x, m.fresh(c), m.fresh(c)}, {{"epsilon", 0.01f}}};
}

Drafted by_axes(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  return Draft{{x},
               {{"axes", some_axes(m, x)},
                {"axis", axis_for(m, x)},
                {"p", 1 + m.pick(2)},
                {"size", 1 + m.pick(4)},
                {"alpha", 0.3f}}};
}

Drafted class_loss(Maker& m, int) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  Shape s = m.shape(x);
  auto classes = s[1];
  s.erase(s.begin() + 1);
  Draft d{{x, m.labels(s, classes, m.pick(2) ? DType::I64 : DType::I32)},
          {{"reduction", m.one_of<std::string>({"mean", "sum", "none"})}}};
  if (m.pick(2)) d.inputs.push_back(m.fixed({classes}, 0.3f, 2));
  return d;
}

Drafted probability_loss(Maker& m, int) {
  auto x = m.any();
  Shape s = m.shape(x);
  return Draft{{m.fresh(s, 0.1f, 0.9f), m.fresh(s, 0.1f, 0.9f)},
               {{"reduction", m.one_of<std::string>({"mean", "sum", "none"})}}};
}

// dLoss for all, or for each where nothing is reduced.
Drafted class_loss_grad(Maker& m, bool dloss, bool ignore) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  // A loss without log-probabilities that feeds its gradient is taken for them (as Deeploy writes it).
  auto* from = m.maker_of(x);
  if (from && from->op.type.starts_with("SoftmaxCrossEntropyLoss") && from->outputs.size() == 1) return {};
  Shape s = m.shape(x);
  auto classes = s[1];
  s.erase(s.begin() + 1);
  auto reduction = m.one_of<std::string>({"mean", "sum", "none"});
  Draft d{{x, m.labels(s, classes)}, {}};
  if (!dloss) return d;
  d.inputs.insert(d.inputs.begin(), m.fresh(reduction == "none" ? s : Shape{}));
  d.attributes.set("reduction", reduction);
  if (m.pick(2)) d.inputs.push_back(m.fixed({classes}, 0.3f, 2));
  if (!ignore || m.pick(2)) return d;
  d.inputs.resize(4);
  d.inputs.push_back(m.labels({}, classes));
  if (m.pick(2)) d.inputs.push_back(m.like(x));
  return d;
}

Drafted pair_loss_grad(Maker& m, int) {
  auto x = m.any();
  auto reduction = m.one_of<std::string>({"mean", "sum", "none"});
  auto s = m.shape(x);
  return Draft{{m.fresh(reduction == "none" ? s : Shape{}), m.fresh(s, 0.1f, 0.9f), m.fresh(s, 0.1f, 0.9f)},
               {{"reduction", reduction}}};
}

Drafted lrn_grad(Maker& m, int) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  return Draft{{m.like(x), x, m.positive(m.shape(x))}, {{"size", 1 + m.pick(4)}, {"alpha", 0.3f}}};
}

Drafted simplified_norm_grad(Maker& m, int) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  Shape s(m.shape(x).begin(), m.shape(x).end() - 1);
  return Draft{{x, m.like(x), m.fresh({m.shape(x).back()}), m.positive(s)}, {}, 2};
}

Drafted norm_grad(Maker& m, bool batch) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  Shape p{batch ? m.shape(x)[1] : m.shape(x).back()}, s(m.shape(x).begin(), m.shape(x).end() - 1);
  if (batch) s = p;
  return Draft{{x, m.like(x), m.fresh(p), m.fresh(s), m.positive(s)}, {}, 3};
}

}  // namespace

Recipes recipes_of_norms() {
  return {
      {"BatchNormalization", batch_norm},
      {"BatchNormInternal", batch_norm},
      {"LayerNormalization", layer_norm},
      {"SimplifiedLayerNormalization", layer_norm},
      {"RMSNormalization", layer_norm},
      {"GroupNormalization", group_norm},
      {"InstanceNormalization", instance_norm},
      {"MeanVarianceNormalization", by_axes},
      {"LpNormalization", by_axes},
      {"LRN", by_axes},
      {"SoftmaxCrossEntropyLoss", class_loss},
      {"SoftmaxCrossEntropyLossInternal", class_loss},
      {"NegativeLogLikelihoodLoss", class_loss},
      {"BCELoss", probability_loss},
      {"SoftmaxCrossEntropyLossGrad", [](Maker& m, int) { return class_loss_grad(m, m.pick(2), false); }},
      {"SoftmaxCrossEntropyLossInternalGrad", [](Maker& m, int) { return class_loss_grad(m, true, true); }},
      {"NegativeLogLikelihoodLossGrad", [](Maker& m, int) { return class_loss_grad(m, true, false); }},
      {"MSELossGrad", pair_loss_grad},
      {"L1LossGrad", pair_loss_grad},
      {"HuberLossGrad", pair_loss_grad},
      {"BCELossGrad", pair_loss_grad},
      {"BCEWithLogitsLossGrad", pair_loss_grad},
      {"LRNGrad", lrn_grad},
      {"SimplifiedLayerNormalizationGrad", simplified_norm_grad},
      {"BatchNormalizationGrad", [](Maker& m, int) { return norm_grad(m, true); }},
      {"LayerNormalizationGrad", [](Maker& m, int) { return norm_grad(m, false); }},
  };
}

}  // namespace tessera::test
