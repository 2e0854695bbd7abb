#include "memory/link.hpp"

#include <algorithm>

namespace tessera::memory {
namespace {

enum : uint64_t { kPieceSent, kPieceArrived };

}  // namespace

void HostLink::send(Bytes bytes, Bytes piece, LinkSink& sink, uint64_t tag, Urgency urgency) {
  const bool was_free = jobs_.empty();
  jobs_.push_back({bytes, std::max(piece, timing_.packet), &sink, tag, urgency});
  if (!was_free) return;
  run_start_ = events_.now();
  run_bytes_ = {};
  busy_before_run_ = busy_;
  start_piece();
}

void HostLink::hurry(const LinkSink& sink, uint64_t tag) {
  for (auto& job : jobs_)
    if (job.sink == &sink && job.tag == tag) job.urgency = Urgency::Now;
}

void HostLink::start_piece() {
  on_wire_ = std::ranges::find(jobs_, Urgency::Now, &Job::urgency);
  if (on_wire_ == jobs_.end()) on_wire_ = jobs_.begin();
  run_bytes_ += std::min(on_wire_->left, on_wire_->piece);
  events_.at(run_start_ + duration_of(run_bytes_, timing_.bytes_per_second), *this, kPieceSent);
}

void HostLink::end_piece() {
  auto& job = *on_wire_;
  const Bytes sent = std::min(job.left, job.piece);
  job.left -= sent;
  bytes_ += sent;
  busy_ = busy_before_run_ + (events_.now() - run_start_);
  flying_.push_back({job.sink, job.tag, sent, job.left.count == 0, busy_});
  events_.at(events_.now() + timing_.latency, *this, kPieceArrived);
  if (job.left.count == 0) jobs_.erase(on_wire_);
  if (!jobs_.empty()) return start_piece();
  if (idle_) idle_->wire_free();
}

void HostLink::on_event(uint64_t what) {
  if (what == kPieceSent) return end_piece();
  const Flight flight = flying_.front();
  flying_.pop_front();
  const auto busy = jobs_.empty() ? busy_ : busy_before_run_ + (events_.now() - run_start_);
  idle_flight_ = timing_.latency - (busy - flight.busy_before);
  flight.sink->arrived(flight.tag, flight.bytes, flight.last);
}

}  // namespace tessera::memory
