// Gemm, MatMul and com.microsoft.FusedMatMul: one product with transpositions, batches and an epilogue.
#include <algorithm>

#include "ops/activation.hpp"
#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/product.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  TRY(auto p, checked_product(n));
  return std::vector<TensorType>{{DType::F32, p.out()}};
}

// The element (row, column) of matrix `batch` of a side, the indices as it lies in memory.
size_t element(const Side& s, size_t batch, int64_t row, int64_t column) {
  auto matrices = count(s.batch);
  auto b = static_cast<int64_t>(batch);
  int64_t line = s.batch_inside ? row * matrices + b : b * s.rows + row;
  return static_cast<size_t>(line * s.columns + column);
}

bool fused(const NodeContext& n) {
  return n.node.op.type == "FusedGemm";
}

Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  auto p = product(n);
  Array y{DType::F32, p.out(), {}};
  auto in_a = spread(p.batch, p.a.batch), in_b = spread(p.batch, p.b.batch);
  for (size_t batch = 0; batch < in_a.size(); ++batch)
    for (int64_t i = 0; i < p.m; ++i)
      for (int64_t j = 0; j < p.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < p.k; ++k)
          sum += in[0].v[p.a.transposed ? element(p.a, in_a[batch], k, i) : element(p.a, in_a[batch], i, k)] *
                 in[1].v[p.b.transposed ? element(p.b, in_b[batch], j, k) : element(p.b, in_b[batch], k, j)];
        y.v.push_back(p.alpha * sum);
      }
  if (is_gemm(n) && n.has_input(2) && p.beta != 0) {
    auto c = spread(y.shape, in[2].shape);
    for (size_t i = 0; i < y.v.size(); ++i) y.v[i] += p.beta * in[2].v[c[i]];
  }
  if (fused(n)) {
    TRY(bool relu, fused_relu(n));
    for (auto& v : y.v)
      if (relu && v < 0) v = 0;
  }
  return std::vector{std::move(y)};
}

// ---- gradient

// A tensor on one side of a product that a gradient needs.
struct Factor {
  TensorId tensor;
  bool transposed = false, batch_inside = false;
};

TensorId multiply(Builder& build, Factor a, Factor b, float alpha, const std::string& name) {
  Attributes attributes;
  auto set = [&](const char* attribute, bool on) {
    if (on) attributes.set(attribute, int64_t{1});
  };
  set("transA", a.transposed);
  set("transB", b.transposed);
  set("transBatchA", a.batch_inside);
  set("transBatchB", b.batch_inside);
  if (alpha != 1) attributes.set("alpha", alpha);
  return build.node({"com.microsoft", "FusedMatMul"}, {a.tensor, b.tensor}, std::move(attributes), name);
}

TensorId with_shape(Builder& build, TensorId t, const Shape& shape, const std::string& name) {
  if (!t || build.type(t).shape == shape) return t;
  return build.node({"", "Reshape"}, {t, build.integers(shape, name + ".shape")}, {}, name);
}

// From the gradient as the whole batch gives it to that of the operand: summed where it was repeated, the axes back in
// their places, and a vector again.
TensorId settled(Builder& build, TensorId d, const Side& s, const Shape& shape, const std::string& name) {
  d = reduce_to(build, d, s.matrix_shape(), name + ".sum");
  if (s.batch_inside && d) {
    auto rank = static_cast<int64_t>(shape.size());
    std::vector<int64_t> perm{rank - 2};
    for (int64_t i = 0; i < rank - 2; ++i) perm.push_back(i);
    perm.push_back(rank - 1);
    d = build.node({"", "Transpose"}, {d}, {{"perm", perm}}, name);
  }
  return with_shape(build, d, shape, name);
}

