#include "support/recipes.hpp"

namespace tessera::test {

int64_t axis_for(Maker& m, TensorId x) {
  auto rank = std::max<int64_t>(m.rank(x), 1);
  return m.pick(2 * rank) - rank;
}

std::vector<int64_t> some_axes(Maker& m, TensorId x) {
  std::vector<int64_t> axes;
  for (int64_t a = 0; a < m.rank(x); ++a)
    if (m.pick(2)) axes.push_back(m.pick(2) ? a : a - m.rank(x));
  if (axes.empty() && m.rank(x) > 0) axes.push_back(m.pick(m.rank(x)));
  return axes;
}

Drafted axes_input_or_attribute(Maker& m, int version, TensorId x, std::vector<int64_t> axes, int since, Attributes a) {
  if (version >= since) return Draft{{x, m.integers(axes)}, std::move(a)};
  a.set("axes", axes);
  return Draft{{x}, std::move(a)};
}

namespace {

// The attributes that many operators have, each now and then; those that an operator does not know change nothing.
Attributes common(Maker& m, TensorId x) {
  Attributes a;
  if (m.pick(2)) a.set("axis", axis_for(m, x));
  if (m.pick(3) == 0) a.set("keepdims", m.pick(2));
  if (m.pick(4) == 0) a.set("alpha", 0.25f + static_cast<float>(m.pick(4)));
  if (m.pick(4) == 0) a.set("approximate", m.pick(2) ? std::string("tanh") : std::string("none"));
  if (m.pick(4) == 0) a.set("reduction", m.one_of<std::string>({"mean", "sum", "none"}));
  return a;
}

// Any operator: one to three operands of one type, whose shapes are the same or broadcast.
Drafted anything(Maker& m) {
  auto x = m.any(m.pick(8) ? DType::F32 : m.one_of<DType>({DType::I64, DType::Bool, DType::I32}));
  if (!x) return {};
  Draft d{{x}, common(m, x)};
  for (auto more = m.pick(3); more > 0; --more) {
    auto other = m.tensor(x).type.dtype == DType::F32 && m.pick(2) ? m.broadcasting(x) : m.like(x);
    if (!other) return {};
    d.inputs.push_back(other);
  }
  return d;
}

// ---- what takes a part of the numbers only

Drafted booleans(Maker& m, int) {
  auto x = m.any(DType::Bool);
  if (!x) return {};
  Draft d{{x}, {}};
  if (m.pick(2)) d.inputs.push_back(m.like(x));
  return d;
}

Drafted within(Maker& m, float low, float high) {
  auto x = m.any();
  return Draft{{m.fresh(m.shape(x), low, high)}, {}};
}

Drafted power(Maker& m, int) {
  auto x = m.any();
  return Draft{{m.positive(m.shape(x)), m.broadcasting(x)}, {}};
}

Drafted remainder(Maker& m, int) {
  auto x = m.any();
  return Draft{{x, m.positive(m.shape(x))}, {{"fmod", int64_t{1}}}};
}

// ---- reductions

Drafted reduction(Maker& m, int version) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  return axes_input_or_attribute(m, version, x, some_axes(m, x), m.pick(2) ? 13 : 18, {{"keepdims", m.pick(2)}});
}

Drafted reduction_with_input(Maker& m, int) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  return Draft{{x, m.integers(some_axes(m, x))}, {{"keepdims", m.pick(2)}}};
}

const Recipes& recipes() {
  static const Recipes all = [] {
    Recipes some{
        {"Not", booleans},
        {"And", booleans},
        {"Or", booleans},
        {"Xor", booleans},
        {"Sqrt", [](Maker& m, int) { return within(m, 0.1f, 4); }},
        {"Log", [](Maker& m, int) { return within(m, 0.1f, 4); }},
        {"Reciprocal", [](Maker& m, int) { return within(m, 0.2f, 4); }},
        {"Asin", [](Maker& m, int) { return within(m, -0.9f, 0.9f); }},
        {"Acos", [](Maker& m, int) { return within(m, -0.9f, 0.9f); }},
        {"Atanh", [](Maker& m, int) { return within(m, -0.9f, 0.9f); }},
        {"Acosh", [](Maker& m, int) { return within(m, 1.1f, 4); }},
        {"Pow", power},
        {"Mod", remainder},
        {"ReduceSumTraining", reduction_with_input},
    };
    for (auto family : {recipes_of_movement, recipes_of_products, recipes_of_norms}) some.merge(family());
    return some;
  }();
  return all;
}

}  // namespace

std::optional<Draft> draft(Maker& m, const ops::Operator& op, int version) {
  auto at = recipes().find(op.type);
  if (at != recipes().end()) return at->second(m, version);
  if (op.type.starts_with("Reduce")) return reduction(m, version);
  return anything(m);
}

}  // namespace tessera::test
