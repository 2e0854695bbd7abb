// Manifests: written and read back, and made from other compilers' maps.
#include <gtest/gtest.h>

#include "accel/manifest_make.hpp"
#include "support/expect_error.hpp"

namespace tessera::accel {
namespace {

TEST(Manifest, IsReadBackAsWritten) {
  auto m = make_manifest(std::vector<Region>{{"W_q", 3, Kind::Weight, 917504, 294912},
                                             {"X", 0, Kind::Activation, 0, 147456},
                                             {"", 1, Kind::Kv, uint64_t{1} << 62, uint64_t{1} << 61}});
  EXPECT_EQ(m.activation_ceiling, 917504u);
  EXPECT_EQ(m.regions[0].name, "X");
  const auto back = parse_manifest(manifest_text(m), "m.json");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_EQ(*back, m);
  m.ddr_capacity_bytes = 5;
  EXPECT_EQ(parse_manifest(manifest_text(m), "m.json")->ddr_capacity_bytes, 5u);
}

TEST(Manifest, LegacyWithoutKinds) {
  const auto m = parse_manifest(
      R"({"activation_ceiling": 100, "regions": [{"layer_id": 1, "offset": 200, "size": 10},
                                                 {"layer_id": 0, "offset": 100, "size": 100}]})",
      "m.json");
  ASSERT_TRUE(m) << m.error().text();
  ASSERT_EQ(m->regions.size(), 2u);
  EXPECT_EQ(m->regions[0].offset, 100u);  // sorted, and touching is no overlap
  for (auto& r : m->regions) EXPECT_EQ(r.kind, Kind::Weight);
}

TEST(Names, SayTheKind) {
  for (auto* name : {"K_stored_h0", "layer2_V_stored_h1", "W_K_stored_0"})
    EXPECT_EQ(kind_of_name(name), Kind::Kv) << name;
  for (auto* name : {"W_q", "V_W_qkv", "V_B_o", "V_LN1_g", "V_LN2_b", "V_POST_LN_g", "V_PATCH_embed", "V_CONNECTOR_w"})
    EXPECT_EQ(kind_of_name(name), Kind::Weight) << name;
  for (auto* name : {"X", "POS", "K_h0", "V_h0", "Kmask", "V_LN3_g", "R_rope", "w_q"})
    EXPECT_EQ(kind_of_name(name), Kind::Activation) << name;
}

TEST(Names, SayTheLayer) {
  for (auto [name, layer] : std::vector<std::pair<const char*, uint32_t>>{{"W_q", 0},
                                                                          {"W_k_h1", 0},
                                                                          {"W_gate_layer3", 3},
                                                                          {"layers.12.W_up", 12},
                                                                          {"L7_W_up", 7},
                                                                          {"K_stored_5_h1", 5},
                                                                          {"W_layer_4_h2", 4},
                                                                          {"V_LN1_2", 2}})
    EXPECT_EQ(layer_of_name(name), layer) << name;
}

TEST(Maps, SizesFromWhatThereIs) {
  const auto made =
      manifest_from_maps({.regions = R"({"W_a": 1000, "X": 0, "W_b": 5000, "K_stored_h0": 8000, "Z": 9000})",
                          .sizes = R"({"W_a": 100, "nobody": 7})",
                          .layouts = R"({"W_a": [99, 99], "W_b": {"shape": [10, 21]}, "X": {"rows": 8, "cols": 8}})"});
  ASSERT_TRUE(made) << made.error().text();
  const auto& r = made->manifest.regions;
  ASSERT_EQ(r.size(), 4u);
  EXPECT_EQ(r[0].size, 72u);    // 64 elements * 9/8
  EXPECT_EQ(r[1].size, 100u);   // said, whatever the layout
  EXPECT_EQ(r[2].size, 237u);   // 210 * 9/8, rounded up
  EXPECT_EQ(r[3].size, 1000u);  // up to Z
  EXPECT_EQ(r[3].kind, Kind::Kv);
  ASSERT_EQ(made->warnings.size(), 1u);
  EXPECT_EQ(made->warnings[0], "Z: nothing says how large it is, and nothing follows it: dropped");
  EXPECT_EQ(made->manifest.activation_ceiling, 1000u);
}

TEST(Maps, OverlapsAreCutOffAndSaid) {
  const auto made =
      manifest_from_maps({.regions = R"({"A": 0, "B": 100, "C": 100})", .sizes = R"({"A": 150, "B": 10, "C": 10})"});
  ASSERT_TRUE(made);
  ASSERT_EQ(made->manifest.regions.size(), 2u);
  EXPECT_EQ(made->manifest.regions[0].size, 100u);
  EXPECT_EQ(made->manifest.regions[1].name, "C");
  ASSERT_EQ(made->warnings.size(), 3u);
  EXPECT_EQ(made->warnings[0], "A: its 150 bytes run into B: cut off to 100");
  // What comes out is always a manifest that is accepted.
  EXPECT_TRUE(parse_manifest(manifest_text(made->manifest), "m.json"));
}

TEST(Maps, KindsAndLayersThatAreKnownAreNotGuessed) {
  const auto made = manifest_from_maps(
      {.regions =
           R"([{"name": "W_x", "offset": 0, "size": 64, "kind": "kv", "layer": 9}, {"name": "y", "offset": 64, "size": 1}])"});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->manifest.regions[0].kind, Kind::Kv);
  EXPECT_EQ(made->manifest.regions[0].layer, 9u);
}

TEST(Maps, AFullModelFromALayer) {
  const auto m = make_manifest(
      std::vector<Region>{{"W", 0, Kind::Weight, 0, 20'000'000'000}, {"K_stored_0", 0, Kind::Kv, 20'000'000'000, 10}});
  EXPECT_EQ(full_model(m, 32).weight, 640'000'000'000u);
  EXPECT_EQ(full_model(m, 32).kv, 320u);
}

}  // namespace
}  // namespace tessera::accel
