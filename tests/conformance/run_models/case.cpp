#include "case.hpp"

#include <algorithm>
#include <cmath>

#include "check/check.hpp"
#include "emit/emit.hpp"
#include "onnx/import.hpp"
#include "onnx/pb.hpp"
#include "ops/builder.hpp"
#include "plan/make_plan.hpp"
#include "run/digest.hpp"
#include "run/host.hpp"
#include "schedule/build.hpp"
#include "support/compiled.hpp"
#include "train/build.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;

const fs::path data = "/usr/share/libonnx-testdata/data";

struct Case {
  Graph graph;
  std::vector<TensorData> inputs, outputs;
  double rounding = 0;  // of the narrowest float type in the file, which becomes f32 here
};

double rounding_of(const std::vector<std::string>& notes) {
  double widest = 0;
  for (auto& note : notes)
    widest = std::max(widest, note.starts_with("bfloat16") ? 0x1p-8 : note.starts_with("float16") ? 0x1p-11 : 0.0);
  return widest;
}

// Some of the data is stored as other types than the model declares: bfloat16 as the bits of uint16.
Result<void> has_declared_type(const Tensor& tensor, const TensorData& value) {
  if (tensor.type.shape != value.shape() || tensor.type.dtype == value.type().dtype) return {};
  return input_error("the data of '{}' is {}, but the model declares {}", tensor.name, to_string(value.type()),
                     to_string(tensor.type));
}

Result<std::vector<TensorData>> numbered(const fs::path& set, const std::string& kind) {
  std::vector<TensorData> all;
  for (size_t i = 0; fs::exists(set / fmt::format("{}_{}.pb", kind, i)); ++i) {
    TRY(auto array, onnx::read_pb(set / fmt::format("{}_{}.pb", kind, i)));
    all.push_back(array.data);
  }
  return all;
}

// Whether a node uses a tensor at compile time.
bool used_at_compile_time(const Graph& graph, TensorId t) {
  for (auto& node : graph.nodes()) {
    auto* op = ops::find(node.op, node.version);
    for (size_t i = 0; op && i < node.inputs.size() && i < 32; ++i)
      if (node.inputs[i] == t && (op->known >> i & 1u)) return true;
  }
  return false;
}

Result<Case> read(const fs::path& test) {
  TRY(auto model, onnx::import_onnx(test / "model.onnx", {}));
  Case c{std::move(model.graph), {}, {}, rounding_of(model.notes)};
  TRY(auto values, numbered(test / "test_data_set_0", "input"));
  TRY(c.outputs, numbered(test / "test_data_set_0", "output"));
  auto inputs = std::exchange(c.graph.inputs, {});
  if (values.size() != inputs.size() || c.outputs.size() != c.graph.outputs.size())
    return input_error("has {} inputs and data for {}", inputs.size(), values.size());
  for (size_t o = 0; o < c.outputs.size(); ++o)
    CHECK_OK(has_declared_type(c.graph.at(c.graph.outputs[o]), c.outputs[o]));
  for (size_t i = 0; i < inputs.size(); ++i) {
    auto& tensor = c.graph.at(inputs[i]);
    CHECK_OK(has_declared_type(tensor, values[i]));
    tensor.type = values[i].type();
    if (tensor.type.elements() == 0 || used_at_compile_time(c.graph, inputs[i])) {
      tensor.role = Role::Constant;
      tensor.value = values[i];
    } else {
      c.graph.inputs.push_back(inputs[i]);
      c.inputs.push_back(values[i]);
    }
  }
  return c;
}

double tolerance_of(const Case& c) {
  double terms = 0;  // a long sum, term by term in float, loses more
  for (auto& x : c.inputs) terms = std::max(terms, static_cast<double>(x.type().elements()));
  return std::max({1e-5, 3e-9 * terms, c.rounding});
}

template <class Values>
std::string difference(const Values& got, const TensorType& type, const TensorData& wanted, double tolerance) {
  if (type.shape != wanted.shape())
    return fmt::format("the shape is {}, expected {}", to_string(type.shape), to_string(wanted.shape()));
  for (int64_t i = 0; i < wanted.type().elements(); ++i) {
    double g = got(i), w = wanted.at(i);
    bool equal = std::isnan(w) ? std::isnan(g) : g == w || std::abs(g - w) <= tolerance * std::max(1.0, std::abs(w));
    if (!equal) return fmt::format("element {} is {}, expected {}", i, g, w);
  }
  return "";
}

std::string reference_failure(const Case& c, const Graph& graph) {
  std::vector<ops::Array> inputs;
  for (auto& x : c.inputs) inputs.push_back(ops::array_of(x));
  auto values = ops::evaluate(graph, inputs);
  if (!values) return values.error().text();
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    auto& got = (*values)[static_cast<size_t>(graph.outputs[o].index)];
    auto text = difference([&](int64_t i) { return got.v[static_cast<size_t>(i)]; }, {got.dtype, got.shape},
                           c.outputs[o], tolerance_of(c));
    if (!text.empty()) return "reference: " + text;
  }
  return "";
}

