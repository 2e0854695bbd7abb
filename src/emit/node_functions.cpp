#include "emit/node_functions.hpp"

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
      functions.push_back(function(*section));
      const Node& node = source_.graph().at(section->node);
      TRY(auto tiles, tiling(source_.graph(), node, source_.plan.nodes[static_cast<size_t>(section->node.index)]));
      comments_.push_back({formula(source_.graph(), node), tiles});
      nodes_.push_back(&node);
    }
    define(functions, 0);
    if (auto lines = out_.lines.size() + out_.calls.size(); lines > readable) define(functions, lines - readable);
    return std::move(out_);
  }

 private:
  static constexpr size_t readable = 5000;  // lines

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

  Function function(const Section& section) const {
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
    result.body = statements(section, {source_.schedule, source_.target, engines_, source_.buffer_names, names});
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
    add(comment_block({comments_[at].formula, comments_[at].tiles}));
    add(fmt::format("TS_NODE {}(void) {{", name));
    std::vector<std::string> slots;
    for (const auto& [slot, offset] : function.locals) slots.push_back(fmt::format("{} = {}", slot, offset));
    if (!slots.empty()) add(wrapped({1, "enum { ", slots, " };"}));
    add(text_of(family.body));
    add("}");
    add("");
    out_.calls[at] = name + "();";
  }

  void shared(const Family& family) {
    auto name = names_.take("run_" + identifier(nodes_[family.members[0]]->op.type));
    auto numbers = family.numbers[0].size(), reals = family.reals[0].size();
    const auto& first = comments_[family.members[0]];
    add(comment_block({fmt::format("{} nodes that differ in numbers; the first is", family.members.size()),
                       first.formula, first.tiles}));
    add(fmt::format("TS_NODE {}({}{}{}{}) {{", name, numbers ? "const int32_t *given" : "",
                    numbers && reals ? ", " : "", reals ? "const float *r" : "", numbers || reals ? "" : "void"));
    if (numbers) {
      add(fmt::format("  int32_t n[{}];", numbers));
      add(fmt::format("  take(n, given, {});", numbers));
    }
    add(text_of(family.body));
    add("}");
    add("");
    std::vector<std::string> arguments(family.members.size());
    table(family, "int32_t", "of_" + name.substr(4), family.numbers, arguments);
    table(family, "float", "reals_of_" + name.substr(4), family.reals, arguments);
    for (size_t m = 0; m < family.members.size(); ++m)
      out_.calls[family.members[m]] =
          fmt::format("{}({}); /* {} */", name, arguments[m], comment_text(nodes_[family.members[m]]->name));
    add("");
  }

  // What is each member's own, a row for each, or for several whose rows are the same; `arguments` are told the row.
  void table(const Family& family, const std::string& type, const std::string& name, const Family::Rows& rows,
             std::vector<std::string>& arguments) {
    if (rows[0].empty()) return;
    auto taken = names_.take(name);
    add(fmt::format("static const {} {}[][{}] = {{", type, taken, rows[0].size()));
    std::map<std::vector<std::string>, size_t> known;
    for (size_t m = 0; m < rows.size(); ++m) {
      auto [at, added] = known.try_emplace(rows[m], known.size());
      arguments[m] += fmt::format("{}{}[{}]", arguments[m].empty() ? "" : ", ", taken, at->second);
      if (!added) continue;
      auto& comment = comments_[family.members[m]];
      auto head = fmt::format("/* {}{} */ {{", comment_text(nodes_[family.members[m]]->name),
                              type == "float" || brief_ ? "" : ": " + comment.tiles.substr(0, comment.tiles.find(';')));
      add(wrapped({1, head + " ", rows[m], " },"}));
    }
    add("};");
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
  bool brief_ = false;  // tables do not say the tiles
  NodeFunctions out_;
};

}  // namespace

Result<NodeFunctions> node_functions(const Source& source, std::span<const Section* const> sections,
                                     const std::vector<Engine>& engines, const std::set<int32_t>& locals) {
  return Writer(source, engines, locals).write(sections);
}

}  // namespace tessera::emit
