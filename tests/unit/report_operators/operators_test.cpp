// The coverage table: every operator is in it, and it says what is true of it.
#include "report/operators.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "ops/builder.hpp"
#include "support/maker.hpp"

namespace tessera::test {
namespace {

constexpr DType all_types[] = {DType::F32, DType::I64, DType::I32, DType::U8, DType::Bool};

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
    EXPECT_EQ(row["done_by"] == "view", ops::is_view(op) && op.aliases) << op.type;
    EXPECT_EQ(row["done_by"].get<std::string>().starts_with("DMA"), op.copies) << op.type;
    EXPECT_EQ(row["tiling"] == "all", op.tile_map && op.whole.empty() && !op.of_types) << op.type;
  }
}

std::string names(const std::set<DType>& types) {
  std::string all;
  for (auto type : types) all += fmt::format("{} ", name_of(type));
  return all;
}

// The types that inference takes for an operator's data, found by trying: its float operands (or, of one that takes
// none, its first) given every other type, over many random nodes.
std::set<DType> types_by_inference(const ops::Operator& op) {
  std::set<DType> taken;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    Maker maker(seed);
    if (!maker.grow(op)) continue;
    auto& drawn = maker.forest.graph;
    auto& node = drawn.nodes()[0];
    auto of = [&](TensorId t) { return drawn.at(t).type.dtype; };
    bool floats = std::ranges::any_of(node.inputs, [&](auto t) { return t && of(t) == DType::F32; });
    auto data = floats ? DType::F32 : of(node.inputs[0]);
    for (auto type : all_types) {
      Graph graph = drawn;
      for (auto t : node.inputs)
        if (t && of(t) == data) {
          auto& tensor = graph.at(t);
          tensor.type.dtype = type;
          if (!tensor.value.empty()) tensor.value = cast(drawn.at(t).value, type);
        }
      if (ops::infer_types(graph) && (!op.tile_map || op.tile_map({graph, graph.nodes()[0]}))) taken.insert(type);
    }
  }
  return taken;
}

TEST(OperatorTable, NamesTheTypesThatInferenceTakes) {
  for (auto* op : ops::table()) {
    auto taken = types_by_inference(*op);
    if (taken.empty()) continue;  // of constants, or in place: random nodes do without it
    std::set<DType> named;
    for (auto type : all_types)
      if (op->types.contains(type)) named.insert(type);
    EXPECT_EQ(names(named), names(taken)) << op->domain << "." << op->type << " of set " << op->since;
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
