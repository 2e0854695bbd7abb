// What a user reads when a manifest or the maps for one are wrong. Always exit code 2.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "accel/manifest_make.hpp"
#include "support/expect_error.hpp"
#include "support/program.hpp"

namespace tessera::accel {
namespace {

namespace fs = std::filesystem;
using tessera::test::expect_error;
using tessera::test::run_program;

TEST(ManifestErrors, TheFile) {
  expect_error(read_manifest("/nowhere/m.json"), {"/nowhere/m.json", "no such file"});
  expect_error(parse_manifest("{", "m.json"), {"m.json: not JSON"});
  expect_error(parse_manifest("[]", "m.json"), {"m.json: 'regions' is missing or not a list"});
  expect_error(parse_manifest(R"({"regions": 3})", "m.json"), {"'regions' is missing or not a list"});
  expect_error(parse_manifest(R"({"regions": []})", "m.json"), {"m.json: 'activation_ceiling' is missing"});
  expect_error(parse_manifest(R"({"activation_ceiling": -1, "regions": []})", "m.json"),
               {"'activation_ceiling' is -1"});
  expect_error(parse_manifest(R"({"activation_ceiling": 0, "ddr_capacity_bytes": "x", "regions": []})", "m.json"),
               {"'ddr_capacity_bytes' is \"x\""});
}

TEST(ManifestErrors, Regions) {
  const auto with = [](std::string region) {
    return parse_manifest(R"({"activation_ceiling": 0, "regions": [)" + region + "]}", "m.json");
  };
  expect_error(with("7"), {"m.json: regions[0]: expected an object"});
  expect_error(with(R"({"offset": 0, "size": 1})"), {"m.json: regions[0]: 'layer_id' is missing"});
  expect_error(with(R"({"layer_id": 0, "offset": 1.5, "size": 1})"), {"'offset' is 1.5, not a whole number"});
  expect_error(with(R"({"layer_id": 5000000000, "offset": 0, "size": 1})"), {"'layer_id' is 5000000000, more than"});
  expect_error(with(R"({"layer_id": 0, "offset": 0, "size": 0})"), {"regions[0]: 'size' is 0", "leave out"});
  expect_error(with(R"({"layer_id": 0, "offset": 18446744073709551615, "size": 2})"), {"is past 2^64"});
  expect_error(with(R"({"layer_id": 0, "offset": 0, "size": 1, "kind": "bias"})"),
               {"m.json: regions[0]: kind 'bias' is not weight, kv or activation"});
  expect_error(
      with(R"({"layer_id": 0, "offset": 0, "size": 10, "name": "a"}, {"layer_id": 0, "offset": 9, "size": 10})"),
      {"m.json: regions a [0, 10) and [9, 19) overlap", "tessera accel manifest"});
}

TEST(MapErrors, AllMaps) {
  expect_error(manifest_from_maps({.regions = "{", .regions_file = "r.json"}), {"r.json: not JSON"});
  expect_error(manifest_from_maps({.regions = "3", .regions_file = "r.json"}), {"r.json: expected a map"});
  expect_error(manifest_from_maps({.regions = "{}", .regions_file = "r.json"}), {"r.json: there are no regions"});
  expect_error(manifest_from_maps({.regions = R"({"X": "a"})", .regions_file = "r.json"}), {"r.json: X: \"a\" is not"});
  expect_error(manifest_from_maps({.regions = R"({"X": {}})", .regions_file = "r.json"}),
               {"r.json: X: 'offset' is missing"});
  expect_error(manifest_from_maps({.regions = R"({"X": 0})", .sizes = R"({"X": -1})", .sizes_file = "s.json"}),
               {"s.json: X: -1 is not a whole number"});
  expect_error(manifest_from_maps({.regions = R"({"X": 0})", .layouts = R"({"X": "tall"})", .layouts_file = "l.json"}),
               {"l.json: X: \"tall\" is no layout", "shape"});
  expect_error(manifest_from_maps({.regions = R"({"X": 0})", .layouts = R"({"X": [4294967296, 4294967296]})"}),
               {"the shape [4294967296,4294967296] is too large"});
}

TEST(ManifestProgram, MakesOneAndRefusesTheRest) {
  const auto folder = fs::temp_directory_path() / "tessera_accel_manifest";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "r.json") << R"({"X": 0, "W_q": 147456, "K_stored_h0": 442368})";
  std::ofstream(folder / "s.json") << R"({"K_stored_h0": 73728, "X": 200000})";
  auto ran = run_program({TESSERA_PROGRAM, "accel", "manifest", "--regions", "r.json", "--sizes", "s.json", "--board",
                          "custom_a7", "--layers", "8", "-o", "m.json"},
                         folder);
  EXPECT_EQ(ran.code, 0) << ran.err;
  EXPECT_NE(ran.err.find("warning: X: its 200000 bytes run into W_q: cut off to 147456"), std::string::npos) << ran.err;
  EXPECT_NE(ran.out.find("8 layers: about 2359296 bytes of weights and 589824 of KV"), std::string::npos) << ran.out;
  const auto m = read_manifest(folder / "m.json");
  ASSERT_TRUE(m) << m.error().text();
  EXPECT_EQ(m->regions.size(), 3u);
  EXPECT_EQ(m->ddr_capacity_bytes, uint64_t{512} << 20);
  ran = run_program(
      {TESSERA_PROGRAM, "accel", "manifest", "--regions", "none.json", "--board", "custom_a7", "-o", "n.json"}, folder);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("none.json: no such file"), std::string::npos) << ran.err;
  ran = run_program(
      {TESSERA_PROGRAM, "accel", "manifest", "--regions", "r.json", "--board", "siracusa", "-o", "n.json"}, folder);
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("'siracusa' is a chip"), std::string::npos) << ran.err;
  EXPECT_FALSE(fs::exists(folder / "n.json"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tessera::accel
