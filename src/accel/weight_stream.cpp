#include "accel/weight_stream.hpp"

#include <algorithm>
#include <map>

#include "accel/memory_model.hpp"

namespace tessera::accel {
namespace {

// Lines on their way into the ring at a time. The DDR's controller turns the bus for 24 waiting writes and lets fewer
// wait for a pause of the reads: the slower the wire, the more a line in time is worth, and the fewer there are.
int ring_writes(double link_over_port) {
  return std::clamp(static_cast<int>(24 - 8 * (link_over_port - 0.5) / 0.12), 16, 24);
}

// Lines that are brought ahead together, since they lie in one row of the DDR.
constexpr uint64_t kStretch = 16;

}  // namespace

WeightStreamer::WeightStreamer(const RegionMap& map, memory::HostLink& link, StreamOwner& owner, uint64_t ring_bytes,
                               int64_t port_rate)
    : map_(map), link_(link), owner_(owner), ring_lines_(ring_bytes / line_bytes) {
  const auto ratio = static_cast<double>(link.timing().bytes_per_second) / static_cast<double>(port_rate);
  share_ = std::max(0.0, 1 - ratio);
  most_writing_ = ring_writes(std::min(ratio, 1.0));
  std::map<uint32_t, std::vector<int>> by_layer;
  for (int r = 0; r < map.size(); ++r)
    if (map[r].kind == Kind::Weight) by_layer[map[r].layer].push_back(r);
  layer_.assign(static_cast<size_t>(map.size()), -1);
  place_.assign(static_cast<size_t>(map.size()), -1);
  for (auto& [id, regions] : by_layer) {
    for (size_t i = 0; i < regions.size(); ++i) {
      layer_[static_cast<size_t>(regions[i])] = static_cast<int>(layers_.size());
      place_[static_cast<size_t>(regions[i])] = static_cast<int>(i);
    }
    layers_.push_back({.id = id, .regions = regions});
  }
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
  if (ahead_layer_ != layer && ahead_layer_ != layer + 1) ahead_layer_ = layer, ahead_region_ = 0, ahead_line_ = 0;
}

void WeightStreamer::leave(Layer& layer) {
  ring_used_ -= layer.ring_lines;
  layer.ring_lines = 0;
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
  if (f & kInRing) {
    if (!keep_) {
      f &= static_cast<uint8_t>(~kInRing);
      --ring_used_, --layer_of(l).ring_lines;
    }
    f |= kDelivered;
    return owner_.streamed_line(region, line, transfer);
  }
  waiting_[key(l)].push_back(transfer);
  if (f & kFlying) return;
  f |= kFlying;
  demand_.lines.push_back(l);
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
  const bool ahead = job.ahead;
  const size_t end = job.next + static_cast<size_t>(bytes.count) / line_bytes;
  std::vector<Line> lines(job.lines.begin() + static_cast<std::ptrdiff_t>(job.next),
                          job.lines.begin() + static_cast<std::ptrdiff_t>(end));
  job.next = end;
  if (last) jobs_.erase(tag);
  for (auto& line : lines) arrived(line, ahead);
}

void WeightStreamer::arrived(const Line& l, bool ahead) {
  auto& f = flags(l);
  f &= static_cast<uint8_t>(~kFlying);
  auto& layer = layer_of(l);
  const auto readers = waiting_.find(key(l));
  const bool wanted = readers != waiting_.end();
  const bool near = layer_[static_cast<size_t>(l.region)] == current_ ||
                    layer_[static_cast<size_t>(l.region)] == current_ + 1 || current_ < 0;
  if (ahead) --ring_used_;  // its room was set aside when it was sent
  if (near && (wanted ? keep_ : ahead) && ring_used_ < ring_lines_) {
    f |= kInRing;
    ++ring_used_, ++layer.ring_lines, ++writing_;
    owner_.write_to_ring(l.region, l.line);
  }
  if (!wanted) return;
  f |= kDelivered;
  const auto transfers = std::move(readers->second);
  waiting_.erase(readers);
  for (auto t : transfers) owner_.streamed_line(l.region, l.line, t);
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

bool WeightStreamer::next_ahead(Line& line) {
  const int last = std::min(std::max(current_, 0) + 1, static_cast<int>(layers_.size()) - 1);
  for (; ahead_layer_ <= last; ++ahead_layer_, ahead_region_ = 0, ahead_line_ = 0) {
    auto& layer = layers_[static_cast<size_t>(ahead_layer_)];
    for (; ahead_region_ < layer.regions.size(); ++ahead_region_, ahead_line_ = 0) {
      const int region = layer.regions[ahead_region_];
      for (const auto lines = map_.lines(region); ahead_line_ < lines;) {
        line = {region, ahead_line_++};
        if (chosen(line.line) && flags(line) == 0) return true;
      }
    }
  }
  return false;
}

void WeightStreamer::advance() {
  while (ring_lines_ > 0 && link_.free() && writing_ < most_writing_) {
    Job job{.ahead = true};
    const auto most = static_cast<size_t>(link_.timing().packet.count) / line_bytes;
    Line line;
    while (job.lines.size() < most && ring_used_ < ring_lines_ && next_ahead(line)) {
      flags(line) |= kFlying;
      ++ring_used_;
      job.lines.push_back(line);
    }
    if (job.lines.empty()) return;
    send(std::move(job));
  }
}

}  // namespace tessera::accel
