#include "plan/storage.hpp"

#include <algorithm>
#include <map>
#include <numeric>

#include "ops/operator.hpp"
#include "plan/succession.hpp"

namespace tessera::plan {

namespace {

// Union-find over tensors; the lowest id of a class is its root, so that the order does not depend on anything else.
class Classes {
 public:
  explicit Classes(size_t n) : parent_(n) { std::iota(parent_.begin(), parent_.end(), 0); }
  int32_t root(TensorId t) {
    auto i = t.index;
    while (parent_[static_cast<size_t>(i)] != i)
      i = parent_[static_cast<size_t>(i)] = parent_[static_cast<size_t>(parent_[static_cast<size_t>(i)])];
    return i;
  }
  void join(TensorId a, TensorId b) {
    auto x = root(a), y = root(b);
    parent_[static_cast<size_t>(std::max(x, y))] = std::min(x, y);
  }

 private:
  std::vector<int32_t> parent_;
};

struct Analysis {
  Classes storage;  // share bytes
  Classes content;  // share bytes and hold the same values: views of each other
};

struct Replacement {
  NodeId node;
  TensorId input, output;
};

Result<void> collect_aliases(const Graph& graph, Analysis& analysis, std::vector<Replacement>& replacements) {
  for (int32_t n = 0; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
    auto& node = graph.at(NodeId{n});
    TRY(auto* op, ops::definition(graph, node));
    if (!op->aliases) continue;
    for (auto& alias : op->aliases(ops::NodeContext{graph, node})) {
      auto in = node.inputs[static_cast<size_t>(alias.input)], out = node.outputs[static_cast<size_t>(alias.output)];
      if (!in || !out) continue;
      if (graph.at(in).type.bytes() != graph.at(out).type.bytes())
        return internal_error("node '{}' ({}): '{}' and '{}' share storage but not their size", node.name,
                              to_string(node.op), graph.at(in).name, graph.at(out).name);
      analysis.storage.join(in, out);
      if (alias.kind == ops::Alias::Kind::View)
        analysis.content.join(in, out);
      else
        replacements.push_back({NodeId{n}, in, out});
    }
  }
  return {};
}

// In place means: the old content is gone. Nobody may ask for it later, not even through a view.
Result<void> refuse_late_readers(const Graph& graph, Analysis& analysis, const std::vector<Replacement>& replacements) {
  for (auto& [at, input, output] : replacements) {
    auto old = analysis.content.root(input);
    for (int32_t n = at.index; n < static_cast<int32_t>(graph.nodes().size()); ++n) {
      auto& node = graph.at(NodeId{n});
      auto uses = std::ranges::count_if(node.inputs, [&](TensorId t) { return t && analysis.content.root(t) == old; });
      if (uses > (n == at.index ? 1 : 0))
        return input_error("node '{}' ({}) reads '{}' after '{}' has replaced it in place", node.name,
                           to_string(node.op), graph.at(input).name, graph.at(at).name)
            .hint("move the reader before the update");
    }
    if (graph.at(input).role == Role::Constant)
      return input_error("node '{}' changes '{}' in place, which is a constant", graph.at(at).name,
                         graph.at(input).name);
  }
  return {};
}

// Whether a kernel or the harness touches the bytes of a tensor; axes and shapes known at compile time need none.
Result<std::vector<bool>> tensors_in_memory(const train::Program& program) {
  auto& graph = program.graph;
  std::vector<bool> used(graph.tensors().size());
  auto mark = [&](TensorId t) {
    if (t) used[static_cast<size_t>(t.index)] = true;
  };
  for (auto& node : graph.nodes()) {
    TRY(auto* op, ops::definition(graph, node));
    if (ops::is_view(*op)) {
      mark(node.inputs[0]), mark(node.outputs[0]);
      continue;
    }
    TRY(auto map, op->tile_map(ops::NodeContext{graph, node}));
    for (size_t i = 0; i < node.inputs.size(); ++i)
      if (i < map.inputs.size() && map.inputs[i].present) mark(node.inputs[i]);
    for (size_t o = 0; o < node.outputs.size(); ++o) mark(node.outputs[o]);
  }
  for (auto t : graph.inputs) mark(t);
  for (auto t : graph.outputs) mark(t);
  for (auto& p : program.parameters) mark(p.weight);
  return used;
}

class Lifetimes {
 public:
  explicit Lifetimes(const Graph& graph) : graph_(graph), uses_(graph) {
    end_ = std::max<int32_t>(0, static_cast<int32_t>(graph.nodes().size()) - 1);
    for (int32_t n = 0; n <= end_ && n < static_cast<int32_t>(graph.nodes().size()); ++n)
      if (graph.at(NodeId{n}).phase == Phase::Training) end_of_training_ = n;
  }

