// Operators that move, pick and rearrange elements.
#include <algorithm>
#include <numeric>

#include "support/recipes.hpp"

namespace tessera::test {

namespace {

Drafted reshape(Maker& m, int) {
  auto x = m.any();
  auto n = count(m.shape(x));
  Shape to;
  for (int64_t f : {2, 3, 2, 5})
    if (n % f == 0 && m.pick(2)) to.push_back(f), n /= f;
  to.push_back(m.pick(2) ? n : -1);
  return Draft{{x, m.integers(to)}, {}};
}

Drafted squeeze(Maker& m, int version) {
  auto x = m.any();
  std::vector<int64_t> ones;
  for (int64_t a = 0; a < m.rank(x); ++a)
    if (m.shape(x)[static_cast<size_t>(a)] == 1) ones.push_back(a);
  if (ones.empty()) return {};
  return axes_input_or_attribute(m, version, x, ones, 13);
}

Drafted unsqueeze(Maker& m, int version) {
  auto x = m.any();
  return axes_input_or_attribute(m, version, x, {m.pick(m.rank(x) + 1)}, 13);
}

Drafted transpose(Maker& m, int) {
  auto x = m.any();
  std::vector<int64_t> perm(static_cast<size_t>(m.rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i)
    std::swap(perm[i - 1], perm[static_cast<size_t>(m.pick(static_cast<int64_t>(i)))]);
  return Draft{{x}, m.pick(4) ? Attributes{{"perm", perm}} : Attributes{}};
}

Drafted expand(Maker& m, int) {
  auto x = m.any();
  Shape to = m.shape(x);
  for (auto& e : to)
    if (e == 1) e = 1 + m.pick(4);
  if (m.pick(2)) to.insert(to.begin(), 1 + m.pick(3));
  return Draft{{x, m.integers(to)}, {}};
}

Drafted tile(Maker& m, int) {
  auto x = m.any();
  std::vector<int64_t> times;
  for (int64_t a = 0; a < m.rank(x); ++a) times.push_back(1 + m.pick(3) / 2);
  return Draft{{x, m.integers(times)}, {}};
}

Drafted concat(Maker& m, int) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  return Draft{{x, m.like(x), m.like(x)}, {{"axis", m.pick(m.rank(x))}}};
}

Drafted split(Maker& m, int version) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  auto axis = m.pick(m.rank(x)), extent = m.shape(x)[static_cast<size_t>(axis)];
  if (extent < 2) return {};
  std::vector<int64_t> parts{1 + m.pick(extent - 1)};
  parts.push_back(extent - parts[0]);
  if (version >= 13) return Draft{{x, m.integers(parts)}, {{"axis", axis}}, 2};
  return Draft{{x}, {{"axis", axis}, {"split", parts}}, 2};
}

Drafted slice(Maker& m, int version) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  auto axis = m.pick(m.rank(x)), extent = m.shape(x)[static_cast<size_t>(axis)];
  auto from = m.pick(extent), to = from + 1 + m.pick(extent - from);
  bool back = version >= 10 && m.pick(3) == 0;
  if (version < 10)
    return Draft{{x},
                 {{"starts", std::vector<int64_t>{from}},
                  {"ends", std::vector<int64_t>{to}},
                  {"axes", std::vector<int64_t>{axis}}}};
  if (back)
    return Draft{{x, m.integers({-1}), m.integers({-extent - 1}), m.integers({axis}), m.integers({-1 - m.pick(2)})},
                 {}};
  return Draft{{x, m.integers({from}), m.integers({to}), m.integers({axis}), m.integers({1 + m.pick(2)})}, {}};
}

Drafted gather(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  Shape s;
  for (auto r = m.pick(3); r > 0; --r) s.push_back(1 + m.pick(4));
  return Draft{{x, m.labels(s, m.shape(x)[static_cast<size_t>(axis)])}, {{"axis", axis}}};
}

Drafted gather_elements(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto s = m.shape(x);
  auto extent = s[static_cast<size_t>(axis)];
  s[static_cast<size_t>(axis)] = 1 + m.pick(5);
  return Draft{{x, m.labels(s, extent)}, {{"axis", axis}}};
}

Drafted gather_nd(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto least = *std::ranges::min_element(m.shape(x));
  return Draft{{x, m.labels({1 + m.pick(4), 1 + m.pick(m.rank(x))}, least)}, {}};
}

Attributes with_reduction(Maker& m, int version, Attributes a) {
  if (version >= 18) a.set("reduction", m.one_of<std::string>({"none", "add", "mul", "max", "min"}));
  return a;
}

