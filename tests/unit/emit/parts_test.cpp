#include "emit/parts.hpp"

#include <gtest/gtest.h>

namespace tessera::emit {
namespace {

using schedule::If;
using schedule::Loop;
using schedule::Step;
using schedule::Transfer;
using schedule::Wait;

// 70 000 + 4 * t bytes through request 3, in parts.
Loop in_parts() {
  auto t = Expr::var(0), part = Expr::var(1), all = t * 4 + 70'000;
  Transfer transfer{.far = {{0}, 0, t * 8 + part * 65528},
                    .near = {{1}, t % 2, 0 + part * 65528},
                    .line = min(Expr(65528), all - part * 65528),
                    .handle = 3};
  return {1, (all + 65527) / 65528, {Step{If{less(0, part), {Step{Wait{3}}}}}, Step{transfer}}};
}
Transfer& transfer(Loop& loop) {
  return std::get<Transfer>(loop.body[1].v);
}

TEST(Parts, OneTransferIsMeantByTheLoop) {
  auto whole = whole_of_parts(in_parts());
  ASSERT_TRUE(whole);
  auto t = Expr::var(0);
  EXPECT_TRUE(same(whole->line, t * 4 + 70'000));
  EXPECT_TRUE(same(whole->far.byte, t * 8));
  EXPECT_EQ(whole->near.byte.constant(), 0);
  EXPECT_TRUE(same(whole->near.slot, t % 2));
}

TEST(Parts, WhatIsNotThatLoopStaysALoop) {
  auto part = Expr::var(1);
  auto gap = in_parts(), pool = in_parts(), again = in_parts(), lines = in_parts(), fewer = in_parts();
  transfer(gap).far.byte = part * 65536;
  transfer(pool).handle = 3 + part % 2;
  std::get<If>(again.body[0].v).condition = less(1, part);
  transfer(lines).lines = 2;
  fewer.count = 1;
  for (const auto& loop : {gap, pool, again, lines, fewer}) EXPECT_FALSE(whole_of_parts(loop));
}

}  // namespace
}  // namespace tessera::emit
