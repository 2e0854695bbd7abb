// Shapes, types and refusals of products, views, copies and reductions.
#include <gtest/gtest.h>

#include "support/one_node.hpp"

namespace tessera::test {
namespace {

using Ints = std::vector<int64_t>;

std::string shape_of(const OneNode& n) {
  if (!n.status) return n.status.error().message();
  return to_string(n.graph.at(n.graph.outputs[0]).type);
}

std::string infer(OpName op, std::vector<Operand> operands, Attributes attributes = {}) {
  return shape_of(one_node(std::move(op), std::move(operands), std::move(attributes)));
}

Operand of(DType dtype, Shape shape) {
  return {{dtype, std::move(shape)}, {}};
}

Operand absent() {
  return {.type = {}, .value = {}, .absent = true};
}

TEST(Gemm, shapes) {
  EXPECT_EQ(infer({"", "Gemm"}, {f32({4, 784}), f32({784, 128})}), "f32[4,128]");
  EXPECT_EQ(infer({"", "Gemm"}, {f32({784, 4}), f32({128, 784})}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}),
            "f32[4,128]");
  for (const Shape& c : {Shape{}, {1}, {3}, {1, 3}, {2, 1}, {2, 3}, {1, 1}})
    EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5}), f32({5, 3}), f32(c)}), "f32[2,3]") << to_string(c);
  EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5}), f32({5, 3}), absent()}), "f32[2,3]");
}

TEST(Gemm, refusals_name_the_node_and_the_reason) {
  EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5}), f32({4, 3})}),
            "node 'node' (Gemm): multiplies f32[2,5] by f32[4,3]: the inner extents are 5 and 4");
  EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5, 1}), f32({5, 3})}),
            "node 'node' (Gemm): input 0 ('input0') is f32[2,5,1]; it must be a matrix");
  EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5}), f32({5, 3}), f32({2})}),
            "node 'node' (Gemm): C is f32[2], which does not broadcast to the product [2,3]");
  // C may not enlarge the product either.
  EXPECT_EQ(infer({"", "Gemm"}, {f32({1, 5}), f32({5, 3}), f32({2, 3})}),
            "node 'node' (Gemm): C is f32[2,3], which does not broadcast to the product [1,3]");
  EXPECT_EQ(infer({"", "Gemm"}, {f32({1, 5}), f32({5, 3}), f32({1, 1, 3})}),
            "node 'node' (Gemm): C is f32[1,1,3], which does not broadcast to the product [1,3]");
  EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5})}), "node 'node' (Gemm): has 1 inputs; the operator takes 2 to 3");
  EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5}), absent()}), "node 'node' (Gemm): input 1 is missing");
  EXPECT_EQ(infer({"", "Gemm"}, {of(DType::I64, {2, 5}), f32({5, 3})}),
            "node 'node' (Gemm): input 0 ('input0') is i64; it must be f32");
  EXPECT_EQ(infer({"", "Gemm"}, {f32({2, 5}), f32({5, 3}), of(DType::I32, {3})}),
            "node 'node' (Gemm): input 2 ('input2') is i32; it must be f32");
}

TEST(MatMul, shapes_are_numpys) {
  auto matmul = [](Shape a, Shape b) { return infer({"", "MatMul"}, {f32(std::move(a)), f32(std::move(b))}); };
  EXPECT_EQ(matmul({3}, {3}), "f32[]");
  EXPECT_EQ(matmul({3}, {3, 4}), "f32[4]");
  EXPECT_EQ(matmul({2, 3}, {3}), "f32[2]");
  EXPECT_EQ(matmul({2, 3}, {3, 4}), "f32[2,4]");
  EXPECT_EQ(matmul({3}, {5, 3, 4}), "f32[5,4]");
  EXPECT_EQ(matmul({5, 2, 3}, {3}), "f32[5,2]");
  EXPECT_EQ(matmul({5, 1, 2, 3}, {6, 3, 4}), "f32[5,6,2,4]");
  EXPECT_EQ(matmul({1, 2, 3}, {6, 3, 4}), "f32[6,2,4]");
}

TEST(MatMul, refusals) {
  auto matmul = [](Shape a, Shape b) { return infer({"", "MatMul"}, {f32(std::move(a)), f32(std::move(b))}); };
  EXPECT_EQ(matmul({2, 3}, {4, 3}),
            "node 'node' (MatMul): multiplies f32[2,3] by f32[4,3]: the inner extents are 3 and 4");
  EXPECT_EQ(matmul({3}, {4}), "node 'node' (MatMul): multiplies f32[3] by f32[4]: the inner extents are 3 and 4");
  EXPECT_EQ(matmul({}, {4}), "node 'node' (MatMul): input 0 ('input0') is a scalar");
  EXPECT_EQ(matmul({2, 1, 3}, {3, 3, 4}),
            "node 'node' (MatMul): batches: the shapes [2] and [3] do not broadcast: axis -1 has 2 and 3");
}

