#include "onnx/import.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/file.hpp"
#include "onnx/attributes.hpp"
#include "onnx/forms.hpp"
#include "onnx/parse.hpp"
#include "onnx/proto_tensor.hpp"

namespace tessera::onnx {

namespace {

using ::onnx::GraphProto;
using ::onnx::ModelProto;
using ::onnx::NodeProto;
using ::onnx::ValueInfoProto;

DeclaredShape declared_shape(const ValueInfoProto& value) {
  DeclaredShape shape{value.name(), {}};
  for (auto& d : value.type().tensor_type().shape().dim()) {
    Axis axis;
    if (d.has_dim_value() && d.dim_value() >= 0) axis.size = d.dim_value();  // some exporters write -1 for unknown
    if (d.has_dim_param() && d.dim_param() != "?") axis.name = d.dim_param();
    shape.axes.push_back(std::move(axis));
  }
  return shape;
}

std::string_view kind_of(const ::onnx::TypeProto& type) {
  switch (type.value_case()) {
    case ::onnx::TypeProto::kTensorType:
      return "a tensor";
    case ::onnx::TypeProto::kSequenceType:
      return "a sequence";
    case ::onnx::TypeProto::kMapType:
      return "a map";
    case ::onnx::TypeProto::kOptionalType:
      return "an optional value";
    case ::onnx::TypeProto::kSparseTensorType:
      return "a sparse tensor";
    default:
      return "a value without a type";
  }
}

// Names that the nodes of a file have, or get where they have none or share one.
class NodeNames {
 public:
  explicit NodeNames(const GraphProto& graph) {
    for (auto& node : graph.node()) given_.insert(node.name());
  }
  std::string take(const NodeProto& node) {
    if (!node.name().empty() && taken_.insert(node.name()).second) return node.name();
    std::string base = node.name();
    for (auto& output : node.output())
      if (base.empty()) base = output;
    if (base.empty()) base = node.op_type();
    auto name = base;
    for (auto& i = suffix_[base]; given_.contains(name) || !taken_.insert(name).second;)
      name = fmt::format("{}_{}", base, ++i);
    return name;
  }

 private:
  std::unordered_set<std::string> given_, taken_;
  std::unordered_map<std::string, int> suffix_;
};

class Importer {
 public:
  Importer(const ModelProto& model, const ImportOptions& options, const std::filesystem::path& folder)
      : model_(model), file_(model.graph()), options_(options), folder_(folder), node_names_(model.graph()) {}

  Result<ImportedModel> run() {
    out_.ir_version = model_.ir_version();
    out_.producer = model_.producer_name();
    if (!model_.producer_version().empty()) out_.producer += " " + model_.producer_version();
    out_.graph.name = file_.name();
    TRY(sets_, operator_sets(model_, out_.notes));
    if (auto set = sets_.find(""); set != sets_.end()) {
      out_.opset = set->second;
      set->second = std::max(set->second, 7);  // set 6 is read as 7: see from_set_six
    }
    CHECK_OK(refuse_model_features());
    collect_names();
    CHECK_OK(bind_dimensions());
    CHECK_OK(add_inputs());
    CHECK_OK(add_initializers());
    for (auto& node : file_.node()) {
      auto name = node_names_.take(node);
      if (auto added = add_node(node, name); !added)
        return std::move(added).error().within(
            fmt::format("node '{}' ({})", name, to_string(OpName{plain_domain(node.domain()), node.op_type()})));
    }
    CHECK_OK(add_outputs());
    CHECK_OK(verify(out_.graph));
    add_conversion_notes();
    return std::move(out_);
  }

 private:
  Result<void> refuse_model_features() {
    for (auto& sparse : file_.sparse_initializer())
      return input_error("initializer '{}' is sparse, which is not supported", sparse.values().name())
          .hint("store it as a dense tensor");
    if (model_.training_info_size() > 0)
      out_.notes.push_back("the model's training_info is not used: training is built from the graph");
    return {};
  }

  void collect_names() {
    for (auto& node : file_.node()) read_.insert(node.input().begin(), node.input().end());
    for (auto& output : file_.output()) read_.insert(output.name());
    for (auto& initializer : file_.initializer()) initialized_.insert(initializer.name());
    for (auto& value : file_.value_info()) declared_.emplace(value.name(), &value);
    for (auto& value : file_.output()) declared_.emplace(value.name(), &value);
    for (auto& function : model_.functions()) functions_.emplace(plain_domain(function.domain()), function.name());
  }

