#include "accel/memory_models.hpp"

#include <algorithm>
#include <array>

#include "accel/regime_memory.hpp"
#include "target/target.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;

constexpr std::array kNames{std::pair{Hbm, "hbm"},
                            std::pair{LayerSwap, "layer-swap"},
                            std::pair{HostStream, "host-stream"},
                            std::pair{Auto, "auto"},
                            std::pair{Resident, "resident"},
                            std::pair{KvSwap, "kv-swap"},
                            std::pair{WeightStream, "weight-stream"}};

// The link of a board that describes none, where --host-bandwidth says that there is one.
constexpr memory::LinkTiming kPlainLink{
    .bytes_per_second = 0, .latency = memory::Picoseconds(1'000'000), .packet = 256_B};

const std::vector<Region>& managed(const MemoryOptions& options) {
  return options.manifest ? options.manifest->regions : options.regions;
}

Result<void> set_capacity(const MemoryOptions& options, const target::Board& board, MemorySetup& setup) {
  if (options.ddr_capacity) {
    setup.capacity = *options.ddr_capacity, setup.capacity_source = "--ddr-capacity";
  } else if (options.manifest && options.manifest->ddr_capacity_bytes) {
    setup.capacity = *options.manifest->ddr_capacity_bytes, setup.capacity_source = "manifest";
  } else {
    setup.capacity = static_cast<uint64_t>(board.memory.capacity.count);
    setup.capacity_source = "board " + board.name;
  }
  if (setup.capacity == 0)
    return input_error("{}: a memory of 0 bytes holds nothing", setup.capacity_source)
        .hint("give the bytes of the board's memory, e.g. --ddr-capacity 512M");
  return {};
}

Result<void> set_link(const MemoryOptions& options, const target::Board& board, MemorySetup& setup) {
  if (options.host_bandwidth && *options.host_bandwidth <= 0)
    return input_error("--host-bandwidth {}: must be positive", *options.host_bandwidth)
        .hint("give bytes a second, e.g. --host-bandwidth 1.5e9");
  if (board.link) {
    setup.link = memory::LinkTiming{.bytes_per_second = board.link->bytes_per_second,
                                    .latency = memory::Picoseconds(board.link->latency_ns * 1000),
                                    .packet = board.link->packet};
    setup.link_source = fmt::format("board {} ({})", board.name, board.link->name);
  }
  if (options.host_bandwidth) {
    if (!setup.link) setup.link = kPlainLink;
    setup.link->bytes_per_second = *options.host_bandwidth;
    setup.link_source = "--host-bandwidth";
  }
  const bool needed = setup.kind == LayerSwap || setup.kind == HostStream || setup.kind == KvSwap ||
                      setup.kind == WeightStream || options.start == Start::Cold;
  if (needed && !setup.link)
    return input_error("board {} describes no link to the host, and {} needs one", board.name,
                       options.start == Start::Cold ? "a cold start" : name_of(setup.kind))
        .hint("give its bytes a second: --host-bandwidth 1.5e9");
  return {};
}

RegimeSettings settings_for(const MemorySetup& setup, const MemoryOptions& options) {
  RegimeSettings s{.regime = std::string(name_of(setup.kind)), .link = setup.link};
  const auto others = setup.bytes.kv + setup.bytes.activation;
  const auto rooms = options.rooms.value_or(rooms_of(setup));
  const bool cold = options.start == Start::Cold;
  s.prefetch = options.prefetch;
  s.accounting = options.accounting;
  s.notes = setup.notes;
  s.kv_stays = !cold && rooms.kv_stays && options.accounting == Accounting::Own;
  s.tables_stay = !cold && options.accounting == Accounting::Own;
  // Where a model keeps its weights, a cold start brings them once.
  const auto keep_weights = [&] {
    s.weights = cold ? Treatment::Swap : Treatment::Memory;
    s.weights_pool = setup.bytes.weight;
    s.load_at_start = cold && options.prefetch;
  };
  switch (setup.kind) {
    case Hbm:
      s.link.reset();
      break;
    case HostStream:
      s.weights = Treatment::Stream;
      break;
    case LayerSwap:
      s.weights = Treatment::Swap, s.weights_by_layer = true, s.weights_pool = rooms.weights;
      s.keep_last_layers = !cold && rooms.weights_stay;
      break;
    case Resident:
      keep_weights();
      s.others = s.weights, s.others_pool = others;
      break;
    case KvSwap:
      keep_weights();
      s.others = Treatment::Swap, s.others_pool = rooms.others;
      break;
    case WeightStream:
    case Auto:
      s.weights = Treatment::Stream, s.others = Treatment::Swap;
      s.ring = options.prefetch ? rooms.ring : 0;
      s.others_pool = rooms.others;
      break;
  }
  s.others_fit = others <= s.others_pool;
  return s;
}

