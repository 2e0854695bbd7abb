// Boards: what the files say, and what is said about a wrong one.
#include "target/board.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/expect_error.hpp"
#include "target/target.hpp"

namespace tessera::target {
namespace {

namespace fs = std::filesystem;
using test::expect_error;

const std::string kTargets = std::string(TESSERA_ROOT) + "/targets";

TEST(Board, ReadsWhatTheFilesSay) {
  const auto nexys = load_board("nexys_video", kTargets), custom = load_board("custom_a7", kTargets),
             v80 = load_board("v80", kTargets);
  ASSERT_TRUE(nexys && custom && v80);
  EXPECT_EQ(nexys->memory.capacity, 536870912_B);
  EXPECT_EQ(nexys->sram(), 1495040_B);
  EXPECT_EQ(nexys->cycle_ps(), 10000);
  EXPECT_EQ(nexys->link->bytes_per_second, 4750000);
  EXPECT_EQ(custom->link->bytes_per_second, 1500000000);
  EXPECT_EQ(custom->link->name, "pcie_gen2_x4");
  EXPECT_EQ(custom->latency.sum, 30);
  EXPECT_EQ(custom->tiles.back().blen, 16);
  EXPECT_EQ(custom->resources.multipliers(), 1480);
  EXPECT_EQ(v80->resources.multipliers(), 5904);
  for (const auto* board : {&*nexys, &*custom, &*v80})
    for (const auto& tile : board->tiles) EXPECT_LE(tile.multipliers(), board->resources.multipliers()) << board->name;
  EXPECT_FALSE(v80->link);
  EXPECT_EQ(v80->cycle_ps(), 2500);
  EXPECT_EQ(v80->watts, 190);
  EXPECT_FALSE(nexys->watts);
}

TEST(Board, ChipsAndBoardsAreToldApart) {
  EXPECT_EQ(list_boards(kTargets), (std::vector<std::string>{"custom_a7", "nexys_video", "v80"}));
  const auto chips = list_targets(kTargets);
  EXPECT_EQ(std::count(chips.begin(), chips.end(), "v80"), 0);
  expect_error(load_target("v80", kTargets), {"'v80' is an accelerator board, not a chip", "siracusa", "--board v80"});
  expect_error(load_board("siracusa", kTargets), {"'siracusa' is a chip, not an accelerator board", "nexys_video"});
  expect_error(load_board("v90", kTargets), {"there is no board 'v90'", "custom_a7, nexys_video, v80"});
}

class BrokenBoard : public testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(BrokenBoard, NamesFileKeyAndReason) {
  const auto directory =
      fs::temp_directory_path() / "tessera_board" / testing::UnitTest::GetInstance()->current_test_info()->name();
  fs::create_directories(directory);
  const auto file = directory / "broken.yaml";
  std::ofstream(file) << "extends: custom_a7\n" << GetParam().first;
  // `extends` looks beside the file first.
  fs::copy_file(kTargets + "/custom_a7.yaml", directory / "custom_a7.yaml", fs::copy_options::overwrite_existing);
  fs::copy_file(kTargets + "/nexys_video.yaml", directory / "nexys_video.yaml", fs::copy_options::overwrite_existing);
  expect_error(load_board(file.string(), kTargets), {"broken.yaml", GetParam().second});
  fs::remove_all(directory);
}

INSTANTIATE_TEST_SUITE_P(
    Files, BrokenBoard,
    testing::Values(std::pair{"clock_mhz: 0\n", "clock_mhz: must be positive"},
                    std::pair{"memory: {capacity: 0}\n", "memory.capacity: must be positive"},
                    std::pair{"memory: {capacity: lots}\n", "memory.capacity: 'lots' is not a size"},
                    std::pair{"memory: {effective_bytes_per_second: 9000000000}\n", "at most the peak"},
                    std::pair{"host_link: {bytes_per_second: 0}\n", "host_link.bytes_per_second: must be positive"},
                    std::pair{"host_link: {packet: 100}\n", "host_link.packet"},
                    std::pair{"tile_hints: []\n", "tile_hints: expected a list"},
                    std::pair{"tile_hints: [{mlen: 64, blen: 5}]\n", "blen must be positive and divide mlen"},
                    std::pair{"resources: {products_per_dsp: 0}\n", "resources.products_per_dsp: must be positive"},
                    std::pair{"power: {}\n", "power.board_watts: missing"},
                    std::pair{"latency: [1, 2]\n", "latency: expected a map"}));

}  // namespace
}  // namespace tessera::target
