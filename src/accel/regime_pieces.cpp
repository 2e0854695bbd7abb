#include "accel/regime_pieces.hpp"

#include <algorithm>
#include <cmath>

#include "accel/decoder_layout.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;

// Layers at the beginning and the end of a run differ: nothing was brought ahead yet, nothing is any more.
constexpr int64_t kLayers = 4;
constexpr int64_t kThrashing = 6;       // where the cache does not fit
constexpr int64_t kBlockLayers = 2;     // of a block of rows: the second one meets what the first left
constexpr int64_t kLongContext = 2048;  // where that is next to nothing of a block
constexpr double kLargeLayer = 48e6;    // bytes; one such layer says enough, and takes long enough to simulate

std::string key_of(const Model& m, const MachineConfig& c, const DecoderOptions& o, const MemorySetup& s,
                   const Rooms& rooms) {
  const auto& l = c.latency;
  auto key = fmt::format("{} {} {} {} {} {} {} {}|{} {} {} {} {} {} {}|", m.hidden, m.intermediate, m.heads, m.kv_heads,
                         m.head_dim, m.layers, m.vocabulary, m.causal, c.mlen, c.blen, c.hlen, c.clock_hz, c.sram_bytes,
                         c.weights.name, c.kv.name);
  key += fmt::format("{} {} {} {} {} {} {} {}|{} {} {} {} {}|{} {}", l.systolic_overhead, l.add, l.multiply, l.exp,
                     l.reciprocal, l.max, l.sum, l.scalar_exp, o.layers, o.past, o.tokens, o.context, o.head, s.preset,
                     name_of(s.kind));
  if (s.kind == Resident) return key;  // neither the link nor the capacity matters
  return key + fmt::format(" {} {} {} {} {} {}", s.link->bytes_per_second, s.link->latency.count, s.link->packet.count,
                           rooms.others, rooms.ring, rooms.kv_stays);
}

// Bytes of what a prompt fetches beside weights: its rows came from the host, and scores come out of it.
double tables_of(const DecoderShape& s, const KindTotals& bytes) {
  const auto rows =
      s.padded * s.hidden_blocks + (s.head ? s.vocabulary_blocks : 0) + (s.masks() ? 0 : int64_t{mask_tiles} * s.mlen);
  return static_cast<double>(bytes.activation) - static_cast<double>(rows * s.mlen * 2);
}

}  // namespace

Result<PieceStore::Piece> PieceStore::run(const Model& model, const MachineConfig& machine,
                                          const DecoderOptions& options, const MemoryOptions& memory) {
  TRY(const auto program, compile_decoder(model, machine, options));
  auto with_regions = memory;
  with_regions.regions = program.regions();
  TRY(const auto setup, set_up_memory(with_regions));
  const auto measure = [&]() -> Result<Piece> {
    TRY(const auto memory_model, make_memory_model(with_regions));
    TRY(const auto run, run_program(program, *memory_model, {.host = setup.kind != Resident}));
    Piece piece{.layers = std::vector<PromptTimes::Layer>(static_cast<size_t>(options.layers)),
                .total = static_cast<double>(run.total.count) * 1e-12,
                .link_bytes = static_cast<double>(run.memory.link_bytes - run.memory.host_bytes) /
                              static_cast<double>(options.layers)};
    for (size_t i = 0; i < program.sections.size(); ++i) {
      const auto& section = program.sections[i];
      if (section.layer >= options.layers) continue;
      auto& layer = piece.layers[static_cast<size_t>(section.layer)];
      if (section.op == "cache" && layer.made == 0) layer.made = layer.seconds;
      layer.seconds += static_cast<double>(program.machine.time_of(run.sections[i].cycles).count) * 1e-12;
    }
    return piece;
  };
  std::promise<Result<Piece>> promise;
  std::shared_future<Result<Piece>> known;
  bool mine = false;
  {
    std::lock_guard lock(mutex_);
    auto [it, is_new] = pieces_.try_emplace(key_of(model, machine, options, setup, memory.rooms.value_or(Rooms{})));
    if (is_new) it->second = promise.get_future().share();
    known = it->second, mine = is_new;
  }
  if (mine) promise.set_value(measure());
  return known.get();
}

