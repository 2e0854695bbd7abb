// Losses that do not belong to what a network ends with.
#include "train/loss_doubts.hpp"

#include <gtest/gtest.h>

namespace tessera::train {
namespace {

Graph ending_with(std::vector<std::string> operators) {
  Graph graph;
  auto x = graph.add_tensor({"x", {DType::F32, {1, 4}}, Role::Input, {}});
  for (auto& type : operators) {
    auto y = graph.add_tensor({type, {}, Role::Activation, {}});
    graph.add_node({.op = {"", type}, .inputs = {x}, .outputs = {y}});
    x = y;
  }
  graph.outputs = {x};
  return graph;
}

TEST(LossDoubts, WhatTheLossDoesItselfIsNotDoneTwice) {
  EXPECT_EQ(loss_doubt(ending_with({"Gemm", "Softmax"}), Loss::CrossEntropy),
            "the output is a Softmax, but cross_entropy takes the scores before it: export the network without its "
            "Softmax");
  EXPECT_TRUE(loss_doubt(ending_with({"Gemm", "Softmax", "Reshape"}), Loss::CrossEntropy));
  EXPECT_TRUE(loss_doubt(ending_with({"Gemm", "Sigmoid"}), Loss::BceLogits));
}

TEST(LossDoubts, WhatTheLossNeedsIsThere) {
  EXPECT_TRUE(loss_doubt(ending_with({"Gemm"}), Loss::Nll));
  EXPECT_TRUE(loss_doubt(ending_with({"Gemm", "Softmax"}), Loss::Nll));
  EXPECT_TRUE(loss_doubt(ending_with({"Conv", "Flatten"}), Loss::Bce));
}

TEST(LossDoubts, NoneWhereTheyBelongTogether) {
  EXPECT_FALSE(loss_doubt(ending_with({"Gemm"}), Loss::CrossEntropy));
  EXPECT_FALSE(loss_doubt(ending_with({"Softmax", "Gemm"}), Loss::CrossEntropy));
  EXPECT_FALSE(loss_doubt(ending_with({"LogSoftmax"}), Loss::CrossEntropy));  // twice is once
  EXPECT_FALSE(loss_doubt(ending_with({"Gemm", "LogSoftmax"}), Loss::Nll));
  EXPECT_FALSE(loss_doubt(ending_with({"Gemm", "Sigmoid"}), Loss::Bce));
  EXPECT_FALSE(loss_doubt(ending_with({"Gemm"}), Loss::BceLogits));
  EXPECT_FALSE(loss_doubt(ending_with({"Softmax"}), Loss::Mse));
  EXPECT_FALSE(loss_doubt({}, Loss::CrossEntropy));
}

}  // namespace
}  // namespace tessera::train
