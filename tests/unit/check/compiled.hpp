// Networks as the planner and the scheduler compile them, ready to be judged.
#pragma once

#include "ops/builder.hpp"
#include "plan/make_plan.hpp"
#include "schedule/build.hpp"
#include "train/build.hpp"
#include "train/zoo.hpp"
#include "unit/check/handmade.hpp"

namespace tessera::compiled {

using handmade::Case;

inline target::Target siracusa() {
  return *target::load_target("siracusa", TESSERA_ROOT "/targets");
}

inline Result<Case> compile(const train::Program& program, const plan::Options& options) {
  Case c;
  c.graph = program.graph;
  c.target = siracusa();
  TRY(c.plan, plan::make_plan(program, c.target, options));
  TRY(c.schedule, schedule::build(c.graph, c.plan, c.target));
  c.options.budget = {options.l1.value_or(c.target.memories[0].size)};
  return c;
}

inline Result<train::Program> perceptron(std::string_view name, int64_t batch) {
  TRY(auto graph, train::zoo_model(name, batch));
  return train::training_program(std::move(graph), {}, {.loss = train::Loss::CrossEntropy});
}

// Batched products, a softmax over them, transposes, broadcasts and reductions: attention without a name.
inline Result<train::Program> mixed(int64_t batch = 3, int64_t rows = 5, int64_t columns = 7) {
  Graph graph;
  graph.name = "mixed";
  auto random = [&](const std::string& name, Shape shape) {
    TensorType type{DType::F32, std::move(shape)};
    return graph.add_tensor({name, type, Role::Parameter, TensorData::zeros(type)});
  };
  auto x = graph.add_tensor({"x", {DType::F32, {batch, rows, columns}}, Role::Input, {}});
  graph.inputs = {x};
  auto w = random("w", {columns, 6}), scale = random("scale", {6}), v = random("v", {6, 3});
  ops::Builder b(graph);
  auto q = b.node({"", "MatMul"}, {x, w}, {}, "q");
  auto k = b.node({"", "Mul"}, {q, scale}, {}, "k");
  auto kt = b.node({"", "Transpose"}, {k}, {{"perm", std::vector<int64_t>{0, 2, 1}}}, "kt");
  auto scores = b.node({"", "MatMul"}, {q, kt}, {}, "scores");
  auto p = b.node({"", "Softmax"}, {scores}, {{"axis", int64_t{-1}}}, "p");
  auto mixed = b.node({"", "MatMul"}, {p, k}, {}, "mixed");
  auto mean = b.node({"", "ReduceMean"}, {mixed, b.integers({1}, "axes")}, {{"keepdims", int64_t{0}}}, "mean");
  auto y = b.node({"", "MatMul"}, {b.node({"", "Tanh"}, {mean}, {}, "act"), v}, {}, "y");
  graph.outputs = {y};
  CHECK_OK(b.status());
  return train::training_program(std::move(graph), {}, {.loss = train::Loss::Mse});
}

// Parts put together, cut out and turned: all of it by DMA where it lives outside of L1.
inline Result<train::Program> moved(int64_t rows = 6, int64_t columns = 8, bool learns = true) {
  Graph graph;
  graph.name = "moved";
  auto x = graph.add_tensor({"x", {DType::F32, {rows, columns}}, Role::Input, {}});
  TensorType type{DType::F32, {columns, 3}};
  auto w = graph.add_tensor({"w", type, Role::Parameter, TensorData::zeros(type)});
  graph.inputs = {x};
  ops::Builder b(graph);
  auto a = b.node({"", "Relu"}, {x}, {}, "a");
  auto both = b.node({"", "Concat"}, {a, x, a}, {{"axis", int64_t{1}}}, "both");
  auto cut = b.node({"", "Slice"},
                    {both, b.integers({1, columns / 2}, "from"), b.integers({rows, 2 * columns + columns / 2}, "to")},
                    {}, "cut");
  auto pairs = b.node({"", "Reshape"}, {cut, b.integers({rows - 1, 2, columns}, "shape")}, {}, "pairs");
  auto turned = b.node({"", "Transpose"}, {pairs}, {{"perm", std::vector<int64_t>{1, 0, 2}}}, "turned");
  graph.outputs = {b.node({"", "MatMul"}, {turned, w}, {}, "y")};
  CHECK_OK(b.status());
  if (!learns) return train::inference_program(std::move(graph));
  return train::training_program(std::move(graph), {}, {.loss = train::Loss::Mse});
}

}  // namespace tessera::compiled
