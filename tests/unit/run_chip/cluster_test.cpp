// Teams, barriers and tasks.
#include "chip_program.hpp"

namespace tessera::run {
namespace {

TEST(Team, EveryCoreOfATeamRunsOnceAndNoOther) {
  expect_passes_everywhere(R"(
static PI_CL_L1 volatile int32_t runs[9];
static void count(void* arg) { runs[pi_core_id()] += *(int32_t*)arg; }
static void check(void* failed) {
  int32_t one = 1;
  for (int i = 0; i < 9; ++i) runs[i] = 0;
  static const int teams[] = {8, 1, 3, 8, 2, 7, 1, 8};
  for (unsigned k = 0; k < sizeof teams / sizeof *teams; ++k) {
    pi_cl_team_fork(teams[k], count, &one);
    for (int i = 0; i < 8; ++i) {
      int32_t expected = 0;
      for (unsigned j = 0; j <= k; ++j) expected += i < teams[j];
      if (runs[i] != expected) *(int*)failed = (int)(100 * k + i + 1);
    }
  }
  if (runs[8]) *(int*)failed = 99;
}
)" + kChecked);
}

TEST(Team, WhatIsWrittenBeforeABarrierIsReadBehindIt) {
  expect_passes_everywhere(R"(
static PI_CL_L1 volatile uint32_t turn[8], wrong[8];
static void rounds(void* arg) {
  uint32_t me = pi_core_id();
  (void)arg;
  wrong[me] = 0;
  for (uint32_t r = 1; r <= 20; ++r) {
    for (volatile uint32_t late = (me * r) % 13; late; --late) {}
    turn[me] = r;
    pi_cl_team_barrier();
    for (int i = 0; i < 5; ++i) wrong[me] += turn[i] != r;
    pi_cl_team_barrier();
  }
}
static void check(void* failed) {
  for (int k = 0; k < 3; ++k) pi_cl_team_fork(5, rounds, NULL);
  for (int i = 0; i < 5; ++i) if (wrong[i]) *(int*)failed = i + 1;
}
)" + kChecked);
}

// The platform's own fork and join, without a runtime around them, take 35 cycles.
TEST(Team, ForkAndJoinTakeLittleTime) {
  auto ran = run_on_chip(R"(
static void nothing(void* arg) { (void)arg; }
static void measure(void* cycles) {
  pi_perf_conf(1u << PI_PERF_CYCLES);
  for (int k = 0; k < 3; ++k) {
    pi_perf_reset();
    pi_perf_start();
    pi_cl_team_fork(8, nothing, NULL);
    pi_perf_stop();
    *(uint32_t*)cycles = pi_perf_read(PI_PERF_CYCLES);
  }
}
int main(void) {
  static uint32_t cycles;
  open_cluster();
  on_cluster(measure, &cycles);
  printf("%u\n", (unsigned)cycles);
  return 0;
})");
  ASSERT_TRUE(ran) << ran.error().text();
  const int cycles = std::atoi(ran->output.c_str());
  EXPECT_GE(cycles, 25);
  EXPECT_LE(cycles, 70);
}

TEST(Task, TasksRunOnTheControllerOneAfterTheOther) {
  for (auto [target, controller] : {std::pair{"siracusa", 0}, {"gap9", 8}}) {
    auto ran = run_on_chip(R"(
static uint32_t seen[3];
static void task(void* arg) { *(uint32_t*)arg = 100 + pi_core_id() + (pi_cluster_id() << 8); }
int main(void) {
  open_cluster();
  for (int i = 0; i < 3; ++i) on_cluster(task, &seen[i]);
  printf("%u %u %u, cluster %u\n", (unsigned)seen[0], (unsigned)seen[1], (unsigned)seen[2], (unsigned)pi_cluster_id());
  return 7;
})",
                           {.target = target});
    ASSERT_TRUE(ran) << ran.error().text();
    EXPECT_EQ(ran->exit_code, 7);
    EXPECT_EQ(ran->output, fmt::format("{0} {0} {0}, cluster 31\n", 100 + controller));
  }
}

TEST(Perf, CountersCountCyclesAndInstructions) {
  expect_passes(R"(
static void check(void* failed) {
  pi_perf_conf(1u << PI_PERF_CYCLES | 1u << PI_PERF_INSTR);
  pi_perf_reset();
  pi_perf_start();
  for (volatile int i = 0; i < 100; ++i) {}
  pi_perf_stop();
  uint32_t cycles = pi_perf_read(PI_PERF_CYCLES), instructions = pi_perf_read(PI_PERF_INSTR);
  if (instructions < 300 || instructions > 1000) *(int*)failed = 1;
  if (cycles <= instructions) *(int*)failed = 2;
  if (pi_perf_read(PI_PERF_CYCLES) != cycles) *(int*)failed = 3;
  pi_perf_reset();
  if (pi_perf_read(PI_PERF_CYCLES) != 0) *(int*)failed = 4;
}
)" + kChecked);
}

TEST(Memory, ChunksAreDisjointAndEnd) {
  expect_passes(R"(
int main(void) {
  uint8_t *a = pi_l2_malloc(100), *b = pi_l2_malloc(1), *c = pmsis_l1_malloc(40), *d = pi_cl_l1_malloc(NULL, 4);
  if (!a || !b || b < a + 100 || ((uintptr_t)a | (uintptr_t)b) % 16) return 1;
  if (!c || !d || d < c + 40 || (uintptr_t)c >> 24 != 0x10 || (uintptr_t)a >> 24 != 0x1c) return 2;
  if (pi_l2_malloc(4 << 20) || pi_l2_malloc(-1) || pmsis_l1_malloc(1 << 20)) return 3;
  if (!pi_l2_malloc(16)) return 4;
  struct pi_device ram;
  uint32_t at, next;
  if (pi_ram_alloc(&ram, &at, 1000) || pi_ram_alloc(&ram, &next, 1 << 20) || next < at + 1000) return 5;
  if (!pi_ram_alloc(&ram, &next, 8 << 20)) return 6;
  return 0;
})");
}

TEST(Faults, AProgramMayNotUseTheFpuOfTheFabricController) {
  auto ran = run_on_chip("volatile float x = 1.5f; int main(void) { x = x * x; return 0; }");
  ASSERT_FALSE(ran);
  EXPECT_NE(ran.error().text().find("without an FPU"), std::string::npos) << ran.error().text();
}

}  // namespace
}  // namespace tessera::run