RegimePieces::RegimePieces(Model model, MachineConfig machine, target::Board board,
                           std::optional<memory::LinkTiming> link, uint64_t capacity, PieceStore& store)
    : model_(std::move(model)),
      machine_(machine),
      board_(std::move(board)),
      link_(link),
      capacity_(capacity),
      store_(store) {
  const auto weights = [&](int64_t layers, bool head) {
    const auto bytes = bytes_of({.layers = layers, .tokens = 1, .head = head});
    return bytes ? static_cast<double>(bytes->weight) : 0;
  };
  layer_weights_ = weights(1, false);
  head_weights_ = weights(1, true) - layer_weights_;
  if (!link_) return;
  board_.link = target::BoardLink{.name = "link",
                                  .bytes_per_second = link_->bytes_per_second,
                                  .latency_ns = link_->latency.count / 1000,
                                  .packet = link_->packet};
}

double RegimePieces::over_link(double bytes) const {
  return link_ && bytes > 0 ? bytes / static_cast<double>(link_->bytes_per_second) : 0;
}
int64_t RegimePieces::measured_layers() const {
  return layer_weights_ > kLargeLayer ? 1 : model_.layers;
}

Result<KindTotals> RegimePieces::bytes_of(const DecoderOptions& options) const {
  TRY(const auto regions, regions_of(options));
  return totals_of(regions);
}

Result<std::vector<Region>> RegimePieces::regions_of(const DecoderOptions& options) const {
  auto machine = machine_;
  machine.sram_bytes = 0;
  TRY(const auto shape, shape_decoder(model_, machine, options));
  std::vector<Region> regions;
  for (auto& p : lay_out(shape, machine).placements) regions.push_back(p.region);
  return regions;
}

MemoryOptions RegimePieces::memory_for(MemoryModelKind regime, const KindTotals& whole) const {
  MemoryOptions memory{.kind = regime, .board = board_};
  if (!link_) memory.board->link.reset();
  return for_part(memory, {.kind = regime, .bytes = whole, .capacity = capacity_}, {});
}

// All layers from a few: what is left out costs what the one before the last did.
Result<ComposedTime> RegimePieces::from_layers(MemoryModelKind regime, DecoderOptions options) {
  options.layers = model_.layers;
  const auto all = options;
  TRY(const auto whole, bytes_of(all));
  options.head = false;
  auto memory = memory_for(regime, whole);
  // The cache that a prompt makes leaves the memory later than a few layers show: add_write_backs.
  if (!options.past) memory.rooms->others = whole.kv + whole.activation;
  // What stays from step to step need not be swapped.
  if (regime == KvSwap && options.past && memory.rooms->kv_stays) memory = memory_for(Resident, whole);
  // With everything there, nothing is brought ahead: one layer between two others says all.
  // Where each layer puts out what another left, it takes some more until all do.
  const bool thrashes = options.past && !memory.rooms->kv_stays;
  options.layers = std::min(measured_layers(), memory.kind == Resident ? 3 : thrashes ? kThrashing : kLayers);
  TRY(const auto piece, store_.run(model_, machine_, options, memory));
  const auto at = piece.layers.end() - (piece.layers.size() > 1 ? 2 : 1);
  // Two layers in turn where each second one finds more of its cache there.
  const auto steady = thrashes && piece.layers.size() > 3 ? (at->seconds + (at - 1)->seconds) / 2 : at->seconds;
  const auto more = static_cast<double>(model_.layers - options.layers);
  // A prompt's tables come once, and so do a token's; weights and the cache of a token come for every layer.
  const double again = options.past ? piece.link_bytes : regime == WeightStream ? layer_weights_ : 0;
  // The first weights are on their way while the host sends the rows: a piece that has a link saw that.
  const double rows = memory.kind == Resident ? 0 : host_seconds(row_bytes(options.tokens));
  ComposedTime time{.seconds = piece.total - rows + more * steady,
                    .link_bytes = piece.link_bytes * static_cast<double>(options.layers) + more * again};
  TRY(const auto head, head_seconds());
  time.seconds = add_head(regime, time.seconds, steady - over_link(again), head);
  if (regime == WeightStream) time.link_bytes += head_weights_;
  if (!options.past) {
    auto machine = machine_;
    TRY(const auto shape, shape_decoder(model_, machine, all));
    PromptTimes times{.layers = piece.layers, .head = head, .tables = over_link(tables_of(shape, whole))};
    times.layers.insert(times.layers.end() - 1, static_cast<size_t>(more), piece.layers[piece.layers.size() - 2]);
    if (regime == WeightStream) times.weights = over_link(layer_weights_);
    CHECK_OK(add_write_backs(regime, all, std::move(times), time));
  }
  return with_host(time, options.tokens);
}

