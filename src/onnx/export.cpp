#include "onnx/export.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "base/file.hpp"
#include "graph/updates.hpp"
#include "onnx/attributes.hpp"
#include "onnx/forms.hpp"
#include "onnx/join_updates.hpp"
#include "onnx/proto_tensor.hpp"

namespace tessera::onnx {

namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::ValueInfoProto;

// What belongs into the file of one phase.
struct Selection {
  std::vector<const Node*> nodes;
  std::vector<TensorId> inputs, outputs, inner;  // inner: made and read here, only their types are written
  std::vector<TensorId> constants, initializers;
  std::map<TensorId, TensorId> shared;  // tensors that this file knows under another's name

  TensorId outer(TensorId id) const {
    auto at = shared.find(id);
    return at == shared.end() ? id : at->second;
  }
};

// Who trains from the file counts the steps.
bool is_counter(const Node& node) {
  return node.op == OpName{"org.tessera", "Increment"};
}

// The two files share buffers by name: what an accumulator of the training network makes is its buffer, so the
// optimizer's file calls it that.
std::map<TensorId, TensorId> shared_buffers(const Graph& graph, Phase phase) {
  std::map<TensorId, TensorId> shared;
  for (auto& node : graph.nodes())
    if (is_counter(node)) shared.emplace(node.outputs[0], node.inputs[0]);
  for (auto& node : graph.nodes())
    if (phase == Phase::Optimizer && node.phase != phase && is_accumulator(node) && node.inputs[0])
      for (auto id : node.outputs)
        if (id && graph.at(id).type == graph.at(node.inputs[0]).type) shared.emplace(id, node.inputs[0]);
  return shared;
}

class Selector {
 public:
  Selector(const Graph& graph, Phase phase, Weights weights)
      : graph_(graph), phase_(phase), weights_(weights), uses_(graph) {
    out_.shared = shared_buffers(graph, phase);
    for (auto& node : graph.nodes())
      if (is_accumulator(node)) buffers_.insert(node.inputs[0]);
  }

  Selection run() {
    for (auto& node : graph_.nodes())
      if (node.phase == phase_ && !is_counter(node)) {
        out_.nodes.push_back(&node);
        for (auto id : node.inputs) read(out_.outer(id));
        if (is_accumulator(node) && node.inputs.size() > 2) resets_.insert(node.inputs[2]);
      }
    for (auto id : graph_.outputs)
      if (!graph_.at(id).value.empty() && phase_ == Phase::Training) read(id);
    select_inputs();
    select_outputs();
    for (auto id : reads_) {
      auto& t = graph_.at(id);
      if (t.role == Role::Constant) out_.constants.push_back(id);
      if (is_kept(t) && has_value(id) && weights_ != Weights::Inputs) out_.initializers.push_back(id);
    }
    return std::move(out_);
  }

 private:
  std::optional<Phase> made_in(TensorId id) const {
    auto producer = uses_.producer[static_cast<size_t>(id.index)];
    if (producer == NodeId{}) return std::nullopt;
    return graph_.at(producer).phase;
  }
  static bool is_kept(const Tensor& t) { return t.role == Role::Parameter || t.role == Role::State; }
  // An accumulator starts with a reset, so what it held before says nothing.
  bool has_value(TensorId id) const { return !graph_.at(id).value.empty() && !buffers_.contains(id); }
  void read(TensorId id) {
    if (id && seen_.insert(id).second) reads_.push_back(id);
  }

  // The harness's own | weights | states and what the other phase makes | reset flags. A training network takes weights
  // and states in groups; an optimizer takes them pair by pair, as its nodes read them.
  void select_inputs() {
    for (auto id : graph_.inputs)
      if (!resets_.contains(id) && (phase_ == Phase::Training || seen_.contains(id))) out_.inputs.push_back(id);
    auto outside = [&](TensorId id) {
      auto& t = graph_.at(id);
      if (is_kept(t)) return !has_value(id) || weights_ != Weights::Initializers;
      return t.role == Role::Activation && made_in(id) != phase_;
    };
    bool grouped = phase_ == Phase::Training;
    for (auto id : reads_)
      if (outside(id) && (!grouped || graph_.at(id).role == Role::Parameter)) out_.inputs.push_back(id);
    for (auto id : reads_)
      if (grouped && outside(id) && graph_.at(id).role != Role::Parameter) out_.inputs.push_back(id);
    for (auto id : graph_.inputs)
      if (resets_.contains(id)) out_.inputs.push_back(id);
  }

  void select_outputs() {
    std::set<TensorId> chosen;
    auto choose = [&](TensorId id) {
      if (id && chosen.insert(id).second) out_.outputs.push_back(id);
    };
    std::set<TensorId> wanted(graph_.outputs.begin(), graph_.outputs.end());
    for (auto id : graph_.outputs)
      if (made_in(id).value_or(Phase::Training) == phase_) choose(id);
    for (auto* node : out_.nodes) {
      if (takes_sequences(*node)) continue;  // it makes no tensors in a file, and says so by a flag
      bool dead_end = true;
      for (auto id : node->outputs) {
        if (!id) continue;
        auto& readers = uses_.consumers[static_cast<size_t>(id.index)];
        if (!readers.empty() || wanted.contains(id)) dead_end = false;
        if (std::ranges::any_of(readers, [&](NodeId n) { return graph_.at(n).phase != phase_; })) choose(id);
      }
      if (dead_end) std::ranges::for_each(node->outputs, choose);
    }
    for (auto* node : out_.nodes)
      for (auto id : node->outputs)
        if (id && !chosen.contains(id) && !takes_sequences(*node)) out_.inner.push_back(id);
  }