TEST(FusedMatMul, shapes) {
  auto fused = [](Shape a, Shape b, Attributes attributes) {
    return infer({"com.microsoft", "FusedMatMul"}, {f32(std::move(a)), f32(std::move(b))}, std::move(attributes));
  };
  EXPECT_EQ(fused({3, 2}, {4, 3}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}), "f32[2,4]");
  EXPECT_EQ(fused({3}, {4, 3}, {{"transA", int64_t{1}}, {"transB", int64_t{1}}}), "f32[4]");  // a vector stays
  EXPECT_EQ(fused({2, 7, 3}, {7, 3, 4}, {{"transBatchA", int64_t{1}}}), "f32[7,2,4]");
  EXPECT_EQ(fused({3, 7, 2}, {7, 3, 4}, {{"transBatchA", int64_t{1}}, {"transA", int64_t{1}}}), "f32[7,2,4]");
  EXPECT_EQ(fused({7, 2, 3}, {4, 7, 3}, {{"transBatchB", int64_t{1}}, {"transB", int64_t{1}}}), "f32[7,2,4]");
  EXPECT_EQ(fused({2, 3}, {3, 4}, {{"transBatchA", int64_t{1}}}),
            "node 'node' (com.microsoft.FusedMatMul): transBatchA needs at least 3 axes; input 0 is f32[2,3]");
}

TEST(Reshape, shapes_and_refusals) {
  auto reshape = [](Shape in, Ints to, int64_t allowzero = 0) {
    return infer({"", "Reshape"}, {f32(std::move(in)), i64s(std::move(to))}, {{"allowzero", allowzero}});
  };
  EXPECT_EQ(reshape({2, 3, 4}, {4, 6}), "f32[4,6]");
  EXPECT_EQ(reshape({2, 3, 4}, {0, -1}), "f32[2,12]");
  EXPECT_EQ(reshape({2, 3, 4}, {0, 0, 2, 2}), "f32[2,3,2,2]");
  EXPECT_EQ(reshape({1}, {}), "f32[]");
  EXPECT_EQ(reshape({0, 3}, {3, 0}, 1), "f32[3,0]");
  EXPECT_EQ(reshape({2, 3}, {4, 2}), "node 'node' (Reshape): cannot give [2,3] (6 elements) the shape [4,2]");
  EXPECT_EQ(reshape({2, 3}, {4, -1}), "node 'node' (Reshape): cannot give [2,3] (6 elements) the shape [4,1]");
  EXPECT_EQ(reshape({2, 3}, {-1, -1}), "node 'node' (Reshape): leaves axes 0 and 1 open; one -1 is allowed");
  EXPECT_EQ(reshape({6}, {2, 0}), "node 'node' (Reshape): copies axis 1 of an input with the shape [6]");
  EXPECT_EQ(reshape({6}, {-2, 3}), "node 'node' (Reshape): asks for the extent -2 at axis 0");
  EXPECT_EQ(infer({"", "Reshape"}, {f32({6}), of(DType::I64, {2})}),
            "node 'node' (Reshape): the shape ('input1') must be known at compile time");
  EXPECT_EQ(infer({"", "Reshape"}, {f32({6}), f32({2})}),
            "node 'node' (Reshape): input 1 ('input1') is f32; it must be i64 or i32");
}

TEST(Flatten, shapes_and_refusals) {
  auto flatten = [](int64_t axis) { return infer({"", "Flatten"}, {f32({2, 3, 4})}, {{"axis", axis}}); };
  EXPECT_EQ(infer({"", "Flatten"}, {f32({2, 3, 4})}), "f32[2,12]");
  EXPECT_EQ(flatten(0), "f32[1,24]");
  EXPECT_EQ(flatten(3), "f32[24,1]");
  EXPECT_EQ(flatten(-1), "f32[6,4]");
  EXPECT_EQ(flatten(4), "node 'node' (Flatten): axis 4 is outside of a tensor with 3 axes");
  EXPECT_EQ(infer({"", "Flatten"}, {f32({5})}), "f32[5,1]");
}

TEST(Squeeze, axes_as_attribute_as_input_and_absent) {
  EXPECT_EQ(infer({"", "Squeeze"}, {f32({1, 3, 1})}), "f32[3]");
  EXPECT_EQ(infer({"", "Squeeze"}, {f32({1, 3, 1}), i64s({-1})}), "f32[1,3]");
  EXPECT_EQ(infer({"", "Squeeze"}, {f32({1, 3, 1})}, {{"axes", Ints{0}}}), "f32[3,1]");
  EXPECT_EQ(infer({"", "Squeeze"}, {f32({1, 3, 1}), i64s({1})}), "node 'node' (Squeeze): axis 1 of [1,3,1] is not 1");
  EXPECT_EQ(infer({"", "Squeeze"}, {f32({1, 3}), i64s({2})}),
            "node 'node' (Squeeze): axis 2 is outside of a tensor with 2 axes");
}

