// The cluster's DMA and the external RAM.
#include "chip_program.hpp"

namespace tessera::run {
namespace {

// Bytes that say where they came from, and the two memories that most programs use.
const std::string kBytes = R"(
static PI_CL_L1 uint8_t near[70000];
static PI_L2 uint8_t far[70000], back[70000];
static uint8_t byte_at(uint32_t i) { return (uint8_t)(i * 7 + (i >> 8) * 13 + 1); }
static void fill(uint8_t* to, uint32_t n) { for (uint32_t i = 0; i < n; ++i) to[i] = byte_at(i); }
static void clear(uint8_t* to, uint32_t n) { for (uint32_t i = 0; i < n; ++i) to[i] = 0; }
)";

// The same once the far memory is filled.
const std::string kFilled = R"(
int main(void) {
  static int failed;
  fill(far, sizeof far);
  open_cluster();
  on_cluster(check, &failed);
  return failed;
}
)";

TEST(Dma, OneDimensionBothWays) {
  expect_passes_everywhere(kBytes + R"(
static void check(void* failed) {
  static const uint32_t sizes[] = {1, 3, 4, 64, 1000, 65535};
  for (unsigned k = 0; k < sizeof sizes / sizeof *sizes; ++k) {
    pi_cl_dma_cmd_t in = {0}, out = {0};
    pi_cl_dma_cmd((uint32_t)(far + 1), (uint32_t)(near + 5), sizes[k], PI_CL_DMA_DIR_EXT2LOC, &in);
    pi_cl_dma_cmd_wait(&in);
    pi_cl_dma_cmd((uint32_t)(back + 2), (uint32_t)(near + 5), sizes[k], PI_CL_DMA_DIR_LOC2EXT, &out);
    pi_cl_dma_cmd_wait(&out);
    for (uint32_t i = 0; i < sizes[k]; i += sizes[k] > 100 ? 97 : 1)
      if (back[2 + i] != byte_at(1 + i)) *(int*)failed = (int)k + 1;
  }
}
)" + kFilled);
}

TEST(Dma, LinesAreStridedInL2AndDenseInL1) {
  expect_passes_everywhere(kBytes + R"(
static void check(void* failed) {
  pi_cl_dma_cmd_t in = {0}, out = {0};
  for (int i = 0; i < 70000; ++i) near[i] = 0;
  pi_cl_dma_cmd_2d((uint32_t)far, (uint32_t)near, 10 * 24, 100, 24, PI_CL_DMA_DIR_EXT2LOC, &in);
  pi_cl_dma_cmd_wait(&in);
  for (uint32_t l = 0; l < 10; ++l)
    for (uint32_t i = 0; i < 24; ++i) if (near[l * 24 + i] != byte_at(l * 100 + i)) *(int*)failed = 1;
  if (near[240]) *(int*)failed = 2;
  pi_cl_dma_cmd_2d((uint32_t)back, (uint32_t)near, 10 * 24, 50, 24, PI_CL_DMA_DIR_LOC2EXT, &out);
  pi_cl_dma_cmd_wait(&out);
  for (uint32_t l = 0; l < 10; ++l)
    for (uint32_t i = 0; i < 50; ++i)
      if (back[l * 50 + i] != (i < 24 ? byte_at(l * 100 + i) : 0)) *(int*)failed = 3;
}
int main(void) {
  static int failed;
  fill(far, sizeof far);
  clear(back, sizeof back);
  open_cluster();
  on_cluster(check, &failed);
  return failed;
})");
}

TEST(Dma, ManyInFlightAndWaitedForInAnyOrder) {
  expect_passes_everywhere(kBytes + R"(
static pi_cl_dma_cmd_t cmd[16];
static void check(void* failed) {
  for (int round = 0; round < 4; ++round) {
    for (uint32_t k = 0; k < 16; ++k)
      pi_cl_dma_cmd((uint32_t)(far + 1000 * k), (uint32_t)(near + 500 * k), 480, PI_CL_DMA_DIR_EXT2LOC, &cmd[k]);
    for (uint32_t k = 0; k < 16; ++k) {
      uint32_t w = (k * 5 + 3) % 16;
      pi_cl_dma_cmd_wait(&cmd[w]);
      for (uint32_t i = 0; i < 480; i += 53) if (near[500 * w + i] != byte_at(1000 * w + i)) *(int*)failed = 1;
    }
  }
}
)" + kFilled);
}

// A transfer that ends while the controller sits in a barrier must not open it.
TEST(Dma, ATransferMayEndWhileTheTeamWorks) {
  expect_passes_everywhere(kBytes + R"(
static PI_CL_L1 volatile uint32_t steps[8], early[8];
static void work(void* arg) {
  uint32_t me = pi_core_id();
  (void)arg;
  early[me] = 0;
  for (uint32_t r = 1; r <= 30; ++r) {
    for (volatile uint32_t late = me * 9; late; --late) {}
    steps[me] = r;
    pi_cl_team_barrier();
    for (int i = 0; i < 8; ++i) early[me] += steps[i] != r;
    pi_cl_team_barrier();
  }
}
static void check(void* failed) {
  pi_cl_dma_cmd_t a = {0}, b = {0};
  pi_cl_dma_cmd((uint32_t)far, (uint32_t)near, 4000, PI_CL_DMA_DIR_EXT2LOC, &a);
  pi_cl_dma_cmd((uint32_t)(far + 8000), (uint32_t)(near + 8000), 200, PI_CL_DMA_DIR_EXT2LOC, &b);
  pi_cl_team_fork(8, work, NULL);
  pi_cl_dma_cmd_wait(&a);
  pi_cl_dma_cmd_wait(&b);
  for (int i = 0; i < 8; ++i) if (early[i]) *(int*)failed = 1;
  if (near[3999] != byte_at(3999) || near[8199] != byte_at(8199)) *(int*)failed = 2;
}
)" + kFilled);
}

