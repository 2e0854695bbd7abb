#include "emit/node_functions.hpp"

#include <algorithm>
#include <map>

#include "emit/describe.hpp"
#include "emit/names.hpp"
#include "emit/sharing.hpp"
#include "emit/statements.hpp"

namespace tessera::emit {

namespace {

using schedule::Section;

class Writer {
 public:
  Writer(const Source& source, const std::vector<Engine>& engines, const std::set<int32_t>& locals)
      : source_(source), engines_(engines), locals_(locals) {}

  Result<NodeFunctions> write(std::span<const Section* const> sections) {
    std::vector<Function> functions;
    for (const auto* section : sections) {
      functions.push_back(function(*section, false));
      const Node& node = source_.graph().at(section->node);
      TRY(auto tiles, tiling(source_.graph(), node, source_.plan.nodes[static_cast<size_t>(section->node.index)]));
      comments_.push_back({formula(source_.graph(), node), tiles});
      nodes_.push_back(&node);
    }
    define(functions, 0);
    const auto readable = enough();
    if (lines() <= readable) return std::move(out_);
    for (size_t i = 0; i < sections.size(); ++i) functions[i] = function(*sections[i], true);
    // What is shared makes calls longer: how much there is to save shows when it is done. At last nothing is alike.
    for (size_t save = 0, before = 0; lines() > readable && lines() != before;) {
      before = lines();
      define(functions, save += before - readable);
    }
    return std::move(out_);
  }

 private:
  // Lines that a person reads, and whose code has room beside the runtime's in what the plan grants, the sanitizer's
  // own with it. Measured: 26 bytes a line, give or take one.
  size_t enough() const {
    constexpr int64_t kReadable = 5000, kRuntime = 60 * 1024, kLine = 26;
    return static_cast<size_t>(std::clamp<int64_t>((source_.plan.code.count - kRuntime) / kLine, 0, kReadable));
  }

  size_t lines() const {
    size_t count = out_.lines.size();
    for (const auto& call : out_.calls) count += wrapped(call).size();
    return count;
  }

  void define(const std::vector<Function>& functions, size_t save) {
    names_ = {};
    out_ = {};
    brief_ = save > 0;
    out_.calls.resize(functions.size());
    for (const auto& family : families(functions, homes(), save)) {
      if (family.members.size() == 1)
        single(family, functions[family.members[0]]);
      else
        shared(family);
    }
  }

  Function function(const Section& section, bool arguments_in_calls) const {
    Function result;
    auto uses = buffers_of(section, source_.graph());
    UniqueNames unique;
    for (const auto& use : uses)
      if (!locals_.contains(use.buffer.index)) unique.take(source_.buffer_names[static_cast<size_t>(use.buffer.index)]);
    std::map<int32_t, std::string> names;
    for (const auto& use : uses) {
      const auto& buffer = source_.schedule.buffers[static_cast<size_t>(use.buffer.index)];
      if (!locals_.contains(use.buffer.index)) {
        if (buffer.storage.index < 0)
          result.slots[source_.buffer_names[static_cast<size_t>(use.buffer.index)]] =
              fmt::format("{}", buffer.offset.count);
        continue;
      }
      auto name = unique.take(fmt::format("L{}_{}", buffer.level + 1, identifier(use.operand)));
      result.locals[name] = fmt::format("{}", buffer.offset.count);
      names[use.buffer.index] = std::move(name);
    }
    result.body = statements(
        section, {source_.schedule, source_.target, engines_, source_.buffer_names, names, arguments_in_calls});
    return result;
  }

  // Tensors keep their names in the tables; slots are numbers there.
  std::set<std::string> homes() const {
    std::set<std::string> names;
    for (size_t b = 0; b < source_.buffer_names.size(); ++b)
      if (source_.schedule.buffers[b].storage.index >= 0) names.insert(source_.buffer_names[b]);
    return names;
  }

  void add(const std::vector<std::string>& more) { out_.lines.insert(out_.lines.end(), more.begin(), more.end()); }
  void add(const std::string& line) { out_.lines.push_back(line); }

  void single(const Family& family, const Function& function) {
    auto at = family.members[0];
    auto name = names_.take("run_" + identifier(nodes_[at]->name));
    add(comment_block({formula_of(at), comments_[at].tiles}));
    add(fmt::format("TS_NODE {}(void) {{", name));
    std::vector<std::string> slots;
    for (const auto& [slot, offset] : function.locals) slots.push_back(fmt::format("{} = {}", slot, offset));
    if (!slots.empty()) add(wrapped({1, "enum { ", slots, " };"}));
    add(text_of(family.body));
    add("}");
    add("");
    out_.calls[at] = {1, name + "(", {}, ");"};
  }

  void shared(const Family& family) {
    auto name = names_.take("run_" + identifier(nodes_[family.members[0]]->op.type));
    const auto& first = comments_[family.members[0]];
    auto count = family.members.size();
    if (brief_)
      add(comment_block({fmt::format("{} nodes: {}", count, formula_of(family.members[0]))}));
    else
      add(comment_block(
          {fmt::format("{} nodes that differ in numbers; the first is", count), first.formula, first.tiles}));
    std::vector<std::string> parameters;
    for (size_t i = 0; i < family.numbers[0].size(); ++i) parameters.push_back(fmt::format("int32_t n{}", i));
    for (size_t i = 0; i < family.reals[0].size(); ++i) parameters.push_back(fmt::format("float r{}", i));
    if (parameters.empty()) parameters = {"void"};
    add(wrapped({0, fmt::format("TS_NODE {}(", name), parameters, ") {"}));
    add(text_of(family.body));
    add("}");
    add("");
    for (size_t m = 0; m < family.members.size(); ++m) {
      auto at = family.members[m];
      auto given = family.numbers[m];
      given.insert(given.end(), family.reals[m].begin(), family.reals[m].end());
      const auto& tiles = comments_[at].tiles;
      out_.calls[at] = {1, name + "(", std::move(given),
                        fmt::format("); /* {}{} */", comment_text(nodes_[at]->name),
                                    brief_ ? "" : ": " + tiles.substr(0, tiles.find(';')))};
    }
  }

  // Its beginning where lines are short.
  std::string formula_of(size_t at) const {
    constexpr size_t line = 100;
    const auto& all = comments_[at].formula;
    return brief_ && all.size() > line ? all.substr(0, all.rfind(' ', line)) + " ..." : all;
  }

  struct Comment {
    std::string formula, tiles;
  };
  const Source& source_;
  const std::vector<Engine>& engines_;
  const std::set<int32_t>& locals_;
  std::vector<const Node*> nodes_;  // by section
  std::vector<Comment> comments_;   // by section
  UniqueNames names_;
  bool brief_ = false;  // calls do not say the tiles, nor comments all of a formula
  NodeFunctions out_;
};

}  // namespace

Result<NodeFunctions> node_functions(const Source& source, std::span<const Section* const> sections,
                                     const std::vector<Engine>& engines, const std::set<int32_t>& locals) {
  return Writer(source, engines, locals).write(sections);
}

}  // namespace tessera::emit
