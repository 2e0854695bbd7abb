#include "target/target.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace tessera::target {
namespace {

namespace fs = std::filesystem;
const std::string kTargets = std::string(TESSERA_ROOT) + "/targets";

TEST(Target, SiracusaIsWhatTheFactsSay) {
  const auto t = load_target("siracusa", kTargets);
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_EQ(t->memory("L1")->size, 262144_B);
  EXPECT_EQ(t->memory("L1")->base, 0x10000000u);
  EXPECT_EQ(t->memory("L2")->size, 2097152_B);
  EXPECT_FALSE(t->memory("L3")->addressable);
  EXPECT_EQ(t->workers, 8);
  EXPECT_EQ(t->controller, 0);
  EXPECT_TRUE(t->controller_works);
  const DmaEngine* dma = t->engine("L1", "L2");
  ASSERT_TRUE(dma);
  EXPECT_EQ(dma, t->engine("L2", "L1"));
  EXPECT_EQ(dma->max_bytes, 131071_B);
  EXPECT_EQ(dma->in_flight, 16);
  EXPECT_EQ(t->engine("L1", "L3"), nullptr);
  EXPECT_TRUE(t->assumed.empty());
}

TEST(Target, Gap9DiffersByDataAndSaysWhatIsAssumed) {
  const auto t = load_target("gap9", kTargets);
  ASSERT_TRUE(t) << t.error().text();
  EXPECT_EQ(t->name, "gap9");
  EXPECT_EQ(t->memory("L1")->size, 131072_B);
  EXPECT_EQ(t->memory("L2")->size, 1572864_B);
  EXPECT_EQ(t->controller, 8);
  EXPECT_FALSE(t->controller_works);
  EXPECT_EQ(t->timing.taken_branch, load_target("siracusa", kTargets)->timing.taken_branch);
  EXPECT_FALSE(t->assumed.empty());
}

TEST(Target, ListsWhatIsThere) {
  const auto names = list_targets(kTargets);
  EXPECT_NE(std::find(names.begin(), names.end(), "gap9"), names.end());
  EXPECT_NE(std::find(names.begin(), names.end(), "siracusa"), names.end());
  EXPECT_TRUE(list_targets("/nowhere").empty());
}

TEST(Target, UnknownNameSaysWhichAreKnown) {
  const auto t = load_target("gap10", kTargets);
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().exit_code(), 2);
  EXPECT_NE(t.error().text().find("gap9, siracusa"), std::string::npos) << t.error().text();
}

TEST(Target, AFolderWithoutDescriptionsSaysWhereToLook) {
  const auto t = load_target("siracusa", "/nowhere");
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().exit_code(), 2);
  EXPECT_NE(t.error().way_out().find("TESSERA_TARGETS"), std::string::npos) << t.error().text();
}

// A file that extends siracusa with one thing changed.
class BrokenTarget : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BrokenTarget, NamesFileKeyAndReason) {
  const auto [text, expected] = GetParam();
  const fs::path directory = fs::temp_directory_path() / testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::remove_all(directory);
  fs::create_directories(directory);
  fs::copy_file(kTargets + "/siracusa.yaml", directory / "siracusa.yaml");
  std::ofstream(directory / "broken.yaml") << text;
  const auto t = load_target("broken", directory.string());
  ASSERT_FALSE(t);
  EXPECT_EQ(t.error().exit_code(), 2);
  EXPECT_NE(t.error().message().find("broken.yaml"), std::string::npos) << t.error().text();
  EXPECT_NE(t.error().message().find(expected), std::string::npos) << t.error().text();
  fs::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BrokenTarget,
    testing::Values(std::pair{"name: x\ndescription: y\n", "cores: missing"},
                    std::pair{"extends: siracusa\ntiming: {fpu: {units: many}}\n", "timing.fpu.units: 'many'"},
                    std::pair{"extends: siracusa\ntiming: {fpu: {units: 0}}\n", "timing.fpu: at least one"},
                    std::pair{"extends: siracusa\ncores: {count: 40}\n", "cores.count"},
                    std::pair{"extends: siracusa\ncores: {workers: -1}\n", "cores.workers: must not be negative"},
                    std::pair{"extends: siracusa\nstacks: {worker: 2kb}\n", "stacks.worker"},
                    std::pair{"extends: siracusa\nmemories: []\n", "L1 is missing"},
                    std::pair{"extends: siracusa\nmemories: 3\n", ""}, std::pair{"extends: siracusa\ntiming: 7\n", ""},
                    std::pair{"extends: siracusa\ntiming: {cache: {l0: {sets: 7}}}\n", "powers of two"},
                    std::pair{"a: [1\n", "line"}, std::pair{"- 1\n", "expected a map"},
                    std::pair{"extends: broken\n", "too deep"},
                    std::pair{"extends: siracusa\ndma: [{name: x}]\n", "dma[0].near: missing"},
                    std::pair{"extends: siracusa\ndma: [{name: x, near: L1, far: L2, max_rank: 2, max_bytes: 64, "
                              "alignment: 1, length_alignment: 1, in_flight: 4, queue_per_core: 2, "
                              "queue_per_direction: 8, burst: 256, setup_in: 22, setup_out: 23, bytes_per_cycle_in: 8, "
                              "bytes_per_cycle_out: 8, per_line_in: 0, per_line_out: 1}]\n",
                              "x: in_flight is 4"}));

}  // namespace
}  // namespace tessera::target
