// Kernels against PyTorch, forward and backward: torch_reference.py writes what PyTorch makes of seeded inputs.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <map>

#include "onnx/npz.hpp"
#include "ops/builder.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

class AgainstTorch : public testing::Test {
 protected:
  static std::map<std::string, TensorData>& arrays() {
    static std::map<std::string, TensorData> all = load();
    return all;
  }
  static std::map<std::string, TensorData> load() {
    auto pattern = (fs::temp_directory_path() / "tessera-torch-XXXXXX").string();
    fs::path folder = mkdtemp(pattern.data());
    auto file = folder / "reference.npz";
    auto command = fmt::format("/usr/bin/python3 {}/tests/unit/ops_elementwise/torch_reference.py {}", TESSERA_ROOT,
                               file.string());
    std::map<std::string, TensorData> all;
    if (std::system(command.c_str()) == 0)
      if (auto read = onnx::read_npz(file))
        for (auto& a : *read) all[a.name] = a.data;
    fs::remove_all(folder);
    return all;
  }

  static TensorData get(const std::string& name) {
    EXPECT_TRUE(arrays().contains(name)) << "PyTorch made no " << name;
    return arrays()[name];
  }

  // One kernel call on all cores; the first outputs against PyTorch's.
  static void expect(OpName op, std::vector<TensorData> inputs, const Attributes& attributes,
                     const std::vector<std::string>& wanted, double tolerance) {
    std::vector<Operand> operands;
    for (auto& data : inputs) operands.push_back({data.type(), {}, data.empty()});
    auto n = one_node(op, operands, attributes, wanted.size());
    ASSERT_TRUE(n.status) << n.status.error().text();
    TiledRun run(n.graph, n.node);
    auto made = run(inputs, whole_tile(run.map()), 8);
    for (size_t o = 0; o < wanted.size(); ++o) {
      auto torch = get(wanted[o]);
      ASSERT_EQ(made[o].type().elements(), torch.type().elements()) << wanted[o];
      for (int64_t i = 0; i < torch.type().elements(); ++i)
        ASSERT_NEAR(made[o].at(i), torch.at(i), tolerance * std::max(1.0, std::abs(torch.at(i))))
            << wanted[o] << " element " << i;
    }
  }

  // The gradient nodes of an operator, evaluated, against PyTorch's gradients: input name -> PyTorch's name.
  static void expect_gradients(OpName op, std::vector<TensorData> inputs, const TensorData& d,
                               const std::vector<std::string>& wanted) {
    std::vector<Operand> operands;
    for (auto& data : inputs) operands.push_back({data.type(), {}});
    auto n = one_node(op, operands, {}, 1);
    ASSERT_TRUE(n.status) << n.status.error().text();
    auto d_output = n.graph.add_tensor({"d_output", d.type(), Role::Input, {}});
    n.graph.inputs.push_back(d_output);
    inputs.push_back(d);
    ops::Builder build(n.graph);
    Node node = n.graph.at(n.node);
    ops::GradientContext g{build, node, {d_output}, std::vector<bool>(wanted.size(), true)};
    auto gradients = (*ops::definition(n.graph, node))->gradient(g);
    ASSERT_TRUE(gradients) << gradients.error().text();
    std::vector<ops::Array> values;
    for (auto& data : inputs) {
      values.push_back({data.type().dtype, data.shape(), {}});
      for (int64_t i = 0; i < data.type().elements(); ++i) values.back().v.push_back(data.at(i));
    }
    auto all = ops::evaluate(n.graph, values);
    ASSERT_TRUE(all) << all.error().text();
    for (size_t i = 0; i < wanted.size(); ++i) {
      auto torch = get(wanted[i]);
      auto& ours = (*all)[static_cast<size_t>((*gradients)[i].index)];
      ASSERT_EQ(ours.shape, torch.shape()) << wanted[i];
      for (int64_t e = 0; e < torch.type().elements(); ++e)
        ASSERT_NEAR(ours.v[static_cast<size_t>(e)], torch.at(e), 1e-5 * std::max(1.0, std::abs(torch.at(e))))
            << wanted[i] << " element " << e;
    }
  }
};

