// Measured pieces of a model's run on a board, and whole runs put together from them: a layer in the middle of a few,
// a block of attention rows at the beginning, in the middle and at the end of the context, the head.
//
//   RegimePieces pieces(model, machine, board, setup);
//   pieces.decode(MemoryModelKind::KvSwap, 4096) -> {.seconds = 0.31, .link_seconds = 0.27}
#pragma once

#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "accel/memory_models.hpp"
#include "accel/regime_write_backs.hpp"
#include "accel/run.hpp"

namespace tessera::accel {

// Of one program, host included.
struct ComposedTime {
  double seconds = 0;
  double link_seconds = 0;  // that the wire is in use
  double link_bytes = 0;
};

// Programs of a few layers that were run, so that boards and regimes that share a piece measure it once.
class PieceStore {
 public:
  struct Piece {
    std::vector<PromptTimes::Layer> layers;
    double total = 0;
    double link_bytes = 0;  // of a layer in the middle
  };
  Result<Piece> run(const Model& model, const MachineConfig& machine, const DecoderOptions& options,
                    const MemoryOptions& memory);
  int64_t measured() const { return static_cast<int64_t>(pieces_.size()); }

 private:
  std::mutex mutex_;
  std::map<std::string, std::shared_future<Result<Piece>>> pieces_;
};

class RegimePieces {
 public:
  RegimePieces(Model model, MachineConfig machine, target::Board board, std::optional<memory::LinkTiming> link,
               uint64_t capacity, PieceStore& store);

  // Time to the first token after a prompt of that length; of one more token at that context.
  Result<ComposedTime> prefill(MemoryModelKind regime, int64_t context);
  Result<ComposedTime> decode(MemoryModelKind regime, int64_t context);

  // What a part of the model meets in its memory.
  MemoryOptions memory_for(MemoryModelKind regime, const KindTotals& whole) const;
  Result<KindTotals> bytes_of(const DecoderOptions& options) const;

 private:
  struct Blocks {
    double layer = 0;  // seconds of a layer over all blocks, everything resident
    double made = 0;   // of them, until the first one stores its K and V
    double chunks = 1;
  };

  Result<ComposedTime> from_layers(MemoryModelKind regime, DecoderOptions options);
  Result<Blocks> in_blocks(int64_t context, int64_t rows);
  Result<double> overlap_of(int64_t context, int64_t rows, double link_over_machine);
  Result<PromptTimes::Layer> part_of_layer(const DecoderOptions& options);
  Result<double> head_seconds();
  Result<void> add_write_backs(MemoryModelKind regime, const DecoderOptions& options, PromptTimes times,
                               ComposedTime& time) const;
  Result<std::vector<Region>> regions_of(const DecoderOptions& options) const;
  double add_head(MemoryModelKind regime, double seconds, double slack, double head) const;
  ComposedTime with_host(ComposedTime time, int64_t tokens) const;
  double over_link(double bytes) const;
  double host_seconds(double bytes) const;
  double row_bytes(int64_t tokens) const { return static_cast<double>(tokens * model_.hidden * 2); }
  int64_t measured_layers() const;

  Model model_;
  MachineConfig machine_;
  target::Board board_;
  std::optional<memory::LinkTiming> link_;
  uint64_t capacity_;
  PieceStore& store_;
  double layer_weights_ = 0, head_weights_ = 0;  // bytes, with padding
};

// How far a composition is from running all of it, on a model small enough for that.
struct CompositionCheck {
  std::string what;  // "decode, kv-swap, 6 layers, context 128"
  double composed = 0, simulated = 0;
  double error() const { return simulated > 0 ? composed / simulated - 1 : 0; }
};
Result<std::vector<CompositionCheck>> check_composition(const Model& model, const MachineConfig& machine,
                                                        const target::Board& board,
                                                        std::optional<memory::LinkTiming> link);

}  // namespace tessera::accel
