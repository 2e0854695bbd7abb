// Tables, and what profile, compare, fit and diff make of values.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/comparison.hpp"
#include "report/difference.hpp"
#include "report/fit.hpp"
#include "report/profile.hpp"
#include "report/table.hpp"

namespace tessera::report {
namespace {

using Json = nlohmann::json;

TEST(Table, AlignsInATerminalAndEscapesOnAPage) {
  Table table({{"name"}, {"n", Table::Right}, {"why"}});
  table.add({"a|b", "7", ""});
  table.add({"größe", "123", "x"});
  EXPECT_EQ(table.to_text(" "), " name     n  why\n a|b      7\n größe  123  x\n");
  EXPECT_EQ(table.to_markdown(), "| name | n | why |\n|---|---:|---|\n| a\\|b | 7 |  |\n| größe | 123 | x |\n");
}

OperatorCost cost(std::string name, double compute, double dma, double wait, double overhead) {
  return {.name = std::move(name),
          .op = "Conv",
          .phase = "training",
          .cycles = compute + wait + overhead,
          .compute = compute,
          .dma_wait = wait,
          .dma = {.l2_l1 = dma, .l3_l2 = 0, .any = dma},
          .estimate = compute,
          .macs = 10,
          .tiles = 2};
}

TEST(ExcessWait, IsWhatTheLongerOfComputeAndDmaDoesNotExplain) {
  EXPECT_EQ(cost("hidden", 100, 40, 0, 5).excess_wait(), 0);
  EXPECT_EQ(cost("in turn", 100, 40, 40, 5).excess_wait(), 40);    // compute could have covered all of it
  EXPECT_EQ(cost("dma bound", 100, 150, 50, 5).excess_wait(), 0);  // nobody can do better
  EXPECT_EQ(cost("dma in turn", 100, 150, 150, 5).excess_wait(), 100);
  auto two = cost("two engines", 100, 40, 60, 5);
  two.dma.l3_l2 = 130;  // the busier engine decides
  EXPECT_EQ(two.unavoidable_wait(), 30);
  EXPECT_EQ(two.excess_wait(), 30);
}

TEST(ShareHidden, IsOneWithoutTransfersAndNeverNegative) {
  EXPECT_EQ(share_hidden(0, 0), 1);
  EXPECT_EQ(share_hidden(100, 25), 0.75);
  EXPECT_EQ(share_hidden(100, 130), 0);
}

Profile two_operators() {
  Profile profile;
  profile.run.model = "net";
  profile.run.target = "chip";
  profile.run.losses = {1};
  for (auto& c : {cost("cheap", 10, 5, 5, 0), cost("dear", 100, 40, 10, 1)}) {
    profile.run.operators.push_back(c);
    profile.operators.push_back({.cost = c, .why = "because"});
  }
  profile.operators[1].operands = {
      {"x",
       "input 0",
       "L3",
       100,
       {{"L3_L2", 2, 50, false, false, true, 130, 0, 4}, {"L2_L1", 2, 10, true, false, false, 200, 0, 8}}},
      {"w", "input 1", "L1", 8, {}},
      {"y", "output 0", "L2", 40, {{"L2_L1", 1, 40, false, true, false, 0, 40, 1}}}};
  return profile;
}

TEST(Profile, SortsByCostAndSumsUp) {
  const auto profile = two_operators();
  const auto json = Json::parse(to_json(profile));
  ASSERT_EQ(json["operators"].size(), 2u);
  EXPECT_EQ(json["operators"][0]["name"], "dear");
  EXPECT_EQ(json["operators"][0]["buffers"], "2~/2< . > 1'");
  EXPECT_EQ(json["operators"][0]["operands"][0]["hops"][0]["keeps"], true);
  EXPECT_EQ(json["operators"][0]["dma_bytes"]["L2_L1"], 240);
  EXPECT_EQ(json["operators"][0]["dma_bytes"]["L3_L2"], 130);
  EXPECT_EQ(json["operators"][0]["operands"][0]["hops"][0]["in_bytes"], 130);
  EXPECT_EQ(json["sum"]["cycles"], 126);
  EXPECT_EQ(json["sum"]["dma_wait_cycles"], 15);
  EXPECT_EQ(json["sum"]["excess_wait_cycles"], 15);
  EXPECT_NEAR(json["sum"]["dma_hidden"].get<double>(), 1 - 15.0 / 45, 1e-9);
  const auto text = to_text(profile);
  EXPECT_LT(text.find("dear"), text.find("cheap"));
  EXPECT_NE(to_text(profile, 1).find("1 others"), std::string::npos);
}

Cell cell(std::string mode, double cycles) {
  Cell c{.model = "net", .target = "chip", .l1 = "64k", .home = "auto", .mode = std::move(mode)};
  c.run.emplace();
  c.run->train_cycles = cycles;
  c.run->optimizer_cycles = 10;
  c.run->losses = {1};
  c.same_bits = true;
  return c;
}

TEST(Comparison, SpeedsUpOverTheSameNetworkChipAndMemory) {
  Comparison all{.cells = {cell("untiled", 390), cell("single", 190), cell("double", 90)}};
  EXPECT_DOUBLE_EQ(*all.speedup(all.cells[2], "untiled"), 4);
  EXPECT_DOUBLE_EQ(*all.speedup(all.cells[2], "single"), 2);
  all.cells[1].l1 = "32k";
  EXPECT_FALSE(all.speedup(all.cells[2], "single"));
}

TEST(Comparison, HasRowsForWhatFailsAndTellsBadFromRefused) {
  Comparison all{.cells = {cell("single", 1), cell("double", 1), cell("auto", 1), cell("untiled", 1)}};
  all.cells[0].run.reset(), all.cells[0].failure = does_not_fit("too large | by far").hint("less");
  all.cells[1].same_bits = false;
  all.cells[2].run.reset(), all.cells[2].failure = mismatch("a race");
  EXPECT_EQ(all.bad(), 2u);
  const auto json = Json::parse(to_json(all));
  EXPECT_EQ(json["rows"][0]["status"], "does not fit");
  EXPECT_EQ(json["rows"][0]["reason"], "too large | by far");
  EXPECT_EQ(json["rows"][1]["status"], "other bits");
  EXPECT_EQ(json["rows"][2]["status"], "failed");
  EXPECT_EQ(json["rows"][3]["status"], "ok");
  const auto page = to_markdown(all);
  EXPECT_EQ(std::count(page.begin(), page.end(), '\n'), 6);
  EXPECT_NE(page.find("does not fit: too large \\| by far"), std::string::npos);
}

TEST(Fit, SaysWhatIsMissingAndWhatIsAlive) {
  Fit fit{.model = "net", .target = "chip"};
  fit.levels.push_back({.level = "L2", .memory = 1000, .budget = 1000, .smallest = 1200});
  auto& l2 = fit.levels[0];
  l2.arena = {1030, 1000};
  l2.reserved = 170, l2.beside = true;
  l2.peak = "conv1";
  l2.living = {{"w", "parameter", 800, "conv1", "conv2"}};
  l2.curve = {{1200, 50.0, 5.0}, {2000, 40.0, 5.0}};
  fit.blocked = "its tensors do not fit";
  const auto json = Json::parse(to_json(fit));
  EXPECT_EQ(json["fits"], false);
  EXPECT_EQ(json["L2"]["missing"], 370);
  EXPECT_EQ(json["L2"]["reserved"], 170);
  EXPECT_NEAR(json["L2"]["arena"]["gap_percent"].get<double>(), 3, 1e-9);
  EXPECT_EQ(json["L2"]["peak"]["alive"][0]["name"], "w");
  EXPECT_NE(to_text(fit).find("+25.0 %"), std::string::npos) << to_text(fit);
  EXPECT_NE(to_text(fit).find("370 bytes more than there are"), std::string::npos);
}

TEST(Difference, ShowsWhatChangedMostFirst) {
  Difference d{.a = "a", .b = "b"};
  d.operators = {{"one", "Conv", "training", "2 tiles", "2 tiles", 10.0, 12.0},
                 {"two", "Conv", "training", "2 tiles", "4 tiles", 100.0, 80.0},
                 {"three", "Relu", "training", "1 tile", "1 tile", 7.0, 7.0},
                 {"four", "Relu", "training", "", "1 tile", {}, {}, 0, 1}};
  d.first = FirstDifference{"two", "Conv", "training", "y", 1};
  const auto text = to_text(d);
  EXPECT_LT(text.find("  two"), text.find("  one"));
  EXPECT_EQ(text.find("three"), std::string::npos);
  EXPECT_NE(text.find("only in b"), std::string::npos);
  EXPECT_FALSE(d.same_bits());
  EXPECT_EQ(Json::parse(to_json(d))["first_difference"]["operator"], "two");
}

}  // namespace
}  // namespace tessera::report