void note_what_does_not_fit(MemorySetup& setup) {
  const auto others = setup.bytes.kv + setup.bytes.activation;
  const auto note = [&](uint64_t bytes, std::string_view what, std::string_view then) {
    if (bytes > setup.capacity)
      setup.notes.push_back(fmt::format("{} need {} bytes, the capacity is {} ({}): {}", what, bytes, setup.capacity,
                                        setup.capacity_source, then));
  };
  if (setup.kind == Resident) note(setup.bytes.total(), "all regions", "resident takes them as if they fitted");
  if (setup.kind == KvSwap) note(setup.bytes.weight, "the weights", "kv-swap takes them as if they fitted");
  if (setup.kind == WeightStream && rooms_of(setup).ring == 0)
    note(others, "KV and activations", "nothing is left to prefetch weights into");
  if (setup.kind == LayerSwap) note(others, "KV and activations", "nothing is left for layers");
}

}  // namespace

Result<MemoryModelKind> parse_memory_model(std::string_view name) {
  for (auto& [kind, text] : kNames)
    if (name == text) return kind;
  std::vector<std::string_view> names;
  for (auto& [kind, text] : kNames) names.push_back(text);
  return input_error("there is no memory model '{}'", name).hint(fmt::format("known: {}", fmt::join(names, ", ")));
}

std::string_view name_of(MemoryModelKind kind) {
  return std::ranges::find(kNames, kind, [](auto& n) { return n.first; })->second;
}

MemoryModelKind choose_regime(uint64_t weight_bytes, uint64_t other_bytes, uint64_t capacity) {
  if (weight_bytes > capacity) return WeightStream;
  return other_bytes <= capacity - weight_bytes ? Resident : KvSwap;
}

Result<MemorySetup> set_up_memory(const MemoryOptions& options) {
  MemorySetup setup;
  setup.kind = options.kind.value_or(options.board ? Auto : Hbm);
  if (setup.kind == Hbm) {
    const bool own = options.board && options.board->memory.preset.starts_with("HBM");
    setup.preset = own ? options.board->memory.preset : "HBM2";
    setup.bytes = totals_of(options.regions);
    return setup;
  }
  auto board = options.board;
  if (!board) {
    TRY(board, target::load_board("custom_a7", target::default_target_directory()));
  }
  setup.preset = board->memory.preset;
  setup.bytes = totals_of(managed(options));
  CHECK_OK(set_capacity(options, *board, setup));
  if (setup.kind == Auto) {
    setup.kind = choose_regime(setup.bytes.weight, setup.bytes.kv + setup.bytes.activation, setup.capacity);
    setup.chosen_by_auto = true;
  }
  CHECK_OK(set_link(options, *board, setup));
  note_what_does_not_fit(setup);
  return setup;
}

Rooms rooms_of(const MemorySetup& setup) {
  const auto others = setup.bytes.kv + setup.bytes.activation;
  const auto left = [&](uint64_t taken) { return setup.capacity - std::min(setup.capacity, taken); };
  if (setup.kind == LayerSwap) return {.weights = left(others)};
  if (setup.bytes.weight <= setup.capacity) return {.others = left(setup.bytes.weight), .ring = setup.bytes.weight};
  return {.others = std::min(others, setup.capacity), .ring = left(others)};
}

MemoryOptions for_part(MemoryOptions options, const MemorySetup& whole, std::vector<Region> regions) {
  options.kind = whole.kind;
  options.manifest.reset();
  options.regions = std::move(regions);
  if (whole.capacity) options.ddr_capacity = whole.capacity;
  auto rooms = rooms_of(whole);
  rooms.weights_stay = whole.bytes.weight <= rooms.weights;
  rooms.kv_stays = whole.bytes.kv + whole.bytes.activation <= rooms.others;
  options.rooms = rooms;
  return options;
}

Result<std::unique_ptr<MemoryModel>> make_memory_model(const MemoryOptions& options) {
  TRY(auto setup, set_up_memory(options));
  auto settings = settings_for(setup, options);
  TRY(settings.dram, memory::dram_preset(setup.preset));
  const auto& regions = options.regions.empty() ? managed(options) : options.regions;
  return std::make_unique<RegimeMemory>(std::move(settings), regions,
                                        setup.kind == Hbm ? std::vector<Region>{} : managed(options));
}

}  // namespace tessera::accel
