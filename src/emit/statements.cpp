#include "emit/statements.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <utility>

#include "emit/keeping.hpp"
#include "emit/names.hpp"
#include "emit/parts.hpp"

namespace tessera::emit {

namespace {

using schedule::Block;
using schedule::If;
using schedule::Keep;
using schedule::Kernel;
using schedule::Let;
using schedule::Loop;
using schedule::Place;
using schedule::PutTogether;
using schedule::Section;
using schedule::Step;
using schedule::Transfer;
using schedule::Wait;

// What a section's own variables must not be called.
const std::set<std::string>& reserved_names() {
  static const std::set<std::string> names = {
      "auto",    "break",       "case",       "char",      "const",        "continue", "default",     "do",
      "double",  "else",        "enum",       "extern",    "float",        "for",      "goto",        "if",
      "inline",  "int",         "long",       "register",  "return",       "short",    "signed",      "sizeof",
      "static",  "struct",      "switch",     "typedef",   "union",        "unsigned", "void",        "while",
      "dma",     "ram",         "l1",         "l2",        "restrict",     "volatile", "fetch",       "fetch_2d",
      "send",    "send_2d",     "done",       "ram_fetch", "ram_fetch_2d", "ram_send", "ram_send_2d", "ram_done",
      "ts_part", "fetch_parts", "send_parts", "move",      "move_2d",      "args"};
  return names;
}

// Nor like the parameters of a function that several nodes share: n0, r0.
bool is_reserved(const std::string& name) {
  const bool parameter = name.size() > 1 && (name[0] == 'n' || name[0] == 'r') &&
                         name.find_first_not_of("0123456789", 1) == std::string::npos;
  return parameter || reserved_names().contains(name);
}

// What a step reads of one variable; a Let counts only if its own value is used further on.
bool uses(const Block& block, size_t from, int variable);

bool uses(const Place& place, int v) {
  return place.buffer.index >= 0 && (place.slot.uses(v) || place.byte.uses(v));
}

bool uses(const ops::KernelCall& call, int v) {
  return std::ranges::any_of(call.fields, [&](const auto& field) {
    if (const auto* e = std::get_if<Expr>(&field.value)) return e->uses(v);
    if (const auto* list = std::get_if<std::vector<Expr>>(&field.value))
      return std::ranges::any_of(*list, [&](const Expr& e) { return e.uses(v); });
    return false;
  });
}

struct UsesVariable {
  const Block& block;
  size_t at;
  int v;

  bool operator()(const Loop& s) const { return s.count.uses(v) || uses(s.body, 0, v); }
  bool operator()(const Let& s) const { return s.value.uses(v) && uses(block, at + 1, s.variable); }
  bool operator()(const If& s) const { return s.condition.uses(v) || uses(s.then, 0, v); }
  bool operator()(const Wait& s) const { return s.handle.uses(v); }
  bool operator()(const Transfer& s) const {
    return uses(s.far, v) || uses(s.near, v) || s.line.uses(v) || s.lines.uses(v) || s.far_stride.uses(v) ||
           s.handle.uses(v);
  }
  bool operator()(const Keep& s) const {
    auto reads = [&](const Expr* e) { return e->uses(v); };
    return uses(s.from, v) || uses(s.to, v) ||
           std::ranges::any_of(std::array{&s.row, &s.rows, &s.lines, &s.from_stride, &s.to_stride}, reads);
  }
  bool operator()(const PutTogether& s) const { return (*this)(s.kept) || (*this)(s.rest); }
  bool operator()(const Kernel& s) const {
    if (s.call.function.empty()) return false;
    auto reads = [&](const Place& p) { return uses(p, v); };
    return uses(s.call, v) || std::ranges::any_of(s.inputs, reads) || std::ranges::any_of(s.outputs, reads) ||
           std::ranges::any_of(s.scratch, reads);
  }
};

bool uses(const Block& block, size_t from, int variable) {
  for (size_t i = from; i < block.size(); ++i)
    if (std::visit(UsesVariable{block, i, variable}, block[i].v)) return true;
  return false;
}

bool is_declaration(const Statement& s) {
  return s.head.starts_with("const int32_t ") || s.head.starts_with("struct ");
}

class Printer {
 public:
  Printer(const Section& section, const SectionContext& context) : context_(context) {
    for (const auto& name : section.variables) {
      values_.push_back(Expr::var(static_cast<int>(names_.size())));
      names_.push_back(identifier(name));
    }
    wanted_ = names_;
    ranges_.resize(names_.size());
    block(section.body, 1);
  }

  std::vector<Statement> lines;