// Emission, the C compiler and the run.
Result<run::RunResult> execute(const train::Program& program, const target::Target& target, const Case& c,
                               const plan::Options& options) {
  TRY(auto plan, plan::make_plan(program, target, options));
  TRY(auto schedule, schedule::build(program.graph, plan, target));
  CHECK_OK(check::check(program.graph, plan, schedule, target));
  emit::HarnessOptions harness;
  harness.data.data = c.inputs;
  TRY(auto project, emit::emit(program, plan, schedule, target, harness));
  TemporaryDirectory folder;
  CHECK_OK(emit::write_project(project, folder.path / "project"));
  return run::run_host(folder.path / "project", {.optimize = false});
}

std::string outputs_failure(const Case& c, const run::RunResult& result) {
  for (size_t o = 0; o < c.outputs.size(); ++o) {
    auto& got = result.outputs[o].data;
    auto text = difference([&](int64_t i) { return got.at(i); }, got.type(), c.outputs[o], tolerance_of(c));
    if (!text.empty()) return fmt::format("output {}: {}", o, text);
  }
  return "";
}

// A team of threads a tile: more tiles than this take minutes on a host.
constexpr int64_t most_tiles = 2048;

bool is_planned(const train::Program& program, const target::Target& target, int64_t l1) {
  auto plan = plan::make_plan(program, target, {.l1 = Bytes(l1)});
  if (!plan) return false;
  int64_t tiles = 0;
  for (auto& node : plan->nodes) tiles += node.tiles;
  return tiles <= most_tiles;
}

// The smallest L1 for which a plan is found that is not too long to run.
Bytes smallest_l1(const train::Program& program, const target::Target& target) {
  int64_t low = 0, high = target.memories[0].size.count;
  while (high - low > 8) {
    auto middle = (low + high) / 2;
    (is_planned(program, target, middle) ? high : low) = middle;
  }
  return Bytes(high);
}

// A Dropout that drops something: which elements, the test data has from numpy's random numbers, and we from ours.
bool leaves_to_chance(const Graph& graph) {
  auto number = [&](const Node& node, size_t i, double otherwise) {
    if (i >= node.inputs.size() || !node.inputs[i] || graph.at(node.inputs[i]).value.empty()) return otherwise;
    return graph.at(node.inputs[i]).value.at(0);
  };
  return std::ranges::any_of(graph.nodes(), [&](auto& node) {
    return node.op == OpName{"", "Dropout"} && number(node, 2, 0) != 0 && number(node, 1, 0.5) != 0;
  });
}

Outcome outcome_of(const Error& error) {
  bool refused = error.kind() == ErrorKind::Input || error.kind() == ErrorKind::DoesNotFit;
  return {refused ? Verdict::Refused : Verdict::Failed, error.message()};
}

}  // namespace

std::vector<CaseId> cases_of(const std::string& set) {
  std::vector<CaseId> all;
  std::error_code error;
  for (auto& entry : fs::directory_iterator(data / set, error)) all.push_back({set, entry.path().filename().string()});
  std::ranges::sort(all);
  return all;
}

bool runs_tiled(const CaseId& id) {
  return run::Digest().add(id.set).add(id.name).hex().back() % 3 == 0;
}

Outcome run_case(const CaseId& id, bool tiled) {
  auto c = read(data / id.set / id.name);
  if (!c) return outcome_of(c.error());
  auto target = target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets");
  if (!target) return {Verdict::Failed, target.error().text()};  // ours, not the model's
  auto program = train::inference_program(std::move(c->graph));
  if (!program) return outcome_of(program.error());
  if (leaves_to_chance(program->graph)) return {Verdict::Refused, "Dropout drops by numpy's random numbers"};
  // Its results were made with an epsilon of 0.01; the node has none, and the default is another.
  if (id.name == "test_adam_multiple")
    return {Verdict::Refused, "the data was made with an epsilon that the model does not have"};
  if (auto text = reference_failure(*c, program->graph); !text.empty()) return {Verdict::Failed, text};
  auto whole = execute(*program, *target, *c, {.cores = 1});
  if (!whole) return outcome_of(whole.error());
  if (auto text = outputs_failure(*c, *whole); !text.empty()) return {Verdict::Failed, text};
  if (!tiled || program->graph.nodes().empty()) return {};
  auto l1 = smallest_l1(*program, *target);
  auto in_tiles = execute(*program, *target, *c, {.l1 = l1, .cores = 8});
  if (!in_tiles) return {Verdict::Failed, fmt::format("in {} of L1: {}", l1.count, in_tiles.error().text())};
  if (in_tiles->bits != whole->bits) return {Verdict::Failed, fmt::format("has other bits in {} of L1", l1.count)};
  return {.tiled = true};
}

}  // namespace tessera::test
