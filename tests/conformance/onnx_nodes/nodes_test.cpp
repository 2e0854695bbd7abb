// ONNX's own test data: every node test whose operators we have must give the expected values, by the reference and,
// where the node has a kernel, by the kernel.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>

#include "onnx/import.hpp"
#include "onnx/pb.hpp"
#include "ops/builder.hpp"
#include "support/tiled_run.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

const fs::path folder = "/usr/share/libonnx-testdata/data/node";

struct Case {
  Graph graph;
  std::vector<TensorData> inputs, outputs;
};

// Tests that we do not run although we have the operators, and why.
const std::map<std::string, std::string> left_out = {
    {"test_add_uint8", "arithmetic on bytes"},
    {"test_div_uint8", "arithmetic on bytes"},
    {"test_mul_uint8", "arithmetic on bytes"},
    {"test_sub_uint8", "arithmetic on bytes"},
};

bool ours(const Graph& graph) {
  return std::ranges::all_of(graph.nodes(), [](auto& node) { return ops::find(node.op, node.version) != nullptr; });
}

std::vector<TensorData> numbered(const fs::path& set, const std::string& kind) {
  std::vector<TensorData> all;
  for (size_t i = 0; fs::exists(set / fmt::format("{}_{}.pb", kind, i)); ++i) {
    auto array = onnx::read_pb(set / fmt::format("{}_{}.pb", kind, i));
    if (!array) return {};
    all.push_back(array->data);
  }
  return all;
}

// Integer inputs (axes, shapes, labels) are known at compile time here, as a model would have them.
Result<Case> read(const fs::path& test) {
  TRY(auto model, onnx::import_onnx(test / "model.onnx", {}));
  Case c{std::move(model.graph), {}, numbered(test / "test_data_set_0", "output")};
  auto values = numbered(test / "test_data_set_0", "input");
  auto inputs = std::exchange(c.graph.inputs, {});
  if (values.size() != inputs.size() || c.outputs.empty()) return input_error("the test data cannot be read");
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto& tensor = c.graph.at(inputs[i]);
    tensor.type = values[i].type();
    if (tensor.type.dtype == DType::I64 || tensor.type.dtype == DType::I32) {
      tensor.role = Role::Constant;
      tensor.value = values[i];
    } else {
      c.graph.inputs.push_back(inputs[i]);
      c.inputs.push_back(values[i]);
    }
  }
  CHECK_OK(ops::infer_types(c.graph));
  return c;
}

template <class Values>
std::string difference(const Values& got, const TensorData& wanted, double tolerance) {
  for (int64_t i = 0; i < wanted.type().elements(); ++i) {
    double g = got(i), w = wanted.at(i);
    bool equal = std::isnan(w) ? std::isnan(g) : g == w || std::abs(g - w) <= tolerance * std::max(1.0, std::abs(w));
    if (!equal) return fmt::format("element {} is {}, expected {}", i, g, w);
  }
  return "";
}

std::string reference_failure(const Case& c) {
  std::vector<ops::Array> inputs;
  for (auto& data : c.inputs) {
    inputs.push_back({data.type().dtype, data.shape(), {}});
    for (int64_t i = 0; i < data.type().elements(); ++i) inputs.back().v.push_back(data.at(i));
  }
  auto values = ops::evaluate(c.graph, inputs);
  if (!values) return values.error().text();
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    auto& got = (*values)[static_cast<size_t>(c.graph.outputs[o].index)];
    if (got.shape != c.outputs[o].shape())
      return fmt::format("the shape is {}, expected {}", to_string(got.shape), to_string(c.outputs[o].shape()));
    auto text = difference([&](int64_t i) { return got.v[static_cast<size_t>(i)]; }, c.outputs[o], 1e-5);
    if (!text.empty()) return text;
  }
  return "";
}

// Of a graph of one node that has a kernel; says in `ran` whether it has.
std::string kernel_failure(const Case& c, std::mt19937& rng, bool& ran) {
  if (c.graph.nodes().size() != 1) return "";
  auto& node = c.graph.at(NodeId{0});
  auto* op = ops::find(node.op, node.version);
  if (ops::is_view(*op) || !op->tile_map({c.graph, node})) return "";
  std::vector<TensorData> inputs;
  for (auto id : node.inputs) {
    auto at = std::ranges::find(c.graph.inputs, id) - c.graph.inputs.begin();
    inputs.push_back(!id                             ? TensorData{}
                     : !c.graph.at(id).value.empty() ? c.graph.at(id).value
                                                     : c.inputs[static_cast<size_t>(at)]);
  }
  ran = true;
  double tolerance = 1e-5;  // and a long sum, term by term in float, loses more
  for (auto& data : inputs) tolerance = std::max(tolerance, 3e-9 * static_cast<double>(data.type().elements()));
  TiledRun run(c.graph, NodeId{0});
  auto made = run(inputs, random_tile(run.map(), rng), 3);
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    auto text = difference([&](int64_t i) { return made[o].at(i); }, c.outputs[o], tolerance);
    if (!text.empty()) return "kernel: " + text;
  }
  return "";
}

TEST(OnnxNodes, give_the_expected_values) {
  if (!fs::exists(folder)) GTEST_SKIP() << "needs the package libonnx-testdata";
  std::mt19937 rng(1);
  std::map<std::string, int> by_operator;
  int kernels = 0;
  std::vector<fs::path> tests(fs::directory_iterator(folder), {});
  std::ranges::sort(tests);
  for (auto& test : tests) {
    auto name = test.filename().string();
    auto model = onnx::import_onnx(test / "model.onnx", {});
    if (!model || !ours(model->graph)) continue;
    if (left_out.contains(name)) continue;
    SCOPED_TRACE(name);
    auto c = read(test);
    if (!c) {
      ADD_FAILURE() << c.error().text();
      continue;
    }
    EXPECT_EQ(reference_failure(*c), "");
    bool ran = false;
    EXPECT_NO_THROW(EXPECT_EQ(kernel_failure(*c, rng, ran), ""));
    kernels += ran;
    if (c->graph.nodes().size() == 1) ++by_operator[c->graph.nodes()[0].op.type];
  }
  std::string summary;
  for (auto& [op, n] : by_operator) summary += fmt::format("{} {}  ", op, n);
  std::cout << summary << "\n" << kernels << " kernels\n";
  EXPECT_EQ(by_operator["Gemm"], 11);
  EXPECT_EQ(by_operator["MatMul"], 3);
  EXPECT_EQ(by_operator["Transpose"], 7);
  EXPECT_GE(by_operator["Reshape"], 9);
  EXPECT_GE(by_operator["Flatten"], 9);
  EXPECT_EQ(by_operator["ReduceSum"], 5);  // the other five have an input without elements, which import refuses
  EXPECT_GE(by_operator["ReduceMean"], 8);
  EXPECT_GE(kernels, 39);
}

}  // namespace
}  // namespace tessera::test
