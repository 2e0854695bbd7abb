#include "sim/turns.hpp"

#include <utility>

namespace tessera::sim {

void Turns::push(Core& core, uint64_t turn) {
  *core.log_end = use_of(kTurn, turn);
  Lane& l = lane(core);
  l = {core.log, 0, {}, &core};
  if (empty()) now_ = time_of(*l.next);
  put(l, static_cast<uint32_t>(core.rank));
}

bool Turns::put_back(Core& core) {
  if (!holds(core)) return false;
  put(lane(core), static_cast<uint32_t>(core.rank));
  return true;
}

uint64_t Turns::time(const Core& core) const {
  return time_of(*lane(core).next) + lane(core).delay;
}

void Turns::put(Lane& lane, uint32_t rank) {
  by_rank_[rank] = &lane;
  const uint64_t time = time_of(*lane.next) + lane.delay;
  if (unit_of(*lane.next) == kTurn) stopping_ |= 1u << rank;
  if (time - now_ >= kSpan) return put_far(rank, time);
  at_[time % kSpan] |= static_cast<uint16_t>(1u << rank);
  occupied_ |= moment(time);
}

void Turns::put_far(uint32_t rank, uint64_t time) {
  far_ |= 1u << rank;
  far_time_[rank] = time;
  far_first_ = std::min(far_first_, time);
}

// The first of those beside the wheel is the first of all.
void Turns::bring_near() {
  now_ = far_first_, far_first_ = kNever;
  for (uint32_t left = std::exchange(far_, 0); left != 0; left &= left - 1) {
    const auto rank = static_cast<uint32_t>(std::countr_zero(left));
    put(*by_rank_[rank], rank);
  }
}

bool Turns::replay(uint64_t until, const Units& units) {
  uint64_t* const free = units.free;
  for (;;) {
    const uint64_t near = occupied_ ? first_near() : kNever;
    if (far_first_ <= near && far_ != 0) [[unlikely]] {
      bring_near();
      continue;
    }
    const uint64_t t = near, stop = std::min(t, until);
    for (uint64_t at; (at = std::min(units.in.at, units.out.at)) < stop;) {
      if (units.in.at == at) units.in.cycle(free, units.bank_mask);
      if (units.out.at == at) units.out.cycle(free, units.bank_mask);
    }
    if (t > until || t == kNever) return false;
    now_ = t;
    uint32_t here = at_[t % kSpan], stopping = stopping_;
    uint64_t occupied = occupied_ & ~moment(t);
    at_[t % kSpan] = 0;
    for (; here != 0; here &= here - 1) {
      const uint32_t bit = here & -here, rank = static_cast<uint32_t>(std::countr_zero(here));
      if (stopping & bit) [[unlikely]] {
        at_[t % kSpan] |= static_cast<uint16_t>(here);
        occupied_ = occupied | moment(t), stopping_ = stopping;
        return true;
      }
      Lane& l = *by_rank_[rank];
      const uint32_t unit = unit_of(*l.next++);
      const uint64_t wait = std::max(t, free[unit]) - t;
      free[unit] = t + wait + 1;
      l.waited[unit / kFirstFpu] += wait;
      l.delay += wait;
      const uint64_t next = *l.next, time = time_of(next) + l.delay;
      stopping |= unit_of(next) == kTurn ? bit : 0;
      if (time - t >= kSpan) [[unlikely]] {
        put_far(rank, time);
        continue;
      }
      at_[time % kSpan] |= static_cast<uint16_t>(bit);
      occupied |= moment(time);
    }
    occupied_ = occupied, stopping_ = stopping;
  }
}

Core& Turns::take(uint64_t& limit) {
  while (far_first_ <= (occupied_ ? first_near() : kNever)) bring_near();
  now_ = first_near();
  uint16_t& here = at_[now_ % kSpan];
  const auto rank = static_cast<uint32_t>(std::countr_zero(here));
  here &= static_cast<uint16_t>(here - 1);
  if (here == 0) occupied_ &= ~moment(now_);
  stopping_ &= ~(1u << rank);
  const uint64_t next = distance(occupied_, now_);
  limit = std::min(occupied_ ? now_ + next - (next != 0) : kNever, far_first_ - 1);
  Core& core = *by_rank_[rank]->core;
  settle(core);
  return core;
}

void Turns::settle(Core& core) {
  Lane& l = lane(core);
  if (!l.core) return;
  core.t += l.delay;
  core.count.l1_conflict += l.waited[0];
  core.count.fpu += l.waited[1];
  l.core = nullptr;
  core.log_end = core.log;
}

}  // namespace tessera::sim
