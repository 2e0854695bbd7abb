// What makes an operator likely to be taken: operands of the right ranks, attributes that fit them. A wrong guess costs
// a try, no more.
#include <algorithm>
#include <functional>
#include <numeric>

#include "support/maker.hpp"

namespace tessera::test {

namespace {

using Result = std::optional<Draft>;
using Recipe = std::function<Result(Maker& m, int version)>;

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
Result anything(Maker& m) {
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

// ---- movement

Result reshape(Maker& m, int) {
  auto x = m.any();
  auto n = count(m.shape(x));
  Shape to;
  for (int64_t f : {2, 3, 2, 5})
    if (n % f == 0 && m.pick(2)) to.push_back(f), n /= f;
  to.push_back(m.pick(2) ? n : -1);
  return Draft{{x, m.integers(to)}, {}};
}

Result axes_input_or_attribute(Maker& m, int version, TensorId x, std::vector<int64_t> axes, int since,
                               Attributes a = {}) {
  if (version >= since) return Draft{{x, m.integers(axes)}, std::move(a)};
  a.set("axes", axes);
  return Draft{{x}, std::move(a)};
}

Result squeeze(Maker& m, int version) {
  auto x = m.any();
  std::vector<int64_t> ones;
  for (int64_t a = 0; a < m.rank(x); ++a)
    if (m.shape(x)[static_cast<size_t>(a)] == 1) ones.push_back(a);
  if (ones.empty()) return {};
  return axes_input_or_attribute(m, version, x, ones, 13);
}

Result unsqueeze(Maker& m, int version) {
  auto x = m.any();
  return axes_input_or_attribute(m, version, x, {m.pick(m.rank(x) + 1)}, 13);
}

Result transpose(Maker& m, int) {
  auto x = m.any();
  std::vector<int64_t> perm(static_cast<size_t>(m.rank(x)));
  std::iota(perm.begin(), perm.end(), 0);
  for (size_t i = perm.size(); i > 1; --i)
    std::swap(perm[i - 1], perm[static_cast<size_t>(m.pick(static_cast<int64_t>(i)))]);
  return Draft{{x}, m.pick(4) ? Attributes{{"perm", perm}} : Attributes{}};
}

Result expand(Maker& m, int) {
  auto x = m.any();
  Shape to = m.shape(x);
  for (auto& e : to)
    if (e == 1) e = 1 + m.pick(4);
  if (m.pick(2)) to.insert(to.begin(), 1 + m.pick(3));
  return Draft{{x, m.integers(to)}, {}};
}

Result tile(Maker& m, int) {
  auto x = m.any();
  std::vector<int64_t> times;
  for (int64_t a = 0; a < m.rank(x); ++a) times.push_back(1 + m.pick(3) / 2);
  return Draft{{x, m.integers(times)}, {}};
}

Result concat(Maker& m, int) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  return Draft{{x, m.like(x), m.like(x)}, {{"axis", m.pick(m.rank(x))}}};
}

Result split(Maker& m, int version) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  auto axis = m.pick(m.rank(x)), extent = m.shape(x)[static_cast<size_t>(axis)];
  if (extent < 2) return {};
  std::vector<int64_t> parts{1 + m.pick(extent - 1)};
  parts.push_back(extent - parts[0]);
  if (version >= 13) return Draft{{x, m.integers(parts)}, {{"axis", axis}}, 2};
  return Draft{{x}, {{"axis", axis}, {"split", parts}}, 2};
}

Result slice(Maker& m, int version) {
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

Result gather(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  Shape s;
  for (auto r = m.pick(3); r > 0; --r) s.push_back(1 + m.pick(4));
  return Draft{{x, m.labels(s, m.shape(x)[static_cast<size_t>(axis)])}, {{"axis", axis}}};
}

Result gather_elements(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto s = m.shape(x);
  auto extent = s[static_cast<size_t>(axis)];
  s[static_cast<size_t>(axis)] = 1 + m.pick(5);
  return Draft{{x, m.labels(s, extent)}, {{"axis", axis}}};
}

Result gather_nd(Maker& m, int) {
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
Result scatter_elements(Maker& m, int version) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto s = m.shape(x);
  s[static_cast<size_t>(axis)] = 1;
  auto index = m.labels(s, m.shape(x)[static_cast<size_t>(axis)]);
  return Draft{{x, index, m.fresh(s)}, with_reduction(m, version, {{"axis", axis}})};
}

Result scatter_nd(Maker& m, int version) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto s = m.shape(x);
  Shape rest(s.begin() + 1, s.end());
  rest.insert(rest.begin(), 1);
  return Draft{{x, m.labels({1, 1}, s[0]), m.fresh(rest)}, with_reduction(m, version, {})};
}

// The gradients of picking, as other exporters write them: a shape, indices into it, what is summed by them.
Result gather_grad(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto shape = m.shape(x), picked = shape;
  auto many = 1 + m.pick(5);
  picked[static_cast<size_t>(axis)] = many;
  auto indices = m.labels({many}, shape[static_cast<size_t>(axis)]);
  return Draft{{m.integers(shape), indices, m.fresh(picked)}, {{"axis", axis}}};
}

Result gather_nd_grad(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto shape = m.shape(x);
  auto many = 1 + m.pick(4), depth = 1 + m.pick(m.rank(x));
  Shape picked(shape.begin() + depth, shape.end());
  picked.insert(picked.begin(), many);
  return Draft{{m.integers(shape), m.labels({many, depth}, *std::ranges::min_element(shape)), m.fresh(picked)}, {}};
}

Result gather_elements_grad(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  auto shape = m.shape(x), picked = shape;
  picked[static_cast<size_t>(axis)] = 1 + m.pick(5);
  auto indices = m.labels(picked, shape[static_cast<size_t>(axis)]);
  return Draft{{m.fresh(picked), m.integers(shape), indices}, {{"axis", axis}}};
}

Result slice_grad(Maker& m, int) {
  auto dy = m.ranked(1, 4);
  if (!dy) return {};
  auto shape = m.shape(dy);
  auto axis = m.pick(m.rank(dy)), step = 1 + m.pick(2), from = m.pick(3);
  auto last = from + (shape[static_cast<size_t>(axis)] - 1) * step;
  shape[static_cast<size_t>(axis)] = last + 1 + m.pick(3);
  return Draft{
      {dy, m.integers(shape), m.integers({from}), m.integers({last + 1}), m.integers({axis}), m.integers({step})}, {}};
}

Result compress(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  bool flat = m.pick(3) == 0;
  auto extent = flat ? count(m.shape(x)) : m.shape(x)[static_cast<size_t>(axis)];
  return Draft{{x, m.labels({extent}, 2, DType::Bool)}, flat ? Attributes{} : Attributes{{"axis", axis}}};
}

Result resample(Maker& m, int) {
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

Result dropout(Maker& m, int version) {
  auto x = m.any();
  if (version < 12) return Draft{{x}, {{"ratio", 0.3f}}};
  auto training = m.labels({}, 3, DType::Bool);
  return Draft{{x, m.scalar(0.25f * static_cast<float>(m.pick(4))), training},
               {{"seed", m.pick(1000)}},
               1u + (m.pick(2) > 0),
               1};
}

Result pad(Maker& m, int version) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  std::vector<int64_t> pads;
  for (int64_t i = 0; i < 2 * m.rank(x); ++i) pads.push_back(m.pick(3) - (m.pick(4) == 0));
  Attributes a{{"mode", m.one_of<std::string>({"constant", "reflect", "edge"})}};
  if (version >= 11) return Draft{{x, m.integers(pads)}, std::move(a)};
  a.set("pads", pads);
  return Draft{{x}, std::move(a)};
}

Result blocks_of_space(Maker& m, int) {
  auto x = m.pick(2) ? m.ranked(4, 4) : m.fresh({1 + m.pick(2), 4, 2, 4});
  if (!x) return {};
  return Draft{{x}, {{"blocksize", int64_t{1 + m.pick(2)}}, {"mode", m.one_of<std::string>({"DCR", "CRD"})}}};
}

Result top_k(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  return Draft{{x, m.integers({1 + m.pick(m.shape(x)[static_cast<size_t>(axis)])})},
               {{"axis", axis}, {"largest", m.pick(2)}},
               2};
}

Result where(Maker& m, int) {
  auto condition = m.any(DType::Bool);
  if (!condition) return {};
  return Draft{{condition, m.fresh(m.shape(condition)), m.fresh(m.shape(condition))}, {}};
}

Result converted(Maker& m, int) {
  auto x = m.any(m.pick(3) ? DType::F32 : DType::Bool);
  if (!x) return {};
  return Draft{{x}, {{"to", m.one_of<int64_t>({1, 6, 7, 9})}}};
}

Result clip(Maker& m, int version) {
  auto x = m.any();
  if (version >= 11) return Draft{{x, m.scalar(-0.5f), m.scalar(0.75f)}, {}};
  return Draft{{x}, {{"min", -0.5f}, {"max", 0.75f}}};
}

Result cumulative(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.labels({}, m.rank(x));
  return Draft{{x, axis}, {{"exclusive", m.pick(2)}, {"reverse", m.pick(2)}}};
}

Result one_hot(Maker& m, int) {
  auto x = m.any(DType::I64);
  if (!x) return {};
  return Draft{{x, m.integers({4}), m.fixed({2}, 0, 1)}, {{"axis", int64_t{-1}}}};
}

Result einsum(Maker& m, int) {
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

Result resize(Maker& m, int version) {
  auto x = m.ranked(3, 4);
  if (!x) return {};
  auto scales = m.numbers(some_scales(m, x));
  Attributes a{{"mode", m.one_of<std::string>({"nearest", "linear", "cubic"})}};
  if (version < 11) return Draft{{x, scales}, std::move(a)};
  a.set("coordinate_transformation_mode", m.one_of<std::string>({"half_pixel", "asymmetric", "align_corners"}));
  return Draft{{x, TensorId{}, scales}, std::move(a)};
}

Result upsample(Maker& m, int version) {
  auto x = m.ranked(3, 4);
  if (!x) return {};
  auto scales = some_scales(m, x);
  for (auto& s : scales) s = std::max(s, 1.0f);
  Attributes a{{"mode", m.one_of<std::string>({"nearest", "linear"})}};
  if (version >= 9) return Draft{{x, m.numbers(scales)}, std::move(a)};
  a.set("scales", scales);
  return Draft{{x}, std::move(a)};
}

Result reverse_sequence(Maker& m, int) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  auto batch = m.pick(2);
  return Draft{{x, m.labels({m.shape(x)[static_cast<size_t>(batch)]}, m.shape(x)[static_cast<size_t>(1 - batch)] + 1)},
               {{"batch_axis", batch}, {"time_axis", 1 - batch}}};
}

// ---- what takes a part of the numbers only

Result booleans(Maker& m, int) {
  auto x = m.any(DType::Bool);
  if (!x) return {};
  Draft d{{x}, {}};
  if (m.pick(2)) d.inputs.push_back(m.like(x));
  return d;
}

Result within(Maker& m, float low, float high) {
  auto x = m.any();
  return Draft{{m.fresh(m.shape(x), low, high)}, {}};
}

Result power(Maker& m, int) {
  auto x = m.any();
  return Draft{{m.positive(m.shape(x)), m.broadcasting(x)}, {}};
}

Result remainder(Maker& m, int) {
  auto x = m.any();
  return Draft{{x, m.positive(m.shape(x))}, {{"fmod", int64_t{1}}}};
}

// ---- reductions

Result reduction(Maker& m, int version) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  return axes_input_or_attribute(m, version, x, some_axes(m, x), m.pick(2) ? 13 : 18, {{"keepdims", m.pick(2)}});
}

