#include "emit/sharing.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>

#include "emit/alignment.hpp"
#include "emit/columns.hpp"

namespace tessera::emit {

namespace {

using Cuts = std::vector<std::vector<CutStatement>>;  // by function and statement

// Or tells its arguments.
bool calls_kernel(const Statement& statement) {
  return std::ranges::any_of(std::array{"pi_cl_team_fork(", "struct ", "args"},
                             [&](auto* begin) { return statement.head.starts_with(begin); });
}

Row::Kind kind_of(const Statement& s) {
  if (s.head == "}") return Row::Kind::Closes;
  if (calls_kernel(s)) return Row::Kind::Call;
  if (s.head.starts_with("const int32_t ")) return Row::Kind::Name;
  return s.head.ends_with('{') && s.arguments.empty() && s.tail.empty() ? Row::Kind::Opens : Row::Kind::Step;
}

// The functions whose skeletons are the same, as drafts in the order of their first members.
std::vector<Draft> alike(const std::vector<Function>& functions, const Cuts& cuts) {
  std::vector<Draft> drafts;
  std::map<std::string, size_t> by_skeleton;
  for (size_t f = 0; f < functions.size(); ++f) {
    std::string skeleton;
    for (const auto& cut : cuts[f]) skeleton += '\n' + cut.skeleton;
    auto [at, added] = by_skeleton.try_emplace(skeleton, drafts.size());
    if (added) {
      drafts.push_back({});
      for (size_t s = 0; s < cuts[f].size(); ++s)
        drafts.back().rows.push_back({kind_of(functions[f].body[s]), cuts[f][s].skeleton, {}});
    }
    auto& draft = drafts[at->second];
    draft.members.push_back(f);
    for (size_t s = 0; s < cuts[f].size(); ++s) draft.rows[s].at.push_back(static_cast<int>(s));
  }
  return drafts;
}

// Drafts that call the same kernels in the same way are joined where few of their steps differ, the longest first,
// until about so many lines are saved. What is put in place of its predecessor keeps the order of first members.
void join_nearly_alike(std::vector<Draft>& drafts, const std::vector<Function>& functions, const Cuts& cuts,
                       size_t lines) {
  constexpr size_t neighbours = 12;  // candidates to look at: there may be hundreds
  std::vector<size_t> longest_first(drafts.size());
  std::iota(longest_first.begin(), longest_first.end(), size_t{0});
  std::ranges::stable_sort(longest_first, std::greater(), [&](size_t d) { return drafts[d].rows.size(); });
  std::map<std::string, std::vector<size_t>> by_kernels;
  for (size_t saved = 0; size_t d : longest_first) {
    if (saved >= lines) break;
    std::string kernels;
    auto f = drafts[d].members[0];
    for (size_t s = 0; s < cuts[f].size(); ++s)
      if (calls_kernel(functions[f].body[s])) kernels += cuts[f][s].skeleton;
    auto& others = by_kernels[kernels];
    auto joins = [&](size_t other) {
      auto [first, second] = std::minmax(other, d);
      auto rows = drafts[first].rows.size() + drafts[second].rows.size();
      auto both = joined(drafts[first], drafts[second]);
      if (!both) return false;
      saved += rows - both->rows.size();
      drafts[first] = std::move(*both);
      drafts[second] = {};
      std::ranges::replace(others, other, first);
      return true;
    };
    if (std::ranges::any_of(others | std::views::reverse | std::views::take(neighbours), joins)) continue;
    others.push_back(d);
  }
  std::erase_if(drafts, [](const Draft& draft) { return draft.members.empty(); });
}

// The body that serves all members of a draft, with the numbers that are not the same in all replaced, and an if around
// what not all of them do.
class Generalizer {
 public:
  Generalizer(const Draft& draft, const std::vector<Function>& functions, const Cuts& cuts,
              const std::set<std::string>& constants)
      : draft_(draft), functions_(functions), cuts_(cuts), constants_(constants) {}

  Family run() {
    for (const auto& row : draft_.rows) {
      if (!row.in_all()) numbers_.add(presence(row));
      auto first = source(row);
      Cutter cutter(functions_[first.function], constants_);
      size_t place = 0;
      each_text(statement(first), [&](const std::string& text) {
        for (const auto& piece : cutter.cut(text))
          if (piece.kind != Piece::Kind::Text)
            if (auto all = column(row, place++); !constant(all)) table(piece.kind).add(all);
      });
    }
    numbers_.choose();
    block(0, draft_.rows.size(), Column(draft_.members.size(), "1"), 0);
    family_.members = draft_.members;
    family_.numbers = numbers_.rows(draft_.members.size());
    family_.reals = reals_.rows(draft_.members.size());
    return std::move(family_);
  }

 private:
  struct Place {
    size_t function, statement;
  };
  // The first member that has it.
  Place source(const Row& row) const {
    auto m = static_cast<size_t>(std::ranges::find_if(row.at, [](int at) { return at >= 0; }) - row.at.begin());
    return {draft_.members[m], static_cast<size_t>(row.at[m])};
  }
  const Statement& statement(const Place& place) const { return functions_[place.function].body[place.statement]; }

