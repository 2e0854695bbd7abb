#include "accel/manifest_make.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace tessera::accel {
namespace {

using Json = nlohmann::ordered_json;

constexpr uint64_t kMost = std::numeric_limits<int64_t>::max();

// A region as far as the maps say what it is.
struct Draft {
  std::string name;
  uint64_t offset = 0;
  std::optional<uint64_t> size, elements;
  std::optional<Kind> kind;
  std::optional<uint32_t> layer;
};

Result<Json> parse(std::string_view text, const std::string& file) {
  auto json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return input_error("{}: not JSON", file);
  return json;
}

Result<uint64_t> whole(const Json& value, const std::string& where) {
  if (!value.is_number_unsigned() || value.get<uint64_t>() > kMost)
    return input_error("{}: {} is not a whole number >= 0", where, value.dump());
  return value.get<uint64_t>();
}

Result<uint64_t> product(const Json& list, const std::string& where) {
  uint64_t n = 1;
  for (auto& item : list) {
    TRY(const auto factor, whole(item, where));
    if (factor != 0 && n > kMost / factor) return input_error("{}: the shape {} is too large", where, list.dump());
    n *= factor;
  }
  return n;
}

// 4096, [64, 64], {"elements": 4096}, {"shape": [64, 64]}, {"rows": 64, "cols": 64}; null where it says none of them.
Result<std::optional<uint64_t>> elements_of(const Json& layout, const std::string& where) {
  if (layout.is_number()) {
    TRY(const auto n, whole(layout, where));
    return std::optional(n);
  }
  if (layout.is_array()) {
    TRY(const auto n, product(layout, where));
    return std::optional(n);
  }
  if (!layout.is_object())
    return input_error("{}: {} is no layout", where, layout.dump())
        .hint("give a number of elements, a shape, or an object with 'elements' or 'shape'");
  for (auto* key : {"elements", "physical_shape", "shape"})
    if (layout.contains(key)) return elements_of(layout[key], where);
  for (auto* columns : {"cols", "columns"})
    if (layout.contains("rows") && layout.contains(columns))
      return elements_of(Json::array({layout["rows"], layout[columns]}), where);
  return std::optional<uint64_t>();
}

Result<Draft> read_draft(const std::string& name, const Json& value, const std::string& where) {
  Draft d{.name = name};
  if (!value.is_object()) {
    TRY(d.offset, whole(value, where));
    return d;
  }
  if (!value.contains("offset")) return input_error("{}: 'offset' is missing", where);
  TRY(d.offset, whole(value["offset"], where + ".offset"));
  if (value.contains("size")) {
    TRY(d.size, whole(value["size"], where + ".size"));
  }
  if (value.contains("kind")) {
    TRY(d.kind, parse_kind(value["kind"].is_string() ? value["kind"].get<std::string>() : value["kind"].dump()));
  }
  for (auto* key : {"layer", "layer_id"})
    if (value.contains(key)) {
      TRY(const auto layer, whole(value[key], where + "." + key));
      if (layer > std::numeric_limits<uint32_t>::max()) return input_error("{}: layer {} is too large", where, layer);
      d.layer = static_cast<uint32_t>(layer);
    }
  TRY(d.elements, elements_of(value, where));
  return d;
}

Result<std::vector<Draft>> read_drafts(const RegionMaps& maps) {
  TRY(auto json, parse(maps.regions, maps.regions_file));
  if (json.is_object() && json.contains("regions") && json["regions"].is_array()) json = Json(json["regions"]);
  std::vector<Draft> drafts;
  if (!json.is_object() && !json.is_array())
    return input_error("{}: expected a map from names to offsets", maps.regions_file);
  for (size_t i = 0; json.is_array() && i < json.size(); ++i) {
    const auto where = fmt::format("{}: [{}]", maps.regions_file, i);
    if (!json[i].is_object()) return input_error("{}: expected an object with name and offset", where);
    const auto name = json[i].value("name", std::string());
    TRY(auto draft, read_draft(name, json[i], where));
    drafts.push_back(std::move(draft));
  }
  if (json.is_object())
    for (auto& [name, value] : json.items()) {
      TRY(auto draft, read_draft(name, value, fmt::format("{}: {}", maps.regions_file, name)));
      drafts.push_back(std::move(draft));
    }
  if (drafts.empty()) return input_error("{}: there are no regions in it", maps.regions_file);
  return drafts;
}

// What the other maps add. A name that no region has says nothing about any.
Result<void> add_maps(const RegionMaps& maps, std::vector<Draft>& drafts) {
  std::map<std::string, Draft*> by_name;
  for (auto& d : drafts) by_name[d.name] = &d;
  const auto each = [&](std::optional<std::string_view> text, const std::string& file, auto&& use) -> Result<void> {
    if (!text) return {};
    TRY(const auto json, parse(*text, file));
    if (!json.is_object()) return input_error("{}: expected a map of names", file);
    for (auto& [name, value] : json.items())
      if (const auto it = by_name.find(name); it != by_name.end())
        CHECK_OK(use(*it->second, value, fmt::format("{}: {}", file, name)));
    return {};
  };
  CHECK_OK(each(maps.sizes, maps.sizes_file, [](Draft& d, const Json& value, const std::string& where) -> Result<void> {
    TRY(d.size, whole(value, where));
    return {};
  }));
  return each(maps.layouts, maps.layouts_file,
              [](Draft& d, const Json& value, const std::string& where) -> Result<void> {
                TRY(d.elements, elements_of(value, where));
                return {};
              });
}

std::optional<uint64_t> size_of(const Draft& d, const Draft* next) {
  if (d.size) return d.size;
  if (d.elements) return *d.elements / 8 * 9 + (*d.elements % 8 * 9 + 7) / 8;
  if (next) return next->offset - d.offset;
  return std::nullopt;
}

}  // namespace

