// What a user reads when a sweep cannot be made. Always exit code 2.
#include <gtest/gtest.h>

#include <filesystem>

#include "support/program.hpp"

namespace tessera {
namespace {

void expect_refused(std::vector<std::string> arguments, const std::vector<std::string>& parts) {
  std::vector<std::string> command{TESSERA_PROGRAM, "accel", "regimes"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  const auto ran = test::run_program(command, std::filesystem::temp_directory_path());
  EXPECT_EQ(ran.code, 2) << ran.out << ran.err;
  EXPECT_TRUE(ran.out.empty()) << ran.out;
  for (auto& part : parts) EXPECT_NE(ran.err.find(part), std::string::npos) << "'" << part << "' in: " << ran.err;
}

TEST(RegimesErrors, EachOption) {
  expect_refused({"clm-60m", "--board", "v90"}, {"there is no board 'v90'", "custom_a7, nexys_video, v80"});
  expect_refused({"clm-60m", "--board", "siracusa"}, {"'siracusa' is a chip"});
  expect_refused({"gpt-5", "--board", "v80"}, {"gpt-5: no such model", "SmolLM2-135M"});
  expect_refused({"clm-60m", "--board", "v80", "--context", "8192:128"}, {"--context 8192:128: 8192 is above 128"});
  expect_refused({"clm-60m", "--board", "v80", "--context", "many"}, {"'many' is not a number of tokens", "128:8192"});
  expect_refused({"clm-60m", "--board", "v80", "--ddr-capacity", "0"}, {"--ddr-capacity 0: a memory of 0 bytes"});
  expect_refused({"clm-60m", "--board", "v80", "--ddr-capacity", "lots"}, {"--ddr-capacity", "'lots' is not a size"});
  expect_refused({"clm-60m", "--board", "custom_a7", "--host-bandwidth", "0"},
                 {"--host-bandwidth 0: must be positive"});
  expect_refused({"clm-60m", "--board", "custom_a7", "--link", "rs232"}, {"--link rs232", "usb2"});
  expect_refused({"clm-60m", "--board", "custom_a7", "--link", "usb2", "--host-bandwidth", "1e9"}, {"both say"});
  expect_refused({"clm-60m", "--board", "custom_a7", "--format", "int4"}, {"int4: no such number format"});
}

}  // namespace
}  // namespace tessera
