// Matrices, convolutions and pools.
#include <algorithm>
#include <numeric>

#include "support/recipes.hpp"

namespace tessera::test {

namespace {

Drafted gemm(Maker& m, int) {
  auto x = m.ranked(2, 2);
  if (!x) return {};
  bool ta = m.pick(2), tb = m.pick(2);
  auto k = m.shape(x)[ta ? 0 : 1], rows = m.shape(x)[ta ? 1 : 0], n = 1 + m.pick(9);
  Draft d{{x, m.fresh(tb ? Shape{n, k} : Shape{k, n})}, {{"transA", int64_t{ta}}, {"transB", int64_t{tb}}}};
  if (m.pick(2)) d.inputs.push_back(m.fresh(m.one_of<Shape>({{n}, {rows, 1}, {rows, n}, {}})));
  if (m.pick(2)) d.attributes.set("alpha", 0.5f);
  return d;
}

Drafted matmul(Maker& m, int) {
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

Drafted convolution(Maker& m, bool transposed) {
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

Drafted pool(Maker& m, int) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  auto a = window(m, m.rank(x) - 2);
  if (m.pick(3) == 0) a.set("count_include_pad", int64_t{1});
  if (m.pick(3) == 0) a.set("ceil_mode", int64_t{1});
  return Draft{{x}, std::move(a)};
}

// dY of a window of stride 1 without padding; all others come by the backward pass.
Drafted pool_grad(Maker& m, bool maxima) {
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

Drafted global_pool_grad(Maker& m, int) {
  auto x = m.ranked(3, 5);
  if (!x) return {};
  Shape dy(m.shape(x).size(), 1);
  dy[0] = m.shape(x)[0], dy[1] = m.shape(x)[1];
  return Draft{{m.fresh(dy)}, {{"input_shape", m.shape(x)}}};
}

Drafted conv_grad(Maker& m, int) {
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

}  // namespace

Recipes recipes_of_products() {
  return {
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
      {"ConvGrad", conv_grad},
      {"MaxPoolGrad", [](Maker& m, int) { return pool_grad(m, true); }},
      {"AveragePoolGrad", [](Maker& m, int) { return pool_grad(m, false); }},
      {"GlobalAveragePoolGrad", global_pool_grad},
  };
}

}  // namespace tessera::test
