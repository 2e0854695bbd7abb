#include "accel/manifest.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.hpp"

namespace tessera::accel {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array kKinds{std::pair{Kind::Weight, "weight"}, std::pair{Kind::Kv, "kv"},
                            std::pair{Kind::Activation, "activation"}};

Result<uint64_t> number(const Json& object, const char* key, const std::string& where,
                        uint64_t most = std::numeric_limits<uint64_t>::max()) {
  const auto it = object.find(key);
  if (it == object.end()) return input_error("{}: '{}' is missing", where, key);
  if (!it->is_number_unsigned()) return input_error("{}: '{}' is {}, not a whole number >= 0", where, key, it->dump());
  const auto value = it->get<uint64_t>();
  if (value > most) return input_error("{}: '{}' is {}, more than {}", where, key, value, most);
  return value;
}

Result<Region> read_region(const Json& json, const std::string& where) {
  if (!json.is_object()) return input_error("{}: expected an object", where);
  Region r;
  TRY(const auto layer, number(json, "layer_id", where, std::numeric_limits<uint32_t>::max()));
  r.layer = static_cast<uint32_t>(layer);
  TRY(r.offset, number(json, "offset", where));
  TRY(r.size, number(json, "size", where));
  if (json.contains("kind")) {
    const auto text = json["kind"].is_string() ? json["kind"].get<std::string>() : json["kind"].dump();
    TRY(r.kind, parse_kind(text));
  }
  if (json.contains("name") && json["name"].is_string()) r.name = json["name"].get<std::string>();
  if (r.size == 0) return input_error("{}: 'size' is 0", where).hint("leave out a region that holds nothing");
  if (r.size > std::numeric_limits<uint64_t>::max() - r.offset)
    return input_error("{}: offset {} + size {} is past 2^64", where, r.offset, r.size);
  return r;
}

std::string described(const Region& r) {
  return fmt::format("{}[{}, {})", r.name.empty() ? "" : r.name + " ", r.offset, r.end());
}

Result<void> check_overlaps(const std::vector<Region>& sorted, std::string_view file) {
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].offset < sorted[i - 1].end())
      return input_error("{}: regions {} and {} overlap", file, described(sorted[i - 1]), described(sorted[i]))
          .hint("tessera accel manifest --regions makes a manifest and clamps overlaps");
  return {};
}

}  // namespace

Result<Kind> parse_kind(std::string_view text) {
  for (auto& [kind, name] : kKinds)
    if (text == name) return kind;
  return input_error("kind '{}' is not weight, kv or activation", text);
}
std::string_view name_of(Kind kind) {
  return kKinds[static_cast<size_t>(kind)].second;
}

Manifest make_manifest(std::span<const Region> regions) {
  Manifest m;
  m.regions.assign(regions.begin(), regions.end());
  std::ranges::sort(m.regions, {}, &Region::offset);
  const auto weight = std::ranges::find(m.regions, Kind::Weight, &Region::kind);
  m.activation_ceiling = weight != m.regions.end() ? weight->offset : m.regions.empty() ? 0 : m.regions.back().end();
  return m;
}

Result<Manifest> parse_manifest(std::string_view text, std::string_view file) {
  const auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return input_error("{}: not JSON", file).hint("a manifest is {\"regions\": [...], ...}");
  if (!json.is_object() || !json.contains("regions") || !json["regions"].is_array())
    return input_error("{}: 'regions' is missing or not a list", file);
  Manifest m;
  TRY(m.activation_ceiling, number(json, "activation_ceiling", std::string(file)));
  if (json.contains("ddr_capacity_bytes") && !json["ddr_capacity_bytes"].is_null()) {
    TRY(m.ddr_capacity_bytes, number(json, "ddr_capacity_bytes", std::string(file)));
  }
  for (size_t i = 0; i < json["regions"].size(); ++i) {
    const auto where = fmt::format("{}: regions[{}]", file, i);
    auto region = read_region(json["regions"][i], where);
    if (!region)
      return region.error().message().starts_with(where) ? std::move(region).error()
                                                         : std::move(region).error().within(where);
    m.regions.push_back(std::move(*region));
  }
  std::ranges::sort(m.regions, {}, &Region::offset);
  CHECK_OK(check_overlaps(m.regions, file));
  return m;
}

Result<Manifest> read_manifest(const std::filesystem::path& path) {
  TRY(const auto bytes, read_file(path));
  return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
}

std::string manifest_text(const Manifest& manifest) {
  Json json{{"activation_ceiling", manifest.activation_ceiling}};
  if (manifest.ddr_capacity_bytes) json["ddr_capacity_bytes"] = *manifest.ddr_capacity_bytes;
  json["regions"] = Json::array();
  for (auto& r : manifest.regions) {
    Json region{{"layer_id", r.layer}, {"offset", r.offset}, {"size", r.size}, {"kind", name_of(r.kind)}};
    if (!r.name.empty()) region["name"] = r.name;
    json["regions"].push_back(std::move(region));
  }
  return json.dump(2) + "\n";
}

KindTotals totals_of(std::span<const Region> regions) {
  KindTotals t;
  for (auto& r : regions) (r.kind == Kind::Weight ? t.weight : r.kind == Kind::Kv ? t.kv : t.activation) += r.size;
  return t;
}

}  // namespace tessera::accel
