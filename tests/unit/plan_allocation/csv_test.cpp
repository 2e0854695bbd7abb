#include "plan/allocation/csv.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "plan/allocation/allocate.hpp"

namespace tessera::allocation {
namespace {

Problem read(const std::string& text) {
  std::istringstream in(text);
  auto problem = read_csv(in, "test.csv");
  EXPECT_TRUE(problem) << problem.error().text();
  return problem.value_or(Problem{});
}

TEST(Csv, ReadsMiniMallocsExample) {
  const Problem problem = read("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\nb4,9,21,4\nb5,0,21,4\n");
  ASSERT_EQ(problem.buffers.size(), 5u);
  EXPECT_EQ(problem.buffers[3], (Buffer{.id = "b4", .lower = 9, .upper = 21, .size = 4_B}));
  EXPECT_EQ(allocate(problem, {.minimize = true}).value().height, 12_B);
}

TEST(Csv, ReadsEveryColumnInAnyOrder) {
  const Problem problem = read(
      "size,id,alignment,upper,lower,offset,gaps,share,apart\n"
      "64,x,16,9,0,,2-4 5-8@0:32,g,z\n"
      "32,y,,9,0,128,,g,\n"
      "8,z,1,3,-1,,,,\n");
  ASSERT_EQ(problem.buffers.size(), 3u);
  const Buffer expected{
      .id = "x", .lower = 0, .upper = 9, .size = 64_B, .alignment = 16, .gaps = {{2, 4, 0_B, 0_B}, {5, 8, 0_B, 32_B}}};
  EXPECT_EQ(problem.buffers[0], expected);
  EXPECT_EQ(problem.buffers[1].offset, 128_B);
  EXPECT_EQ(problem.buffers[1].alignment, 1);
  EXPECT_EQ(problem.buffers[2].lower, -1);
  EXPECT_EQ(problem.share, (std::vector<std::vector<int>>{{0, 1}}));
  EXPECT_EQ(problem.apart, (std::vector<std::pair<int, int>>{{0, 2}}));
}

TEST(Csv, KnowsTheOtherNames) {
  const Problem problem = read("buffer,start,end,size\n0,5,7,64\n");
  EXPECT_EQ(problem.buffers[0].upper, 8);  // "end" is the last moment
  EXPECT_EQ(read("buffer_id,begin,upper,size\n0,5,7,64\n").buffers[0].upper, 7);
}

TEST(Csv, TakesWhatEditorsLeaveBehind) {
  const Problem problem = read("\xEF\xBB\xBFid, lower, upper, size\r\n a , 0 , 1 , 2 \r\n\r\nb,0,1,2");
  ASSERT_EQ(problem.buffers.size(), 2u);
  EXPECT_EQ(problem.buffers[0].id, "a");
  EXPECT_EQ(problem.buffers[1].size, 2_B);
}

TEST(Csv, WritesWhatItReads) {
  const Problem problem = read("id,lower,upper,size,alignment,gaps\na,0,9,64,16,2-4 5-8@0:32\nb,0,9,32,1,\n");
  const Solution solution = allocate(problem, {.minimize = true}).value();
  const Problem again = read(to_csv(problem, solution));
  for (size_t b = 0; b < problem.buffers.size(); ++b) {
    Buffer expected = problem.buffers[b];
    expected.offset = solution.offsets[b];
    EXPECT_EQ(again.buffers[b], expected);
  }
  const Problem plain{.buffers = {{"a", 0, 9, 64_B}}};
  EXPECT_EQ(to_csv(plain, allocate(plain).value()), "id,lower,upper,size,offset\na,0,9,64,0\n");
}

}  // namespace
}  // namespace tessera::allocation