 private:
  // A variable's name is its own as far as its scope reaches.
  void declare(int variable) {
    auto& name = names_[static_cast<size_t>(variable)];
    const auto& wanted = wanted_[static_cast<size_t>(variable)];
    name = wanted;
    auto taken = [&] { return is_reserved(name) || std::ranges::find(scope_, name) != scope_.end(); };
    for (int n = 2; taken(); ++n) name = fmt::format("{}_{}", wanted, n);
    scope_.push_back(name);
  }

  void block(const Block& steps, int indent) {
    auto outer = scope_.size();
    auto known = known_;
    auto first = std::exchange(block_, lines.size());
    print_steps(steps, indent);
    scope_.resize(outer);
    known_ = std::move(known);
    block_ = first;
  }

  void print_steps(const Block& steps, int indent) {
    for (size_t i = 0; i < steps.size(); ++i) {
      if (const auto* let = std::get_if<Let>(&steps[i].v)) {
        if (uses(steps, i + 1, let->variable)) print(*let, indent);
        continue;
      }
      if (const auto* branch = std::get_if<If>(&steps[i].v)) {
        i = print_branches(steps, i, *branch, indent);
        continue;
      }
      std::visit([&](const auto& step) { print(step, indent); }, steps[i].v);
    }
  }

  // Branches under one condition that follow each other are one; the last of them.
  size_t print_branches(const Block& steps, size_t at, const If& first, int indent) {
    auto condition = c(resolved(first.condition));
    auto joined = first;
    for (; at + 1 < steps.size(); ++at) {
      const auto* next = std::get_if<If>(&steps[at + 1].v);
      if (!next || c(resolved(next->condition)) != condition) break;
      joined.then.insert(joined.then.end(), next->then.begin(), next->then.end());
    }
    print(joined, indent);
    return at;
  }

  void add(int indent, std::string head, std::vector<std::string> arguments = {}, std::string tail = "") {
    lines.push_back({indent, std::move(head), std::move(arguments), std::move(tail)});
  }

  void print(const Let& let, int indent) {
    auto value = resolved(let.value);
    values_[static_cast<size_t>(let.variable)] = value.constant() ? value : Expr::var(let.variable);
    ranges_[static_cast<size_t>(let.variable)] = range_of(value, ranges_);
    if (value.constant()) return;
    auto text = c(value);  // may speak of what the name meant before
    if (auto known = known_.find(text); known != known_.end()) {
      names_[static_cast<size_t>(let.variable)] = known->second;
      return;
    }
    declare(let.variable);
    known_.emplace(text, name(let.variable));
    add(indent, fmt::format("const int32_t {} = {};", name(let.variable), text));
  }

  void print(const Loop& loop, int indent) {
    if (auto whole = whole_of_parts(loop)) return print(*whole, indent, true);
    auto count = resolved(loop.count);
    if (count.constant() == 0) return;
    if (count.constant() == 1) return once(loop, indent);
    values_[static_cast<size_t>(loop.variable)] = Expr::var(loop.variable);
    ranges_[static_cast<size_t>(loop.variable)] = {0, std::max<int64_t>(range_of(count, ranges_).high - 1, 0)};
    auto limit = c(count);
    auto outer = scope_.size();
    const bool outermost = !loop_;
    if (outermost) loop_ = {.scope = outer, .structures = {}};
    auto first = static_cast<long>(ahead_of_waits(indent));
    declare(loop.variable);
    const auto& v = name(loop.variable);
    braced(fmt::format("for (int32_t {} = 0; {} < {}; ++{})", v, v, limit, v), loop.body, indent);
    scope_.resize(outer);
    if (!outermost) return;
    for (auto& structure : loop_->structures) {
      structure.statement.indent = indent;
      scope_.push_back(structure.name);
      lines.insert(lines.begin() + first++, std::move(structure.statement));
    }
    loop_.reset();
  }

  // "head { body }", or "head statement;" where the body is one transfer or wait.
  void braced(const std::string& head, const Block& body, int indent) {
    size_t first = lines.size();
    add(indent, head + " {");
    block(body, indent + 1);
    if (lines.size() == first + 2 && lines.back().tail == ");" && lines.back().head.ends_with('(')) {
      auto only = std::move(lines.back());
      lines.resize(first);
      return add(indent, head + " " + only.head, std::move(only.arguments), std::move(only.tail));
    }
    add(indent, "}");
  }

  // A loop of one round is its body; in braces where it names values of its own.
  void once(const Loop& loop, int indent) {
    values_[static_cast<size_t>(loop.variable)] = 0;
    size_t first = lines.size();
    block(loop.body, indent);
    auto body = std::span(lines).subspan(first);
    bool names_values =
        std::ranges::any_of(body, [&](const Statement& s) { return s.indent == indent && is_declaration(s); });
    if (!names_values) return;
    for (auto& statement : body) ++statement.indent;
    lines.insert(lines.begin() + static_cast<long>(first), Statement{indent, "{", {}, ""});
    add(indent, "}");
  }