Result reduction_with_input(Maker& m, int) {
  auto x = m.ranked(1, 5);
  if (!x) return {};
  return Draft{{x, m.integers(some_axes(m, x))}, {{"keepdims", m.pick(2)}}};
}

// ---- linear

Result gemm(Maker& m, int) {
  auto x = m.ranked(2, 2);
  if (!x) return {};
  bool ta = m.pick(2), tb = m.pick(2);
  auto k = m.shape(x)[ta ? 0 : 1], rows = m.shape(x)[ta ? 1 : 0], n = 1 + m.pick(9);
  Draft d{{x, m.fresh(tb ? Shape{n, k} : Shape{k, n})}, {{"transA", int64_t{ta}}, {"transB", int64_t{tb}}}};
  if (m.pick(2)) d.inputs.push_back(m.fresh(m.one_of<Shape>({{n}, {rows, 1}, {rows, n}, {}})));
  if (m.pick(2)) d.attributes.set("alpha", 0.5f);
  return d;
}

Result matmul(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  return Draft{{x, m.fresh({m.shape(x).back(), 1 + m.pick(9)})}, {}};
}

Attributes window(Maker& m, int64_t spatial) {
  std::vector<int64_t> kernel, strides, pads(static_cast<size_t>(2 * spatial)), dilations;
  for (int64_t i = 0; i < spatial; ++i) {
    kernel.push_back(1 + m.pick(3));
    strides.push_back(1 + m.pick(2));
    dilations.push_back(m.pick(4) ? 1 : 2);
  }
  for (auto& p : pads) p = m.pick(2) * m.pick(2);
  Attributes a{{"kernel_shape", kernel}, {"strides", strides}};
  if (m.pick(4) == 0)
    a.set("auto_pad", m.one_of<std::string>({"SAME_UPPER", "SAME_LOWER", "VALID"}));
  else
    a.set("pads", pads);
  if (m.pick(3) == 0) a.set("dilations", dilations);
  return a;
}

