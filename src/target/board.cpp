#include "target/board.hpp"

#include <algorithm>

#include "target/reader.hpp"
#include "target/target.hpp"

namespace tessera::target {
namespace {

void read_memory(Reader& r, const YAML::Node& node, BoardMemory& m) {
  const std::string path = "memory";
  FIELD(m, preset), FIELD(m, capacity), FIELD(m, peak_bytes_per_second), FIELD(m, effective_bytes_per_second);
  if (m.capacity.count <= 0) r.fail("memory.capacity", "must be positive");
  if (m.peak_bytes_per_second <= 0) r.fail("memory.peak_bytes_per_second", "must be positive");
  if (m.effective_bytes_per_second <= 0 || m.effective_bytes_per_second > m.peak_bytes_per_second)
    r.fail("memory.effective_bytes_per_second", "must be positive and at most the peak");
}

BoardLink read_link(Reader& r, const YAML::Node& node) {
  const std::string path = "host_link";
  BoardLink l;
  FIELD(l, name), FIELD(l, bytes_per_second), FIELD(l, theoretical_bytes_per_second), FIELD(l, latency_ns);
  FIELD(l, packet);
  if (l.bytes_per_second <= 0) r.fail("host_link.bytes_per_second", "must be positive");
  if (l.packet.count <= 0 || l.packet.count % 64 != 0)
    r.fail("host_link.packet", "must be a positive multiple of 64, the bytes of a line");
  return l;
}

void read_latency(Reader& r, const YAML::Node& node, Board& b) {
  const std::string path = "latency";
  auto& l = b.latency;
  r.read(node, path, "dc_lib", b.dc_lib);
  FIELD(l, systolic), FIELD(l, add), FIELD(l, mul), FIELD(l, exp), FIELD(l, reci), FIELD(l, max), FIELD(l, sum);
  FIELD(l, fp_basic), FIELD(l, fp_exp), FIELD(l, fp_sqrt), FIELD(l, fp_reci), FIELD(l, integer);
  FIELD(b.dma, prefetch_v), FIELD(b.dma, prefetch_m), FIELD(b.dma, store_v);
}

void read_resources(Reader& r, const YAML::Node& node, Resources& o) {
  const std::string path = "resources";
  FIELD(o, lut), FIELD(o, bram36), FIELD(o, uram), FIELD(o, dsp), FIELD(o, products_per_dsp);
  if (o.products_per_dsp < 1) r.fail("resources.products_per_dsp", "must be positive");
}

std::vector<TileHint> read_tiles(Reader& r, const YAML::Node& list, const char* key) {
  std::vector<TileHint> tiles;
  if (!list.IsSequence() || list.size() == 0) r.fail(key, "expected a list of tiles {mlen: M, blen: B}");
  for (size_t i = 0; list.IsSequence() && i < list.size(); ++i) {
    const auto path = fmt::format("{}[{}]", key, i);
    const YAML::Node node = list[i];
    TileHint t;
    FIELD(t, mlen), FIELD(t, blen);
    if (t.mlen <= 0 || t.blen <= 0 || t.mlen % t.blen != 0) r.fail(path, "blen must be positive and divide mlen");
    tiles.push_back(t);
  }
  std::ranges::stable_sort(tiles, {}, [](const TileHint& t) { return std::pair(t.mlen, t.blen); });
  return tiles;
}

Result<Board> read_board(const YAML::Node& root, const std::string& file) {
  Reader r(file);
  Board b;
  for (auto [key, field] :
       {std::pair{"name", &Board::name}, {"description", &Board::description}, {"part", &Board::part}})
    r.read(root, "", key, b.*field);
  r.read(root, "", "clock_mhz", b.clock_mhz);
  if (b.clock_mhz <= 0 || b.clock_mhz > 1e5) r.fail("clock_mhz", "must be positive, and 100000 at most");
  if (auto node = r.child(root, "", "memory")) read_memory(r, node, b.memory);
  if (root["host_link"]) b.link = read_link(r, root["host_link"]);
  if (auto node = r.child(root, "", "precision")) {
    r.read(node, "precision", "weight", b.weight_type), r.read(node, "precision", "kv", b.kv_type);
    r.read(node, "precision", "vector", b.vector_type);
  }
  if (auto node = r.child(root, "", "latency")) read_latency(r, node, b);
  if (auto node = root["power"]) {
    b.watts = 0;
    r.read(node, "power", "board_watts", *b.watts);
  }
  if (auto node = r.child(root, "", "resources")) read_resources(r, node, b.resources);
  if (auto node = r.child(root, "", "tile_hints")) b.tiles = read_tiles(r, node, "tile_hints");
  if (auto node = r.child(root, "", "assumed"))
    for (const auto& item : node) b.assumed.push_back(item.IsScalar() ? item.Scalar() : "");
  if (!r.problem().empty()) return input_error("{}", r.problem());
  return b;
}

}  // namespace

Result<Board> load_board(std::string_view name_or_path, const std::string& directory) {
  const auto path = path_of(name_or_path, directory);
  const auto known = [&] { return known_names("boards", list_boards(directory), directory); };
  std::error_code ec;
  if (!std::filesystem::exists(path, ec))
    return input_error("there is no board '{}' ({})", name_or_path, path.string()).hint(known());
  TRY(auto root, load_yaml(path));
  if (!is_board(root))
    return input_error("'{}' is a chip, not an accelerator board", name_or_path)
        .hint(known() + "; a board's file says 'kind: board'");
  return reading(path, root, [&](const YAML::Node& node) { return read_board(node, path.string()); });
}

}  // namespace tessera::target
