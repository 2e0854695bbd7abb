// What the build refuses, and what the code that it makes keeps off cores that cannot run it.
#include <regex>

#include "chip_program.hpp"
#include "run/process.hpp"

namespace tessera::run {
namespace {

TEST(Stack, AFrameThatIsTooLargeIsRefusedByName) {
  const std::string main = R"(
void ts_wide(void* arg);
static void run(void* arg) { pi_cl_team_fork(8, ts_wide, arg); }
int main(void) { open_cluster(); on_cluster(run, NULL); return 0; })";
  const auto kernel = [](int bytes) {
    return emit::File{"kernels/wide.c", fmt::format("void ts_wide(void* arg) {{ volatile char wide[{}]; (void)arg; "
                                                    "wide[0] = 1; wide[sizeof wide - 1] = wide[0]; }}\n",
                                                    bytes)};
  };
  auto fits = run_on_chip(main, {.more = {kernel(800)}});
  EXPECT_TRUE(fits) << fits.error().text();
  auto refused = run_on_chip(main, {.more = {kernel(4000)}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::DoesNotFit);
  for (auto* word : {"the cluster's controller", "it has 1984", "ts_fork", "ts_wide 40"})
    EXPECT_NE(refused.error().text().find(word), std::string::npos) << refused.error().text();
}

TEST(Stack, AWorkersIsSmaller) {
  auto refused = run_on_chip("int main(void) { return 0; }",
                             {.more = {{"kernels/wide.c",
                                        "void ts_wide(void* arg) { volatile char wide[1300]; (void)arg; "
                                        "wide[0] = 1; wide[sizeof wide - 1] = wide[0]; }\n"}}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::DoesNotFit);
  for (auto* word : {"a worker of the cluster", "ts_wide 13"})
    EXPECT_NE(refused.error().text().find(word), std::string::npos) << refused.error().text();
}

// `rows` is called by name only: no pointer of `channels` leads to it.
TEST(Stack, APointerLeadsToWhatHasAnAddress) {
  const std::string main = "void ts_wide(void* arg); int main(void) { int k = 0; ts_wide(&k); return 0; }";
  const auto kernel = [](int block) {
    const std::string text = R"(
#define WIDE(n) volatile char wide[n]; wide[0] = 1; wide[n - 1] = wide[0]
static __attribute__((noinline)) void block(int k) { WIDE(BLOCK); (void)k; }
static __attribute__((noinline)) void other(int k) { (void)k; }
static __attribute__((noinline)) void rows(int k) { WIDE(700); (void)k; }
static __attribute__((noinline)) void channels(int k) { void (*f)(int) = k & 1 ? block : other; WIDE(400); f(k); wide[1] = 1; }
void ts_wide(void* arg) { channels(*(int*)arg); rows(*(int*)arg); }
)";
    return emit::File{"kernels/wide.c", fmt::format("#define BLOCK {}\n{}", block, text)};
  };
  auto fits = run_on_chip(main, {.more = {kernel(300)}});
  EXPECT_TRUE(fits) << fits.error().text();
  auto refused = run_on_chip(main, {.more = {kernel(800)}});
  ASSERT_FALSE(refused);
  for (auto* word : {"ts_wide", "wide.c:channels 4", "wide.c:block 8"})
    EXPECT_NE(refused.error().text().find(word), std::string::npos) << refused.error().text();
}

TEST(Stack, TheFabricControllersToo) {
  auto refused = run_on_chip("int main(void) { volatile char wide[5000]; wide[4999] = 1; return wide[4999] - 1; }");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::DoesNotFit);
  for (auto* word : {"fabric controller", "4096", "main 50"})
    EXPECT_NE(refused.error().text().find(word), std::string::npos) << refused.error().text();
}

TEST(Stack, RecursionHasNoBound) {
  auto refused = run_on_chip(
      "static volatile int n; __attribute__((noinline)) int down(int k) { return k ? down(k - 1) * n + down(k / 2) : "
      "n; }"
      "int main(void) { return down(3); }");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().text().find("down calls itself"), std::string::npos) << refused.error().text();
}

TEST(Code, MoreThanThePlanGrantsIsRefused) {
  auto refused = run_on_chip("static volatile char big[70000]; int main(void) { big[69999] = 1; return 0; }");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::DoesNotFit);
  EXPECT_NE(refused.error().text().find("65536"), std::string::npos) << refused.error().text();
}

TEST(Code, ACompilerThatIsNotThereIsNamed) {
  test::TemporaryDirectory place;
  auto network = test::compile_network({.model = "mlp:4-3-2"});
  ASSERT_TRUE(network);
  ASSERT_TRUE(emit::write_project(*network->project(), place.path / "p"));
  auto refused = build_chip(place.path / "p", network->target, {.compiler = "riscv-none-gcc"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind(), ErrorKind::Input);
  EXPECT_NE(refused.error().text().find("gcc-riscv64-unknown-elf"), std::string::npos) << refused.error().text();
}

// The cluster has an FPU and the fabric controller has none; nobody has atomics.
TEST(Code, OnlyTheClustersFunctionsUseFloatAndNoneUsesAtomics) {
  test::TemporaryDirectory place;
  auto network = test::compile_network({.model = "mlp:20-16-4", .batch = 4});
  ASSERT_TRUE(network);
  network->harness.reference_losses.assign(4, 1.0f);
  ASSERT_TRUE(emit::write_project(*network->project(), place.path / "p"));
  auto program = build_chip(place.path / "p", network->target, {.print_results = true});
  ASSERT_TRUE(program) << program.error().text();
  auto listing = run_process({"riscv64-unknown-elf-objdump", "-dl", "--no-show-raw-insn", program->elf.string()}, {});
  ASSERT_TRUE(listing && listing->ok());
  // Labels inside functions begin with a dot.
  const std::regex head(R"(^[0-9a-f]+ <([^.].*)>:$)"), line(R"(^\s*[0-9a-f]+:\s+(\S+))"),
      source(R"(^(\S+\.[chS]):\d+.*)");
  std::string function, file;
  std::istringstream text(listing->output);
  int float_instructions = 0;
  for (std::string row; std::getline(text, row);) {
    std::smatch found;
    if (std::regex_match(row, found, head)) function = found[1], file.clear();
    if (file.empty() && std::regex_match(row, found, source)) file = found[1];  // of the function's first line
    if (!std::regex_search(row, found, line)) continue;
    const std::string name = found[1];
    EXPECT_FALSE(name.starts_with("amo") || name.starts_with("lr.") || name.starts_with("sc.")) << function << row;
    const bool is_float = name.starts_with("f") && !name.starts_with("fence");
    float_instructions += is_float;
    // Kernels, the network that calls them, and the comparison of losses.
    const bool may =
        file.find("kernels/") != file.npos || file.ends_with("network.c") || function == "count_mismatches";
    EXPECT_TRUE(!is_float || may) << function << " of " << file << row;
  }
  EXPECT_GT(float_instructions, 100);
}

}  // namespace
}  // namespace tessera::run
