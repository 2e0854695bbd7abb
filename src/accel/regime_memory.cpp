#include "accel/regime_memory.hpp"

#include <algorithm>

namespace tessera::accel {

using memory::Picoseconds;

namespace {

// What the machine's port takes of that where lines go past the DDR: a little less than the DDR gives when it is read
// in order, so that weights off the wire are never faster than weights that are there.
constexpr double kPort = 0.985;

}  // namespace

RegimeMemory::RegimeMemory(RegimeSettings settings, std::vector<Region> regions, std::vector<Region> managed)
    : settings_(std::move(settings)),
      dram_(events_, settings_.dram),
      kinds_(std::move(regions)),
      map_(std::move(managed)),
      states_(static_cast<size_t>(map_.size())),
      weights_pool_(settings_.weights_pool),
      others_pool_(settings_.others_pool),
      bulk_rate_(settings_.dram.sustained_bytes_per_second()) {
  stats_.regime = settings_.regime;
  stats_.notes = settings_.notes;
  if (settings_.link) {
    link_.emplace(events_, *settings_.link);
    link_->when_free(*this);
  }
  make_units();
  StreamOwner& owner = *this;
  port_line_ = memory::duration_of(Bytes(line_bytes), static_cast<int64_t>(kPort * static_cast<double>(bulk_rate_)));
  port_latency_ = settings_.dram.tck * (settings_.dram.rcd + settings_.dram.cl);
  if (settings_.weights == Treatment::Stream)
    stream_ = std::make_unique<WeightStreamer>(map_, *link_, owner, settings_.ring, bulk_rate_);
  if (settings_.keep_last_layers) warm_layers();
  events_.at(Picoseconds(0), *this, tag(What::Start, -1, 0));
}

void RegimeMemory::on_event(uint64_t what) {
  if (static_cast<What>(what >> 60) != What::Start) return line_done(what);
  if (stream_) stream_->advance();
  if (!settings_.load_at_start) return;
  // KV is left out: it may be made here.
  for (int r = 0; r < map_.size(); ++r)
    if (state(r).treatment == Treatment::Swap &&
        (map_[r].kind == Kind::Weight || (map_[r].kind == Kind::Activation && settings_.others_fit)))
      bring(r);
}

uint64_t RegimeMemory::open_transfer(uint64_t lines) {
  transfers_.push_back({.left = lines, .done = events_.now()});
  if (lines > 0) ++open_transfers_;
  return transfers_.size() - 1;
}

void RegimeMemory::count(const LineRequest& line) {
  const int region = kinds_.find(line.address);
  const Kind kind = region < 0 ? Kind::Activation : kinds_[region].kind;
  (line.write ? stats_.bytes_written : stats_.bytes_read) += line_bytes;
  (line.write ? stats_.written_by_kind : stats_.read_by_kind)[kind] += line_bytes;
}

TransferId RegimeMemory::submit(Picoseconds now, std::span<const LineRequest> lines) {
  events_.run_until(now);
  const auto transfer = open_transfer(lines.size());
  for (auto& line : lines) {
    count(line);
    if (!line.write) continue;
    if (const int r = map_.find(line.address); r >= 0 && state(r).treatment == Treatment::Swap)
      mark_made(r, line.address, true);
  }
  for (auto& line : lines) serve(line, transfer);
  if (stream_) stream_->flush();
  prefetch_next();
  return {static_cast<int64_t>(transfer)};
}

TransferId RegimeMemory::host_transfer(Picoseconds now, Bytes bytes) {
  events_.run_until(now);
  const bool takes_time = link_ && bytes.count > 0;
  const auto transfer = open_transfer(takes_time ? 1 : 0);
  stats_.host_bytes += static_cast<uint64_t>(bytes.count);
  if (takes_time) link_->send(bytes, bytes, *this, tag(What::Host, -1, transfer));
  return {static_cast<int64_t>(transfer)};
}

void RegimeMemory::nothing_to_bring(uint64_t address, Bytes bytes) {
  const uint64_t end = address + static_cast<uint64_t>(bytes.count);
  for (uint64_t at = address / line_bytes * line_bytes; at < end; at += line_bytes)
    if (const int r = map_.find(at); r >= 0 && state(r).treatment == Treatment::Swap) mark_made(r, at, false);
}

void RegimeMemory::weights_are_read_again() {
  if (stream_) stream_->keep_lines();
}

void RegimeMemory::scales_follow(uint64_t address, Bytes elements) {
  if (const int region = map_.find(address); stream_ && region >= 0 && map_[region].offset == address)
    stream_->scales_follow(region, static_cast<uint64_t>(elements.count) / line_bytes);
}

void RegimeMemory::spare_sram(Bytes bytes) {
  if (stream_) stream_->use_sram(bytes);
}

void RegimeMemory::serve(const LineRequest& line, uint64_t transfer) {
  const int region = map_.find(line.address);
  const auto treatment = region < 0 ? Treatment::Memory : state(region).treatment;
  if (treatment == Treatment::Swap) return swap_line(region, line, transfer);
  if (treatment == Treatment::Stream && !line.write) {
    stats_.streamed_bytes += line_bytes;
    return stream_->read(region, map_.line_of(region, line.address), transfer);
  }
  if (!line.write) stats_.resident_bytes += line_bytes;
  from_memory(line.address, line.write, -1, transfer);
}

void RegimeMemory::from_memory(uint64_t address, bool write, int region, uint64_t transfer) {
  ++foreground_;
  if (region >= 0) state(region).pool->pin(state(region).unit);
  dram_.request(address, write, *this, tag(What::Line, region, transfer));
}

// The machine has one port to its memory, the controller's: a streamed line takes it as long as a resident one.
void RegimeMemory::streamed_line(int region, uint64_t line, uint64_t transfer, bool off_the_wire) {
  ++foreground_;
  if (off_the_wire) transfers_[transfer].link = {events_.now(), link_->idle_flight()};
  dram_.request((map_[region].offset / line_bytes + line) * line_bytes, false, *this,
                tag(What::Streamed, -1, transfer));
}

void RegimeMemory::write_to_ring(int region, uint64_t line) {
  dram_.request_beside((map_[region].offset / line_bytes + line) * line_bytes, true, *this,
                       tag(What::RingWrite, region, 0));
}

void RegimeMemory::line_done(uint64_t t) {
  const auto what = static_cast<What>(t >> 60);
  const int region = static_cast<int>(t >> 36 & 0xffffff) - 1;
  if (what == What::RingWrite) return stream_->ring_written();
  if (what == What::SwapWrite || what == What::WriteBack) {
    --in_dram_;
    pump_background();
    if (in_dram_ == 0 && stream_) stream_->advance();
  }
  if (what == What::WriteBack) return;
  if (what == What::SwapWrite || what == What::BulkWrite) {
    if (--state(region).writes_left == 0 && state(region).all_arrived) loaded(region);
    return;
  }
  if (what == What::Streamed) port_free_ = std::max(port_free_ + port_line_, events_.now());
  line_delivered(t & 0xfffffffff, what == What::Streamed ? port_free_ + port_latency_ : events_.now());
  if (--foreground_ == 0 && stream_) stream_->advance();
  if (region < 0) return;
  state(region).pool->unpin(state(region).unit);
  retry_blocked();
}

void RegimeMemory::line_delivered(uint64_t transfer, Picoseconds when) {
  auto& t = transfers_[transfer];
  if (--t.left > 0) return;
  t.done = when;
  --open_transfers_;
}

void RegimeMemory::arrived(uint64_t t, Bytes bytes, bool last) {
  const auto what = static_cast<What>(t >> 60);
  if (what == What::Load)
    return brought_piece(static_cast<int>(t >> 36 & 0xffffff) - 1, static_cast<uint64_t>(bytes.count), last);
  if (what != What::Host || !last) return;
  transfers_[t & 0xfffffffff].link = {events_.now(), link_->idle_flight()};
  line_delivered(t & 0xfffffffff, events_.now());
}

void RegimeMemory::wire_free() {
  if (stream_) stream_->advance();
}

Picoseconds RegimeMemory::finish(TransferId id) {
  auto& transfer = transfers_[static_cast<size_t>(id.index)];
  while (transfer.left > 0 && events_.step()) {
  }
  stuck_ |= transfer.left > 0;
  return transfer.done;
}

Picoseconds RegimeMemory::drain(Picoseconds now) {
  events_.run_until(now);
  while (open_transfers_ > 0 && events_.step()) {
  }
  stuck_ |= open_transfers_ > 0;
  return std::max(events_.now(), port_free_);
}

MemoryStatistics RegimeMemory::statistics() const {
  auto s = stats_;
  if (link_) {
    s.link_bytes = static_cast<uint64_t>(link_->bytes().count);
    s.link_busy = link_->busy();
  }
  for (int r = 0; r < map_.size(); ++r)
    if (const auto& st = states_[static_cast<size_t>(r)]; st.swaps > 0)
      s.swapped.push_back({map_[r].name, st.swaps, st.swapped_bytes});
  s.inner = dram_.counters();
  return s;
}

}  // namespace tessera::accel
