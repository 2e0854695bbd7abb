// Gemm, MatMul and com.microsoft.FusedMatMul: one product with transpositions, batches and an epilogue.
#include <algorithm>

#include "ops/arguments.hpp"
#include "ops/broadcast.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

// One side of the product as it lies in memory: [batch..., rows, columns], or with `batch_inside`
// [rows, batch..., columns]; `transposed` says that the rows are the product's columns.
struct Side {
  bool transposed = false, batch_inside = false, vector = false;
  Shape batch;
  int64_t rows = 1, columns = 1;

  int64_t outer() const { return transposed ? columns : rows; }  // rows as the product sees it
  int64_t inner() const { return transposed ? rows : columns; }  // columns as the product sees it
  Shape matrix_shape() const {
    Shape shape = batch;
    shape.insert(shape.end(), {rows, columns});
    return shape;
  }
};

// What all three operators come down to: Y[batch, m, n] = alpha * A.B + beta * C.
struct Product {
  Side a, b;
  float alpha = 1, beta = 1;
  Shape batch;
  int64_t m = 1, n = 1, k = 1;

  // Where B is one matrix for the whole batch, the batch is nothing but more rows of A.
  bool one_b() const { return count(b.batch) == 1 && !a.transposed && !a.batch_inside; }
  Shape out() const {
    Shape shape = batch;
    if (!a.vector) shape.push_back(m);
    if (!b.vector) shape.push_back(n);
    return shape;
  }
};

bool flag(const NodeContext& n, std::string_view name) {
  return n.node.attributes.integer(name, 0) != 0;
}

Result<Side> side(const NodeContext& n, size_t i, bool transposed, bool batch_inside) {
  CHECK_OK(is_float(n, i));
  Shape shape = n.in(i);
  if (shape.empty()) return n.error(fmt::format("input {} ('{}') is a scalar", i, n.input(i).name));
  if (batch_inside && shape.size() < 3)
    return n.error(fmt::format("transBatch{} needs at least 3 axes; input {} is {}", i == 0 ? 'A' : 'B', i,
                               to_string(n.input(i).type)));
  Side s{transposed, batch_inside};
  if (shape.size() == 1) {  // a row on the left, a column on the right; transposing it means nothing
    s.vector = true;
    s.transposed = false;
    (i == 0 ? s.columns : s.rows) = shape[0];
    return s;
  }
  s.columns = shape.back();
  shape.pop_back();
  auto rows = batch_inside ? shape.begin() : shape.end() - 1;
  s.rows = *rows;
  shape.erase(rows);
  s.batch = std::move(shape);
  return s;
}

Result<Product> joined(const NodeContext& n, Side a, Side b) {
  Product p{.a = std::move(a), .b = std::move(b)};
  p.m = p.a.outer();
  p.k = p.a.inner();
  p.n = p.b.inner();
  int64_t k = p.b.outer();
  if (p.k != k)
    return n.error(fmt::format("multiplies {} by {}: the inner extents are {} and {}", to_string(n.input(0).type),
                               to_string(n.input(1).type), p.k, k));
  auto batch = broadcast(p.a.batch, p.b.batch);
  if (!batch) return n.error("batches: " + batch.error().message()).hint(batch.error().way_out());
  p.batch = *std::move(batch);
  return p;
}

Result<Product> matmul_product(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 2));
  TRY(auto a, side(n, 0, flag(n, "transA"), flag(n, "transBatchA")));
  TRY(auto b, side(n, 1, flag(n, "transB"), flag(n, "transBatchB")));
  TRY(auto p, joined(n, std::move(a), std::move(b)));
  p.alpha = n.node.attributes.real("alpha", 1);
  return p;
}

Result<Product> gemm_product(const NodeContext& n) {
  CHECK_OK(takes(n, 2, 3));
  for (size_t i = 0; i < 2; ++i)
    if (n.in(i).size() != 2)
      return n
          .error(
              fmt::format("input {} ('{}') is {}; it must be a matrix", i, n.input(i).name, to_string(n.input(i).type)))
          .hint("MatMul multiplies tensors of any rank; Flatten makes a matrix");
  TRY(auto a, side(n, 0, flag(n, "transA"), false));
  TRY(auto b, side(n, 1, flag(n, "transB"), false));
  TRY(auto p, joined(n, std::move(a), std::move(b)));
  p.alpha = n.node.attributes.real("alpha", 1);
  p.beta = n.node.attributes.real("beta", 1);
  if (!n.has_input(2)) return p;
  CHECK_OK(is_float(n, 2));
  auto sum = broadcast(n.in(2), p.out());
  if (!sum || *sum != p.out())
    return n
        .error(fmt::format("C is {}, which does not broadcast to the product {}", to_string(n.input(2).type),
                           to_string(p.out())))
        .hint("C may be a scalar, [N], [1,N], [M,1] or [M,N]");
  return p;
}

