// A machine that only moves bytes: reads and writes of stretches of memory, compute in between.
#pragma once

#include <gtest/gtest.h>

#include "accel/memory_models.hpp"
#include "target/target.hpp"

namespace tessera::accel::test {

using memory::Picoseconds;

constexpr uint64_t kMega = 1'000'000;

inline target::Board board(const std::string& name) {
  return target::load_board(name, std::string(TESSERA_ROOT) + "/targets").value();
}

// Layers of one weight region and one KV region each, and an activation in front.
inline std::vector<Region> layers(uint32_t count, uint64_t weight, uint64_t kv, uint64_t activation = 65536) {
  EXPECT_EQ((weight | kv | activation) % 64, 0u) << "regions that share lines are another test";
  std::vector<Region> regions{{"X", 0, Kind::Activation, 0, activation}};
  uint64_t at = activation;
  for (uint32_t i = 0; i < count; ++i) {
    regions.push_back({"W" + std::to_string(i), i, Kind::Weight, at, weight});
    at += weight;
    regions.push_back({"KV" + std::to_string(i), i, Kind::Kv, at, kv});
    at += kv;
  }
  return regions;
}

class Mover {
 public:
  explicit Mover(const MemoryOptions& options) {
    auto made = make_memory_model(options);
    EXPECT_TRUE(made) << made.error().text();
    model = std::move(*made);
  }

  static std::vector<LineRequest> lines(uint64_t from, uint64_t bytes, bool write) {
    std::vector<LineRequest> list;
    for (uint64_t at = from / 64 * 64; at < from + bytes; at += 64) list.push_back({at, write});
    return list;
  }
  TransferId submit(uint64_t from, uint64_t bytes, bool write = false) {
    const auto list = lines(from, bytes, write);
    return model->submit(now, list);
  }
  void read(uint64_t from, uint64_t bytes) { now = std::max(now, model->finish(submit(from, bytes))); }
  void write(uint64_t from, uint64_t bytes) { now = std::max(now, model->finish(submit(from, bytes, true))); }
  // Reads each line before it writes it, as one transfer.
  void store(uint64_t from, uint64_t bytes) {
    std::vector<LineRequest> list;
    for (auto& l : lines(from, bytes, false)) list.push_back(l), list.push_back({l.address, true});
    now = std::max(now, model->finish(model->submit(now, list)));
  }
  void read(const Region& r) { read(r.offset, r.size); }
  void compute(int64_t ps) { now += Picoseconds(ps); }
  Picoseconds end() {
    now = model->drain(now);
    EXPECT_FALSE(model->stuck());
    return now;
  }
  MemoryStatistics stats() const { return model->statistics(); }

  // A region in tiles, each fetched while the one before is worked on; `ps` of work a tile.
  void stream_through(const Region& r, uint64_t tile, int64_t ps, bool overlap = true) {
    TransferId next = submit(r.offset, std::min(tile, r.size));
    for (uint64_t at = 0; at < r.size; at += tile) {
      now = std::max(now, model->finish(next));
      const bool more = at + tile < r.size;
      if (more && overlap) next = submit(r.offset + at + tile, std::min(tile, r.size - at - tile));
      compute(ps);
      if (more && !overlap) next = submit(r.offset + at + tile, std::min(tile, r.size - at - tile));
    }
  }

  std::unique_ptr<MemoryModel> model;
  Picoseconds now;
};

inline void expect_conserved(const MemoryStatistics& s) {
  EXPECT_EQ(s.bytes_read, s.resident_bytes + s.after_swap_bytes + s.streamed_bytes);
  EXPECT_EQ(s.bytes_read, s.read_by_kind[Kind::Weight] + s.read_by_kind[Kind::Kv] + s.read_by_kind[Kind::Activation]);
}

}  // namespace tessera::accel::test