  Result<void> bind_dimensions() {
    std::vector<DeclaredShape> inputs;
    std::vector<std::string> elsewhere;
    for (auto& input : file_.input()) {
      if (initialized_.contains(input.name())) continue;
      CHECK_OK(check_input(input));
      inputs.push_back(declared_shape(input));
    }
    for (auto& [name, value] : declared_)
      for (auto& axis : declared_shape(*value).axes)
        if (!axis.name.empty()) elsewhere.push_back(axis.name);
    TRY(out_.dims, bind_dims(inputs, elsewhere, options_));
    return {};
  }

  Result<void> check_input(const ValueInfoProto& input) {
    if (input.name().empty()) return input_error("an input of the graph has no name");
    if (!input.type().has_tensor_type())
      return input_error("input '{}' is {}; only tensors are supported", input.name(), kind_of(input.type()));
    auto& tensor = input.type().tensor_type();
    auto element = element_of(tensor.elem_type());
    if (!element || (!is_ours(*element) && facts(*element).becomes != DType::F32))
      return input_error("input '{}' is of type {}, which is not supported", input.name(),
                         element_name(tensor.elem_type()))
          .hint("supported inputs: float, double, float16, bfloat16, int64, int32, uint8, bool");
    if (!tensor.has_shape())
      return input_error("input '{}' has no shape", input.name())
          .hint("export the model with the shapes of its inputs");
    // A list of integers may be empty: axes that name none.
    const bool is_list = tensor.shape().dim_size() == 1 && facts(*element).becomes == DType::I64;
    for (auto& d : tensor.shape().dim())
      if (d.has_dim_value() && d.dim_value() == 0 && !is_list)
        return input_error("input '{}' has no elements: one of its dimensions is 0", input.name());
    return {};
  }

  Result<void> add_inputs() {
    for (auto& input : file_.input()) {
      if (initialized_.contains(input.name())) continue;
      auto element = *element_of(input.type().tensor_type().elem_type());
      auto shape = resolve(declared_shape(input), out_.dims);
      if (!shape || !checked_count(*shape))
        return input_error("input '{}' is too large: {}", input.name(), shape ? to_string(*shape) : "?");
      note_conversion(element, input.name());
      TRY(auto id, define({input.name(), {facts(element).becomes, *shape}, Role::Input, {}}));
      out_.graph.inputs.push_back(id);
    }
    return {};
  }

  Result<void> add_initializers() {
    for (auto& initializer : file_.initializer()) {
      if (!read_.contains(initializer.name())) continue;
      auto data = tensor_of(initializer, folder_);
      if (!data) return std::move(data).error().within(fmt::format("initializer '{}'", initializer.name()));
      note_conversion(*element_of(initializer.data_type()), initializer.name());
      bool parameter = data->type().dtype == DType::F32 && !data->shape().empty();
      auto type = data->type();
      CHECK_OK(define({initializer.name(), type, parameter ? Role::Parameter : Role::Constant, *std::move(data)}));
    }
    return {};
  }

  // Adds a tensor of the file; its name must be new.
  Result<TensorId> define(Tensor tensor) {
    auto name = tensor.name;
    if (name.empty()) return input_error("a tensor has no name");
    if (ids_.contains(name)) return input_error("there are two tensors named '{}'", name);
    auto id = out_.graph.add_tensor(std::move(tensor));
    ids_.emplace(std::move(name), id);
    return id;
  }

  Result<void> add_node(const NodeProto& node, const std::string& name) {
    OpName op{plain_domain(node.domain()), node.op_type()};
    if (op.type.empty()) return input_error("has no operator");
    if (functions_.contains({op.domain, op.type}))
      return input_error("calls a function that the model defines, which is not supported")
          .hint("export the model with its functions inlined");
    TRY(auto attributes, attributes_of(node, folder_));
    if (out_.opset == 6 && op.domain.empty()) {
      TRY(attributes, from_set_six(op, attributes));
    }
    if (op == OpName{"", "Constant"}) return add_constant(node, attributes);

    Node made{.name = name, .op = op, .version = sets_.at(op.domain), .attributes = std::move(attributes)};
    for (auto& input : node.input()) {
      TRY(auto id, operand(input));
      made.inputs.push_back(id);
    }
    for (auto& output : node.output()) {
      TRY(auto id, result(output));
      made.outputs.push_back(id);
    }
    while (!made.inputs.empty() && !made.inputs.back()) made.inputs.pop_back();
    while (!made.outputs.empty() && !made.outputs.back()) made.outputs.pop_back();
    if (made.outputs.empty()) return input_error("makes nothing: it has no outputs");
    out_.graph.add_node(std::move(made));
    return {};
  }

