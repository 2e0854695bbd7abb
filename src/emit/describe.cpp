#include "emit/describe.hpp"

#include <algorithm>

#include "emit/names.hpp"
#include "ops/operator.hpp"

namespace tessera::emit {

namespace {

std::string role_text(const Tensor& tensor) {
  switch (tensor.role) {
    case Role::Input:
      return "input";
    case Role::Parameter:
      return "parameter";
    case Role::State:
      return "state";
    case Role::Constant:
      return "constant";
    case Role::Activation:
      break;
  }
  return "";
}

std::string operand_list(const Graph& graph, const std::vector<TensorId>& ids) {
  std::string text;
  for (TensorId id : ids)
    if (id) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", graph.at(id).name, to_string(graph.at(id).type));
  return text;
}

std::string attribute_text(const AttributeValue& value) {
  if (const auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (const auto* f = std::get_if<float>(&value)) return fmt::format("{}", *f);
  if (const auto* s = std::get_if<std::string>(&value)) return *s;
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value)) return fmt::format("[{}]", fmt::join(*list, ","));
  if (const auto* list = std::get_if<std::vector<float>>(&value)) return fmt::format("[{}]", fmt::join(*list, ","));
  return "...";
}

// "all double", or the fewer ones by name: "w single, the others double".
std::string buffering(const Graph& graph, const Node& node, const plan::NodePlan& plan) {
  std::vector<std::string> single, twice;
  auto sort = [&](const std::vector<TensorId>& ids, const std::vector<plan::OperandPlan>& plans) {
    for (size_t i = 0; i < ids.size() && i < plans.size(); ++i) {
      if (!ids[i] || !plans[i].present || plans[i].hops.empty()) continue;
      bool one = std::ranges::all_of(plans[i].hops, [](const plan::Hop& hop) { return hop.slots == 1; });
      (one ? single : twice).push_back(graph.at(ids[i]).name);
    }
  };
  sort(node.inputs, plan.inputs);
  sort(node.outputs, plan.outputs);
  if (single.empty() && twice.empty()) return "";
  if (single.empty() || twice.empty()) return single.empty() ? "; buffers: all double" : "; buffers: all single";
  bool few_single = single.size() <= twice.size();
  return fmt::format("; buffers: {} {}, the others {}", fmt::join(few_single ? single : twice, ", "),
                     few_single ? "single" : "double", few_single ? "double" : "single");
}

}  // namespace

std::string home_comment(const Graph& graph, const plan::Storage& storage, size_t widest) {
  std::string text;
  TensorType last;
  for (TensorId id : storage.members) {
    const Tensor& tensor = graph.at(id);
    auto part = tensor.name;
    if (text.empty() || !(tensor.type == last)) part += " " + to_string(tensor.type);
    if (auto role = role_text(tensor); !role.empty()) part += " " + role;
    last = tensor.type;
    if (!text.empty() && text.size() + part.size() + 7 > widest) {
      text += ", ...";
      break;
    }
    text += (text.empty() ? "" : ", ") + part;
  }
  return comment_text(text.empty() ? storage.name : text);
}

std::string formula(const Graph& graph, const Node& node) {
  auto text = fmt::format("{} = {}({})", operand_list(graph, node.outputs), to_string(node.op),
                          operand_list(graph, node.inputs));
  for (const auto& [name, value] : node.attributes.entries())
    text += fmt::format(", {} {}", name, attribute_text(value));
  return text;
}

Result<std::string> tiling(const Graph& graph, const Node& node, const plan::NodePlan& plan) {
  TRY(const ops::Operator* op, ops::definition(graph, node));
  if (plan.nest.empty() || !op->tile_map) return "one call on whole tensors";
  TRY(auto map, op->tile_map({graph, node}));
  const auto& tile = plan.nest.back().tile;
  std::string sizes;
  for (size_t d = 0; d < map.dims.size() && d < tile.size(); ++d)
    if (map.dims[d].extent > 1) sizes += fmt::format("{}{} {}", sizes.empty() ? "" : ", ", map.dims[d].name, tile[d]);
  auto text = plan.tiles == 1 ? "one tile" : fmt::format("{} tiles of {}", plan.tiles, sizes);
  return text + buffering(graph, node, plan);
}

std::vector<std::string> comment_block(const std::vector<std::string>& paragraphs) {
  std::vector<std::string> lines;
  for (const auto& paragraph : paragraphs) {
    std::string line = lines.empty() ? "/*" : " *";
    auto text = comment_text(paragraph);
    for (size_t at = 0; at < text.size();) {
      auto end = std::min(text.find(' ', at), text.size());
      auto word = text.substr(at, end - at);
      if (line.size() + 1 + word.size() > 116 && line.size() > 2) {
        lines.push_back(line);
        line = " *  ";
      }
      line += " " + word;
      at = end + 1;
    }
    lines.push_back(line);
  }
  lines.back() += " */";
  return lines;
}

}  // namespace tessera::emit