Result convolution(Maker& m, bool transposed) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  auto a = window(m, m.rank(x) - 2);
  auto channels = m.shape(x)[1], groups = m.pick(3) == 0 ? channels : 1, out = groups * (1 + m.pick(3));
  Shape w = transposed ? Shape{channels, out / groups} : Shape{out, channels / groups};
  auto kernel = *a.integers("kernel_shape");
  w.insert(w.end(), kernel.begin(), kernel.end());
  a.set("group", groups);
  Draft d{{x, m.fresh(w, -0.5f, 0.5f)}, std::move(a)};
  if (m.pick(2)) d.inputs.push_back(m.fresh({out}));
  return d;
}

Result pool(Maker& m, int) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  auto a = window(m, m.rank(x) - 2);
  if (m.pick(3) == 0) a.set("count_include_pad", int64_t{1});
  if (m.pick(3) == 0) a.set("ceil_mode", int64_t{1});
  return Draft{{x}, std::move(a)};
}

// dY of a window of stride 1 without padding; all others come by the backward pass.
Result pool_grad(Maker& m, bool maxima) {
  auto dy = m.ranked(3, 5);
  if (!dy) return {};
  auto x = m.shape(dy);
  std::vector<int64_t> kernel;
  for (size_t i = 2; i < x.size(); ++i) {
    kernel.push_back(1 + m.pick(3));
    x[i] += kernel.back() - 1;
  }
  Attributes a{{"input_shape", x}};
  if (!maxima) {
    a.set("kernel_shape", kernel);
    return Draft{{dy}, std::move(a)};
  }
  auto plane = count(Shape(x.begin() + 2, x.end())), windows = count(Shape(m.shape(dy).begin() + 2, m.shape(dy).end()));
  std::vector<int64_t> indices(static_cast<size_t>(count(m.shape(dy))));
  for (size_t i = 0; i < indices.size(); ++i) indices[i] = static_cast<int64_t>(i) / windows * plane + m.pick(plane);
  return Draft{{dy, m.constant(TensorData::i64(m.shape(dy), indices))}, std::move(a)};
}

