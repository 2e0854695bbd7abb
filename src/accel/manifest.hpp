// The list of regions that a residency manager works with, as a file.
//
//   {"activation_ceiling": 917504, "regions": [{"layer_id": 0, "offset": 917504, "size": 294912, "kind": "weight"}]}
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "accel/region.hpp"
#include "base/error.hpp"

namespace tessera::accel {

struct Manifest {
  uint64_t activation_ceiling = 0;  // the lowest offset of a weight
  std::vector<Region> regions;      // by offset
  std::optional<uint64_t> ddr_capacity_bytes;
  bool operator==(const Manifest&) const = default;
};

// What the compiler laid out, sorted; the ceiling follows from it.
Manifest make_manifest(std::span<const Region> regions);
// Regions must not overlap, be empty, or end past 2^64; the text may lack kinds (then they are weights) and names.
Result<Manifest> read_manifest(const std::filesystem::path& path);
Result<Manifest> parse_manifest(std::string_view text, std::string_view file);
std::string manifest_text(const Manifest& manifest);

Result<Kind> parse_kind(std::string_view text);
std::string_view name_of(Kind kind);

struct KindTotals {
  uint64_t weight = 0, kv = 0, activation = 0;
  uint64_t total() const { return weight + kv + activation; }
};
KindTotals totals_of(std::span<const Region> regions);

}  // namespace tessera::accel