  // Inputs are there from the start; outputs stay until the harness has read them, which is after the training nodes.
  Lifetime of(TensorId t) const {
    auto i = static_cast<size_t>(t.index);
    auto& tensor = graph_.at(t);
    if (tensor.role != Role::Activation && tensor.role != Role::Input) return whole();
    Lifetime life;
    life.first = tensor.role == Role::Input ? 0 : uses_.producer[i].index;
    life.last = uses_.consumers[i].empty() ? life.first : std::max(life.first, uses_.consumers[i].back().index);
    if (std::ranges::count(graph_.outputs, t)) life.last = std::max(life.last, end_of_training_);
    return life;
  }
  Lifetime whole() const { return {0, end_}; }

 private:
  const Graph& graph_;
  Uses uses_;
  int32_t end_ = 0, end_of_training_ = 0;
};

// Joins what follows each other in one home: the last use of everything there is the node that makes the successor.
// The roots of the classes that have become homes in turn.
Result<std::vector<TensorId>> join_in_turn(const train::Program& program, const Lifetimes& lifetimes,
                                           Analysis& analysis) {
  auto& graph = program.graph;
  auto count = graph.tensors().size();
  // By root of a class: how long it lives, and whether all of it is made and used within a run.
  std::vector<Lifetime> life(count);
  std::vector<bool> passing(count, true), seen(count);
  for (int32_t i = 0; i < static_cast<int32_t>(count); ++i) {
    auto root = static_cast<size_t>(analysis.storage.root(TensorId{i}));
    auto own = lifetimes.of(TensorId{i});
    if (graph.at(TensorId{i}).role != Role::Activation || std::ranges::count(graph.outputs, TensorId{i}))
      passing[root] = false;
    life[root] =
        seen[root] ? Lifetime{std::min(life[root].first, own.first), std::max(life[root].last, own.last)} : own;
    seen[root] = true;
  }
  std::vector<TensorId> joined;
  TRY(auto all, successions(program));
  for (auto& [before, after] : all) {
    auto a = static_cast<size_t>(analysis.storage.root(before)), b = static_cast<size_t>(analysis.storage.root(after));
    if (a == b || !passing[a] || !passing[b] || life[a].last != life[b].first) continue;
    Lifetime both{life[a].first, life[b].last};
    analysis.storage.join(before, after);
    life[static_cast<size_t>(analysis.storage.root(before))] = both;
    joined.push_back(before);
  }
  return joined;
}

}  // namespace

Result<Storages> find_storages(const train::Program& program, LevelId home, bool in_turn) {
  auto& graph = program.graph;
  Analysis analysis{Classes(graph.tensors().size()), Classes(graph.tensors().size())};
  std::vector<Replacement> replacements;
  CHECK_OK(collect_aliases(graph, analysis, replacements));
  CHECK_OK(refuse_late_readers(graph, analysis, replacements));
  TRY(auto used, tensors_in_memory(program));

  Storages found;
  found.storage_of.resize(graph.tensors().size());
  std::map<int32_t, int32_t> storage_of_root;
  Lifetimes lifetimes(graph);
  std::vector<TensorId> taken_over;
  if (in_turn) {
    TRY(taken_over, join_in_turn(program, lifetimes, analysis));
  }
  for (int32_t i = 0; i < static_cast<int32_t>(graph.tensors().size()); ++i) {
    TensorId t{i};
    if (!used[static_cast<size_t>(i)]) continue;
    auto& tensor = graph.at(t);
    auto life = lifetimes.of(t);
    auto [at, fresh] =
        storage_of_root.try_emplace(analysis.storage.root(t), static_cast<int32_t>(found.storages.size()));
    if (fresh)
      found.storages.push_back({.name = tensor.name, .level = home, .size = tensor.type.bytes(), .life = life});
    auto& storage = found.storages[static_cast<size_t>(at->second)];
    storage.members.push_back(t);
    storage.persistent |= tensor.role == Role::Parameter || tensor.role == Role::State || tensor.role == Role::Constant;
    storage.life = {std::min(storage.life.first, life.first), std::max(storage.life.last, life.last)};
    if (storage.persistent) storage.life = lifetimes.whole();
    found.storage_of[static_cast<size_t>(i)] = StorageId{at->second};
  }
  for (auto t : taken_over)
    if (auto id = found.storage_of[static_cast<size_t>(t.index)]; id.index >= 0)
      found.storages[static_cast<size_t>(id.index)].in_turn = true;
  return found;
}

}  // namespace tessera::plan