const std::string kRam = kBytes + R"(
static struct pi_device ram;
static struct pi_hyperram_conf ram_conf;
static uint32_t arena;
static int open_ram(void) {
  pi_hyperram_conf_init(&ram_conf);
  pi_open_from_conf(&ram, &ram_conf);
  return pi_ram_open(&ram) || pi_ram_alloc(&ram, &arena, 200000);
}
)";

TEST(Ram, TheFabricControllerWritesAndReads) {
  expect_passes_everywhere(kRam + R"(
int main(void) {
  fill(far, sizeof far);
  if (open_ram()) return 1;
  pi_ram_write(&ram, arena + 3, far, 5000);
  pi_ram_read(&ram, arena + 3 + 1000, back, 4000);
  for (uint32_t i = 0; i < 4000; ++i) if (back[i] != byte_at(1000 + i)) return 2;
  return 0;
})");
}

// More requests than both fifos hold, reads and writes together, waited for in another order.
TEST(Ram, RequestsQueueBehindTheFifos) {
  expect_passes_everywhere(kRam + R"(
enum { N = 25, SIZE = 120 };
static pi_cl_ram_req_t in[N], out[N];
static void check(void* failed) {
  for (int round = 0; round < 2; ++round) {
    for (uint32_t k = 0; k < N; ++k) {
      pi_cl_ram_read(&ram, arena + SIZE * k, back + SIZE * k, SIZE, &in[k]);
      pi_cl_ram_write(&ram, arena + 50000 + SIZE * k, far + SIZE * k + 7, SIZE, &out[k]);
    }
    for (uint32_t k = 0; k < N; ++k) {
      uint32_t w = (k * 7 + 4) % N;
      pi_cl_ram_copy_wait(&in[w]);
      for (uint32_t i = 0; i < SIZE; i += 17) if (back[SIZE * w + i] != byte_at(SIZE * w + i)) *(int*)failed = 1;
    }
    for (uint32_t k = 0; k < N; ++k) pi_cl_ram_copy_wait(&out[N - 1 - k]);
  }
}
int main(void) {
  static int failed;
  fill(far, sizeof far);
  if (open_ram()) return 9;
  pi_ram_write(&ram, arena, far, N * SIZE);
  open_cluster();
  on_cluster(check, &failed);
  pi_ram_read(&ram, arena + 50000, back, N * SIZE);
  for (uint32_t i = 0; i < N * SIZE; ++i) if (back[i] != byte_at(i + 7)) return 3;
  return failed;
})");
}

TEST(Ram, LinesAreStridedInTheRam) {
  expect_passes_everywhere(kRam + R"(
static void check(void* failed) {
  pi_cl_ram_req_t a = {0}, b = {0};
  pi_cl_ram_copy_2d(&ram, arena + 10, back, 6 * 20, 70, 20, 1, &a);
  pi_cl_ram_copy_2d(&ram, arena + 5000, far, 4 * 16, 32, 16, 0, &b);
  pi_cl_ram_copy_wait(&b);
  pi_cl_ram_copy_wait(&a);
  for (uint32_t l = 0; l < 6; ++l)
    for (uint32_t i = 0; i < 20; ++i) if (back[l * 20 + i] != byte_at(10 + l * 70 + i)) *(int*)failed = 1;
  pi_cl_ram_read(&ram, arena + 5000, back, 128, &a);
  pi_cl_ram_copy_wait(&a);
  for (uint32_t i = 0; i < 128; ++i)
    if (i % 32 < 16 && back[i] != byte_at(i / 32 * 16 + i % 16)) *(int*)failed = 2;
}
int main(void) {
  static int failed;
  fill(far, sizeof far);
  if (open_ram()) return 9;
  pi_ram_write(&ram, arena, far, 6000);
  open_cluster();
  on_cluster(check, &failed);
  return failed;
})");
}

// What a build with --sanitize says of requests that are misused.
std::string rule_of(const std::string& body) {
  auto ran = run_on_chip(kBytes + R"(
struct { const char* rule; uint32_t caller, address; } extern ts_broken_rule;
static void check(void* arg) {
  pi_cl_dma_cmd_t cmd = {0};
  (void)arg;
)" + body + R"(
}
int main(void) {
  fill(far, sizeof far);
  open_cluster();
  on_cluster(check, NULL);
  return 0;
})",
                         {.sanitize = true});
  return ran ? "" : ran.error().text();
}

TEST(Rules, MisusedRequestsStopTheProgram) {
  const std::string issue = "pi_cl_dma_cmd((uint32_t)far, (uint32_t)near, 64, PI_CL_DMA_DIR_EXT2LOC, &cmd);";
  EXPECT_EQ(rule_of(issue + "pi_cl_dma_cmd_wait(&cmd);"), "");
  EXPECT_NE(rule_of(issue + issue), "");
  EXPECT_NE(rule_of("pi_cl_dma_cmd_wait(&cmd);"), "");
  EXPECT_NE(rule_of(issue + "pi_cl_dma_cmd_wait(&cmd); pi_cl_dma_cmd_wait(&cmd);"), "");
  EXPECT_NE(rule_of(issue), "");
}

}  // namespace
}  // namespace tessera::run