bool is_gemm(const NodeContext& n) {
  return n.node.op.type == "Gemm";
}
// The node was inferred before, so there is no error to meet.
Product product(const NodeContext& n) {
  return is_gemm(n) ? *gemm_product(n) : *matmul_product(n);
}

Result<std::vector<TensorType>> infer_matmul(const NodeContext& n) {
  TRY(auto p, matmul_product(n));
  return std::vector<TensorType>{{DType::F32, p.out()}};
}

Result<std::vector<TensorType>> infer_gemm(const NodeContext& n) {
  TRY(auto p, gemm_product(n));
  return std::vector<TensorType>{{DType::F32, p.out()}};
}

// The element (row, column) of matrix `batch` of a side, the indices as it lies in memory.
size_t element(const Side& s, size_t batch, int64_t row, int64_t column) {
  auto matrices = count(s.batch);
  auto b = static_cast<int64_t>(batch);
  int64_t line = s.batch_inside ? row * matrices + b : b * s.rows + row;
  return static_cast<size_t>(line * s.columns + column);
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

// Instructions a block of four by four takes, and what is left at the edges; the FPUs, one for two cores, are the roof.
double cycles(const NodeContext& node, std::span<const int64_t> tile, int cores) {
  auto rank = tile.size();
  double matrices = 1;
  for (size_t d = 0; d + 3 < rank; ++d) matrices *= static_cast<double>(tile[d]);
  int64_t m = tile[rank - 3], n = tile[rank - 2];
  double k = static_cast<double>(tile[rank - 1]);
  double block = 28 * k + 90, line = 11.5 * k + 50, one = 9 * k + 20;
  double epilogue = node.has_input(2) ? 10 : 0;
  auto down = static_cast<double>(m / 4), across = static_cast<double>(n / 4);
  auto rows = static_cast<double>(m % 4), columns = static_cast<double>(n % 4);
  double work = down * across * block + (down * columns + rows * across) * line + rows * columns * one +
                static_cast<double>(m * n) * epilogue;
  auto blocks = matrices * static_cast<double>((m + 3) / 4 * ((n + 3) / 4));
  double rounds = static_cast<double>((static_cast<int64_t>(blocks) + cores - 1) / cores);
  double multiply_adds = matrices * static_cast<double>(m * n) * k;
  return 100 + std::max(work * matrices / blocks * rounds, multiply_adds / std::min(cores, 4));
}

int64_t macs(const NodeContext& n) {
  auto p = product(n);
  return count(p.batch) * p.m * p.n * p.k;
}

}  // namespace

namespace defined {

const Operator Gemm{.domain = "",
                    .type = "Gemm",
                    .since = 7,
                    .summary = "alpha * A.B + beta * C (transA, transB; C broadcasts)",
                    .verified = "onnx, torch",
                    .infer = infer_gemm,
                    .reference = reference,
                    .gradient = gradient,
                    .tile_map = tile_map,
                    .kernel = kernel,
                    .cycles = cycles,
                    .macs = macs};
const Operator MatMul{.domain = "",
                      .type = "MatMul",
                      .since = 1,
                      .summary = "numpy's product: vectors, batches, broadcast batches",
                      .verified = "onnx, torch",
                      .infer = infer_matmul,
                      .reference = reference,
                      .gradient = gradient,
                      .tile_map = tile_map,
                      .kernel = kernel,
                      .cycles = cycles,
                      .macs = macs};
const Operator FusedMatMul{.domain = "com.microsoft",
                           .type = "FusedMatMul",
                           .since = 1,
                           .summary = "MatMul with alpha, transA, transB, transBatchA, transBatchB",
                           .verified = "reference",
                           .infer = infer_matmul,
                           .reference = reference,
                           .gradient = gradient,
                           .tile_map = tile_map,
                           .kernel = kernel,
                           .cycles = cycles,
                           .macs = macs};

}  // namespace defined
}  // namespace tessera::ops
