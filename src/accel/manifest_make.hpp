// A manifest from another compiler's region maps: what it does not say is told from names and distances.
//
//   {"W_q": 917504, "K_stored_h0": 5111808}   ->   W_q is a weight up to where K_stored_h0 begins, which is KV
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accel/manifest.hpp"

namespace tessera::accel {

struct RegionMaps {
  std::string_view regions;                 // name -> offset, or an object with more; or a list of regions
  std::optional<std::string_view> sizes;    // name -> bytes
  std::optional<std::string_view> layouts;  // name -> elements, or a shape
  // What messages call them.
  std::string regions_file = "regions", sizes_file = "sizes", layouts_file = "layouts";
};

struct MadeManifest {
  Manifest manifest;
  std::vector<std::string> warnings;  // dropped, clamped
};

// Size: as given; else elements * 9/8; else up to the next offset; else the region is dropped. Where a region runs into
// the next one it is cut off there.
Result<MadeManifest> manifest_from_maps(const RegionMaps& maps);

// Anything with K_stored_ or V_stored_ is KV; a leading K or V alone says nothing.
Kind kind_of_name(std::string_view name);
// "W_gate_layer3", "L3_W_up", "K_stored_3_h0" -> 3; 0 where the name has no number of a layer.
uint32_t layer_of_name(std::string_view name);

// What a model of so many layers needs, from a manifest of a few: the weights and KV of a layer, that many times.
KindTotals full_model(const Manifest& manifest, uint64_t layers);

}  // namespace tessera::accel
