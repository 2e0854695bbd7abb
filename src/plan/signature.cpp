#include "plan/signature.hpp"

#include <fmt/ranges.h>

namespace tessera::plan {

namespace {

struct Spell {
  std::string operator()(int64_t v) const { return fmt::format("{}", v); }
  std::string operator()(float v) const { return fmt::format("{}", v); }
  std::string operator()(const std::string& v) const { return v; }
  std::string operator()(const std::vector<int64_t>& v) const { return fmt::format("{}", v); }
  std::string operator()(const std::vector<float>& v) const { return fmt::format("{}", v); }
  std::string operator()(const std::vector<std::string>& v) const { return fmt::format("{}", v); }
  std::string operator()(const TensorData&) const { return {}; }
};

constexpr int64_t kSmall = 16;  // elements of a constant that may decide a shape: axes, target shapes

}  // namespace

std::string signature(const ops::NodeContext& node) {
  auto text = fmt::format("{}/{}", to_string(node.node.op), node.node.version);
  for (auto& [name, value] : node.node.attributes.entries()) {
    auto spelled = std::visit(Spell{}, value);
    if (spelled.empty()) return {};
    text += fmt::format(" {}={}", name, spelled);
  }
  for (size_t i = 0; i < node.node.inputs.size(); ++i) {
    text += " ";
    if (!node.has_input(i)) continue;
    text += to_string(node.input(i).type);
    auto value = node.value(i);
    if (!value || value->type().dtype == DType::F32) continue;
    if (value->type().elements() > kSmall) return {};
    text += fmt::format("={}", value->integers());
  }
  text += " >";
  for (size_t o = 0; o < node.node.outputs.size(); ++o)
    text += " " + (node.has_output(o) ? to_string(node.output(o).type) : "-");
  return text;
}

}  // namespace tessera::plan
