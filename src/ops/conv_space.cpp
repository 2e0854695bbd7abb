#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/conv.hpp"
#include "ops/pointwise.hpp"

namespace tessera::ops {
namespace {

Shape with_channels(int64_t n, int64_t channels, Shape spatial) {
  spatial.insert(spatial.begin(), {n, channels});
  return spatial;
}

Shape spatial(const Shape& shape) {
  return {shape.begin() + 2, shape.end()};
}

Result<int64_t> checked_groups(const NodeContext& n, size_t x, size_t w) {
  CHECK_OK(is_float(n, x));
  CHECK_OK(is_float(n, w));
  for (auto i : {x, w})
    if (n.in(i).size() < 3)
      return n.error(fmt::format("input {} ('{}') is {}; it needs two axes and one to three spatial ones", i,
                                 n.input(i).name, to_string(n.input(i).type)));
  if (n.in(x).size() != n.in(w).size())
    return n.error(fmt::format("the data is {} and the weights are {}; they must have as many axes",
                               to_string(n.input(x).type), to_string(n.input(w).type)));
  auto groups = n.node.attributes.integer("group", 1);
  if (groups < 1 || n.in(x)[1] % groups != 0 || n.in(w)[0] % groups != 0)
    return n.error(
        fmt::format("group is {}, which does not divide {} channels and {} weights", groups, n.in(x)[1], n.in(w)[0]));
  return groups;
}

Error channels_differ(const NodeContext& n, size_t x, size_t w, int64_t wanted) {
  return n
      .error(fmt::format("the data is {}, which does not suit weights {} in {} groups", to_string(n.input(x).type),
                         to_string(n.input(w).type), n.node.attributes.integer("group", 1)))
      .hint(fmt::format("the data needs {} channels", wanted));
}

}  // namespace

Shape Convolution::large() const {
  return with_channels(n, groups * c, window.in_shape());
}
Shape Convolution::small() const {
  return with_channels(n, groups * m, window.out_shape());
}

Result<Convolution> convolution(const NodeContext& n, size_t x, size_t w) {
  TRY(auto groups, checked_groups(n, x, w));
  Convolution c{.n = n.in(x)[0], .groups = groups, .m = n.in(w)[0] / groups, .c = n.in(w)[1], .window = {}};
  if (c.c * groups != n.in(x)[1]) return channels_differ(n, x, w, c.c * groups);
  TRY(c.window, sliding_window(n, spatial(n.in(x)), spatial(n.in(w))));
  return c;
}

Result<Convolution> transposed_convolution(const NodeContext& n, size_t x, size_t w) {
  TRY(auto groups, checked_groups(n, x, w));
  Convolution c{.n = n.in(x)[0], .groups = groups, .m = n.in(w)[0] / groups, .c = n.in(w)[1], .window = {}};
  if (n.in(w)[0] != n.in(x)[1]) return channels_differ(n, x, w, n.in(w)[0]);
  TRY(c.window, transposed_window(n, spatial(n.in(x)), spatial(n.in(w))));
  return c;
}

ConvSpace conv_space(Convolution c, ConvProduct product) {
  ConvSpace s{.product = product, .conv = std::move(c)};
  if (s.conv.window.pointwise()) s.conv.window = flattened(s.conv.window);
  auto add = [&](const char* name, int64_t extent) {
    s.dims.push_back({name, extent});
    return static_cast<int>(s.dims.size()) - 1;
  };
  const char* names[] = {"z", "y", "x"};
  auto add_places = [&] {
    for (size_t i = 0; i < 3; ++i) {
      auto& a = s.conv.window.axes[i];
      s.place[i] = add(names[i], product == ConvProduct::Large ? stretches(a) : a.out);
    }
  };
  if (product != ConvProduct::Weights) s.n = add("n", s.conv.n);
  s.g = add("g", s.conv.groups);
  if (product != ConvProduct::Large) s.m = add("m", s.conv.m);
  if (product != ConvProduct::Small) s.c = add("c", s.conv.c);
  if (product == ConvProduct::Weights) s.n = add("n", s.conv.n);
  add_places();
  if (product == ConvProduct::Small) s.c = add("c", s.conv.c);
  if (product == ConvProduct::Large) s.m = add("m", s.conv.m);
  return s;
}

OperandMap ConvSpace::large() const {
  OperandMap map{.view = {conv.n, conv.groups, conv.c},
                 .axes = {AxisMap::along(n), AxisMap::along(g), AxisMap::along(c)}};
  for (size_t i = 0; i < 3; ++i) {
    auto& a = conv.window.axes[i];
    map.view.push_back(a.in);
    map.axes.push_back(product == ConvProduct::Large ? stretch(a, place[i]) : seen(a, place[i]));
  }
  return map;
}

OperandMap ConvSpace::small() const {
  OperandMap map{.view = {conv.n, conv.groups, conv.m},
                 .axes = {AxisMap::along(n), AxisMap::along(g), AxisMap::along(m)}};
  for (size_t i = 0; i < 3; ++i) {
    auto& a = conv.window.axes[i];
    map.view.push_back(a.out);
    map.axes.push_back(product == ConvProduct::Large ? seeing(a, place[i]) : AxisMap::along(place[i]));
  }
  return map;
}

OperandMap ConvSpace::weights() const {
  return {.view = {conv.groups, conv.m, conv.c, conv.window.taps()},
          .axes = {AxisMap::along(g), AxisMap::along(m), AxisMap::along(c), AxisMap::whole(conv.window.taps())}};
}

OperandMap ConvSpace::bias() const {
  bool large = product == ConvProduct::Large;
  return {.view = {conv.groups, large ? conv.c : conv.m}, .axes = {AxisMap::along(g), AxisMap::along(large ? c : m)}};
}

std::vector<KernelCall::Field> conv_geometry(const ConvSpace& s, const TileSymbols& t) {
  TileMap space{.dims = s.dims, .inputs = {}, .outputs = {}, .scratch = {}};
  auto large = region(s.large(), t.box, space), small = region(s.small(), t.box, space);
  bool transposed = s.product == ConvProduct::Large;
  auto& in = transposed ? small : large;
  auto& out = transposed ? large : small;
  auto in_map = transposed ? s.small() : s.large();
  std::vector<Expr> x_size, y_size, kernel, stride, dilation, at, pad;
  for (size_t i = 0; i < 3; ++i) {
    auto& a = s.conv.window.axes[i];
    auto lo = t.box.lo[static_cast<size_t>(s.place[i])];
    auto from = start(in_map.axes[3 + i], lo);
    x_size.push_back(in.len[3 + i]);
    y_size.push_back(out.len[3 + i]);
    kernel.emplace_back(a.kernel);
    stride.emplace_back(a.stride);
    dilation.emplace_back(a.dilation);
    at.push_back(transposed ? lo - from : lo * a.stride - a.pad - from);
    pad.emplace_back(a.pad);
  }
  std::vector<KernelCall::Field> fields{{"x_size", x_size}, {"y_size", y_size},     {"kernel", kernel},
                                        {"stride", stride}, {"dilation", dilation}, {"at", at}};
  if (transposed) fields.push_back({"pad", pad});
  return fields;
}

TileMap conv_data_map(const NodeContext& n, const ConvSpace& s, size_t x, size_t w, size_t bias) {
  bool large = s.product == ConvProduct::Large;
  TileMap map{.dims = s.dims,
              .inputs = std::vector<OperandMap>(n.node.inputs.size(), untouched()),
              .outputs = {large ? s.large() : s.small()},
              .scratch = {}};
  map.inputs[x] = large ? s.small() : s.large();
  map.inputs[w] = s.weights();
  if (n.has_input(bias)) map.inputs[bias] = s.bias();
  return map;
}

namespace {

// Where a pixel has one tap: weights by pixels.
KernelCall matrix_call(const ConvSpace& s, const TileSymbols& t, std::vector<KernelCall::Field> fields) {
  auto len = [&](int d) { return t.box.len[static_cast<size_t>(d)]; };
  bool large = s.product == ConvProduct::Large;
  auto pixels = len(s.place[2]), rows = len(large ? s.c : s.m), terms = len(large ? s.m : s.c);
  Expr one = 1, none = 0;
  for (auto& field : std::initializer_list<KernelCall::Field>{{"m", rows},
                                                              {"n", pixels},
                                                              {"k", terms},
                                                              {"a_m", large ? one : terms},
                                                              {"a_k", large ? rows : one},
                                                              {"b_k", pixels},
                                                              {"b_n", one},
                                                              {"c_m", one},
                                                              {"alpha", 1.0f},
                                                              {"beta", 1.0f},
                                                              {"first", t.first[0]},
                                                              {"last", t.last[0]},
                                                              {"batch_rank", one},
                                                              {"batch", std::vector<Expr>{len(s.n)}},
                                                              {"a_batch", std::vector<Expr>{none}},
                                                              {"b_batch", std::vector<Expr>{terms * pixels}}})
    fields.push_back(field);
  return {"ts_matmul", "matmul", std::move(fields)};
}

}  // namespace

KernelCall conv_data_call(const NodeContext& n, const ConvSpace& s, const TileSymbols& t, int x, int w, int bias) {
  bool large = s.product == ConvProduct::Large, matrices = s.matrices();
  std::vector<KernelCall::Field> fields{input_field(matrices ? "b" : "x", x), input_field(matrices ? "a" : "w", w),
                                        output_field("y", 0)};
  if (n.has_input(static_cast<size_t>(bias))) fields.push_back(input_field(matrices ? "c" : "b", bias));
  if (matrices) return matrix_call(s, t, std::move(fields));
  auto len = [&](int d) { return t.box.len[static_cast<size_t>(d)]; };
  Expr taps = s.conv.window.taps(), step = len(s.c) * taps;
  for (auto& field : std::initializer_list<KernelCall::Field>{{"n", len(s.n)},
                                                              {"g", len(s.g)},
                                                              {"m", len(large ? s.c : s.m)},
                                                              {"c", len(large ? s.m : s.c)},
                                                              {"w_g", len(s.m) * step},
                                                              {"w_m", large ? taps : step},
                                                              {"w_c", large ? step : taps},
                                                              {"first", t.first[0]},
                                                              {"last", t.last[0]}})
    fields.push_back(field);
  for (auto& field : conv_geometry(s, t)) fields.push_back(std::move(field));
  fields.push_back({"transposed", Expr(large ? 1 : 0)});
  return {"ts_conv", "conv", std::move(fields)};
}

Array conv_reference(const Convolution& c, ConvProduct product, ConvArrays known) {
  auto& w = c.window;
  int64_t taps = w.taps(), in = w.inputs(), out = w.outputs();
  Array made{DType::F32, {}, {}};
  if (product == ConvProduct::Small) made.shape = c.small();
  if (product == ConvProduct::Large) made.shape = c.large();
  if (product == ConvProduct::Weights) {
    made.shape = {c.groups * c.m, c.c};
    for (size_t i = 3 - w.rank; i < 3; ++i) made.shape.push_back(w.axes[i].kernel);
  }
  made.v.resize(static_cast<size_t>(count(made.shape)));
  struct Hit {
    int64_t out, in, tap;
  };
  std::vector<Hit> hits;
  for_each_tap(w, [&](int64_t o, int64_t i, int64_t k) { hits.push_back({o, i, k}); });
  auto at = [](const Array* a, int64_t i) { return a->v[static_cast<size_t>(i)]; };
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t g = 0; g < c.groups; ++g)
      for (int64_t m = 0; m < c.m; ++m)
        for (int64_t k = 0; k < c.c; ++k) {
          int64_t small = ((n * c.groups + g) * c.m + m) * out, large = ((n * c.groups + g) * c.c + k) * in;
          int64_t weights = ((g * c.m + m) * c.c + k) * taps;
          for (auto& [o, i, tap] : hits) {
            if (product == ConvProduct::Small)
              made.v[static_cast<size_t>(small + o)] += at(known.large, large + i) * at(known.weights, weights + tap);
            else if (product == ConvProduct::Large)
              made.v[static_cast<size_t>(large + i)] += at(known.small, small + o) * at(known.weights, weights + tap);
            else
              made.v[static_cast<size_t>(weights + tap)] += at(known.small, small + o) * at(known.large, large + i);
          }
        }
  return made;
}

