// What the buffers of a section hold, and what its kernels call it.
#include "emit/statements.hpp"

namespace tessera::emit {

namespace {

using schedule::Block;
using schedule::If;
using schedule::Kernel;
using schedule::Loop;
using schedule::Place;
using schedule::Section;
using schedule::Transfer;

// What a buffer holds: the first tensor that passes through, and what the kernel calls it.
class Holdings {
 public:
  Holdings(const Section& section, const Graph& graph) : graph_(graph) {
    operands(section.body);
    collect(section.body);
  }

  std::map<int32_t, BufferUse> found;

 private:
  using Kind = ops::OperandRef::Kind;

  void operands(const Block& block) {
    for (const auto& step : block) {
      if (const auto* loop = std::get_if<Loop>(&step.v)) operands(loop->body);
      if (const auto* branch = std::get_if<If>(&step.v)) operands(branch->then);
      if (const auto* kernel = std::get_if<Kernel>(&step.v)) operands(*kernel);
    }
  }
  void operands(const Kernel& kernel) {
    const Node& node = graph_.at(kernel.node);
    for (const auto& field : kernel.call.fields) {
      const auto* operand = std::get_if<ops::OperandRef>(&field.value);
      if (!operand) continue;
      const auto& [places, ids] = operand->kind == Kind::Input    ? std::tie(kernel.inputs, node.inputs)
                                  : operand->kind == Kind::Output ? std::tie(kernel.outputs, node.outputs)
                                                                  : std::tie(kernel.scratch, none_);
      auto i = static_cast<size_t>(operand->index);
      if (i < ids.size() && ids[i]) fields_.emplace(ids[i], field.name);
      if (i < places.size()) called_.emplace(places[i].buffer, field.name);
    }
  }

  void add(const Place& place, const std::string& holds, const std::string& field) {
    if (place.buffer.index < 0) return;
    auto called = called_.find(place.buffer);
    found.try_emplace(place.buffer.index, place.buffer, holds, called != called_.end() ? called->second : field);
  }
  void add(const std::vector<Place>& places, const std::vector<TensorId>& ids) {
    for (size_t i = 0; i < places.size(); ++i) {
      auto name = i < ids.size() && ids[i] ? graph_.at(ids[i]).name : fmt::format("scratch{}", i);
      add(places[i], name, name);
    }
  }
  void collect(const Block& block) {
    for (const auto& step : block) {
      if (const auto* loop = std::get_if<Loop>(&step.v)) collect(loop->body);
      if (const auto* branch = std::get_if<If>(&step.v)) collect(branch->then);
      if (const auto* transfer = std::get_if<Transfer>(&step.v)) {
        auto name = transfer->tensor ? graph_.at(transfer->tensor).name : "tile";
        auto field = fields_.find(transfer->tensor);
        for (const auto* place : {&transfer->far, &transfer->near})
          add(*place, name, field != fields_.end() ? field->second : name);
      }
      if (const auto* kernel = std::get_if<Kernel>(&step.v)) {
        const Node& node = graph_.at(kernel->node);
        add(kernel->inputs, node.inputs);
        add(kernel->outputs, node.outputs);
        add(kernel->scratch, {});
      }
    }
  }

  const Graph& graph_;
  const std::vector<TensorId> none_;
  std::map<TensorId, std::string> fields_;
  std::map<schedule::BufferId, std::string> called_;
};

}  // namespace

std::vector<BufferUse> buffers_of(const Section& section, const Graph& graph) {
  std::vector<BufferUse> buffers;
  for (auto& [index, use] : Holdings(section, graph).found) buffers.push_back(use);
  return buffers;
}

}  // namespace tessera::emit
