#include "onnx/join_updates.hpp"

#include <onnx/onnx_pb.h>

#include <algorithm>
#include <array>

#include "graph/updates.hpp"
#include "onnx/attributes.hpp"

namespace tessera::onnx {
namespace {

constexpr std::array kGroups{"weights", "gradients", "momentums_1", "momentums_2"};

// Those that differ in nothing but the weight.
bool alike(const UpdateForm& form, const Node& a, const Node& b) {
  const auto same = [](auto& x, auto& y) {
    if (x.first != y.first || x.second.index() != y.second.index()) return false;
    auto* number = std::get_if<float>(&x.second);
    return number ? *number == std::get<float>(y.second) : std::get<int64_t>(x.second) == std::get<int64_t>(y.second);
  };
  return a.op == b.op && std::ranges::equal(a.attributes.entries(), b.attributes.entries(), same) &&
         std::equal(a.inputs.begin(), a.inputs.begin() + form.weight, b.inputs.begin());
}

void add_one(::onnx::GraphProto& out, const UpdateForm& form, const std::vector<const Node*>& alike,
             const std::function<std::string(TensorId)>& called,
             const std::function<std::string(const std::string&)>& fresh) {
  std::vector<std::string> inputs;
  for (int i = 0; i < form.weight; ++i) inputs.push_back(called(alike[0]->inputs[static_cast<size_t>(i)]));
  for (int g = 0; g < form.groups(); ++g) {
    auto& sequence = *out.add_node();
    inputs.push_back(fresh(kGroups[static_cast<size_t>(g)]));
    sequence.set_op_type("SequenceConstruct");
    sequence.set_name(inputs.back());
    sequence.add_output(inputs.back());
    for (auto* node : alike) sequence.add_input(called(node->inputs[static_cast<size_t>(form.weight + g)]));
  }
  auto& update = *out.add_node();
  update.set_name(fresh(std::string(form.type)));
  update.set_op_type(std::string(form.type));
  update.set_domain(std::string(form.domain));
  for (auto& input : inputs) update.add_input(input);
  update.add_output(fresh("updated"));
  set_attributes(update, alike[0]->attributes);
  auto& flag = *out.add_output();
  flag.set_name(update.output(0));
  auto& type = *flag.mutable_type()->mutable_tensor_type();
  type.set_elem_type(form.step >= 0 ? ::onnx::TensorProto::INT64 : ::onnx::TensorProto::BOOL);  // as the dialect has it
  type.mutable_shape()->add_dim()->set_dim_value(1);
}

}  // namespace

bool takes_sequences(const Node& node) {
  auto* form = update_form(node.op);
  return form && form->many == UpdateForm::Many::Sequences;
}

void add_joined(::onnx::GraphProto& out, const std::vector<const Node*>& updates,
                const std::function<std::string(TensorId)>& called,
                const std::function<std::string(const std::string&)>& fresh) {
  auto left = updates;
  while (!left.empty()) {
    auto& form = *update_form(left[0]->op);
    std::vector<const Node*> group, rest;
    for (auto* node : left) (alike(form, *left[0], *node) ? group : rest).push_back(node);
    add_one(out, form, group, called, fresh);
    left = std::move(rest);
  }
}

}  // namespace tessera::onnx