void add_channel_bias(Array& y, const Array& bias) {
  auto channels = static_cast<size_t>(y.shape[1]), plane = y.v.size() / channels / static_cast<size_t>(y.shape[0]);
  for (size_t i = 0; i < y.v.size(); ++i) y.v[i] += bias.v[i / plane % channels];
}

// ---- gradients

namespace {

Attributes grouped(const Convolution& c) {
  auto attributes = c.window.attributes();
  attributes.set("group", c.groups);
  return attributes;
}

// From the large side, as a Conv reads it: a transposed convolution's output padding may leave room for one more
// position there, which a smaller (even a negative) padding at the end takes away.
Attributes from_large(Convolution c) {
  for (auto& a : c.window.axes) {
    auto room = a.in + a.pad + a.pad_end - a.span();
    if (room < 0 || room / a.stride + 1 != a.out) a.pad_end = (a.out - 1) * a.stride + a.span() - a.in - a.pad;
  }
  return grouped(c);
}

}  // namespace

TensorId conv_small(Builder& build, const Convolution& c, TensorId large, TensorId weights, const std::string& name) {
  return build.node({"", "Conv"}, {large, weights}, from_large(c), name);
}

// What the window never reached at the end of the large side is output padding; where it went beyond (as a pool that
// rounds up does), there is so much more padding.
TensorId conv_large(Builder& build, const Convolution& c, TensorId small, TensorId weights, const std::string& name) {
  auto reached = c;
  std::vector<int64_t> rest;
  for (size_t i = 3 - c.window.rank; i < 3; ++i) {
    auto& a = reached.window.axes[i];
    auto left = a.in + a.pad + a.pad_end - (a.out - 1) * a.stride - a.span();
    rest.push_back(std::max<int64_t>(left, 0));
    a.pad_end -= std::min<int64_t>(left, 0);
  }
  auto attributes = grouped(reached);
  attributes.set("output_padding", rest);
  return build.node({"", "ConvTranspose"}, {small, weights}, std::move(attributes), name);
}

TensorId conv_weights(Builder& build, const Convolution& c, TensorId small, TensorId large, TensorId weights,
                      const std::string& name) {
  return build.node({"com.microsoft", "ConvGrad"}, {small, large, weights}, from_large(c), name,
                    std::vector<bool>{false, true, false})[1];
}

TensorId conv_bias(Builder& build, TensorId dy, const std::string& name) {
  std::vector<int64_t> axes{0};
  for (size_t i = 2; i < build.type(dy).shape.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  return build.node({"", "ReduceSum"}, {dy, build.integers(axes, name + ".axes")}, {{"keepdims", int64_t{0}}}, name);
}

}  // namespace tessera::ops