  void print(const If& branch, int indent) {
    auto condition = resolved(branch.condition);
    if (auto known = range_of(condition, ranges_); known.low == known.high) {
      if (known.low) block(branch.then, indent);
      return;
    }
    braced(fmt::format("if ({})", c(condition)), branch.then, indent);
  }

  void print(const Transfer& t, int indent, bool in_parts = false) {
    bool two_dimensional = resolved(t.lines).constant() != 1;
    std::vector<std::string> arguments = {byte(t.far), byte(t.near), c(resolved(t.line * t.lines))};
    if (two_dimensional) {
      arguments.push_back(c(resolved(t.far_stride)));
      arguments.push_back(c(resolved(t.line)));
    }
    arguments.push_back(request(t.handle));
    bool ram = kind_of(context_.target, t.engine) == Engine::Ram;  // takes any length
    add(indent,
        fmt::format("{}{}{}(", ram ? "ram_" : "", t.direction == Transfer::Direction::In ? "fetch" : "send",
                    two_dimensional    ? "_2d"
                    : in_parts && !ram ? "_parts"
                                       : ""),
        std::move(arguments), ");");
  }

  void print(const Wait& wait, int indent) {
    add(indent, engine_of(wait.handle) == Engine::Cluster ? "done(" : "ram_done(", {request(wait.handle)}, ");");
  }

  // The cores do it, as they do a kernel.
  void print(const Keep& keep, int indent) { print(as_call(keep), indent); }
  void print(const PutTogether& put, int indent) { print(as_call(put), indent); }

  // The arguments of a kernel are a structure. What no round of a loop changes is told before the loop, the rest in
  // each round, ahead of the waits: what is done while transfers run costs nothing.
  void print(const Kernel& kernel, int indent) {
    const auto& function = kernel.call.function;
    if (function.empty()) return;
    auto structure = structure_name();
    std::vector<std::string> given;
    std::vector<Statement> assigned;
    for (const auto& field : kernel.call.fields) {
      auto assign = [&](const std::string& part, std::string value) {
        assigned.push_back({indent, fmt::format("{}.{}{} = ", structure, field.name, part), {std::move(value)}, ";"});
      };
      if (auto value = field_value(kernel, field, assign); !value.empty())
        given.push_back(fmt::format(".{} = {}", field.name, value));
    }
    if (context_.arguments_in_calls)
      return add(indent, fmt::format("pi_cl_team_fork(TS_CORES, {}, &(struct {}_args){{", function, function),
                 std::move(given), "});");
    Statement declared{indent, fmt::format("struct {}_args {} = {{", function, structure), std::move(given), "};"};
    auto at = lines.begin() + static_cast<long>(ahead_of_waits(indent));
    if (loop_) {
      loop_->structures.push_back({structure, std::move(declared)});
      lines.insert(at, std::make_move_iterator(assigned.begin()), std::make_move_iterator(assigned.end()));
    } else {
      scope_.push_back(structure);
      lines.insert(at, std::move(declared));
    }
    add(indent, fmt::format("pi_cl_team_fork(TS_CORES, {}, &{});", function, structure));
  }

  std::string structure_name() const {
    auto taken = [&](const std::string& name) {
      return std::ranges::find(scope_, name) != scope_.end() ||
             (loop_ && std::ranges::find(loop_->structures, name, &Structure::name) != loop_->structures.end());
    };
    std::string name = "args";
    for (int n = 2; taken(name); ++n) name = fmt::format("args_{}", n);
    return name;
  }

  // Where the waits begin that the block has come by, unless something was named or a kernel called since.
  size_t ahead_of_waits(int indent) const {
    size_t found = lines.size();
    for (size_t at = lines.size(); at-- > block_;) {
      if (lines[at].indent != indent) continue;
      if (is_declaration(lines[at]) || lines[at].head.starts_with("pi_cl_team_fork(")) break;
      if (lines[at].head.ends_with("done(")) found = at;
    }
    return found;
  }

  // Whether a value is not the same in all rounds of the loops around it.
  bool varies(const std::string& value) const {
    if (!loop_ || context_.arguments_in_calls) return false;
    auto in_word = [](char ch) { return std::isalnum(static_cast<unsigned char>(ch)) || ch == '_'; };
    for (auto at = value.begin(); at != value.end();) {
      auto start = std::find_if(at, value.end(), in_word);
      at = std::find_if_not(start, value.end(), in_word);
      if (std::find(scope_.begin() + static_cast<long>(loop_->scope), scope_.end(), std::string(start, at)) !=
          scope_.end())
        return true;
    }
    return false;
  }