  const Graph& graph_;
  Phase phase_;
  Weights weights_;
  Uses uses_;
  Selection out_;
  std::set<TensorId> seen_, resets_, buffers_;
  std::vector<TensorId> reads_;  // in the order of first use
};

void describe(ValueInfoProto& value, const Tensor& tensor) {
  value.set_name(tensor.name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(data_type_of(tensor.type.dtype));
  type.mutable_shape();  // a scalar has a shape, too
  for (auto d : tensor.type.shape) type.mutable_shape()->add_dim()->set_dim_value(d);
}

void add_constant(GraphProto& out, const std::string& name, const TensorData& value) {
  auto& node = *out.add_node();
  node.set_op_type("Constant");
  node.set_name(name);
  node.add_output(name);
  set_attributes(node, Attributes{{"value", value}});
}

class Names {
 public:
  explicit Names(const Graph& graph) {
    for (auto& t : graph.tensors()) taken_.insert(t.name);
  }
  std::string fresh(const std::string& base) {
    auto name = base;
    for (int i = 1; !taken_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    return name;
  }

 private:
  std::set<std::string> taken_;
};

Result<void> add_node(GraphProto& out, const Graph& graph, const Selection& selection, const Node& node, int opset,
                      Names& names) {
  TRY(auto form, upgrade(graph, node, opset));
  std::vector<std::string> inputs, outputs;
  for (auto id : node.inputs) inputs.push_back(id ? graph.at(selection.outer(id)).name : "");
  for (auto id : node.outputs) outputs.push_back(id ? graph.at(id).name : "");
  for (auto& added : form.added) {
    if (inputs.size() <= added.index) inputs.resize(added.index + 1);
    inputs[added.index] = names.fresh(fmt::format("{}.{}", node.name, added.name));
    add_constant(out, inputs[added.index], added.value);
  }
  auto& proto = *out.add_node();
  proto.set_name(node.name);
  proto.set_op_type(node.op.type);
  if (!node.op.domain.empty()) proto.set_domain(node.op.domain);
  for (auto& name : inputs) proto.add_input(name);
  for (auto& name : outputs) proto.add_output(name);
  set_attributes(proto, form.attributes);
  return {};
}

void add_opsets(ModelProto& model, const Selection& selection, int opset) {
  std::map<std::string, int> sets{{"", opset}};
  for (auto* node : selection.nodes)
    if (!node->op.domain.empty()) {
      auto& version = sets[node->op.domain];
      version = std::max({version, node->version, 1});
    }
  for (auto& [domain, version] : sets) {
    auto& entry = *model.add_opset_import();
    entry.set_domain(domain);
    entry.set_version(version);
  }
}

}  // namespace

Result<std::vector<std::byte>> to_onnx(const Graph& graph, Phase phase, const ExportOptions& options) {
  auto selection = Selector(graph, phase, options.weights).run();
  if (selection.nodes.empty())
    return input_error("the graph has no {} nodes to export", phase == Phase::Training ? "training" : "optimizer");
  int opset = needed_opset(selection.nodes);
  ModelProto model;
  model.set_ir_version(8);
  model.set_producer_name("tessera");
  add_opsets(model, selection, opset);
  auto& out = *model.mutable_graph();
  out.set_name(graph.name.empty() ? "graph" : graph.name);
  for (auto id : selection.inputs) describe(*out.add_input(), graph.at(id));
  for (auto id : selection.outputs) describe(*out.add_output(), graph.at(id));
  for (auto id : selection.inner) describe(*out.add_value_info(), graph.at(id));
  for (auto id : selection.initializers) {
    auto& initializer = *out.add_initializer();
    initializer.set_name(graph.at(id).name);
    set_tensor(initializer, graph.at(id).value);
  }
  for (auto id : selection.constants) add_constant(out, graph.at(id).name, graph.at(id).value);
  Names names(graph);
  std::vector<const Node*> joined;
  for (auto* node : selection.nodes) {
    if (takes_sequences(*node))
      joined.push_back(node);
    else
      CHECK_OK(add_node(out, graph, selection, *node, opset, names));
  }
  add_joined(
      out, joined, [&](TensorId id) { return graph.at(selection.outer(id)).name; },
      [&](const std::string& base) { return names.fresh(base); });
  if (model.ByteSizeLong() > static_cast<size_t>(std::numeric_limits<int>::max()))
    return input_error("the model has {} bytes; an ONNX file holds at most 2 GB", model.ByteSizeLong())
        .hint("export the weights as inputs");
  std::vector<std::byte> bytes(model.ByteSizeLong());
  if (!model.SerializeToArray(bytes.data(), static_cast<int>(bytes.size())))
    return internal_error("the model could not be serialised");
  return bytes;
}

Result<void> export_onnx(const Graph& graph, Phase phase, const std::filesystem::path& path,
                         const ExportOptions& options) {
  TRY(auto bytes, to_onnx(graph, phase, options));
  return write_file(path, bytes);
}

}  // namespace tessera::onnx
