#include "accel/regime_write_backs.hpp"

#include <algorithm>
#include <utility>

#include "accel/decoder_layout.hpp"
#include "accel/regime_pieces.hpp"
#include "accel/residency.hpp"

namespace tessera::accel {
namespace {

// The prompt's uses of its regions, in order.
class Replay {
 public:
  Replay(const DecoderShape& shape, const MachineConfig& machine, uint64_t room)
      : shape_(shape), layout_(lay_out(shape, machine)), pool_(room), units_(layout_.placements.size(), -1) {}

  std::vector<WriteBack> run() {
    if (shape_.head_blocks == 1) use(0, "rope");
    for (layer_ = 0; layer_ < shape_.layers; ++layer_) {
      if (layer_ == 0 || !shape_.single_chunk()) use(0, "x");
      use(0, "cosine"), use(0, "sine");
      for (const char* which : {"k", "v"})
        for (int64_t kv = 0; kv < shape_.model.kv_heads; ++kv) use(layer_, fmt::format("{}.{}", which, kv));
      if (shape_.masks()) use(0, "mask");
      if (!shape_.single_chunk()) use(0, "x");
    }
    use(0, "x");
    if (shape_.head) use(0, "logits");
    return std::move(out_);
  }

 private:
  void use(int64_t layer, const std::string& tensor) {
    const auto place = layout_.index.at({layer, tensor});
    auto& unit = units_[place];
    if (unit < 0) {
      unit = pool_.add_unit({layout_.placements[place].region.size});
      places_.push_back(place);
    }
    pool_.touch(unit);
    if (pool_.presence(unit, 0) == Presence::Present) return;
    const auto claim = pool_.claim_segment(unit, 0);
    if (!claim.granted) return;
    for (int victim : claim.evicted) put_out(layout_.placements[places_[static_cast<size_t>(victim)]]);
    pool_.loaded(unit, 0);
  }

  // Tables are as the host has them, and rows of a cache beyond the prompt are not written yet.
  void put_out(const Placement& p) {
    if (p.region.kind != Kind::Kv) return;
    const auto rows = static_cast<uint64_t>(std::min(shape_.padded, p.rows));
    out_.push_back({layer_, p.region.size * rows / static_cast<uint64_t>(p.rows)});
  }

  const DecoderShape& shape_;
  DecoderLayout layout_;
  Residency pool_;
  std::vector<int> units_;      // of each placement; -1: not used yet
  std::vector<size_t> places_;  // of each unit
  int64_t layer_ = 0;
  std::vector<WriteBack> out_;
};

}  // namespace

// The wire brings a layer's weights from when the layer before began, and what goes back when its turn comes: before
// the weights that are on their way at that time, or after the last of them.
double PromptTimes::end(std::span<const WriteBack> backs) const {
  const auto bytes_of = [&](int64_t layer) {
    double seconds = 0;
    for (auto& b : backs) seconds += b.layer == layer ? static_cast<double>(b.bytes) / link_rate : 0;
    return seconds;
  };
  double now = 0, before = 0, wire = tables;
  double back = 0, asked = 0;  // what waits for the wire, and since when
  const auto bring = [&](double weights) {
    const double there = std::max(wire, before) + weights;
    const bool first = weights > 0 && asked < there;
    wire = first ? there + back : std::max(there, asked) + back;
    back = 0;
    return first ? wire : there;
  };
  const auto layers = static_cast<int64_t>(this->layers.size());
  for (int64_t l = 0; l < layers; ++l) {
    const auto& layer = this->layers[static_cast<size_t>(l)];
    double there = bring(weights);
    asked = now + layer.made;
    back = bytes_of(l);
    if (there > asked) there = wire += std::exchange(back, 0);
    before = now;
    now = std::max(now + layer.seconds, weights > 0 ? there + tail : 0);
  }
  double there = bring(head_weights);
  const double at_end = bytes_of(layers);
  if (head_weights > 0 && there > now) there += at_end;
  wire = std::max(wire, now) + at_end;
  now = std::max(now + head, head_weights > 0 ? there : 0);
  return host_waits ? std::max(now, wire) : now;
}

Result<void> RegimePieces::add_write_backs(MemoryModelKind regime, const DecoderOptions& options, PromptTimes times,
                                           ComposedTime& time) const {
  if (regime == MemoryModelKind::Resident) return {};
  auto machine = machine_;
  TRY(const auto shape, shape_decoder(model_, machine, options));
  TRY(const auto regions, regions_of(options));
  const auto backs = Replay(shape, machine_, memory_for(regime, totals_of(regions)).rooms->others).run();
  for (auto& b : backs) time.link_bytes += static_cast<double>(b.bytes);
  times.link_rate = static_cast<double>(link_->bytes_per_second);
  times.host_waits = model_.vocabulary > 0;
  if (regime == MemoryModelKind::WeightStream) times.head_weights = over_link(head_weights_);
  time.seconds += times.end(backs) - times.end({});
  return {};
}

}  // namespace tessera::accel
