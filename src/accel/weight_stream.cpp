#include "accel/weight_stream.hpp"

#include <algorithm>
#include <map>

#include "accel/memory_model.hpp"

namespace tessera::accel {
namespace {

// Lines on their way into the ring at a time: so few that the DDR's controller does not turn its bus for them, but
// writes them when no read waits.
constexpr int kMostWriting = 16;

// Lines that are brought ahead together, since they lie in one row of the DDR.
constexpr uint64_t kStretch = 16;

}  // namespace

WeightStreamer::WeightStreamer(const RegionMap& map, memory::HostLink& link, StreamOwner& owner, uint64_t ring_bytes,
                               int64_t port_rate)
    : map_(map), link_(link), owner_(owner), ring_lines_(ring_bytes / line_bytes) {
  port_rate_ = static_cast<double>(port_rate);
  share_ = share_of(0);
  std::map<uint32_t, std::vector<int>> by_layer;
  for (int r = 0; r < map.size(); ++r)
    if (map[r].kind == Kind::Weight) by_layer[map[r].layer].push_back(r);
  layer_.assign(static_cast<size_t>(map.size()), -1);
  place_.assign(static_cast<size_t>(map.size()), -1);
  for (int r = 0; r < map.size(); ++r) elements_.push_back(map.lines(r));
  for (auto& [id, regions] : by_layer) {
    for (size_t i = 0; i < regions.size(); ++i) {
      layer_[static_cast<size_t>(regions[i])] = static_cast<int>(layers_.size());
      place_[static_cast<size_t>(regions[i])] = static_cast<int>(i);
    }
    layers_.push_back({.id = id, .regions = regions});
  }
}

void WeightStreamer::use_sram(Bytes sram) {
  const auto lines = ring_lines_ > 0 ? static_cast<uint64_t>(sram.count) / line_bytes : 0;
  sram_lines_ = share_of(lines) > 0 ? lines / 4 : lines;
  hold_lines_ = lines - sram_lines_;
  share_ = share_of(sram_lines_);
}

// Of what does not come ahead into the ring, no more can be on its way at a time than the SRAM holds.
double WeightStreamer::share_of(uint64_t sram_lines) const {
  const auto& wire = link_.timing();
  auto rate = static_cast<double>(wire.bytes_per_second);
  const double held = static_cast<double>(sram_lines * line_bytes), latency = static_cast<double>(wire.latency.count);
  if (sram_lines > 0 && latency > 0) rate = std::min(rate, held / latency * 1e12);
  return std::max(0.0, 1 - rate / port_rate_);
}

uint8_t& WeightStreamer::flags(const Line& l) {
  auto& layer = layer_of(l);
  if (layer.flags.empty())
    for (int r : layer.regions) layer.flags.emplace_back(map_.lines(r));
  return layer.flags[static_cast<size_t>(place_[static_cast<size_t>(l.region)])][l.line];
}

// The layers behind are done with; bringing ahead goes on in this one, or where it has come to in the next.
void WeightStreamer::enter(int layer) {
  for (int i = 0; i < static_cast<int>(layers_.size()); ++i)
    if (i != layer && i != layer + 1) leave(layers_[static_cast<size_t>(i)]);
  if (layer != current_ + 1 && current_ >= 0) leave(layers_[static_cast<size_t>(layer)]);  // another pass: anew
  current_ = layer;
  for (auto* cursor : {&to_sram_, &to_ring_})
    if (cursor->layer != layer && cursor->layer != layer + 1) *cursor = {.layer = layer};
}

void WeightStreamer::leave(Layer& layer) {
  ring_used_ -= std::exchange(layer.ring_lines, 0);
  sram_used_ -= std::exchange(layer.sram_lines, 0);
  held_ -= std::exchange(layer.held, 0);
  bool flying = false;  // what is on the wire arrives, whoever wanted it
  for (auto& region : layer.flags)
    for (auto& f : region) flying |= (f &= kFlying) != 0;
  if (!flying) layer.flags.clear();
}

void WeightStreamer::read(int region, uint64_t line, uint64_t transfer) {
  const Line l{region, line};
  const int layer = layer_[static_cast<size_t>(region)];
  if (layer != current_) enter(layer);
  auto& f = flags(l);
  if (f & (kInRing | kInSram)) {
    if (!keep_) forget(l);
    f |= kDelivered;
    return owner_.streamed_line(region, line, transfer, false);
  }
  waiting_[key(l)].push_back(transfer);
  if (f & kFlying) return;
  f |= kFlying;
  demand_.lines.push_back(l);
}

void WeightStreamer::forget(const Line& l) {
  auto& f = flags(l);
  auto& layer = layer_of(l);
  if (f & kHeld) --held_, --layer.held;
  if (f & kInRing) --ring_used_, --layer.ring_lines;
  if (f & kInSram) --sram_used_, --layer.sram_lines;
  f &= static_cast<uint8_t>(~(kInRing | kInSram | kHeld));
}

void WeightStreamer::flush() {
  if (!demand_.lines.empty()) send(std::exchange(demand_, {}));
  advance();
}

void WeightStreamer::send(Job job) {
  const auto bytes = Bytes(static_cast<int64_t>(job.lines.size() * line_bytes));
  const auto tag = next_job_++;
  jobs_.emplace(tag, std::move(job));
  link_.send(bytes, link_.timing().packet, *this, tag);
}

void WeightStreamer::arrived(uint64_t tag, Bytes bytes, bool last) {
  auto& job = jobs_.at(tag);
  const auto into = job.into;
  const size_t end = job.next + static_cast<size_t>(bytes.count) / line_bytes;
  std::vector<Line> lines(job.lines.begin() + static_cast<std::ptrdiff_t>(job.next),
                          job.lines.begin() + static_cast<std::ptrdiff_t>(end));
  job.next = end;
  if (last) jobs_.erase(tag);
  for (auto& line : lines) arrived(line, into);
}

void WeightStreamer::arrived(const Line& l, Into into) {
  auto& f = flags(l);
  f &= static_cast<uint8_t>(~kFlying);
  // Its room was set aside when it was sent.
  if (into != Into::Reader) --(into == Into::Ring ? ring_used_ : sram_used_);
  const auto readers = waiting_.find(key(l));
  const bool wanted = readers != waiting_.end();
  const int layer = layer_[static_cast<size_t>(l.region)];
  const bool near = layer == current_ || layer == current_ + 1 || current_ < 0;
  if (near && (keep_ || !wanted)) put(l, into);
  if (!wanted) return;
  f |= kDelivered;
  const auto transfers = std::move(readers->second);
  waiting_.erase(readers);
  for (auto t : transfers) owner_.streamed_line(l.region, l.line, t, true);
}

// What a reader waited for goes where there is room, for the next one.
void WeightStreamer::put(const Line& l, Into into) {
  if (into != Into::Ring && sram_used_ < sram_lines_) {
    flags(l) |= kInSram;
    ++sram_used_, ++layer_of(l).sram_lines;
  } else if (ring_used_ < ring_lines_) {
    flags(l) |= kInRing | kHeld;
    ++ring_used_, ++layer_of(l).ring_lines, ++held_, ++layer_of(l).held;
    hold_.push_back(l);
    write_held();
  }
}

// In a pause of the DDR, or where the SRAM holds no more.
void WeightStreamer::write_held() {
  while (!hold_.empty() && writing_ < kMostWriting && (held_ > hold_lines_ || owner_.memory_is_idle())) {
    const auto l = hold_.front();
    hold_.pop_front();
    auto& f = flags(l);
    if (!(f & kHeld)) continue;
    f &= static_cast<uint8_t>(~kHeld);
    --held_, --layer_of(l).held, ++writing_;
    owner_.write_to_ring(l.region, l.line);
  }
}

void WeightStreamer::ring_written() {
  --writing_;
  advance();
}

// Spread evenly: while the machine takes those from the ring, the wire brings those between them.
bool WeightStreamer::chosen(uint64_t line) const {
  const auto before = [this](uint64_t stretches) {
    return static_cast<uint64_t>(share_ * static_cast<double>(stretches));
  };
  return before(line / kStretch + 1) > before(line / kStretch);
}

// Lines of elements and lines of scales, as many of each as their numbers are to each other; a scale comes first.
uint64_t WeightStreamer::in_order(int region, uint64_t place) const {
  const auto all = map_.lines(region), elements = elements_[static_cast<size_t>(region)], scales = all - elements;
  const auto before = [&](uint64_t n) { return (n * scales + all - 1) / all; };
  return before(place + 1) > before(place) ? elements + before(place) : place - before(place);
}

bool WeightStreamer::next_ahead(Cursor& at, bool all, Line& line) {
  const int last = std::min(std::max(current_, 0) + 1, static_cast<int>(layers_.size()) - 1);
  for (; at.layer <= last; at = {.layer = at.layer + 1}) {
    auto& layer = layers_[static_cast<size_t>(at.layer)];
    for (; at.region < layer.regions.size(); ++at.region, at.line = 0) {
      const int region = layer.regions[at.region];
      for (const auto lines = map_.lines(region); at.line < lines;) {
        line = {region, in_order(region, at.line++)};
        if ((all || keep_ || chosen(line.line)) && flags(line) == 0) return true;
      }
    }
  }
  return false;
}

// A packet of what comes next.
WeightStreamer::Job WeightStreamer::ahead(Into into) {
  Job job{.into = into};
  const bool ring = into == Into::Ring;
  auto& used = ring ? ring_used_ : sram_used_;
  const auto room = ring ? ring_lines_ : sram_lines_;
  auto& cursor = ring ? to_ring_ : to_sram_;
  if (ring) cursor = std::max(to_ring_, to_sram_);
  const auto most = static_cast<size_t>(link_.timing().packet.count) / line_bytes;
  for (Line line; job.lines.size() < most && used < room && next_ahead(cursor, !ring, line); ++used) {
    flags(line) |= kFlying;
    job.lines.push_back(line);
  }
  return job;
}

void WeightStreamer::advance() {
  write_held();
  while (ring_lines_ > 0 && link_.free()) {
    auto job = ahead(Into::Sram);
    if (job.lines.empty() && (writing_ < kMostWriting || held_ < hold_lines_)) job = ahead(Into::Ring);
    if (job.lines.empty()) return;
    send(std::move(job));
  }
}

}  // namespace tessera::accel
