#include "onnx/import.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "base/file.hpp"
#include "onnx/attributes.hpp"
#include "onnx/divide.hpp"
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
  Importer(const ModelProto& model, const ImportOptions& options, const std::filesystem::path& folder,
           std::vector<Trained> trained = {})
      : model_(model),
        file_(model.graph()),
        options_(options),
        folder_(folder),
        trained_(std::move(trained)),
        node_names_(model.graph()) {}

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
      if (initialized_.contains(input.name()) || is_sequence(input)) continue;
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

  // Of float tensors: the elements are known once an update reads them.
  static bool is_sequence(const ValueInfoProto& input) {
    if (!input.type().has_sequence_type()) return false;
    return input.type().sequence_type().elem_type().tensor_type().elem_type() == ::onnx::TensorProto::FLOAT;
  }

  Result<void> add_inputs() {
    for (auto& input : file_.input()) {
      if (initialized_.contains(input.name())) continue;
      if (is_sequence(input)) {
        open_sequences_.insert(input.name());
        continue;
      }
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

  // Whether a name is that of a module's member, as PyTorch writes them; constants that it folded have names of nodes.
  bool member(std::string_view name) const {
    return out_.producer.starts_with("pytorch") && !name.starts_with("onnx::") && !name.contains('/');
  }

  Result<void> add_initializers() {
    for (auto& initializer : file_.initializer()) {
      if (!read_.contains(initializer.name())) continue;
      auto data = tensor_of(initializer, folder_);
      if (!data) return std::move(data).error().within(fmt::format("initializer '{}'", initializer.name()));
      note_conversion(*element_of(initializer.data_type()), initializer.name());
      bool parameter = data->type().dtype == DType::F32 && (!data->shape().empty() || member(initializer.name()));
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
    std::optional<int64_t> axis;
    if (out_.opset == 6 && op.domain.empty()) {
      axis = axis_of_set_six(op, attributes);
      TRY(attributes, from_set_six(op, attributes));
    }
    if (op == OpName{"", "CastLike"}) CHECK_OK(check_cast_like(node));
    if (op == OpName{"", "Constant"}) return add_constant(node, attributes);
    if (op.domain.empty() && op.type.starts_with("Sequence")) return add_sequence(node);

    Node made{.name = name, .op = op, .version = sets_.at(op.domain), .attributes = std::move(attributes)};
    if (auto* form = update_form(op); form && form->many != UpdateForm::Many::One)
      return add_update(*form, node, std::move(made));
    for (auto& input : node.input()) {
      TRY(auto id, operand(input));
      made.inputs.push_back(id);
    }
    if (axis && made.inputs.size() == 2) CHECK_OK(align_second(made, *axis));
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

  // The second operand begins at that axis of the first: with axes of 1 behind it, it broadcasts as it does today.
  Result<void> align_second(Node& node, int64_t axis) {
    auto& graph = out_.graph;
    auto known = [&](TensorId t) {
      return t && (graph.at(t).role != Role::Activation || declared_.contains(graph.at(t).name));
    };
    auto a = node.inputs[0], b = node.inputs[1];
    if (!known(a) || !known(b))
      return input_error("broadcasts along an axis, as operator sets before 7 did, between tensors of unknown shapes")
          .hint("export the model for operator set 7 or newer");
    auto rank = static_cast<int64_t>(graph.at(a).type.shape.size());
    auto shape = graph.at(b).type.shape;
    if (count(shape) == 1) return {};
    if (axis < 0) axis += rank;
    auto behind = rank - axis - static_cast<int64_t>(shape.size());
    if (axis < 0 || behind < 0)
      return input_error("broadcasts {} along axis {} of {}", to_string(shape), axis, to_string(graph.at(a).type));
    if (behind == 0) return {};
    shape.insert(shape.end(), static_cast<size_t>(behind), 1);
    auto name = node.name + ".aligned";
    auto list = TensorData::i64({static_cast<int64_t>(shape.size())}, shape);
    auto to = graph.add_tensor({name + ".shape", list.type(), Role::Constant, list});
    auto aligned = graph.add_tensor({name, {graph.at(b).type.dtype, shape}, Role::Activation, {}});
    graph.add_node({.name = name, .op = {"", "Reshape"}, .version = 7, .inputs = {b, to}, .outputs = {aligned}});
    node.inputs[1] = aligned;
    return {};
  }

  // A 16-bit float is f32 from here on, so that nobody could tell afterwards that the cast is meant to round. (Cast
  // says so itself: its type is an attribute.)
  Result<void> check_cast_like(const NodeProto& node) {
    for (auto element : {Element::F16, Element::BF16}) {
      auto names = converted_.find(element);
      if (node.input_size() < 2 || names == converted_.end()) continue;
      if (std::ranges::find(names->second, node.input(1)) != names->second.end())
        return input_error("casts to {}, the type of '{}'", facts(element).name, node.input(1))
            .hint("16-bit floats are f32 here: export the model with float");
    }
    return {};
  }

  // A list that grows and shrinks while the file is read; what is left of it are the tensors themselves.
  Result<void> add_sequence(const NodeProto& node) {
    std::vector<TensorId> list;
    const auto& type = node.op_type();
    if (type == "SequenceConstruct") {
      for (auto& input : node.input()) {
        TRY(auto id, operand(input));
        list.push_back(id);
      }
    } else if (type == "SequenceInsert" || type == "SequenceErase" || type == "SequenceAt" ||
               type == "SequenceLength") {
      auto at = node.input_size() > 0 ? sequences_.find(node.input(0)) : sequences_.end();
      if (at == sequences_.end()) return input_error("reads a sequence whose elements are not known");
      list = at->second;
      TRY(auto done, change_sequence(node, list));
      if (done) return {};
    } else if (type != "SequenceEmpty") {
      return input_error("is not supported").hint("sequences are resolved as the model is read: unroll it");
    }
    if (node.output_size() != 1) return input_error("has {} outputs instead of one", node.output_size());
    sequences_[node.output(0)] = std::move(list);
    return {};
  }

  // True where the node makes a tensor instead of a sequence.
  Result<bool> change_sequence(const NodeProto& node, std::vector<TensorId>& list) {
    const auto& type = node.op_type();
    const bool inserts = type == "SequenceInsert";
    const auto size = static_cast<int64_t>(list.size());
    if (type == "SequenceLength") {
      auto value = TensorData::i64({}, std::span(&size, 1));
      auto length = value.type();
      CHECK_OK(define({node.output(0), length, Role::Constant, std::move(value)}));
      return true;
    }
    int64_t position = inserts ? size : size - 1;
    if (const int index = inserts ? 2 : 1; node.input_size() > index && !node.input(index).empty()) {
      TRY(auto id, operand(node.input(index)));
      auto& value = out_.graph.at(id).value;
      if (value.empty()) return input_error("'{}' is a position that is not known yet", node.input(index));
      position = static_cast<int64_t>(value.at(0));
      if (position < 0) position += size;
    }
    if (position < 0 || position > size - (inserts ? 0 : 1))
      return input_error("position {} of a sequence of {}", position, size);
    if (inserts) {
      TRY(auto id, operand(node.input(1)));
      list.insert(list.begin() + position, id);
    } else if (type == "SequenceErase") {
      list.erase(list.begin() + position);
    } else {
      ids_.emplace(node.output(0), list[static_cast<size_t>(position)]);
      return true;
    }
    return false;
  }

  // One node a weight, whatever form the file has them in.
  Result<void> add_update(const UpdateForm& form, const NodeProto& node, Node made) {
    OperandLists inputs, outputs;
    if (form.many == UpdateForm::Many::Tensors) {
      TRY(auto flat, ids_of(node.input(), &Importer::operand));
      TRY(inputs, group_inputs(form, flat));
      TRY(flat, ids_of(node.output(), &Importer::result));
      outputs = group_outputs(form, inputs[static_cast<size_t>(form.weight)].size(), flat);
    } else {
      TRY(inputs, sequence_operands(form, node));
      TRY(outputs, sequence_results(form, node, inputs[static_cast<size_t>(form.weight)].size()));
    }
    TRY(auto divided, divide(form, made, inputs, outputs));
    if (divided.empty()) return input_error("updates no weight: its sequences are empty");
    for (auto& one : divided) out_.graph.add_node(std::move(one));
    return {};
  }

  template <class Names>
  Result<std::vector<TensorId>> ids_of(const Names& names, Result<TensorId> (Importer::*find)(const std::string&)) {
    std::vector<TensorId> ids;
    for (auto& name : names) {
      TRY(auto id, (this->*find)(name));
      ids.push_back(id);
    }
    return ids;
  }

  // A sequence that is an input of the graph has the elements that the form says: the weights that are trained, or
  // those whose gradients the file names.
  Result<OperandLists> sequence_operands(const UpdateForm& form, const NodeProto& node) {
    OperandLists lists;
    const int last = form.weight + form.groups();
    if (node.input_size() < last) return input_error("has {} inputs; it takes {}", node.input_size(), last);
    const auto weights = weights_of(form, node);
    for (int i = 0; i < node.input_size(); ++i) {
      auto& name = node.input(i);
      lists.emplace_back();
      if (i < form.weight || i >= last) {
        TRY(auto id, operand(name));
        lists.back() = {id};
      } else if (auto at = sequences_.find(name); at != sequences_.end()) {
        lists.back() = at->second;
      } else if (!open_sequences_.contains(name)) {
        lists.back() = {};
        TRY(auto id, operand(name));  // a plain tensor: the form for a single weight
        lists.back() = {id};
      } else {
        if (weights.empty())
          return input_error("'{}' is a sequence whose elements are not known", name)
              .hint("an optimizer graph goes beside its training graph: --optimizer-graph F.onnx");
        TRY(lists.back(), open_elements(form, i, name, weights));
        sequences_[name] = lists.back();
      }
    }
    return lists;
  }

  std::vector<Trained> weights_of(const UpdateForm& form, const NodeProto& node) const {
    auto known = sequences_.find(node.input(form.gradient));
    if (known == sequences_.end()) return trained_;
    std::vector<Trained> weights;
    for (auto id : known->second) {
      auto& gradient = out_.graph.at(id);
      weights.push_back({gradient.name.substr(0, gradient.name.rfind("_grad")), gradient.type});
    }
    return weights;
  }

  Result<std::vector<TensorId>> open_elements(const UpdateForm& form, int input, const std::string& sequence,
                                              const std::vector<Trained>& weights) {
    std::vector<TensorId> list;
    for (auto& weight : weights) {
      auto name = input == form.weight     ? weight.name
                  : input == form.gradient ? weight.name + "_grad"
                                           : weight.name + "." + sequence;
      TRY(auto id, define({name, weight.type, Role::Input, {}}));
      out_.graph.inputs.push_back(id);
      list.push_back(id);
    }
    return list;
  }

  Result<OperandLists> sequence_results(const UpdateForm& form, const NodeProto& node, size_t weights) {
    OperandLists lists;
    for (int o = 0; o < node.output_size(); ++o) {
      auto& name = node.output(o);
      lists.emplace_back();
      if (o < form.updated || name.empty()) {
        TRY(auto id, result(name));
        lists.back() = {id};
        continue;
      }
      for (size_t w = 0; w < weights; ++w) {
        TRY(auto id, define({fmt::format("{}.{}", name, w), {}, Role::Activation, {}}));
        lists.back().push_back(id);
      }
      sequences_[name] = lists.back();
      updated_.insert(name);
    }
    return lists;
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
    if (sequences_.contains(name) || open_sequences_.contains(name))
      return input_error("reads '{}', a sequence; only updates of weights take one", name);
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
    if (!element) return TensorType{};
    if (!declared.tensor_type().has_shape() || !shape || checked_count(*shape).value_or(0) == 0)
      return TensorType{facts(*element).becomes, {}};
    return TensorType{facts(*element).becomes, *std::move(shape)};
  }

  Result<void> add_outputs() {
    if (file_.output_size() == 0) return input_error("the graph has no outputs");
    for (auto& output : file_.output()) {
      if (auto list = sequences_.find(output.name()); list != sequences_.end()) {
        if (!updated_.contains(output.name()))
          return input_error("output '{}' is a sequence; only tensors are supported", output.name());
        out_.graph.outputs.insert(out_.graph.outputs.end(), list->second.begin(), list->second.end());
        continue;
      }
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
  std::vector<Trained> trained_;
  NodeNames node_names_;
  ImportedModel out_;
  std::map<std::string, int> sets_;
  std::unordered_set<std::string> read_, initialized_;
  std::map<std::string, const ValueInfoProto*> declared_;
  std::set<std::pair<std::string, std::string>> functions_;
  std::unordered_map<std::string, TensorId> ids_;
  std::unordered_map<std::string, std::vector<TensorId>> sequences_;  // by name, as far as the file has been read
  std::unordered_set<std::string> open_sequences_;                    // inputs of the graph
  std::unordered_set<std::string> updated_;                           // what updates make
  std::map<Element, std::vector<std::string>> converted_;
};

}  // namespace

Result<ImportedModel> import_onnx(std::span<const std::byte> bytes, const ImportOptions& options,
                                  const std::filesystem::path& folder) {
  TRY(auto model, parse_model(bytes));
  return Importer(*model, options, folder).run();
}

Result<ImportedModel> import_optimizer(const std::filesystem::path& path, const std::vector<Trained>& trained) {
  TRY(auto bytes, read_file(path));
  TRY(auto proto, parse_model(bytes));
  const ImportOptions options;
  auto model = Importer(*proto, options, path.parent_path(), trained).run();
  if (!model) return std::move(model).error().within(path.string());
  return model;
}

Result<ImportedModel> import_onnx(const std::filesystem::path& path, const ImportOptions& options) {
  TRY(auto bytes, read_file(path));
  auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
  auto model = import_onnx(bytes, options, folder);
  if (!model) return std::move(model).error().within(path.string());
  return model;
}

}  // namespace tessera::onnx
