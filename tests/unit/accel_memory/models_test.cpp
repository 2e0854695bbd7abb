// What each memory model must do, and what must hold of all of them.
#include <map>

#include "support/expect_error.hpp"
#include "unit/accel_memory/support.hpp"

namespace tessera::accel::test {
namespace {

using tessera::test::expect_error;
using enum MemoryModelKind;

// A pass over layers: the activation, then in each layer its weights, rows stored into its KV, and the KV read back.
Mover pass(const MemoryOptions& options, bool prefill = true) {
  Mover m(options);
  m.read(0, 4096);
  for (auto& r : options.regions) {
    if (r.kind == Kind::Weight) m.stream_through(r, 16384, 10'000'000);
    if (r.kind != Kind::Kv) continue;
    m.store(r.offset, prefill ? r.size : 64);
    m.read(r);
  }
  m.end();
  return m;
}

MemoryOptions options(MemoryModelKind kind, std::vector<Region> regions, const char* on = "custom_a7") {
  return {.kind = kind, .board = board(on), .regions = std::move(regions)};
}

TEST(Models, NamesAndDefaults) {
  for (auto* name : {"hbm", "layer-swap", "host-stream", "auto", "resident", "kv-swap", "weight-stream"})
    EXPECT_EQ(name_of(*parse_memory_model(name)), name);
  expect_error(parse_memory_model("ddr"), {"no memory model 'ddr'", "hbm, layer-swap, host-stream"});
  EXPECT_EQ(set_up_memory({})->kind, Hbm);
  EXPECT_EQ(set_up_memory({.board = board("v80")})->kind, Resident);
  const auto s = *set_up_memory({.board = board("nexys_video")});
  EXPECT_EQ(s.capacity_source, "board nexys_video");
  EXPECT_EQ(s.preset, "DDR3-800");
  EXPECT_EQ(s.link_source, "board nexys_video (usb2)");
}

TEST(Models, TheFlagThenTheManifestThenTheBoard) {
  MemoryOptions o{.board = board("custom_a7"), .manifest = Manifest{.ddr_capacity_bytes = 1000}};
  EXPECT_EQ(set_up_memory(o)->capacity_source, "manifest");
  EXPECT_EQ(set_up_memory(o)->capacity, 1000u);
  o.ddr_capacity = 77;
  o.host_bandwidth = 5;
  EXPECT_EQ(set_up_memory(o)->capacity_source, "--ddr-capacity");
  EXPECT_EQ(set_up_memory(o)->link_source, "--host-bandwidth");
  EXPECT_EQ(set_up_memory(o)->link->bytes_per_second, 5);
}

TEST(Models, WhatIsRefused) {
  expect_error(make_memory_model({.kind = KvSwap, .ddr_capacity = 0}), {"--ddr-capacity: a memory of 0 bytes"});
  expect_error(make_memory_model({.kind = KvSwap, .manifest = Manifest{.ddr_capacity_bytes = 0}}), {"manifest: a mem"});
  expect_error(make_memory_model({.kind = HostStream, .host_bandwidth = 0}), {"--host-bandwidth 0: must be positive"});
  expect_error(make_memory_model({.kind = WeightStream, .board = board("v80")}),
               {"board v80 describes no link to the host, and weight-stream needs one", "--host-bandwidth"});
  expect_error(make_memory_model({.kind = Resident, .board = board("v80"), .start = Start::Cold}), {"a cold start"});
}

TEST(Auto, InclusiveComparisons) {
  EXPECT_EQ(choose_regime(60, 40, 100), Resident);
  EXPECT_EQ(choose_regime(60, 41, 100), KvSwap);
  EXPECT_EQ(choose_regime(100, 1, 100), KvSwap);
  EXPECT_EQ(choose_regime(100, 0, 100), Resident);
  EXPECT_EQ(choose_regime(101, 0, 100), WeightStream);
  const uint64_t huge = ~uint64_t{0};
  EXPECT_EQ(choose_regime(huge, huge, huge), KvSwap);  // the sum does not wrap
  // The same at the door: exact equality is resident, a byte less is not.
  const auto regions = layers(2, 640, 128, 64);
  for (auto [capacity, regime] : std::map<uint64_t, const char*>{
           {1600, "resident"}, {1599, "kv-swap"}, {1280, "kv-swap"}, {1279, "weight-stream"}})
    EXPECT_EQ(Mover({.kind = Auto, .regions = regions, .ddr_capacity = capacity}).stats().regime, regime);
}

TEST(AllModels, ReadTheSameBytesAndAccountForEach) {
  const auto regions = layers(4, 199'936, 39'936);
  std::map<std::string, MemoryStatistics> all;
  for (auto kind : {Hbm, LayerSwap, HostStream, Resident, KvSwap, WeightStream})
    for (bool prefetch : {true, false})
      for (auto start : {Start::Warm, Start::Cold}) {
        auto o = options(kind, regions);
        o.prefetch = prefetch, o.start = start, o.ddr_capacity = 700'000;
        auto m = pass(o);
        const auto s = m.stats();
        SCOPED_TRACE(s.regime);
        expect_conserved(s);
        EXPECT_EQ(s.bytes_read, pass(options(Hbm, regions)).stats().bytes_read);
        EXPECT_EQ(s.read_by_kind[Kind::Weight], 4 * 199'936u);
      }
}

TEST(AllModels, TwoRunsAreTheSame) {
  const auto regions = layers(3, 199'936, 39'936);
  for (auto kind : {Hbm, LayerSwap, HostStream, Resident, KvSwap, WeightStream}) {
    auto o = options(kind, regions);
    o.ddr_capacity = 500'000;
    auto a = pass(o), b = pass(o);
    EXPECT_EQ(a.now, b.now) << name_of(kind);
    EXPECT_EQ(a.stats().inner, b.stats().inner) << name_of(kind);
  }
}

TEST(AllModels, WarmRegimesAreMonotone) {
  for (uint64_t weight : {49'984, 399'936})
    for (int64_t bandwidth : {100'000'000, 1'500'000'000}) {
      std::vector<int64_t> ends;
      for (auto kind : {Resident, KvSwap, WeightStream}) {
        auto o = options(kind, layers(4, weight, 29'952));
        o.host_bandwidth = bandwidth;
        ends.push_back(pass(o).now.count);
      }
      EXPECT_LE(ends[0], ends[1]) << weight << " at " << bandwidth;
      EXPECT_LE(ends[1], ends[2]) << weight << " at " << bandwidth;
    }
}

TEST(HbmModel, KnowsNoManifestAndNoLink) {
  const auto regions = layers(2, 99'968, 9'984);
  auto plain = pass({.kind = Hbm, .regions = regions});
  auto o = MemoryOptions{.kind = Hbm, .regions = regions, .manifest = Manifest{.ddr_capacity_bytes = 7}};
  o.host_bandwidth = 3, o.ddr_capacity = 9, o.start = Start::Cold;
  auto other = pass(o);
  EXPECT_EQ(plain.now, other.now);
  EXPECT_EQ(plain.stats().inner, other.stats().inner);
  EXPECT_EQ(other.stats().link_bytes, 0u);
  EXPECT_TRUE(other.stats().notes.empty());
}

TEST(ResidentModel, AColdStartPaysTheWholeLoad) {
  const auto regions = layers(3, 299'968, 9'984);
  auto o = options(Resident, regions);
  o.host_bandwidth = 100'000'000;
  auto warm = pass(o);
  EXPECT_EQ(warm.stats().link_bytes, 0u);
  o.start = Start::Cold;
  auto cold = pass(o);
  EXPECT_EQ(cold.stats().swapped_bytes, 3 * 299'968u + 65536u);  // KV is made here
  EXPECT_GE(cold.now - Picoseconds(0), memory::duration_of(965'440_B, 100'000'000));
  o.prefetch = false;  // asked for one by one, so nothing overlaps
  EXPECT_GT(pass(o).now, cold.now);
}

TEST(KvSwapModel, WhatIsMadeHereIsNotChargedALoad) {
  auto o = options(KvSwap, layers(1, 99'968, 64'000));
  const auto own = pass(o).stats();
  EXPECT_EQ(own.swaps, 1u);  // the activation
  EXPECT_EQ(own.swapped_bytes, 65'536u);
  ASSERT_EQ(own.swapped.size(), 1u);
  EXPECT_EQ(own.swapped[0].name, "X");
  o.accounting = Accounting::Plena;
  const auto plena = pass(o).stats();
  EXPECT_EQ(plena.swaps, 2u);
  EXPECT_EQ(plena.swapped_bytes, 129'536u);
}

TEST(KvSwapModel, ACacheThatWasThereBeforeIsLoaded) {
  // One row is appended, all of them are read: the rest must come from the host.
  const auto s = pass(options(KvSwap, layers(1, 99'968, 64'000)), false).stats();
  EXPECT_EQ(s.swaps, 2u);
  EXPECT_EQ(s.swapped_bytes, 129'536u);
}

TEST(KvSwapModel, WhatTheHostSentIsNotFetchedAgain) {
  const auto regions = layers(1, 99'968, 64'000);
  auto o = options(KvSwap, regions);
  for (auto accounting : {Accounting::Own, Accounting::Plena}) {
    o.accounting = accounting;
    Mover m(o);
    m.now = m.model->finish(m.model->host_transfer(m.now, 65'536_B));
    m.model->nothing_to_bring(0, 65'536_B);
    m.read(0, 65'536);
    EXPECT_EQ(m.stats().swaps, accounting == Accounting::Own ? 0u : 1u);
    EXPECT_EQ(m.stats().written_back_bytes, 0u);
  }
}

TEST(KvSwapModel, DirtyRowsGoBackWhenTheirRegionIsEvictedAndOnlyThey) {
  // Room for one KV region at a time beside the weights.
  auto regions = layers(2, 99'968, 64'000, 64);
  auto o = options(KvSwap, regions);
  o.ddr_capacity = 2 * 99'968 + 65'000;
  Mover m(o);
  m.store(regions[2].offset, 640);  // ten lines
  m.read(regions[4]);               // evicts
  auto s = m.stats();
  EXPECT_EQ(s.written_back_bytes, 640u);
  EXPECT_EQ(s.swapped_bytes, 640u + 64'000u);
  m.read(regions[2].offset, 64);  // what went back comes again
  s = m.stats();
  EXPECT_EQ(s.swapped_bytes, 640u + 2 * 64'000u);
  EXPECT_EQ(s.written_back_bytes, 640u);  // it was clean
  EXPECT_EQ(s.link_bytes, s.swapped_bytes);
  expect_conserved(s);
}

TEST(KvSwapModel, ConcurrentReadersWaitForTheSameTransfer) {
  const auto regions = layers(1, 99'968, 64'000);
  Mover m(options(KvSwap, regions));
  const auto first = m.submit(regions[2].offset, 64);
  m.compute(1'000'000);  // a microsecond later: on its way, and not there
  const auto second = m.submit(regions[2].offset + 63'936, 64);
  const auto load = memory::duration_of(64'000_B, 1'500'000'000);
  EXPECT_GE(m.model->finish(first), load);
  EXPECT_GE(m.model->finish(second), load);
  EXPECT_EQ(m.stats().swaps, 1u);
  EXPECT_EQ(m.stats().after_swap_bytes, 128u);
}

TEST(KvSwapModel, TheNextLayersCacheComesWhileThisOneComputes) {
  const auto regions = layers(6, 1024, 149'952);
  auto o = options(KvSwap, regions);
  const auto time = [&](bool prefetch) {
    o.prefetch = prefetch;
    Mover m(o);
    for (auto& r : regions) {
      if (r.kind != Kind::Kv) continue;
      m.read(r);
      m.compute(200'000'000);  // twice the load
    }
    return m.end().count;
  };
  EXPECT_LT(time(true), time(false) - 4 * 90'000'000);
}

TEST(KvSwapModel, TheFirstLayersCacheComesBeforeAnyoneAsks) {
  const auto regions = layers(2, 1024, 149'952);
  const auto wait = [&](bool told) {
    auto o = options(KvSwap, regions);
    o.rooms = Rooms{.others = 400'000, .kv_stays = false};
    Mover m(o);
    if (told)
      for (auto& r : regions)
        if (r.kind == Kind::Kv) m.model->left_by_earlier_passes(r.offset, Bytes(static_cast<int64_t>(r.size)));
    m.read(regions[1]);      // the weights of the first layer
    m.compute(400'000'000);  // four times the load
    const auto asked = m.now;
    m.read(regions[2]);
    EXPECT_GE(m.stats().swapped_bytes, 149'952u);
    return (m.now - asked).count;
  };
  EXPECT_GT(wait(false), 190'000'000);
  EXPECT_LT(wait(true), 110'000'000);  // DDR3-800 alone
}

// A decode step after another: each layer's KV is read, one row is appended.
MemoryStatistics decode_step(const MemoryOptions& o) {
  Mover m(o);
  for (auto kind : {Kind::Kv, Kind::Activation})
    for (auto& r : o.regions)
      if (r.kind == kind) m.model->left_by_earlier_passes(r.offset, Bytes(static_cast<int64_t>(r.size)));
  m.read(0, 4096);
  for (auto& r : o.regions)
    if (r.kind == Kind::Kv) m.store(r.offset, 64), m.read(r);
  m.end();
  expect_conserved(m.stats());
  return m.stats();
}

TEST(KvOfEarlierPasses, StaysWhereAllOfItFits) {
  for (auto kind : {KvSwap, WeightStream}) {
    auto o = options(kind, layers(4, 99'968, 64'000));
    for (auto capacity : {4 * 99'968 + 4 * 64'000 + 65'536, 1 << 20}) {
      o.ddr_capacity = capacity, o.start = Start::Warm;
      EXPECT_EQ(decode_step(o).swapped_bytes, 0u) << name_of(kind);
    }
    o.start = Start::Cold;
    EXPECT_GE(decode_step(o).swapped_bytes, 4 * 64'000 + 65'536u);
  }
}

TEST(KvOfEarlierPasses, OneByteLessAndTheLeastRecentlyUsedIsAlwaysTheNextThatIsRead) {
  for (auto kind : {KvSwap, WeightStream}) {
    auto o = options(kind, layers(4, 99'968, 64'000));
    o.ddr_capacity = 4 * 99'968 + 4 * 64'000 + 65'536 - 1;
    EXPECT_GE(decode_step(o).swapped_bytes, 4 * 64'000u) << name_of(kind);
  }
}

// A layer's regions come ahead one after the other: none goes out again for the sake of the next before it was read.
TEST(KvOfEarlierPasses, WhatComesAheadStaysUntilItIsRead) {
  std::vector<Region> regions{{"X", 0, Kind::Activation, 0, 65'536}};
  uint64_t at = 65'536;
  for (uint32_t l = 0; l < 8; ++l) {
    regions.push_back({fmt::format("W{}", l), l, Kind::Weight, at, 99'968}), at += 99'968;
    for (const char* part : {"K0", "V0", "K1", "V1"})
      regions.push_back({fmt::format("{}.{}", part, l), l, Kind::Kv, at, 16'000}), at += 16'000;
  }
  for (uint64_t room : {3u, 5u, 7u}) {  // layers whose cache fits
    auto o = options(KvSwap, regions);
    o.ddr_capacity = 8 * 99'968 + 65'536 + room * 64'000 + 500;
    Mover m(o);
    for (auto kind : {Kind::Kv, Kind::Activation})
      for (auto& r : regions)
        if (r.kind == kind) m.model->left_by_earlier_passes(r.offset, Bytes(static_cast<int64_t>(r.size)));
    for (auto& r : regions) {
      if (r.kind == Kind::Kv) m.store(r.offset, 64);
      m.read(r);
      m.compute(r.kind == Kind::Weight ? 1'000'000'000 : 10'000'000);
      m.read(0, 4096);
    }
    m.end();
    EXPECT_EQ(m.stats().swaps, 32u) << room;
    EXPECT_EQ(m.stats().swapped_bytes - m.stats().written_back_bytes, 8 * 64'000u) << room;
  }
}

// The weights fill the memory: every region is larger than its room, has it alone, and comes again for each layer.
TEST(KvOfEarlierPasses, WithNoRoomAtAllItComesOnEachUse) {
  for (auto kind : {KvSwap, WeightStream})
    for (uint64_t room : {0u, 64u, 63'999u}) {
      auto o = options(kind, layers(4, 99'968, 64'000));
      o.ddr_capacity = 4 * 99'968 + room;
      const auto stats = decode_step(o);
      EXPECT_GE(stats.swapped_bytes, 4 * 64'000u) << name_of(kind) << " " << room;
      EXPECT_GE(stats.written_back_bytes, 3 * 64u) << name_of(kind) << " " << room;
      EXPECT_EQ(stats.notes.size(), 5u) << "each region is warned of";
    }
}

TEST(RoomsOf, TheRingTakesThePlaceOfTheWeights) {
  const auto rooms = [](MemoryModelKind kind, uint64_t capacity) {
    return rooms_of({.kind = kind, .bytes = {.weight = 100, .kv = 20, .activation = 10}, .capacity = capacity});
  };
  for (auto kind : {KvSwap, WeightStream}) {
    EXPECT_EQ(rooms(kind, 120).others, 20u);
    EXPECT_EQ(rooms(kind, 99).others, 30u);  // the weights fit nowhere
    EXPECT_EQ(rooms(kind, 12).others, 12u);
  }
  EXPECT_EQ(rooms(WeightStream, 120).ring, 100u);
  EXPECT_EQ(rooms(WeightStream, 99).ring, 69u);
  EXPECT_EQ(rooms(WeightStream, 12).ring, 0u);
  EXPECT_EQ(rooms(LayerSwap, 50).weights, 20u);
}

TEST(APartOfAModel, MeetsTheRoomsOfTheWhole) {
  const MemorySetup whole{.kind = KvSwap, .bytes = {.weight = 100, .kv = 20, .activation = 10}, .capacity = 120};
  const auto part = for_part({}, whole, layers(1, 64, 64));
  EXPECT_EQ(part.kind, KvSwap);
  EXPECT_EQ(part.rooms->others, 20u);
  EXPECT_FALSE(part.rooms->kv_stays);
  auto larger = whole;
  larger.capacity = 130;
  EXPECT_TRUE(for_part({}, larger, {}).rooms->kv_stays);
}

TEST(LayerSwapModel, LeastRecentlyUsedAndOneSwapALayer) {
  const auto regions = layers(3, 99'968, 1'024);
  auto o = options(LayerSwap, regions);
  o.ddr_capacity = 2 * 99'968 + 3 * 1'024 + 65'536;
  o.prefetch = false, o.start = Start::Cold;
  Mover m(o);
  const auto use = [&](int layer) { m.read(regions[static_cast<size_t>(1 + 2 * layer)]); };
  use(0), use(1), use(0), use(2), use(0);  // 1 went, since 0 was used again
  EXPECT_EQ(m.stats().swaps, 3u);
  use(1);
  EXPECT_EQ(m.stats().swaps, 4u);
  EXPECT_EQ(m.stats().swapped_bytes, 4 * 99'968u);
}

TEST(LayerSwapModel, AWarmStartHasTheLastLayers) {
  const auto regions = layers(3, 99'968, 1'024);
  auto o = options(LayerSwap, regions);
  EXPECT_EQ(pass(o).stats().swaps, 0u);  // all of them fit
  o.ddr_capacity = 2 * 99'968 + 3 * 1'024 + 65'536;
  o.prefetch = false;
  Mover m(o);
  m.read(regions[5]), m.read(regions[3]);
  EXPECT_EQ(m.stats().swaps, 0u);
  m.read(regions[1]);
  EXPECT_EQ(m.stats().swaps, 1u);
}

TEST(LayerSwapModel, ALayerLargerThanTheCapacityIsLoadedOnEachUse) {
  const auto regions = layers(2, 299'968, 1'024);
  auto o = options(LayerSwap, regions);
  o.ddr_capacity = 200'000;
  Mover m(o);
  ASSERT_EQ(m.stats().notes.size(), 2u);
  EXPECT_NE(m.stats().notes[0].find("layer 0 has 299968 bytes"), std::string::npos) << m.stats().notes[0];
  for (int i = 0; i < 3; ++i) m.read(regions[1]), m.read(regions[3]);
  EXPECT_EQ(m.stats().swaps, 6u);
  EXPECT_EQ(m.stats().swapped_bytes, 6 * 299'968u);
  expect_conserved(m.stats());
}

TEST(LayerSwapModel, PrefetchTakesWhatFitsOfTheNextLayer) {
  // Layers of two regions; beside a layer there is room for one region more.
  std::vector<Region> regions;
  for (uint32_t layer = 0; layer < 4; ++layer)
    for (uint64_t part = 0; part < 2; ++part)
      regions.push_back(
          {fmt::format("W{}.{}", layer, part), layer, Kind::Weight, (layer * 2 + part) * 100'096, 100'096});
  auto o = options(LayerSwap, regions);
  const auto time = [&](uint64_t capacity, bool prefetch) {
    o.ddr_capacity = capacity, o.prefetch = prefetch, o.start = Start::Cold;
    Mover m(o);
    for (auto& r : regions) {
      m.read(r);
      m.compute(200'000'000);
    }
    m.end();
    EXPECT_EQ(m.stats().swaps, 4u);
    EXPECT_EQ(m.stats().swapped_bytes, 8 * 100'096u);
    return m.now.count;
  };
  const auto none = time(200'192, true), part = time(300'288, true), all = time(400'384, true),
             off = time(400'384, false);
  EXPECT_EQ(none, time(200'192, false));
  EXPECT_LT(part, none - 3 * 60'000'000);  // about one load of 67 us a layer is hidden
  EXPECT_LE(all, part);
  EXPECT_LE(off, none);
}

TEST(LayerSwapModel, ALayerAbove18GB) {
  // Bytes times 10^12 is far past 64 bits here.
  std::vector<Region> regions{{"W0", 0, Kind::Weight, 0, 20'000 * kMega}};
  auto o = options(LayerSwap, regions);
  o.ddr_capacity = 64'000 * kMega, o.start = Start::Cold;
  Mover m(o);
  m.read(0, 64);
  EXPECT_NEAR(static_cast<double>(m.now.count), 20e9 / 1.5e9 * 1e12, 2e10);
  EXPECT_EQ(m.stats().swapped_bytes, 20'000 * kMega);
  EXPECT_NEAR(static_cast<double>(m.stats().link_busy.count), 20e9 / 1.5e9 * 1e12, 1);
}

TEST(HostLinkShared, SwapsStreamsAndTheHostWaitForEachOther) {
  const auto regions = layers(1, 149'952, 149'952);
  auto o = options(WeightStream, regions);
  o.prefetch = false;
  Mover m(o);
  const auto host = m.model->host_transfer(m.now, 149'952_B);
  const auto kv = m.submit(regions[2].offset, 64);
  const auto weight = m.submit(regions[1].offset, 64);
  const auto each = memory::duration_of(149'952_B, 1'500'000'000).count;
  EXPECT_GE(m.model->finish(host).count, each);
  EXPECT_GE(m.model->finish(kv).count, 2 * each);
  EXPECT_GE(m.model->finish(weight).count, 2 * each);
  EXPECT_EQ(m.stats().host_bytes, 149'952u);
  EXPECT_EQ(m.stats().link_bytes, 2 * 149'952u + 64);
}

// Time a layer against what the link and the machine need alone.
class Overlap : public testing::TestWithParam<double> {};

TEST_P(Overlap, WeightStreamTakesTheLongerOfLinkAndCompute) {
  const double ratio = GetParam();  // compute over link
  const auto regions = layers(6, 512'000, 1'024);
  constexpr uint64_t tile = 8192;
  auto o = options(WeightStream, regions);
  o.host_bandwidth = 500'000'000;
  const double link = 512'000 / 0.5e9 * 1e12, compute = ratio * link;
  const auto tile_ps = static_cast<int64_t>(compute * tile / 512'000);
  const auto time = [&](bool prefetch, bool overlap) {
    o.prefetch = prefetch;
    Mover m(o);
    for (auto& r : regions)
      if (r.kind == Kind::Weight) m.stream_through(r, tile, tile_ps, overlap);
    m.end();
    EXPECT_EQ(m.stats().streamed_bytes, 6 * 512'000u);
    EXPECT_EQ(m.stats().link_bytes, 6 * 512'000u);
    return static_cast<double>(m.now.count) / 6;
  };
  const double tolerance = ratio >= 2 || ratio <= 0.5 ? 0.05 : 0.15;
  EXPECT_NEAR(time(true, true) / std::max(link, compute), 1, tolerance);
  EXPECT_GE(time(true, true), std::max(link, compute) * 0.999);
  const double latency = static_cast<double>(o.board->link->latency_ns) * 1e3 * 512'000 / tile;  // each tile waits
  EXPECT_NEAR(time(false, false) / (link + compute + latency), 1, 0.05);
}

INSTANTIATE_TEST_SUITE_P(Ratios, Overlap, testing::Values(0.1, 0.5, 0.8, 1.0, 1.25, 2.0, 8.0));

TEST(WeightStreamModel, PhasesWithoutWeightsAreUsedToBringTheNext) {
  // Long work without weights between two layers: with a ring, the link does not idle.
  const auto regions = layers(4, 399'936, 1'024);
  auto o = options(WeightStream, regions);
  o.host_bandwidth = 399'936'000;  // a millisecond a layer
  const auto time = [&](bool prefetch) {
    o.prefetch = prefetch;
    Mover m(o);
    for (auto& r : regions)
      if (r.kind == Kind::Weight) m.stream_through(r, 8000, 1'000'000), m.compute(1'000'000'000);
    return static_cast<double>(m.end().count);
  };
  EXPECT_NEAR(time(false), 4 * (1e9 + 1e9), 0.1e9 * 4);
  EXPECT_LT(time(true), 1e9 + 4 * 1e9 + 4 * 0.3e9);
}

TEST(WeightStreamModel, WhatComesAheadIntoFreeSramCostsTheDdrNothing) {
  const auto regions = layers(4, 399'936, 1'024);
  auto o = options(WeightStream, regions);
  o.host_bandwidth = 399'936'000;
  struct Outcome {
    double time = 0;
    uint64_t writes = 0;  // of the ring
  };
  const auto with = [&](Bytes sram) {
    Mover m(o);
    m.model->spare_sram(sram);
    for (auto& r : regions)
      if (r.kind == Kind::Weight) m.stream_through(r, 8000, 1'000'000), m.compute(1'000'000'000);
    Outcome out{.time = static_cast<double>(m.end().count)};
    for (auto& [name, count] : m.stats().inner)
      if (name == "writes") out.writes = count;
    EXPECT_EQ(m.stats().link_bytes, 4 * 399'936u);
    return out;
  };
  const auto ring = with(0_B), sram = with(8'000'000_B);
  EXPECT_GT(ring.writes, 3 * 399'936u / 64 / 2);  // most of three layers
  EXPECT_EQ(sram.writes, 0u);
  EXPECT_LE(sram.time, ring.time);
}

TEST(WeightStreamModel, ALineReadAgainIsKeptInTheRing) {
  const auto regions = layers(1, 256'000, 1'024);
  auto o = options(WeightStream, regions);
  Mover m(o);
  m.model->weights_are_read_again();
  for (int i = 0; i < 4; ++i) m.read(regions[1]);
  EXPECT_EQ(m.stats().link_bytes, 256'000u);
  EXPECT_EQ(m.stats().streamed_bytes, 4 * 256'000u);
  o.prefetch = false;
  Mover bare(o);
  bare.model->weights_are_read_again();
  for (int i = 0; i < 4; ++i) bare.read(regions[1]);
  EXPECT_EQ(bare.stats().link_bytes, 4 * 256'000u);
}

TEST(WeightStreamModel, NoRingIsLeftWhenTheCacheFillsTheMemory) {
  const auto regions = layers(2, 256'000, 299'968);
  auto o = options(WeightStream, regions);
  o.ddr_capacity = 500'000;
  const auto s = pass(o).stats();
  ASSERT_FALSE(s.notes.empty());
  EXPECT_NE(s.notes[0].find("nothing is left to prefetch"), std::string::npos);
  EXPECT_GT(s.written_back_bytes, 0u);
  expect_conserved(s);
}

TEST(HostStreamModel, WeightsOverTheLinkTheRestFromDdr) {
  const auto regions = layers(2, 256'000, 9'984);
  const auto s = pass(options(HostStream, regions)).stats();
  EXPECT_EQ(s.streamed_bytes, 512'000u);
  EXPECT_EQ(s.link_bytes, 512'000u);
  EXPECT_EQ(s.swaps, 0u);
}

}  // namespace
}  // namespace tessera::accel::test
