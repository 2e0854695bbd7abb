// The host's runtime, by small programs against it: transfers are done when they are waited for, rules that are broken
// are reported, cores are really there.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "run/process.hpp"
#include "support/compiled.hpp"

namespace tessera::run {
namespace {

// A program of the given main, with an "L2" of 64 words that hold their index and an "L1" of zeros.
constexpr auto kPrelude = R"(
#include <stdio.h>
#include <string.h>
#include "pmsis.h"
#include "host.h"
static uint32_t l2[64], l1[64];
static uint32_t at(void *p) { return (uint32_t)(uintptr_t)p; }
static pi_cl_dma_cmd_t a, b;
static void task(void *arg);
int main(int argc, char **argv) {
  (void)b;
  unsigned seed = 1;
  if (argc > 1) sscanf(argv[1], "%u", &seed);
  ts_host_seed(seed);
  for (uint32_t i = 0; i < 64; ++i) l2[i] = i;
  struct pi_device device;
  struct pi_cluster_task t;
  return pi_cluster_send_task_to_cl(&device, pi_cluster_task(&t, task, &argc));
}
)";

class HostRuntime : public testing::Test {
 protected:
  // Builds `static void task(void *arg) { BODY }` with what stands before it.
  void build(const std::string& body, bool sanitize, const std::string& before = "") {
    std::ofstream(place_.path / "test.c")
        << kPrelude << before << "static void task(void *arg) { (void)arg; " << body << " }\n";
    std::string runtime = std::string(TESSERA_ROOT) + "/runtime/";
    std::vector<std::string> command = {"gcc",
                                        "-std=c11",
                                        "-O1",
                                        "-fno-pie",
                                        "-no-pie",
                                        "-pthread",
                                        "-D_GNU_SOURCE",
                                        "-I" + runtime + "include",
                                        "-I" + runtime + "host",
                                        "test.c",
                                        "-o",
                                        "test"};
    for (const char* file : {"cluster.c", "transfer.c", "engines.c", "memory.c", "record.c"})
      command.push_back(runtime + "host/" + file);
    if (sanitize) command.insert(command.end(), {"-DTS_SANITIZE", "-g1", "-fsanitize=address,undefined"});
    auto built = run_process(command, {.directory = place_.path});
    if (!built) GTEST_SKIP() << "no C compiler here";
    ASSERT_TRUE(built->ok()) << built->output;
  }
  Finished run(unsigned seed = 1) {
    return run_process({(place_.path / "test").string(), fmt::format("{}", seed)},
                       {.environment = {"ASAN_OPTIONS=detect_leaks=0"}})
        .value();
  }
  test::TemporaryDirectory place_;
};

constexpr auto kFetch = "pi_cl_dma_cmd(at(l2), at(l1), 64, PI_CL_DMA_DIR_EXT2LOC, &a);";

TEST_F(HostRuntime, ATransferIsDoneAtItsWaitAndNotBefore) {
  build(std::string(kFetch) + R"(printf("%u ", l1[5]); pi_cl_dma_cmd_wait(&a); printf("%u %u", l1[5], l1[16]);)",
        false);
  EXPECT_EQ(run().output, "0 5 0");
}

TEST_F(HostRuntime, ASourceOverwrittenTooEarlyShows) {
  build(std::string(kFetch) + R"(l2[5] = 99; pi_cl_dma_cmd_wait(&a); printf("%u", l1[5]);)", false);
  EXPECT_EQ(run().output, "99");
}

TEST_F(HostRuntime, LinesAreDenseInTheNearMemoryAndStridedInTheFarOne) {
  build(R"(
    pi_cl_dma_cmd_2d(at(l2 + 1), at(l1), 24, 32, 8, PI_CL_DMA_DIR_EXT2LOC, &a);
    pi_cl_dma_cmd_wait(&a);
    for (int i = 0; i < 7; ++i) printf("%u ", l1[i]);
    pi_cl_dma_cmd_2d(at(l2 + 40), at(l1), 24, 32, 8, PI_CL_DMA_DIR_LOC2EXT, &b);
    pi_cl_dma_cmd_wait(&b);
    for (int i = 40; i < 58; ++i) printf("%u ", l2[i]);)",
        false);
  EXPECT_EQ(run().output, "1 2 9 10 17 18 0 1 2 42 43 44 45 46 47 9 10 50 51 52 53 54 55 17 18 ");
}

TEST_F(HostRuntime, ABrokenRuleIsReported) {
  struct Case {
    std::string body, message;
  };
  const std::string fetch = kFetch;
  for (const auto& [body, message] : std::vector<Case>{
           {fetch + fetch, "a request is used again while its transfer is in flight"},
           {"pi_cl_dma_cmd_wait(&a);", "a wait for a request that has no transfer in flight"},
           {fetch + "pi_cl_dma_cmd_wait(&a); pi_cl_dma_cmd_wait(&a);", "a wait for a request that has no transfer"},
           {fetch, "a transfer was never waited for"},
           {fetch + "b = a; pi_cl_dma_cmd_wait(&b);", "a request was copied or overwritten"},
           {"pi_cl_dma_cmd(at(l2), at(l1), 0, PI_CL_DMA_DIR_EXT2LOC, &a);", "a transfer of no bytes"}}) {
    build(body, false);
    auto finished = run();
    EXPECT_NE(finished.signal, 0) << body;
    EXPECT_NE(finished.output.find(message), std::string::npos) << body << ": " << finished.output;
  }
}