  // What the structure's initialiser says; what varies is handed to `assign`. Empty for what is not said there, and for
  // an operand that is absent: what an initialiser leaves out is zero.
  template <class Assign>
  std::string field_value(const Kernel& kernel, const ops::KernelCall::Field& field, Assign assign) {
    if (const auto* list = std::get_if<std::vector<Expr>>(&field.value)) {
      std::string text;
      for (size_t i = 0; i < list->size(); ++i) {
        auto value = c(resolved((*list)[i]));
        if (varies(value)) assign(fmt::format("[{}]", i), std::exchange(value, "0"));
        text += (text.empty() ? "" : ", ") + value;
      }
      return text.empty() ? "" : "{" + text + "}";
    }
    auto value = scalar_value(kernel, field);
    if (varies(value)) assign("", std::exchange(value, ""));
    return value;
  }
  std::string scalar_value(const Kernel& kernel, const ops::KernelCall::Field& field) {
    if (const auto* operand = std::get_if<ops::OperandRef>(&field.value)) return operand_value(kernel, *operand);
    if (const auto* number = std::get_if<Expr>(&field.value)) return c(resolved(*number));
    return c_float(std::get<float>(field.value));
  }

  std::string operand_value(const Kernel& kernel, const ops::OperandRef& operand) {
    using Kind = ops::OperandRef::Kind;
    const auto& places = operand.kind == Kind::Input    ? kernel.inputs
                         : operand.kind == Kind::Output ? kernel.outputs
                                                        : kernel.scratch;
    auto index = static_cast<size_t>(operand.index);
    if (index >= places.size() || places[index].buffer.index < 0) return "";
    return pointer(places[index]);
  }

  const schedule::Buffer& buffer(const Place& place) const {
    return context_.schedule.buffers[static_cast<size_t>(place.buffer.index)];
  }
  // Where the place lies in its arena.
  std::string byte(const Place& place) const {
    auto offset = resolved(place.slot * buffer(place).stride().count + place.byte);
    auto local = context_.local_names.find(place.buffer.index);
    const auto& start = local != context_.local_names.end()
                            ? local->second
                            : context_.buffer_names[static_cast<size_t>(place.buffer.index)];
    return start + " + " + c(offset);
  }
  // By its number from the first on, even where that is 0: functions that differ in it only are to look alike.
  std::string request(const Expr& handle) const {
    auto number = resolved(handle);
    bool counted =
        number.constant() || (number.op() == Expr::Op::Add && (number.left().constant() || number.right().constant()));
    return c(number) + (counted ? "" : " + 0");
  }
  std::string pointer(const Place& place) const {
    return fmt::format("{}({})", buffer(place).level == 0 ? "l1" : "l2", byte(place));
  }
  // All handles that one wait may mean are of one engine; its smallest will do.
  Engine engine_of(const Expr& handle) const {
    std::vector<Range> anything(values_.size(), Range{0, 0});
    auto low = static_cast<size_t>(range_of(resolved(handle), anything).low);
    return low < context_.engines.size() ? context_.engines[low] : Engine::Cluster;
  }

  const std::string& name(int variable) const { return names_[static_cast<size_t>(variable)]; }
  std::string c(const Expr& e) const { return e.c(names_); }
  // With the variables whose values are known replaced by them.
  Expr resolved(const Expr& e) const {
    if (e.op() == Expr::Op::Const) return e;
    if (e.op() == Expr::Op::Var) return values_[static_cast<size_t>(e.value())];
    return Expr::make(e.op(), resolved(e.left()), resolved(e.right()));
  }

  struct Structure {
    std::string name;
    Statement statement;
  };
  struct AroundKernels {
    size_t scope = 0;                   // names that mean something before it
    std::vector<Structure> structures;  // to be told before it
  };

  const SectionContext& context_;
  std::optional<AroundKernels> loop_;        // the outermost one around what is printed
  size_t block_ = 0;                         // the first line of the block that is printed
  std::vector<std::string> names_, wanted_;  // by variable: as printed, as the schedule calls it
  std::vector<std::string> scope_;           // names that mean something where we are
  std::vector<Expr> values_;
  std::vector<Range> ranges_;                 // by variable
  std::map<std::string, std::string> known_;  // values that have a name where we are
};

}  // namespace

std::vector<Statement> statements(const Section& section, const SectionContext& context) {
  return Printer(section, context).lines;
}

}  // namespace tessera::emit
