#include "train/trainable.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace tessera::train {

bool matches(std::string_view pattern, std::string_view name) {
  // The classic two-pointer walk: on a mismatch, go back to the last star and let it swallow one character more.
  size_t p = 0, n = 0, star = std::string_view::npos, resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p, ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

namespace {

bool is_batch_norm(const Node& node) {
  return node.op == OpName{"", "BatchNormalization"} || node.op == OpName{"com.microsoft", "BatchNormInternal"};
}

// All of them, but not what batch norms measure: operands 3 and 4.
std::vector<TensorId> parameters(const Graph& graph) {
  std::set<TensorId> measured;
  for (auto& node : graph.nodes())
    if (is_batch_norm(node))
      for (size_t i = 3; i < node.inputs.size(); ++i) measured.insert(node.inputs[i]);
  std::vector<TensorId> found;
  for (int32_t i = 0; i < static_cast<int32_t>(graph.tensors().size()); ++i)
    if (graph.at(TensorId{i}).role == Role::Parameter && !measured.contains(TensorId{i})) found.push_back(TensorId{i});
  return found;
}

Result<int64_t> positive(std::string_view number, std::string_view word, std::string_view what) {
  int64_t value = 0;
  auto [rest, code] = std::from_chars(number.data(), number.data() + number.size(), value);
  if (code != std::errc() || rest != number.data() + number.size() || value < 1)
    return input_error("--trainable {}:{}: not a {}", word, number, what)
        .hint(fmt::format("for example --trainable {}:4", word));
  return value;
}

// A layer is a node with parameters; a batch norm belongs to the one before it, as an added bias does.
Result<std::vector<TensorId>> last_layers(const Graph& graph, const std::vector<TensorId>& all,
                                          std::string_view number) {
  TRY(auto layers, positive(number, "last", "number of layers"));
  std::set<TensorId> chosen;
  for (size_t n = graph.nodes().size(); n-- > 0 && layers > 0;) {
    auto& node = graph.nodes()[n];
    bool has_parameter = false;
    for (auto t : node.inputs)
      if (t && std::ranges::binary_search(all, t)) chosen.insert(t), has_parameter = true;
    layers -= has_parameter && !is_batch_norm(node) && node.op.type != "Add";
  }
  return std::vector<TensorId>(chosen.begin(), chosen.end());
}

// A bias is what is added: the third operand of a linear operator, or a vector that an Add brings in.
bool is_bias(const Graph& graph, TensorId parameter) {
  for (auto& node : graph.nodes()) {
    auto at = std::ranges::find(node.inputs, parameter) - node.inputs.begin();
    if (at == static_cast<ptrdiff_t>(node.inputs.size())) continue;
    if (at == 2 || node.op.type == "Add") return true;  // also of a norm
  }
  return false;
}

Result<std::vector<TensorId>> by_patterns(const Graph& graph, const std::vector<TensorId>& all,
                                          std::string_view choice) {
  std::set<TensorId> chosen;
  if (choice.starts_with('!')) chosen.insert(all.begin(), all.end());
  const auto asked = choice;
  while (!choice.empty()) {
    auto comma = std::min(choice.find(','), choice.size());
    auto pattern = choice.substr(0, comma);
    choice.remove_prefix(std::min(comma + 1, choice.size()));
    const bool without = pattern.starts_with('!');
    if (without) pattern.remove_prefix(1);
    bool found = false;
    for (auto t : all) {
      if (pattern != "all" && !matches(pattern, graph.at(t).name)) continue;
      found = true;
      if (without)
        chosen.erase(t);
      else
        chosen.insert(t);
    }
    if (found) continue;
    std::string names;
    for (size_t i = 0; i < all.size() && i < 12; ++i) names += (i ? ", " : "") + graph.at(all[i]).name;
    return input_error("--trainable: no parameter is called '{}'", pattern)
        .hint(fmt::format("the parameters are {}{}", names, all.size() > 12 ? ", ..." : ""));
  }
  if (chosen.empty()) return input_error("--trainable {}: nothing is left to train", asked);
  return std::vector<TensorId>(chosen.begin(), chosen.end());
}

}  // namespace

Result<std::optional<int64_t>> lora_rank(std::string_view choice) {
  constexpr std::string_view word = "lora:";
  if (!choice.starts_with(word)) return std::optional<int64_t>();
  TRY(auto rank, positive(choice.substr(word.size(), choice.find(',') - word.size()), "lora", "rank"));
  return std::optional(rank);
}

std::string_view beside_lora(std::string_view choice) {
  auto comma = choice.find(',');
  return comma == std::string_view::npos ? std::string_view() : choice.substr(comma + 1);
}

Result<std::vector<TensorId>> choose_trainable(const Graph& graph, std::string_view choice) {
  auto all = parameters(graph);
  if (all.empty())
    return input_error("the network has no parameters to train")
        .hint("float initializers with at least one axis are parameters");
  if (choice == "all") return all;
  if (choice.starts_with("last:")) return last_layers(graph, all, choice.substr(5));
  if (choice == "bias") {
    std::erase_if(all, [&](TensorId t) { return !is_bias(graph, t); });
    if (all.empty()) return input_error("--trainable bias: the network has no bias");
    return all;
  }
  return by_patterns(graph, all, choice);
}

}  // namespace tessera::train