  // What stands there in each member.
  Column column(const Row& row, size_t place) const {
    Column all;
    for (size_t m = 0; m < row.at.size(); ++m)
      all.push_back(row.at[m] >= 0 ? cuts_[draft_.members[m]][static_cast<size_t>(row.at[m])].values[place] : "");
    return all;
  }
  // The one value of a column that has no other.
  static std::optional<std::string> constant(const Column& all) {
    auto first = *std::ranges::find_if(all, [](const std::string& v) { return !v.empty(); });
    bool same = std::ranges::all_of(all, [&](const std::string& v) { return v.empty() || v == first; });
    return same ? std::optional(first) : std::nullopt;
  }
  Columns& table(Piece::Kind kind) { return kind == Piece::Kind::Real ? reals_ : numbers_; }
  static Column presence(const Row& row) {
    Column all;
    for (int at : row.at) all.push_back(at >= 0 ? "1" : "0");
    return all;
  }

  size_t end_of(size_t row) const {
    int depth = 0;
    do {
      auto kind = draft_.rows[row].kind;
      depth += kind == Row::Kind::Opens ? 1 : kind == Row::Kind::Closes ? -1 : 0;
    } while (++row < draft_.rows.size() && depth > 0);
    return row;
  }

  // Rows [first, last), which stand where `present` members come by.
  void block(size_t first, size_t last, const Column& present, int deeper) {
    for (size_t at = first; at < last;) {
      auto here = presence(draft_.rows[at]);
      size_t end = end_of(at), items = 1;
      if (here == present) {
        item(at, end, here, deeper);
        at = end;
        continue;
      }
      for (; end < last && presence(draft_.rows[end]) == here; ++items) end = end_of(end);
      guarded(at, end, items, here, deeper);
      at = end;
    }
  }

  void item(size_t at, size_t end, const Column& present, int deeper) {
    add(draft_.rows[at], deeper);
    if (end == at + 1) return;
    block(at + 1, end - 1, present, deeper);
    add(draft_.rows[end - 1], deeper);
  }

  // What stands alone takes the condition along.
  void guarded(size_t at, size_t end, size_t items, const Column& present, int deeper) {
    auto flag = numbers_.text(present, true);
    if (items == 1 && draft_.rows[at].kind != Row::Kind::Name) {
      auto first = family_.body.size();
      item(at, end, present, deeper);
      auto& head = family_.body[first].head;
      constexpr std::string_view condition = "if (";
      if (head.starts_with(condition)) {
        head = fmt::format("if ({} && {}", flag, head.substr(condition.size()));
        return;
      }
      if (end == at + 1) {
        head = fmt::format("if ({}) {}", flag, head);
        return;
      }
      family_.body.resize(first);
    }
    auto indent = statement(source(draft_.rows[at])).indent + deeper;
    family_.body.push_back({indent, fmt::format("if ({}) {{", flag), {}, ""});
    block(at, end, present, deeper + 1);
    family_.body.push_back({indent, "}", {}, ""});
  }

  void add(const Row& row, int deeper) {
    auto first = source(row);
    auto general = statement(first);
    general.indent += deeper;
    Cutter cutter(functions_[first.function], constants_);
    size_t place = 0;
    each_text(general, [&](std::string& text) { text = general_text(cutter.cut(text), row, place); });
    family_.body.push_back(std::move(general));
  }

  std::string general_text(const std::vector<Piece>& pieces, const Row& row, size_t& place) {
    std::string text;
    for (size_t p = 0; p < pieces.size(); ++p) {
      if (pieces[p].kind == Piece::Kind::Text) {
        text += pieces[p].text;
        continue;
      }
      auto all = column(row, place++);
      std::string_view after = p + 1 < pieces.size() ? std::string_view(pieces[p + 1].text) : "";
      auto same = constant(all);
      text += same ? *same : table(pieces[p].kind).text(all, begins(text) && ends(after));
    }
    return text;
  }
  // Whether an operand that stands there needs no parentheses whatever it is.
  static bool begins(const std::string& before) {
    auto last = before.find_last_not_of(' ');
    return last == std::string::npos || std::string_view("({[,=<>+&").find(before[last]) != std::string::npos;
  }
  static bool ends(std::string_view after) {
    auto next = after.find_first_not_of(' ');
    return next == std::string::npos || std::string_view(")}],;=<>+-&").find(after[next]) != std::string::npos;
  }

  const Draft& draft_;
  const std::vector<Function>& functions_;
  const Cuts& cuts_;
  const std::set<std::string>& constants_;
  Columns numbers_{"n"}, reals_{"r"};
  Family family_;
};

}  // namespace

std::vector<Family> families(std::vector<Function> functions, const std::set<std::string>& constants, size_t save) {
  if (save == 0)
    for (auto& function : functions)
      for (auto& statement : function.body)
        each_text(statement, [](std::string& text) { text = tidied(std::move(text)); });
  Cuts cuts;
  for (const auto& function : functions) {
    Cutter cutter(function, constants);
    cuts.emplace_back();
    for (const auto& statement : function.body) cuts.back().push_back(cutter.cut(statement));
  }
  auto drafts = alike(functions, cuts);
  if (save > 0) join_nearly_alike(drafts, functions, cuts, save);
  std::vector<Family> all;
  for (const auto& draft : drafts) {
    if (draft.members.size() > 1)
      all.push_back(Generalizer(draft, functions, cuts, constants).run());
    else
      all.push_back({draft.members, functions[draft.members[0]].body, {}, {}});
  }
  return all;
}

}  // namespace tessera::emit