TEST(Unsqueeze, axes_as_attribute_and_as_input) {
  EXPECT_EQ(infer({"", "Unsqueeze"}, {f32({3, 4}), i64s({0, -1})}), "f32[1,3,4,1]");
  EXPECT_EQ(infer({"", "Unsqueeze"}, {f32({3, 4}), i64s({2, 0, 1})}), "f32[1,1,1,3,4]");
  EXPECT_EQ(infer({"", "Unsqueeze"}, {f32({3, 4})}, {{"axes", Ints{1}}}), "f32[3,1,4]");
  EXPECT_EQ(infer({"", "Unsqueeze"}, {f32({3})}), "node 'node' (Unsqueeze): has no axes");
  EXPECT_EQ(infer({"", "Unsqueeze"}, {f32({3}), i64s({0, 0})}), "node 'node' (Unsqueeze): axis 0 is named twice");
}

TEST(Transpose, shapes_and_refusals) {
  EXPECT_EQ(infer({"", "Transpose"}, {f32({2, 3, 4})}), "f32[4,3,2]");
  EXPECT_EQ(infer({"", "Transpose"}, {of(DType::I64, {2, 3, 4})}, {{"perm", Ints{1, 0, 2}}}), "i64[3,2,4]");
  EXPECT_EQ(infer({"", "Transpose"}, {f32({2, 3})}, {{"perm", Ints{0, 0}}}),
            "node 'node' (Transpose): perm [0,0] does not name each axis of f32[2,3] once");
  EXPECT_EQ(infer({"", "Transpose"}, {f32({2, 3})}, {{"perm", Ints{0}}}),
            "node 'node' (Transpose): perm [0] does not name each axis of f32[2,3] once");
}

TEST(Expand, shapes_and_refusals) {
  EXPECT_EQ(infer({"", "Expand"}, {f32({3, 1}), i64s({2, 1, 6})}), "f32[2,3,6]");
  EXPECT_EQ(infer({"", "Expand"}, {f32({3, 4}), i64s({1})}), "f32[3,4]");
  EXPECT_EQ(infer({"", "Expand"}, {f32({3, 4}), i64s({3, 5})}),
            "node 'node' (Expand): the shapes [3,4] and [3,5] do not broadcast: axis -1 has 4 and 5");
}

TEST(Reduce, axes_in_every_form) {
  EXPECT_EQ(infer({"", "ReduceSum"}, {f32({2, 3, 4})}), "f32[1,1,1]");
  EXPECT_EQ(infer({"", "ReduceSum"}, {f32({2, 3, 4})}, {{"keepdims", int64_t{0}}}), "f32[]");
  EXPECT_EQ(infer({"", "ReduceSum"}, {f32({2, 3, 4}), i64s({-2})}), "f32[2,1,4]");
  EXPECT_EQ(infer({"", "ReduceMean"}, {f32({2, 3, 4})}, {{"axes", Ints{0, -1}}, {"keepdims", int64_t{0}}}), "f32[3]");
  EXPECT_EQ(infer({"", "ReduceSum"}, {f32({2, 3}), i64s({})}, {{"noop_with_empty_axes", int64_t{1}}}), "f32[2,3]");
  EXPECT_EQ(infer({"", "ReduceSum"}, {f32({2, 3}), i64s({})}), "f32[1,1]");
  EXPECT_EQ(infer({"", "ReduceSum"}, {f32({2, 3}), absent()}), "f32[1,1]");
  EXPECT_EQ(infer({"com.microsoft", "ReduceSumTraining"}, {f32({2, 3}), i64s({0})}, {{"keepdims", int64_t{0}}}),
            "f32[3]");
  EXPECT_EQ(infer({"", "ReduceSum"}, {f32({2, 3}), i64s({1, -1})}), "node 'node' (ReduceSum): axis 1 is named twice");
  EXPECT_EQ(infer({"", "ReduceMean"}, {f32({2, 3}), i64s({5})}),
            "node 'node' (ReduceMean): axis 5 is outside of a tensor with 2 axes");
  EXPECT_EQ(infer({"", "ReduceMean"}, {of(DType::Bool, {2, 3})}),
            "node 'node' (ReduceMean): input 0 ('input0') is bool; it must be f32 or i64 or i32");
}

TEST(Versions, an_old_form_is_refused_by_its_version) {
  auto old = one_node({"", "Gemm"}, {f32({2, 5}), f32({5, 3}), f32({3})}, {}, 1, 6);
  ASSERT_FALSE(old.status);
  EXPECT_EQ(old.status.error().message(), "node 'node': operator Gemm has no form in version 6 of its operator set");
  for (int version : {7, 9, 11, 13, 21})
    EXPECT_TRUE(one_node({"", "Gemm"}, {f32({2, 5}), f32({5, 3}), f32({3})}, {}, 1, version).status);
}

}  // namespace
}  // namespace tessera::test
