#include "onnx/attributes.hpp"

#include <onnx/onnx_pb.h>

#include "onnx/proto_tensor.hpp"

namespace tessera::onnx {

using ::onnx::AttributeProto;

namespace {

// Files older than the type field leave it out; what is filled in tells it then.
AttributeProto::AttributeType type_of(const AttributeProto& a) {
  if (a.type() != AttributeProto::UNDEFINED) return a.type();
  if (a.has_f()) return AttributeProto::FLOAT;
  if (a.has_i()) return AttributeProto::INT;
  if (a.has_s()) return AttributeProto::STRING;
  if (a.has_t()) return AttributeProto::TENSOR;
  if (a.has_g()) return AttributeProto::GRAPH;
  if (a.floats_size()) return AttributeProto::FLOATS;
  if (a.ints_size()) return AttributeProto::INTS;
  if (a.strings_size()) return AttributeProto::STRINGS;
  return AttributeProto::UNDEFINED;
}

Result<AttributeValue> value_of(const AttributeProto& a, const std::filesystem::path& folder) {
  if (!a.ref_attr_name().empty()) return input_error("refers to '{}' of a function", a.ref_attr_name());
  switch (type_of(a)) {
    case AttributeProto::FLOAT:
      return AttributeValue(a.f());
    case AttributeProto::INT:
      return AttributeValue(int64_t{a.i()});
    case AttributeProto::STRING:
      return AttributeValue(a.s());
    case AttributeProto::FLOATS:
      return AttributeValue(std::vector<float>(a.floats().begin(), a.floats().end()));
    case AttributeProto::INTS:
      return AttributeValue(std::vector<int64_t>(a.ints().begin(), a.ints().end()));
    case AttributeProto::STRINGS:
      return AttributeValue(std::vector<std::string>(a.strings().begin(), a.strings().end()));
    case AttributeProto::TENSOR: {
      TRY(auto data, tensor_of(a.t(), folder));
      return AttributeValue(std::move(data));
    }
    case AttributeProto::GRAPH:
    case AttributeProto::GRAPHS:
      return input_error("a subgraph; control flow is not supported")
          .hint("export the model with constant conditions and unrolled loops");
    case AttributeProto::SPARSE_TENSOR:
    case AttributeProto::SPARSE_TENSORS:
      return input_error("a sparse tensor, which is not supported").hint("store it as a dense tensor");
    default:
      return input_error("this kind of attribute is not supported");
  }
}

}  // namespace

Result<Attributes> attributes_of(const ::onnx::NodeProto& node, const std::filesystem::path& folder) {
  Attributes attributes;
  for (auto& a : node.attribute()) {
    auto value = value_of(a, folder);
    if (!value) return std::move(value).error().within(fmt::format("attribute '{}'", a.name()));
    attributes.set(a.name(), *std::move(value));
  }
  return attributes;
}

Result<TensorData> constant_value(const Attributes& attributes) {
  if (attributes.entries().size() != 1)
    return input_error("a Constant has one value, this one has {}", attributes.entries().size());
  auto& [name, value] = attributes.entries()[0];
  if (auto* v = std::get_if<TensorData>(&value)) return *v;
  if (auto* v = std::get_if<float>(&value)) return TensorData::scalar(*v);
  if (auto* v = std::get_if<int64_t>(&value)) return TensorData::i64({}, std::span(v, 1));
  if (auto* v = std::get_if<std::vector<float>>(&value)) return TensorData::f32({static_cast<int64_t>(v->size())}, *v);
  if (auto* v = std::get_if<std::vector<int64_t>>(&value))
    return TensorData::i64({static_cast<int64_t>(v->size())}, *v);
  return input_error("attribute '{}' holds text; tensors of strings are not supported", name);
}

namespace {

struct SetValue {
  AttributeProto& a;
  void operator()(int64_t v) const {
    a.set_type(AttributeProto::INT);
    a.set_i(v);
  }
  void operator()(float v) const {
    a.set_type(AttributeProto::FLOAT);
    a.set_f(v);
  }
  void operator()(const std::string& v) const {
    a.set_type(AttributeProto::STRING);
    a.set_s(v);
  }
  void operator()(const std::vector<int64_t>& v) const {
    a.set_type(AttributeProto::INTS);
    for (auto i : v) a.add_ints(i);
  }
  void operator()(const std::vector<float>& v) const {
    a.set_type(AttributeProto::FLOATS);
    for (auto f : v) a.add_floats(f);
  }
  void operator()(const std::vector<std::string>& v) const {
    a.set_type(AttributeProto::STRINGS);
    for (auto& s : v) a.add_strings(s);
  }
  void operator()(const TensorData& v) const {
    a.set_type(AttributeProto::TENSOR);
    set_tensor(*a.mutable_t(), v);
  }
};

}  // namespace

void set_attributes(::onnx::NodeProto& node, const Attributes& attributes) {
  for (auto& [name, value] : attributes.entries()) {
    auto& a = *node.add_attribute();
    a.set_name(name);
    std::visit(SetValue{a}, value);
  }
}

}  // namespace tessera::onnx