Result global_pool_grad(Maker& m, int) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  Shape dy(m.shape(x).size(), 1);
  dy[0] = m.shape(x)[0], dy[1] = m.shape(x)[1];
  return Draft{{m.fresh(dy)}, {{"input_shape", m.shape(x)}}};
}

Result conv_grad(Maker& m, int) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  auto channels = m.shape(x)[1], out = 1 + m.pick(3);
  Shape w{out, channels}, dy{m.shape(x)[0], out};
  for (size_t i = 2; i < m.shape(x).size(); ++i) {
    w.push_back(std::min<int64_t>(1 + m.pick(3), m.shape(x)[i]));
    dy.push_back(m.shape(x)[i] - w.back() + 1);
  }
  return Draft{{m.fresh(dy), x, m.fresh(w, -0.5f, 0.5f)}, {}, 3};
}

// ---- normalisation and losses

Result batch_norm(Maker& m, int) {
  auto x = m.ranked(2, 5);
  if (!x) return {};
  Shape c{m.shape(x)[1]};
  bool training = m.pick(2);
  return Draft{{x, m.fresh(c), m.fresh(c), m.fixed(c, -1, 1), m.fixed(c, 0.5f, 2)},
               {{"training_mode", int64_t{training}}, {"epsilon", 0.01f}, {"spatial", int64_t{m.pick(4) > 0}}},
               training ? 3u : 1u,
               1};
}

