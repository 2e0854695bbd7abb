#include "run/stack_usage.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "base/file.hpp"

namespace tessera::run {

namespace {

constexpr int64_t kLibraryFrame = 256;  // of what was compiled elsewhere
constexpr auto kIndirect = "__indirect_call";

struct Function {
  std::string file;
  int64_t frame = kLibraryFrame;
  bool known = false;      // compiled here
  bool unbounded = false;  // its frame depends on values
  std::set<std::string> callees;
};
using CallGraph = std::map<std::string, Function>;

// The text between quotes that follows `key` in a line.
std::string quoted(std::string_view line, std::string_view key) {
  auto at = line.find(key);
  if (at == line.npos) return {};
  auto begin = line.find('"', at) + 1;
  return std::string(line.substr(begin, line.find('"', begin) - begin));
}

// node: { title: "f" label: "f\nfile.c:57:1\n32 bytes (static)" }
void read_node(std::string_view line, const std::string& file, CallGraph& graph) {
  auto label = quoted(line, "label: ");
  auto end = label.find(" bytes (");
  if (end == label.npos) return;
  auto& function = graph[quoted(line, "title: ")];
  function.file = file;
  function.known = true;
  auto begin = label.rfind('n', end) + 1;  // of the "\n" before the number
  std::from_chars(label.data() + begin, label.data() + end, function.frame);
  function.unbounded = label.find("dynamic", end) != label.npos && label.find("bounded", end) == label.npos;
}

Result<CallGraph> read_graph(const std::vector<std::filesystem::path>& files) {
  CallGraph graph;
  for (const auto& path : files) {
    TRY(auto bytes, read_file(path));
    std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    std::string file;
    while (!text.empty()) {
      auto line = text.substr(0, text.find('\n'));
      text.remove_prefix(std::min(text.size(), line.size() + 1));
      if (line.starts_with("graph:")) file = quoted(line, "title: ");
      if (line.starts_with("node:")) read_node(line, file, graph);
      if (line.starts_with("edge:")) graph[quoted(line, "sourcename: ")].callees.insert(quoted(line, "targetname: "));
    }
  }
  return graph;
}

class Depth {
 public:
  Depth(const CallGraph& graph, const sim::Elf& elf) : graph_(graph), elf_(elf) {}

  struct Chain {
    int64_t bytes = 0;
    std::vector<std::string> functions;  // outermost first, with their bytes
  };

  Result<Chain> deepest(const std::string& name) {
    if (auto known = done_.find(name); known != done_.end()) return known->second;
    auto at = graph_.find(name);
    const Function function = at == graph_.end() ? Function{} : at->second;
    if (!active_.insert(name).second) return internal_error("{} calls itself: its stack has no bound", name);
    if (function.unbounded) return internal_error("{} takes an amount of stack that depends on values", name);
    Chain best;
    for (const auto& callee : targets(name, function)) {
      TRY(auto chain, deepest(callee));
      if (chain.bytes > best.bytes) best = chain;
    }
    active_.erase(name);
    best.bytes += function.frame;
    best.functions.insert(best.functions.begin(), fmt::format("{} {}", name, function.frame));
    return done_[name] = best;
  }

 private:
  // "kernels/conv.c:rows" -> whether something holds the address of rows
  bool pointed_to(const std::string& title) const {
    return !elf_.pointed_to || elf_.pointed_to->contains(std::string_view(title).substr(title.rfind(':') + 1));
  }

  // Pointers to functions are used in four places only: tasks, the network's entry points, kernels, and by kernels for
  // functions of their own file, which do not lead to such a call themselves.
  std::set<std::string> targets(const std::string& name, const Function& function) const {
    auto all = function.callees;
    if (!all.erase(kIndirect)) return all;
    for (const auto& [other, f] : graph_) {
      if (!f.known || other == name || !pointed_to(other)) continue;
      const bool exported = other.find(':') == other.npos;
      const bool task = name == "ts_chip_serve" && f.file.starts_with("harness/") && !exported;
      const bool entry = function.file.starts_with("harness/") && f.file == "network.c" && exported;
      const bool kernel = name == "ts_fork" && f.file.starts_with("kernels/") && exported;
      const bool own =
          function.file.starts_with("kernels/") && f.file == function.file && !exported && !leads_to(other, name);
      if (task || entry || kernel || own) all.insert(other);
    }
    return all;
  }

  // By calls that name their function.
  bool leads_to(const std::string& from, const std::string& to) const {
    std::vector<std::string> open{from};
    std::set<std::string> seen;
    while (!open.empty()) {
      const auto name = std::move(open.back());
      open.pop_back();
      const auto at = graph_.find(name);
      if (at == graph_.end() || !seen.insert(name).second) continue;
      if (at->second.callees.contains(kIndirect) || at->second.callees.contains(to)) return true;
      open.insert(open.end(), at->second.callees.begin(), at->second.callees.end());
    }
    return false;
  }

  const CallGraph& graph_;
  const sim::Elf& elf_;
  std::map<std::string, Chain> done_;
  std::set<std::string> active_;
};

Error too_deep(const Depth::Chain& chain, Bytes granted, std::string_view whose) {
  return does_not_fit("the stack of {} may take {} bytes; it has {}: {}", whose, chain.bytes, granted.count,
                      fmt::join(chain.functions, " > "));
}

Result<void> check(Depth& depth, const std::string& root, Bytes granted, std::string_view whose) {
  TRY(auto chain, depth.deepest(root));
  if (chain.bytes <= granted.count) return {};
  return too_deep(chain, granted, whose);
}

// Of the controller's a plan can grant more.
Result<void> check_controller(Depth& depth, Bytes granted) {
  TRY(auto chain, depth.deepest("ts_chip_serve"));
  if (chain.bytes <= granted.count) return {};
  return too_deep(chain, granted, "the cluster's controller").lacks({Lack::Of::Stack, chain.bytes - granted.count});
}

}  // namespace

Result<void> check_stacks(const Built& built, const sim::Elf& elf, const target::Target& target) {
  TRY(auto graph, read_graph(built.call_graphs));
  Depth depth(graph, elf);
  const auto* controller = elf.find("__controller_stack_bytes");
  if (!controller) return internal_error("the program does not say how large its controller's stack is");
  CHECK_OK(check_controller(depth, Bytes(controller->address)));
  const auto kernels = target.stacks.worker - Bytes(graph["ts_chip_serve"].frame);  // who waits for them is below
  for (const auto& [name, function] : graph)
    if (function.file.starts_with("kernels/") && name.find(':') == name.npos)
      CHECK_OK(check(depth, name, kernels, "a worker of the cluster"));
  return check(depth, "ts_chip_fc", target.stacks.fabric_controller, "the fabric controller");
}

}  // namespace tessera::run