Kind kind_of_name(std::string_view name) {
  if (name.find("K_stored_") != name.npos || name.find("V_stored_") != name.npos) return Kind::Kv;
  for (auto* prefix : {"W_", "V_W_", "V_B_", "V_LN1_", "V_LN2_", "V_POST_LN_", "V_PATCH_", "V_CONNECTOR_"})
    if (name.starts_with(prefix)) return Kind::Weight;
  return Kind::Activation;
}

uint32_t layer_of_name(std::string_view name) {
  // Words between '_' and '.'; a word of a layer is L3, layer3 or layers3, or the number after it; else a bare number.
  std::vector<std::string> words(1);
  for (char c : name) {
    if (c == '_' || c == '.')
      words.emplace_back();
    else
      words.back().push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  }
  const auto number = [](std::string_view w) -> std::optional<uint32_t> {
    if (w.empty() || w.size() > 6 || !std::ranges::all_of(w, [](char c) { return c >= '0' && c <= '9'; })) return {};
    return static_cast<uint32_t>(std::stoul(std::string(w)));
  };
  std::optional<uint32_t> bare;
  for (size_t i = 0; i < words.size(); ++i) {
    for (std::string_view prefix : {"layers", "layer", "l"}) {
      if (!words[i].starts_with(prefix)) continue;
      const auto rest = std::string_view(words[i]).substr(prefix.size());
      if (auto n = number(rest)) return *n;
      if (rest.empty() && i + 1 < words.size())
        if (auto n = number(words[i + 1])) return *n;
    }
    if (!bare) bare = number(words[i]);
  }
  return bare.value_or(0);
}

Result<MadeManifest> manifest_from_maps(const RegionMaps& maps) {
  TRY(auto drafts, read_drafts(maps));
  CHECK_OK(add_maps(maps, drafts));
  std::ranges::stable_sort(drafts, {}, &Draft::offset);
  MadeManifest made;
  std::vector<Region> regions;
  for (size_t i = 0; i < drafts.size(); ++i) {
    const auto& d = drafts[i];
    const Draft* next = i + 1 < drafts.size() ? &drafts[i + 1] : nullptr;
    const auto warn = [&](std::string what) { made.warnings.push_back(fmt::format("{}: {}", d.name, what)); };
    auto size = size_of(d, next);
    if (!size) {
      warn("nothing says how large it is, and nothing follows it: dropped");
      continue;
    }
    if (next && *size > next->offset - d.offset) {
      const auto room = next->offset - d.offset;
      warn(fmt::format("its {} bytes run into {}: cut off to {}", *size, next->name, room));
      size = room;
    }
    if (*size == 0) {
      warn("it is empty: dropped");
      continue;
    }
    if (*size > kMost - d.offset) return input_error("{}: {}: ends past 2^63", maps.regions_file, d.name);
    regions.push_back(
        {d.name, d.layer.value_or(layer_of_name(d.name)), d.kind.value_or(kind_of_name(d.name)), d.offset, *size});
  }
  made.manifest = make_manifest(regions);
  return made;
}

KindTotals full_model(const Manifest& manifest, uint64_t layers) {
  std::set<uint32_t> known;
  for (auto& r : manifest.regions)
    if (r.kind != Kind::Activation) known.insert(r.layer);
  auto totals = totals_of(manifest.regions);
  if (known.empty()) return totals;
  // In 128 bits: a layer above 18 GB, and many of them.
  const auto times = [&](uint64_t bytes) {
    const auto all = static_cast<unsigned __int128>(bytes) * layers / known.size();
    return static_cast<uint64_t>(std::min<unsigned __int128>(all, std::numeric_limits<uint64_t>::max()));
  };
  totals.weight = times(totals.weight);
  totals.kv = times(totals.kv);
  return totals;
}

}  // namespace tessera::accel
