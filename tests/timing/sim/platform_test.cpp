// Every program of the platform prints what it prints on GVSoC, within the tolerances.
#include <gtest/gtest.h>

#include "platform/programs.hpp"
#include "sim/machine.hpp"

namespace tessera::sim {
namespace {

class Platform : public testing::TestWithParam<platform::Build> {};

TEST_P(Platform, PrintsWhatIsExpected) {
  const auto path = platform::build_elf(GetParam());
  ASSERT_TRUE(path) << path.error().text();
  const auto target = target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets");
  auto machine = Machine::create(target.value(), load_elf(*path).value(), {});
  ASSERT_TRUE(machine) << machine.error().text();
  const auto result = machine->run();
  ASSERT_TRUE(result) << result.error().text();
  for (const auto& c : platform::compare_all(GetParam().name, result->output, result->exit_code))
    EXPECT_TRUE(c.passed || !c.judged) << "expected " << c.expected << "\nmeasured " << c.measured;
}

// Without timing the figures mean nothing, but the results and the way through the program stay.
TEST_P(Platform, RunsWithoutTiming) {
  const auto path = platform::build_elf(GetParam());
  ASSERT_TRUE(path) << path.error().text();
  const auto target = target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets");
  Options options;
  options.timing = false;
  auto machine = Machine::create(target.value(), load_elf(*path).value(), options);
  ASSERT_TRUE(machine) << machine.error().text();
  const auto result = machine->run();
  ASSERT_TRUE(result) << result.error().text();
  const auto all = platform::compare_all(GetParam().name, result->output, result->exit_code);
  for (const auto& c : all) {
    if (c.expected.starts_with("CHECK") || c.expected.starts_with("rc=")) {
      EXPECT_EQ(c.measured, c.expected);
    }
  }
  EXPECT_EQ(all.size(), platform::expected_lines(GetParam().name).size());
}

INSTANTIATE_TEST_SUITE_P(All, Platform, testing::ValuesIn(platform::programs()),
                         [](const auto& info) { return info.param.name; });

}  // namespace
}  // namespace tessera::sim