// dA and dB of Y = alpha * op(A).op(B), without a transposition: each is a product of dY with the other side.
std::vector<TensorId> product_gradients(GradientContext& g, const Product& p) {
  auto& build = g.build;
  auto ids = g.node.inputs;
  Shape shapes[2] = {build.type(ids[0]).shape, build.type(ids[1]).shape};
  std::string names[2] = {build.name(ids[0]) + "_grad", build.name(ids[1]) + "_grad"};
  Shape y = p.batch;
  y.insert(y.end(), {p.m, p.n});
  auto dy = with_shape(build, g.d_outputs[0], y, build.name(g.d_outputs[0]) + ".matrix");
  auto matrix = [&](int i, const Side& s) {
    return s.vector ? with_shape(build, ids[static_cast<size_t>(i)], {s.rows, s.columns}, names[i] + ".matrix")
                    : ids[static_cast<size_t>(i)];
  };
  std::vector<TensorId> d(ids.size());
  if (g.wanted[0]) {
    Factor b{matrix(1, p.b), p.b.transposed, p.b.batch_inside};
    auto flipped = b;
    flipped.transposed = !b.transposed;
    auto made = p.a.transposed ? multiply(build, b, {dy, true}, p.alpha, names[0])
                               : multiply(build, {dy}, flipped, p.alpha, names[0]);
    d[0] = settled(build, made, p.a, shapes[0], names[0]);
  }
  if (g.wanted[1]) {
    Factor a{matrix(0, p.a), p.a.transposed, p.a.batch_inside};
    if (p.one_b()) {  // the rows of all batches at once, instead of a product a batch and their sum
      int64_t rows = count(p.batch) * p.m;
      a.tensor = with_shape(build, a.tensor, {rows, p.k}, names[1] + ".rows");
      dy = with_shape(build, dy, {rows, p.n}, names[1] + ".d_rows");
    }
    auto flipped = a;
    flipped.transposed = !a.transposed;
    auto made = p.b.transposed ? multiply(build, {dy, true}, a, p.alpha, names[1])
                               : multiply(build, flipped, {dy}, p.alpha, names[1]);
    d[1] = p.one_b() ? with_shape(build, made, shapes[1], names[1]) : settled(build, made, p.b, shapes[1], names[1]);
  }
  return d;
}

Result<std::vector<TensorId>> gradient(GradientContext& g) {
  NodeContext n{g.build.graph(), g.node};
  auto p = product(n);
  bool adds = is_gemm(n) && g.wanted.size() > 2 && g.wanted[2];
  auto d = product_gradients(g, p);
  if (adds) {
    Shape shape = g.build.type(g.node.inputs[2]).shape;
    auto name = g.build.name(g.node.inputs[2]) + "_grad";
    d[2] = reduce_to(g.build, g.d_outputs[0], shape, name);
    if (p.beta != 1) d[2] = g.build.node({"", "Mul"}, {d[2], g.build.scalar(p.beta, name + ".beta")}, {}, name);
  }
  CHECK_OK(g.build.status());
  return d;
}

// ---- the device

// Dimensions: those of the batch, then m, n, k.
struct Space {
  std::vector<Dimension> dims;
  BroadcastSpace batch;
  int m = 0, n = 0, k = 0;
};

Space space_of(const Product& p) {
  Space s;
  bool folded = p.one_b();
  if (!folded && count(p.batch) != 1) {
    Shape operands[] = {p.a.batch, p.b.batch};
    s.batch = collapse(p.batch, operands);
  } else {
    s.batch.operands.resize(2);
  }
  s.dims = s.batch.dims;
  for (auto& d : s.dims) d.name[0] = 'b';
  int rank = static_cast<int>(s.dims.size());
  s.m = rank;
  s.n = rank + 1;
  s.k = rank + 2;
  s.dims.push_back({"m", folded ? p.m * count(p.batch) : p.m});
  s.dims.push_back({"n", p.n});
  s.dims.push_back({"k", p.k});
  return s;
}

// [batch..., rows, columns] along the given dimensions, the rows first where the batch is inside.
OperandMap matrices(const Space& s, OperandMap map, int rows, int columns, bool batch_inside) {
  auto extent = [&](int d) { return s.dims[static_cast<size_t>(d)].extent; };
  auto at = batch_inside ? 0 : static_cast<std::ptrdiff_t>(map.axes.size());
  map.view.insert(map.view.begin() + at, extent(rows));
  map.axes.insert(map.axes.begin() + at, AxisMap::along(rows));
  map.view.push_back(extent(columns));
  map.axes.push_back(AxisMap::along(columns));
  return map;
}

OperandMap addend(const NodeContext& n, const Product& p, const Space& s) {
  if (!n.has_input(2) || p.beta == 0) return untouched();
  Shape shape = n.in(2);
  shape.insert(shape.begin(), 2 - shape.size(), 1);
  auto axis = [&](int dim, int64_t extent) { return extent == 1 ? AxisMap::whole(1) : AxisMap::along(dim); };
  return {.view = shape, .axes = {axis(s.m, shape[0]), axis(s.n, shape[1])}};
}

