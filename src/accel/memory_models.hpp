// The memory models by name, and what they are made from.
//
//   TRY(auto model, make_memory_model({.kind = MemoryModelKind::Auto, .board = board, .regions = regions}));
//   model->statistics().regime -> "resident"
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accel/manifest.hpp"
#include "accel/memory_model.hpp"
#include "base/error.hpp"
#include "memory/link.hpp"
#include "target/board.hpp"

namespace tessera::accel {

enum class MemoryModelKind { Hbm, LayerSwap, HostStream, Auto, Resident, KvSwap, WeightStream };

// "kv-swap" -> KvSwap; anything else is an error that lists the names.
Result<MemoryModelKind> parse_memory_model(std::string_view name);
std::string_view name_of(MemoryModelKind kind);

enum class Start {
  Warm,  // the steady state: weights that the model keeps are there, and what the pass before left of the rest
  Cold,  // nothing is there
};
enum class Accounting {
  Own,    // KV made on chip is not charged a load
  Plena,  // the first touch of a region is, whoever made it
};

// What a regime sets aside of the memory. In weight-stream the ring takes the place of the weights, so that KV and
// activations have the room that kv-swap gives them; where the weights fit nowhere, they come first.
//
//   rooms_of({.kind = WeightStream, 100 of weights, 30 of others, capacity 120}) -> {.others = 20, .ring = 100}
struct Rooms {
  uint64_t weights = 0;      // of layers that are swapped
  uint64_t others = 0;       // of KV and activations that are swapped
  uint64_t ring = 0;         // of streamed weights that come ahead of their use
  bool weights_stay = true;  // a warm start finds what the pass before left: the last used that fit
  bool kv_stays = true;
};

struct MemoryOptions {
  std::optional<MemoryModelKind> kind;    // none: auto where a board is given, else hbm
  std::optional<target::Board> board;     // none: for models other than hbm, the memory and link of custom_a7
  std::vector<Region> regions;            // the program's: statistics by kind are by these
  std::optional<Manifest> manifest;       // --manifest: what is resident, swapped or streamed; none: the regions
  std::optional<uint64_t> ddr_capacity;   // --ddr-capacity
  std::optional<int64_t> host_bandwidth;  // --host-bandwidth
  bool prefetch = true;
  Start start = Start::Warm;
  Accounting accounting = Accounting::Own;
  std::optional<Rooms> rooms;  // none: as the regions and the capacity give them
};

// What the options come to: the choice of `auto` made, every number with where it is from.
struct MemorySetup {
  MemoryModelKind kind = MemoryModelKind::Hbm;  // never Auto
  bool chosen_by_auto = false;
  KindTotals bytes;    // of the regions
  std::string preset;  // of the DRAM
  uint64_t capacity = 0;
  std::string capacity_source;             // "--ddr-capacity", "manifest", "board nexys_video"
  std::optional<memory::LinkTiming> link;  // none: nothing comes from the host in time
  std::string link_source;
  std::vector<std::string> notes;  // what does not fit as asked
};
Result<MemorySetup> set_up_memory(const MemoryOptions& options);
Rooms rooms_of(const MemorySetup& setup);
// A few layers of a model meet what all of them would: the same regime and rooms, and nothing is there from the pass
// before where all of it would not have fitted.
MemoryOptions for_part(MemoryOptions options, const MemorySetup& whole, std::vector<Region> regions);
Result<std::unique_ptr<MemoryModel>> make_memory_model(const MemoryOptions& options);

// The rule of auto, inclusive: all of it fits -> Resident; the weights fit -> KvSwap; else WeightStream.
MemoryModelKind choose_regime(uint64_t weight_bytes, uint64_t other_bytes, uint64_t capacity);

}  // namespace tessera::accel