TEST_F(AgainstTorch, ElementwiseFunctions) {
  for (std::string f :
       {"Relu", "Sigmoid", "Tanh", "Neg", "Exp", "Log", "Sqrt", "Abs", "Sign", "Reciprocal", "Softmax", "LogSoftmax"}) {
    expect({"", f}, {get(f + ".x")}, {}, {f + ".y"}, 1e-6);
    expect_gradients({"", f}, {get(f + ".x")}, get(f + ".dy"), {f + ".dx"});
  }
}

TEST_F(AgainstTorch, GradientNodes) {
  for (std::string f : {"Relu", "Sigmoid", "Tanh"})
    expect({"com.microsoft", f + "Grad"}, {get(f + ".dy"), get(f + ".y")}, {}, {f + ".dx"}, 1e-6);
  for (std::string f : {"Softmax", "LogSoftmax"})
    expect({"com.microsoft", f + "Grad_13"}, {get(f + ".dy"), get(f + ".y")}, {}, {f + ".dx"}, 1e-6);
}

TEST_F(AgainstTorch, BroadcastingArithmetic) {
  for (std::string f : {"Add", "Sub", "Mul", "Div"}) {
    expect({"", f}, {get(f + ".a"), get(f + ".b")}, {}, {f + ".y"}, 1e-6);
    expect_gradients({"", f}, {get(f + ".a"), get(f + ".b")}, get(f + ".dy"), {f + ".da", f + ".db"});
  }
}

TEST_F(AgainstTorch, CrossEntropyForEveryReductionWeightAndIgnoredLabel) {
  for (std::string reduction : {"mean", "sum", "none"})
    for (int weighted : {0, 1})
      for (int64_t ignore : {-100, 2})
        for (int inner : {0, 2}) {
          auto suffix = fmt::format("_{}_{}_{}_{}", reduction, weighted, ignore, inner);
          Attributes attributes{{"reduction", reduction}, {"ignore_index", ignore}};
          auto weights = weighted ? get("ce" + suffix + ".weights") : TensorData{};
          for (std::string kind : {"ce", "nll"}) {
            auto name = kind + suffix + ".";
            auto loss = kind == "ce" ? "SoftmaxCrossEntropyLoss" : "NegativeLogLikelihoodLoss";
            std::vector<std::string> outputs{name + "loss"};
            if (kind == "ce") outputs.push_back(name + "log_prob");
            weights = weighted ? get(name + "weights") : TensorData{};
            expect({"", loss}, {get(name + "x"), get(name + "labels"), weights}, attributes, outputs, 2e-6);
            auto log_prob = get(name + (kind == "ce" ? "log_prob" : "x"));
            expect({"com.microsoft", fmt::format("{}Grad", loss)},
                   {get(name + "d"), log_prob, get(name + "labels"), weights}, attributes, {name + "dx"}, 2e-6);
          }
        }
}

TEST_F(AgainstTorch, SquaredErrorForEveryReduction) {
  for (std::string reduction : {"mean", "sum", "none"}) {
    auto name = "mse_" + reduction + ".";
    Attributes attributes{{"reduction", reduction}};
    expect({"com.microsoft", "MSELoss"}, {get(name + "x"), get(name + "t")}, attributes, {name + "loss"}, 1e-6);
    expect({"com.microsoft", "MSELossGrad"}, {get(name + "d"), get(name + "x"), get(name + "t")}, attributes,
           {name + "dx"}, 1e-6);
  }
}

TEST_F(AgainstTorch, GradientDescent) {
  expect({"", "SGD"}, {get("SGD.w"), get("SGD.g")}, {{"lr", 0.25f}}, {"SGD.out"}, 1e-6);
}

}  // namespace
}  // namespace tessera::test