TEST_F(HostRuntime, SanitizeDoesTransfersAtEveryLegalMomentAndTheSameSeedAtTheSame) {
  // Reads the destination as nobody may, past the sanitizer, before each of the calls that follow the transfer.
  build(std::string(kFetch) + R"(
    for (int call = 0; call < 12; ++call) {
      printf("%d", peek(&l1[5]) == 5);
      pi_cl_team_barrier();
    }
    pi_cl_dma_cmd_wait(&a);
    printf("%d", l1[5] == 5);)",
        true,
        "__attribute__((no_sanitize(\"address\"), noinline)) static uint32_t peek(volatile uint32_t *p) { return *p; "
        "}\n");
  std::map<std::string, int> seen;
  for (unsigned seed = 0; seed < 40; ++seed) {
    auto output = run(seed).output;
    ASSERT_EQ(output.size(), 13u) << output;
    EXPECT_EQ(output.back(), '1');
    EXPECT_TRUE(std::is_sorted(output.begin(), output.end())) << output;
    if (seed < 5) {
      EXPECT_EQ(run(seed).output, output);
    }
    ++seen[output];
  }
  EXPECT_TRUE(seen.contains("1111111111111")) << "at the issue";
  EXPECT_TRUE(seen.contains("0000000000001")) << "at the wait";
  EXPECT_GE(seen.size(), 5u) << "at calls between";
}

TEST_F(HostRuntime, SanitizeReportsAReadBeforeTheWaitWhateverTheSeed) {
  // Through a pointer, as kernels read: the compiler knows l1[5] to be inside and does not look.
  build(std::string(kFetch) + R"(printf("%u", look(&l1[5])); pi_cl_dma_cmd_wait(&a);)", true,
        "__attribute__((noinline)) static uint32_t look(volatile uint32_t *p) { return *p; }\n");
  for (unsigned seed = 0; seed < 8; ++seed) {
    auto finished = run(seed);
    EXPECT_FALSE(finished.ok());
    EXPECT_NE(finished.output.find("use-after-poison"), std::string::npos) << finished.output;
  }
}

TEST_F(HostRuntime, SanitizeReportsWritesUnderATransfer) {
  build(std::string(kFetch) + "l2[5] = 99; pi_cl_dma_cmd_wait(&a);", true);
  for (unsigned seed = 0; seed < 8; ++seed)
    EXPECT_NE(run(seed).output.find("the source of a transfer changed"), std::string::npos);
  build(std::string(kFetch) + "poke(&l1[5]); pi_cl_dma_cmd_wait(&a);", true,
        "__attribute__((no_sanitize(\"address\"), noinline)) static void poke(volatile uint32_t *p) { *p = 7; }\n");
  for (unsigned seed = 0; seed < 8; ++seed)
    EXPECT_NE(run(seed).output.find("the destination of a transfer was written"), std::string::npos);
}

TEST_F(HostRuntime, SanitizeReportsATransferBeyondAnArena) {
  build("pi_cl_dma_cmd(at(l2), at(l1), 260, PI_CL_DMA_DIR_EXT2LOC, &a); pi_cl_dma_cmd_wait(&a);", true);
  EXPECT_NE(run().output.find("global-buffer-overflow"), std::string::npos);
}

TEST_F(HostRuntime, EveryCoreRunsAndBarriersHoldAllOfThem) {
  build(R"(
    for (int round = 0; round < 200; ++round)
      for (int cores = 1; cores <= 8; ++cores) {
        team = cores;
        memset(stage, 0, sizeof stage);
        pi_cl_team_fork(cores, work, NULL);
        for (int i = 0; i < 8; ++i)
          if (stage[i] != (i < cores ? 3 : 0)) bad = 1;
      }
    printf("%d", bad);)",
        false, R"(
static volatile int stage[8], bad, team;
static void work(void *unused) {
  (void)unused;
  for (int s = 1; s <= 3; ++s) {
    stage[pi_core_id()] = s;
    pi_cl_team_barrier();
    for (int i = 0; i < team; ++i) if (stage[i] != s) bad = 1;
    pi_cl_team_barrier();
  }
}
)");
  EXPECT_EQ(run().output, "0");
}

TEST_F(HostRuntime, TheExternalRamKeepsWhatIsWritten) {
  build(R"(
    struct pi_device ram; uint32_t base; static pi_cl_ram_req_t r;
    if (pi_ram_open(&ram) || pi_ram_alloc(&ram, &base, 256)) return;
    pi_ram_write(&ram, base, l2, 256);
    pi_cl_ram_copy_2d(&ram, base + 4, l1, 16, 32, 8, 1, &r);
    printf("%u ", l1[2]);
    pi_cl_ram_copy_wait(&r);
    printf("%u %u %u ", l1[1], l1[2], l1[4]);
    l1[0] = 77;
    pi_cl_ram_write(&ram, base, l1, 4, &r);
    pi_cl_ram_write_wait(&r);
    pi_ram_read(&ram, base, l1 + 9, 8);
    printf("%u %u", l1[9], l1[10]);)",
        false);
  EXPECT_EQ(run().output, "0 2 9 0 77 1");
}

}  // namespace
}  // namespace tessera::run