Result layer_norm(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  auto axis = m.pick(m.rank(x));
  Shape s(m.shape(x).begin() + axis, m.shape(x).end());
  Draft d{{x, m.fresh(s)}, {{"axis", axis}, {"epsilon", 0.01f}}};
  if (m.pick(2)) d.inputs.push_back(m.fresh(s));
  return d;
}

Result group_norm(Maker& m, int version) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  auto c = m.shape(x)[1], groups = c % 2 == 0 && m.pick(2) ? c / 2 : m.one_of<int64_t>({1, c});
  Shape p{version < 21 ? groups : c};
  return Draft{{x, m.fresh(p), m.fresh(p)}, {{"num_groups", groups}, {"epsilon", 0.01f}}};
}

Result instance_norm(Maker& m, int) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  Shape c{m.shape(x)[1]};
  return Draft{{x, m.fresh(c), m.fresh(c)}, {{"epsilon", 0.01f}}};
}

Result by_axes(Maker& m, int) {
  auto x = m.ranked(1, 4);
  if (!x) return {};
  return Draft{{x},
               {{"axes", some_axes(m, x)},
                {"axis", axis_for(m, x)},
                {"p", 1 + m.pick(2)},
                {"size", 1 + m.pick(4)},
                {"alpha", 0.3f}}};
}

Result class_loss(Maker& m, int) {
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

Result probability_loss(Maker& m, int) {
  auto x = m.any();
  Shape s = m.shape(x);
  return Draft{{m.fresh(s, 0.1f, 0.9f), m.fresh(s, 0.1f, 0.9f)},
               {{"reduction", m.one_of<std::string>({"mean", "sum", "none"})}}};
}

// dLoss for all, or for each where nothing is reduced.
Result class_loss_grad(Maker& m, bool dloss, bool ignore) {
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

Result pair_loss_grad(Maker& m, int) {
  auto x = m.any();
  auto reduction = m.one_of<std::string>({"mean", "sum", "none"});
  auto s = m.shape(x);
  return Draft{{m.fresh(reduction == "none" ? s : Shape{}), m.fresh(s, 0.1f, 0.9f), m.fresh(s, 0.1f, 0.9f)},
               {{"reduction", reduction}}};
}

Result lrn_grad(Maker& m, int) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  return Draft{{m.like(x), x, m.positive(m.shape(x))}, {{"size", 1 + m.pick(4)}, {"alpha", 0.3f}}};
}

Result simplified_norm_grad(Maker& m, int) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  Shape s(m.shape(x).begin(), m.shape(x).end() - 1);
  return Draft{{x, m.like(x), m.fresh({m.shape(x).back()}), m.positive(s)}, {}, 2};
}

Result norm_grad(Maker& m, bool batch) {
  auto x = m.ranked(2, 4);
  if (!x) return {};
  Shape p{batch ? m.shape(x)[1] : m.shape(x).back()}, s(m.shape(x).begin(), m.shape(x).end() - 1);
  if (batch) s = p;
  return Draft{{x, m.like(x), m.fresh(p), m.fresh(s), m.positive(s)}, {}, 3};
}

const std::map<std::string, Recipe, std::less<>>& recipes() {
  static const std::map<std::string, Recipe, std::less<>> all{
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
      {"Gemm", gemm},
      {"FusedGemm", gemm},
      {"MatMul", matmul},
      {"FusedMatMul", matmul},
      {"Conv", [](Maker& m, int) { return convolution(m, false); }},
      {"FusedConv", [](Maker& m, int) { return convolution(m, false); }},
      {"ConvTranspose", [](Maker& m, int) { return convolution(m, true); }},
      {"MaxPool", pool},
      {"AveragePool", pool},
      {"LpPool", pool},
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
      {"GatherGrad", gather_grad},
      {"GatherNDGrad", gather_nd_grad},
      {"GatherElementsGrad", gather_elements_grad},
      {"SliceGrad", slice_grad},
      {"Compress", compress},
      {"Resample", resample},
      {"Dropout", dropout},
      {"ConvGrad", conv_grad},
      {"MaxPoolGrad", [](Maker& m, int) { return pool_grad(m, true); }},
      {"AveragePoolGrad", [](Maker& m, int) { return pool_grad(m, false); }},
      {"GlobalAveragePoolGrad", global_pool_grad},
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