// The head is streamed like a layer, and its beginning is brought ahead while the last layer leaves the link idle.
double RegimePieces::add_head(MemoryModelKind regime, double seconds, double slack, double head) const {
  if (regime != WeightStream) return seconds + head;
  return seconds + std::max(head, over_link(head_weights_) - std::max(0.0, slack));
}

double RegimePieces::host_seconds(double bytes) const {
  return link_ && bytes > 0 ? over_link(bytes) + static_cast<double>(link_->latency.count) * 1e-12 : 0;
}

ComposedTime RegimePieces::with_host(ComposedTime time, int64_t tokens) const {
  const double in = row_bytes(tokens), out = static_cast<double>(model_.vocabulary * 2);
  time.link_bytes += in + out;
  time.seconds += host_seconds(in) + host_seconds(out);
  time.link_seconds = over_link(time.link_bytes);
  return time;
}

// A line through two vocabularies: the head's time grows with its columns.
Result<double> RegimePieces::head_seconds() {
  if (model_.vocabulary == 0) return 0.0;
  const int64_t wide = 8 * machine_.mlen;
  const auto with = [&](int64_t vocabulary) -> Result<double> {
    auto small = model_;
    small.vocabulary = vocabulary;
    DecoderOptions options{.layers = 1, .tokens = 1, .head = vocabulary > 0};
    if (model_.causal) options.past = 0;
    if (vocabulary == 0) small.vocabulary = model_.vocabulary;
    TRY(const auto piece, store_.run(small, machine_, options, memory_for(Resident, {})));
    return piece.total;
  };
  if (model_.vocabulary <= 2 * wide) {
    TRY(const auto all, with(model_.vocabulary));
    TRY(const auto none, with(0));
    return all - none;
  }
  TRY(const auto none, with(0));
  TRY(const auto one, with(wide));
  TRY(const auto two, with(2 * wide));
  const double columns = static_cast<double>(model_.vocabulary - wide) / static_cast<double>(wide);
  return one - none + columns * (two - one);
}

Result<PromptTimes::Layer> RegimePieces::part_of_layer(const DecoderOptions& options) {
  TRY(const auto piece, store_.run(model_, machine_, options, memory_for(Resident, {})));
  return piece.layers[piece.layers.size() > 1 ? 1 : 0];
}

// Over a long context a layer works on blocks of rows, one after the other. Two neighbours at the beginning, in the
// middle and at the end give the curve of all; where every token sees every other, the curve is over their number.
Result<RegimePieces::Blocks> RegimePieces::in_blocks(int64_t context, int64_t rows) {
  Blocks b{.chunks = static_cast<double>(context) / static_cast<double>(rows)};
  DecoderOptions options{.layers = context < kLongContext ? std::min(measured_layers(), kBlockLayers) : 1,
                         .tokens = 2 * rows,
                         .context = context,
                         .head = false};
  const auto n = static_cast<int64_t>(std::ceil(b.chunks));
  if (!model_.causal) {
    TRY(const auto two, part_of_layer(options));
    options.tokens = std::min<int64_t>(4 * rows, context);
    const double k = static_cast<double>(options.tokens) / static_cast<double>(rows);
    TRY(const auto more, part_of_layer(options));
    const double growth = k > 2 ? (more.seconds / k - two.seconds / 2) / (k - 2) : 0;  // a + growth * k a block
    b.layer = b.chunks * (two.seconds / 2 + growth * (b.chunks - 2));
    b.made = two.made;
    return b;
  }
  // Pairs of blocks i and i + 1: a quadratic through three of them, or what fewer give.
  std::vector<std::pair<double, double>> pairs;
  for (int64_t i : {int64_t{0}, (n - 2) / 2, n - 2}) {
    if (!pairs.empty() && pairs.back().first >= static_cast<double>(i)) continue;
    options.past = std::min(i * rows, context - 2 * rows);
    TRY(const auto pair, part_of_layer(options));
    if (pairs.empty()) b.made = pair.made;
    pairs.push_back({static_cast<double>(options.past) / static_cast<double>(rows), pair.seconds});
  }
  const auto pair_at = [&](double x) {  // Lagrange
    double sum = 0;
    for (size_t i = 0; i < pairs.size(); ++i) {
      double term = pairs[i].second;
      for (size_t j = 0; j < pairs.size(); ++j)
        if (j != i) term *= (x - pairs[j].first) / (pairs[i].first - pairs[j].first);
      sum += term;
    }
    return sum;
  };
  for (int64_t i = 0; i < n; ++i) {
    const double part = std::min(1.0, b.chunks - static_cast<double>(i));
    b.layer += part * pair_at(static_cast<double>(i) - 0.5) / 2;
  }
  return b;
}