// Different indices: which of several updates of one element wins is nobody's promise.
Drafted scatter_elements(Maker& m, int version) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto s = m.shape(x);
  s[static_cast<size_t>(axis)] = 1;
  auto index = m.labels(s, m.shape(x)[static_cast<size_t>(axis)]);
  return Draft{{x, index, m.fresh(s)}, with_reduction(m, version, {{"axis", axis}})};
}

Drafted scatter_nd(Maker& m, int version) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto s = m.shape(x);
  Shape rest(s.begin() + 1, s.end());
  rest.insert(rest.begin(), 1);
  return Draft{{x, m.labels({1, 1}, s[0]), m.fresh(rest)}, with_reduction(m, version, {})};
}

// The gradients of picking, as other exporters write them: a shape, indices into it, what is summed by them.
Drafted gather_grad(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto shape = m.shape(x), picked = shape;
  auto many = 1 + m.pick(5);
  picked[static_cast<size_t>(axis)] = many;
  auto indices = m.labels({many}, shape[static_cast<size_t>(axis)]);
  return Draft{{m.integers(shape), indices, m.fresh(picked)}, {{"axis", axis}}};
}

Drafted gather_nd_grad(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto shape = m.shape(x);
  auto many = 1 + m.pick(4), depth = 1 + m.pick(m.rank(x));
  Shape picked(shape.begin() + depth, shape.end());
  picked.insert(picked.begin(), many);
  return Draft{{m.integers(shape), m.labels({many, depth}, *std::ranges::min_element(shape)), m.fresh(picked)}, {}};
}

Drafted gather_elements_grad(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto shape = m.shape(x), picked = shape;
  picked[static_cast<size_t>(axis)] = 1 + m.pick(5);
  auto indices = m.labels(picked, shape[static_cast<size_t>(axis)]);
  return Draft{{m.fresh(picked), m.integers(shape), indices}, {{"axis", axis}}};
}

Drafted slice_grad(Maker& m, int) {
  auto dy = m.ranked(1, 4);
  if (!dy) return {};
  auto shape = m.shape(dy);
  auto axis = m.pick(m.rank(dy)), step = 1 + m.pick(2), from = m.pick(3);
  auto last = from + (shape[static_cast<size_t>(axis)] - 1) * step;
  shape[static_cast<size_t>(axis)] = last + 1 + m.pick(3);
  return Draft{
      {dy, m.integers(shape), m.integers({from}), m.integers({last + 1}), m.integers({axis}), m.integers({step})}, {}};
}

Drafted compress(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  bool flat = m.pick(3) == 0;
  auto extent = flat ? count(m.shape(x)) : m.shape(x)[static_cast<size_t>(axis)];
  return Draft{{x, m.labels({extent}, 2, DType::Bool)}, flat ? Attributes{} : Attributes{{"axis", axis}}};
}

Drafted resample(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x)), extent = m.shape(x)[static_cast<size_t>(axis)];
  Shape tables{1 + m.pick(7), 1 + m.pick(std::min<int64_t>(extent, 4))};
  std::vector<int32_t> index;  // each row ascends
  for (int64_t row = 0; row < tables[0]; ++row) {
    auto at = m.pick(extent - tables[1] + 1);
    for (int64_t t = 0; t < tables[1]; ++t) index.push_back(static_cast<int32_t>(at + t));
  }
  return Draft{{x, m.constant(TensorData::of<int32_t>({DType::I32, tables}, index)), m.fixed(tables, -1, 1)},
               {{"axis", axis}}};
}

Drafted dropout(Maker& m, int version) {
  auto x = m.any();
  if (version < 12) return Draft{{x}, {{"ratio", 0.3f}}};
  auto training = m.labels({}, 3, DType::Bool);
  return Draft{{x, m.scalar(0.25f * static_cast<float>(m.pick(4))), training},
               {{"seed", m.pick(1000)}},
               1u + (m.pick(2) > 0),
               1};
}

Drafted pad(Maker& m, int version) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  std::vector<int64_t> pads;
  for (int64_t i = 0; i < 2 * m.rank(x); ++i) pads.push_back(m.pick(3) - (m.pick(4) == 0));
  Attributes a{{"mode", m.one_of<std::string>({"constant", "reflect", "edge"})}};
  if (version >= 11) return Draft{{x, m.integers(pads)}, std::move(a)};
  a.set("pads", pads);
  return Draft{{x}, std::move(a)};
}

Drafted blocks_of_space(Maker& m, int) {
  auto x = m.pick(2) ? m.ranked(4, 4) : m.fresh({1 + m.pick(2), 4, 2, 4});
  if (!x) return {};
  return Draft{{x}, {{"blocksize", int64_t{1 + m.pick(2)}}, {"mode", m.one_of<std::string>({"DCR", "CRD"})}}};
}

Drafted top_k(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  return Draft{{x, m.integers({1 + m.pick(m.shape(x)[static_cast<size_t>(axis)])})},
               {{"axis", axis}, {"largest", m.pick(2)}},
               2};
}

