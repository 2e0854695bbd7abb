#include "emit/columns.hpp"

#include <gtest/gtest.h>

namespace tessera::emit {
namespace {

struct Table {
  explicit Table(const std::vector<Column>& all) : members(all[0].size()) {
    for (const auto& column : all) columns.add(column);
    columns.choose();
    for (const auto& column : all) texts.push_back(columns.text(column, true));
  }
  size_t members;
  Columns columns{"n"};
  std::vector<std::string> texts;
};

TEST(Columns, SumsAndMultiplesNeedNoColumn) {
  Table table({{"64", "128"}, {"16", "32"}, {"17", "33"}, {"L2_x", "L2_y"}});
  EXPECT_EQ(table.texts, (std::vector<std::string>{"n0 * 4", "n0", "n0 + 1", "n1"}));
  EXPECT_EQ(table.columns.rows(2), (std::vector<std::vector<std::string>>{{"16", "L2_x"}, {"32", "L2_y"}}));
}

TEST(Columns, TwoPointsAreNoLineButThreeAre) {
  EXPECT_EQ(Table({{"2", "4"}, {"7", "13"}}).texts[1], "n1");
  EXPECT_EQ(Table({{"2", "4", "9"}, {"7", "13", "28"}}).texts[1], "n0 * 3 + 1");
  EXPECT_EQ(Table({{"2", "4", "9"}, {"7", "13", "29"}}).texts[1], "n1");
}

TEST(Columns, NothingIsCountedInYesAndNo) {
  EXPECT_EQ(Table({{"0", "1"}, {"8", "9"}}).texts, (std::vector<std::string>{"n0", "n1"}));
}

TEST(Columns, WhatDoesNotMatterFollowsWhatDoes) {
  Table table({{"L3_a", "", "L3_c"}, {"L3_a", "L3_b", "L3_c"}, {"8", "16", ""}, {"2", "4", "6"}});
  EXPECT_EQ(table.texts, (std::vector<std::string>{"n0", "n0", "n1 * 4", "n1"}));
  Table alone({{"8", "", "5"}});
  EXPECT_EQ(alone.columns.rows(3), (std::vector<std::vector<std::string>>{{"8"}, {"0"}, {"5"}}));
}

TEST(Columns, ParenthesesStandWhereOperatorsDo) {
  Columns columns("n");
  columns.add({"3", "5"});
  columns.add({"4", "6"});
  columns.choose();
  EXPECT_EQ(columns.text({"4", "6"}, false), "(n0 + 1)");
  EXPECT_EQ(columns.text({"3", "5"}, false), "n0");
}

}  // namespace
}  // namespace tessera::emit