Result<TileMap> tile_map(const NodeContext& n) {
  if (fused(n)) CHECK_OK(fused_relu(n));
  auto p = product(n);
  auto s = space_of(p);
  TileMap map;
  map.dims = s.dims;
  map.inputs = {
      matrices(s, s.batch.operands[0], p.a.transposed ? s.k : s.m, p.a.transposed ? s.m : s.k, p.a.batch_inside),
      matrices(s, s.batch.operands[1], p.b.transposed ? s.n : s.k, p.b.transposed ? s.k : s.n, p.b.batch_inside)};
  if (n.node.inputs.size() > 2) map.inputs.push_back(addend(n, p, s));
  map.outputs = {matrices(s, s.batch.whole, s.m, s.n, false)};
  return walkable(n, std::move(map));
}

KernelCall kernel(const NodeContext& n, const TileSymbols& t) {
  auto p = product(n);
  auto s = space_of(p);
  auto map = *tile_map(n);
  auto m = static_cast<size_t>(s.m), in = static_cast<size_t>(s.n), k = static_cast<size_t>(s.k);
  auto a = strides(map.inputs[0], t.box), b = strides(map.inputs[1], t.box);
  auto input = [](int i) { return OperandRef{OperandRef::Kind::Input, i}; };
  KernelCall call{"ts_matmul",
                  "matmul",
                  {{"a", input(0)},
                   {"b", input(1)},
                   {"y", OperandRef{OperandRef::Kind::Output, 0}},
                   {"m", t.box.len[m]},
                   {"n", t.box.len[in]},
                   {"k", t.box.len[k]},
                   {"a_m", a[m]},
                   {"a_k", a[k]},
                   {"b_k", b[k]},
                   {"b_n", b[in]},
                   {"alpha", p.alpha},
                   {"first", t.first[0]},
                   {"last", t.last[0]}}};
  if (fused(n)) call.fields.push_back({"relu", Expr(*fused_relu(n) ? 1 : 0)});
  if (map.inputs.size() > 2 && map.inputs[2].present) {
    auto c = strides(map.inputs[2], t.box);
    for (auto& field :
         std::initializer_list<KernelCall::Field>{{"c", input(2)}, {"c_m", c[m]}, {"c_n", c[in]}, {"beta", p.beta}})
      call.fields.push_back(field);
  }
  if (m > 0) {  // the batch's dimensions come first
    auto batch = [&](const std::vector<Expr>& all) { return std::vector<Expr>(all.begin(), all.begin() + s.m); };
    for (auto& field : std::initializer_list<KernelCall::Field>{
             {"batch_rank", Expr(s.m)}, {"batch", batch(t.box.len)}, {"a_batch", batch(a)}, {"b_batch", batch(b)}})
      call.fields.push_back(field);
  }
  return call;
}

double cycles(const NodeContext& node, std::span<const int64_t> tile, int cores) {
  auto rank = tile.size();
  int64_t matrices = 1;
  for (size_t d = 0; d + 3 < rank; ++d) matrices *= tile[d];
  return matmul_cycles(matrices, tile[rank - 3], tile[rank - 2], tile[rank - 1], cores, node.has_input(2) ? 10 : 0);
}

int64_t macs(const NodeContext& n) {
  auto p = product(n);
  return count(p.batch) * p.m * p.n * p.k;
}

constexpr Operator matrix_product(std::string_view domain, std::string_view type, int since, std::string_view summary,
                                  std::string_view verified) {
  return {.domain = domain,
          .type = type,
          .since = since,
          .summary = summary,
          .verified = verified,
          .infer = infer,
          .reference = reference,
          .gradient = gradient,
          .tile_map = tile_map,
          .kernel = kernel,
          .cycles = cycles,
          .far_stack = 1.15,
          .macs = macs};
}

}  // namespace

namespace defined {

const Operator Gemm =
    matrix_product("", "Gemm", 7, "alpha * A.B + beta * C (transA, transB; C broadcasts)", "onnx, torch");
const Operator MatMul =
    matrix_product("", "MatMul", 1, "numpy's product: vectors, batches, broadcast batches", "onnx, torch");
const Operator FusedMatMul =
    matrix_product("com.microsoft", "FusedMatMul", 1, "MatMul with alpha, transA, transB, transBatchA, transBatchB",
                   "reference, torch");

const Operator FusedGemm{.domain = "com.microsoft",
                         .type = "FusedGemm",
                         .summary = "Gemm and an activation (Relu is done by the kernel)",
                         .verified = "reference",
                         .infer = infer,
                         .reference = reference,
                         .tile_map = tile_map,
                         .kernel = kernel,
                         .cycles = cycles,
                         .far_stack = 1.15,
                         .macs = macs,
                         .expand = [](ExpandContext& e) {
                           return without_activation(e, {"", "Gemm"}, 3, {});
                         }};

}  // namespace defined
}  // namespace tessera::ops