// Where link and machine need about the same, neither hides all of the other: by how much is measured on two blocks,
// with the link so fast that the two stand to each other as they do over all of them.
Result<double> RegimePieces::overlap_of(int64_t context, int64_t rows, double link_over_machine) {
  if (link_over_machine < 0.5 || link_over_machine > 2 || measured_layers() < kLayers) return 1.0;
  DecoderOptions options{.layers = kLayers, .tokens = 2 * rows, .context = context, .head = false};
  auto alone = options;
  alone.layers = kBlockLayers;
  TRY(const auto machine, part_of_layer(alone));
  const double longer = machine.seconds * std::max(1.0, link_over_machine);
  TRY(const auto whole, bytes_of(options));
  auto memory = memory_for(WeightStream, whole);
  memory.host_bandwidth = static_cast<int64_t>(layer_weights_ / (link_over_machine * machine.seconds));
  TRY(const auto piece, store_.run(model_, machine_, options, memory));
  return std::max(1.0, piece.layers[piece.layers.size() - 2].seconds / longer);
}

Result<ComposedTime> RegimePieces::prefill(MemoryModelKind regime, int64_t context) {
  DecoderOptions options{.tokens = context, .context = context};
  auto machine = machine_;
  TRY(const auto shape, shape_decoder(model_, machine, options));
  if (shape.single_chunk()) return from_layers(regime, options);
  TRY(const auto blocks, in_blocks(context, shape.rows));
  TRY(const auto bytes, bytes_of(options));
  TRY(const auto head, head_seconds());
  const auto layers = static_cast<double>(model_.layers);
  ComposedTime time{.seconds = layers * blocks.layer};
  double slack = blocks.layer;
  // The tables are fetched before the first block.
  const double tables = tables_of(shape, bytes);
  PromptTimes times{.head = head, .tables = over_link(tables)};
  if (regime == KvSwap) {
    time.link_bytes = tables;
    time.seconds += times.tables;
  } else if (regime == WeightStream) {
    // A layer comes once where the ring holds it, and once a block where it does not.
    const auto others = bytes.kv + bytes.activation;
    const double ring = static_cast<double>(capacity_ - std::min(capacity_, others));
    const double often = ring >= layer_weights_ ? 1 : blocks.chunks;
    const double link = over_link(layer_weights_ * often);
    time.link_bytes = tables + layer_weights_ * often * layers + head_weights_;
    const double block = blocks.layer / blocks.chunks;
    const double first = often == 1 ? std::max(link, block) + blocks.layer - block : std::max(blocks.layer, link);
    const double computing = first + (layers - 1) * blocks.layer;
    // The last layer's weights are there with its first block; the other blocks follow.
    if (often == 1) times.tail = blocks.layer - block;
    times.weights = link;
    const double waiting = link * layers + times.tail;
    TRY(const auto stretch, overlap_of(context, shape.rows, link / blocks.layer));
    time.seconds = times.tables + stretch * std::max(computing, waiting);
    if (link >= blocks.layer) slack = blocks.layer - block;  // until then the wire brings the layer itself
  }
  times.layers.assign(static_cast<size_t>(model_.layers), {blocks.layer, blocks.made});
  times.layers[0].seconds += times.tables, times.layers[0].made += times.tables;
  time.seconds = add_head(regime, time.seconds, slack, head);
  CHECK_OK(add_write_backs(regime, options, std::move(times), time));
  return with_host(time, context);
}

Result<ComposedTime> RegimePieces::decode(MemoryModelKind regime, int64_t context) {
  return from_layers(regime, {.past = context - 1, .tokens = 1, .context = context});
}

}  // namespace tessera::accel