  Result<void> add_constant(const NodeProto& node, const Attributes& attributes) {
    TRY(auto value, constant_value(attributes));
    if (node.output_size() != 1) return input_error("has {} outputs instead of one", node.output_size());
    for (auto& a : node.attribute())
      if (a.has_t()) note_conversion(*element_of(a.t().data_type()), node.output(0));
    auto type = value.type();
    CHECK_OK(define({node.output(0), type, Role::Constant, std::move(value)}));
    return {};
  }

  Result<TensorId> operand(const std::string& name) {
    if (name.empty()) return TensorId{};
    if (auto at = ids_.find(name); at != ids_.end()) return at->second;
    for (auto& node : file_.node())
      if (std::ranges::find(node.output(), name) != node.output().end())
        return input_error("reads '{}' before anything makes it", name)
            .hint("the nodes of an ONNX graph must be in topological order");
    return input_error("reads '{}', which is neither an input, nor an initializer, nor made by any node", name);
  }

  Result<TensorId> result(const std::string& name) {
    if (name.empty()) return TensorId{};
    TRY(auto type, declared_type(name));
    return define({name, std::move(type), Role::Activation, {}});
  }

  // The type that the file declares for what a node makes; the default where it says too little.
  Result<TensorType> declared_type(const std::string& name) {
    auto at = declared_.find(name);
    if (at == declared_.end()) return TensorType{};
    auto& declared = at->second->type();
    auto kind = declared.value_case();
    if (kind != ::onnx::TypeProto::kTensorType && kind != ::onnx::TypeProto::VALUE_NOT_SET)
      return input_error("makes '{}', {}; only tensors are supported", name, kind_of(declared));
    auto element = element_of(declared.tensor_type().elem_type());
    auto shape = resolve(declared_shape(*at->second), out_.dims);
    if (!element || !declared.tensor_type().has_shape() || !shape || checked_count(*shape).value_or(0) == 0)
      return TensorType{};
    return TensorType{facts(*element).becomes, *std::move(shape)};
  }

  Result<void> add_outputs() {
    if (file_.output_size() == 0) return input_error("the graph has no outputs");
    for (auto& output : file_.output()) {
      auto at = ids_.find(output.name());
      if (at == ids_.end()) return input_error("output '{}' is made by no node", output.name());
      out_.graph.outputs.push_back(at->second);
    }
    return {};
  }

  void note_conversion(Element element, const std::string& name) {
    if (!is_ours(element)) converted_[element].push_back(name);
  }

  void add_conversion_notes() {
    for (auto& [element, names] : converted_) {
      auto more = names.size() > 1 ? fmt::format(" and {} more", names.size() - 1) : std::string();
      out_.notes.push_back(
          fmt::format("{} becomes {}: '{}'{}", facts(element).name, name_of(facts(element).becomes), names[0], more));
    }
  }

  const ModelProto& model_;
  const GraphProto& file_;
  const ImportOptions& options_;
  const std::filesystem::path& folder_;
  NodeNames node_names_;
  ImportedModel out_;
  std::map<std::string, int> sets_;
  std::unordered_set<std::string> read_, initialized_;
  std::map<std::string, const ValueInfoProto*> declared_;
  std::set<std::pair<std::string, std::string>> functions_;
  std::unordered_map<std::string, TensorId> ids_;
  std::map<Element, std::vector<std::string>> converted_;
};

}  // namespace

Result<ImportedModel> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options,
                                  const std::filesystem::path& folder) {
  TRY(auto model, parse_model(bytes));
  return Importer(*model, options, folder).run();
}

Result<ImportedModel> import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  TRY(auto bytes, read_file(path));
  auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  auto model = import_onnx(bytes, options, folder);
  if (!model) return std::move(model).error().within(path.string());
  return model;
}

}  // namespace tessera::onnx