Drafted where(Maker& m, int) {
  auto condition = m.any(DType::Bool);
  if (!condition) return {};
  return Draft{{condition, m.fresh(m.shape(condition)), m.fresh(m.shape(condition))}, {}};
}

Drafted converted(Maker& m, int) {
  auto x = m.any(m.pick(3) ? DType::F32 : DType::Bool);
  if (!x) return {};
  return Draft{{x}, {{"to", m.one_of<int64_t>({1, 6, 7, 9})}}};
}

Drafted clip(Maker& m, int version) {
  auto x = m.any();
  if (version >= 11) return Draft{{x, m.scalar(-0.5f), m.scalar(0.75f)}, {}};
  return Draft{{x}, {{"min", -0.5f}, {"max", 0.75f}}};
}

Drafted cumulative(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.labels({}, m.rank(x));
  return Draft{{x, axis}, {{"exclusive", m.pick(2)}, {"reverse", m.pick(2)}}};
}

Drafted one_hot(Maker& m, int) {
  auto x = m.any(DType::I64);
  if (!x) return {};
  return Draft{{x, m.integers({4}), m.fixed({2}, 0, 1)}, {{"axis", int64_t{-1}}}};
}

Drafted einsum(Maker& m, int) {
  auto x = m.ranked(2, 3);
  if (!x) return {};
  auto k = m.shape(x).back();
  bool two = m.rank(x) == 2;
  if (m.pick(3) == 0) return Draft{{x}, {{"equation", std::string(two ? "ij->ji" : "ijk->ki")}}};
  return Draft{{x, m.fresh({k, 1 + m.pick(5)})}, {{"equation", std::string(two ? "ij,jk->ik" : "aij,jk->aki")}}};
}

std::vector<float> some_scales(Maker& m, TensorId x) {
  std::vector<float> scales(static_cast<size_t>(m.rank(x)), 1);
  for (size_t i = 2; i < scales.size(); ++i) scales[i] = m.one_of<float>({0.5f, 1, 2, 1.5f});
  return scales;
}

Drafted resize(Maker& m, int version) {
  auto x = m.ranked(3, 4);
  if (!x) return {};
  auto scales = m.numbers(some_scales(m, x));
  Attributes a{{"mode", m.one_of<std::string>({"nearest", "linear", "cubic"})}};
  if (version < 11) return Draft{{x, scales}, std::move(a)};
  a.set("coordinate_transformation_mode", m.one_of<std::string>({"half_pixel", "asymmetric", "align_corners"}));
  return Draft{{x, TensorId{}, scales}, std::move(a)};
}

Drafted upsample(Maker& m, int version) {
  auto x = m.ranked(3, 4);
  if (!x) return {};
  auto scales = some_scales(m, x);
  for (auto& s : scales) s = std::max(s, 1.0f);
  Attributes a{{"mode", m.one_of<std::string>({"nearest", "linear"})}};
  if (version >= 9) return Draft{{x, m.numbers(scales)}, std::move(a)};
  a.set("scales", scales);
  return Draft{{x}, std::move(a)};
}

Drafted reverse_sequence(Maker& m, int) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  auto batch = m.pick(2);
  return Draft{{x, m.labels({m.shape(x)[static_cast<size_t>(batch)]}, m.shape(x)[static_cast<size_t>(1 - batch)] + 1)},
               {{"batch_axis", batch}, {"time_axis", 1 - batch}}};
}

}  // namespace

Recipes recipes_of_movement() {
  return {
      {"Reshape", reshape},
      {"Squeeze", squeeze},
      {"Unsqueeze", unsqueeze},
      {"Transpose", transpose},
      {"Expand", expand},
      {"Tile", tile},
      {"Concat", concat},
      {"Split", split},
      {"Slice", slice},
      {"Gather", gather},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd},
      {"ScatterElements", scatter_elements},
      {"Scatter", scatter_elements},
      {"ScatterND", scatter_nd},
      {"Pad", pad},
      {"DepthToSpace", blocks_of_space},
      {"SpaceToDepth", blocks_of_space},
      {"TopK", top_k},
      {"Where", where},
      {"Cast", converted},
      {"Clip", clip},
      {"CumSum", cumulative},
      {"OneHot", one_hot},
      {"Einsum", einsum},
      {"Resize", resize},
      {"Upsample", upsample},
      {"ReverseSequence", reverse_sequence},
      {"GatherGrad", gather_grad},
      {"GatherNDGrad", gather_nd_grad},
      {"GatherElementsGrad", gather_elements_grad},
      {"SliceGrad", slice_grad},
      {"Compress", compress},
      {"Resample", resample},
      {"Dropout", dropout},
  };
}

}  // namespace tessera::test
