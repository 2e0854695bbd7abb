// The coverage table: every operator is in it, and it says what is true of it.
#include "report/operators.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/operator.hpp"

namespace tessera::test {
namespace {

TEST(OperatorTable, SaysWhatTheDefinitionsSay) {
  auto table = report::operators_json()["operators"];
  ASSERT_EQ(table.size(), ops::table().size());
  for (size_t i = 0; i < table.size(); ++i) {
    auto& op = *ops::table()[i];
    auto& row = table[i];
    EXPECT_EQ(row["since"], op.since);
    EXPECT_EQ(row["whole"], std::string(op.whole));
    for (auto* key : {"operator", "tiling", "verified", "summary"})
      EXPECT_FALSE(row[key].get<std::string>().empty()) << op.type << " has no " << key;
    EXPECT_EQ(row["tiling"] == "all", op.tile_map && op.whole.empty() && !op.of_types) << op.type;
  }
}

// `tessera ops --markdown` between the marks of the page.
TEST(OperatorTable, StandsInTheDocumentation) {
  std::ifstream file(TESSERA_ROOT "/docs/operators.md");
  std::string page((std::istreambuf_iterator<char>(file)), {});
  const std::string begin = "<!-- operators -->\n", end = "<!-- end operators -->";
  auto from = page.find(begin), to = page.find(end);
  ASSERT_TRUE(from != std::string::npos && to != std::string::npos);
  EXPECT_TRUE(page.substr(from + begin.size(), to - from - begin.size()) == report::operators_markdown())
      << "docs/operators.md is not current: put the output of `tessera ops --markdown` between its marks";
}

// One form of an operator for each version of its operator set.
TEST(OperatorTable, FormsDoNotOverlap) {
  std::set<std::tuple<std::string_view, std::string_view, int>> seen;
  for (auto* op : ops::table())
    for (int version = op->since; version <= (op->until ? op->until : 30); ++version)
      EXPECT_TRUE(seen.insert({op->domain, op->type, version}).second) << op->type << " in version " << version;
}

}  // namespace
}  // namespace tessera::test
