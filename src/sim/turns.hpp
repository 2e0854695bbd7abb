// The logs of all cores, replayed in the order of time; at the same moment in the order of rank. A bank or an FPU
// serves one use a cycle, first come first served. Who finds it taken waits, and so does all that comes after it in
// that core's log. A log ends where the core cannot go on by itself: there it is the core's turn.
//
//   core 0 logs bank 3 at 100, bank 5 at 102, its turn at 103; core 1 logs bank 3 at 100, its turn at 101
//   -> core 0 has bank 3 at 100, core 1 at 101; core 0 has bank 5 at 102, core 1 its turn at 102, core 0 at 103
//
// There is a use for almost every instruction, so each step of the host counts here: the next 64 moments are a wheel,
// and a moment is a set of ranks. A core whose next use is beyond the wheel stands beside it until it has come so far.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "sim/exec.hpp"
#include "sim/words.hpp"

namespace tessera::sim {

// What is shared and replayed: when each unit is free, and the DMA's words.
struct Units {
  uint64_t* free;
  uint32_t bank_mask;
  WordPorts& in;
  WordPorts& out;
};

class Turns {
 public:
  static constexpr int kLastRank = 15, kMostCores = 15;
  static constexpr uint64_t kNever = ~uint64_t{0};

  void clear(uint64_t now) { now_ = now, at_.fill(0), occupied_ = 0, stopping_ = 0, far_ = 0, far_first_ = kNever; }
  bool empty() const { return occupied_ == 0 && far_ == 0; }
  // Of the first use or turn, kNever if there is none.
  uint64_t time() const { return std::min(occupied_ ? first_near() : kNever, far_first_); }

  // The core has logged what it could; its turn is at `turn`, if nothing makes it wait before.
  void push(Core& core, uint64_t turn);
  // After clear(), with a new rank: puts back what was there. False if nothing was.
  bool put_back(Core& core);
  bool holds(const Core& core) const { return lane(core).core != nullptr; }
  // What a core that it holds waits for.
  uint64_t time(const Core& core) const;

  // Replays what comes before the first turn, and what is not after `until`. The DMA's words come last in a moment, and
  // those of `until` itself not at all. Returns whether it is somebody's turn.
  bool replay(uint64_t until, const Units& units);
  // Takes the first core out, whose turn it is, and tells it what time it is. Up to `limit` it is before all others.
  Core& take(uint64_t& limit);
  // The core as far as it is certain, at the end of a run.
  void settle(Core& core);

 private:
  static constexpr uint64_t kSpan = 64;
  struct Lane {
    const uint64_t* next = nullptr;
    uint64_t delay = 0;                // what the core has waited for in this log
    std::array<uint64_t, 2> waited{};  // the same, for banks and for FPUs
    Core* core = nullptr;              // null: not in the wheel
  };

  Lane& lane(const Core& core) { return lanes_[static_cast<size_t>(core.id)]; }
  const Lane& lane(const Core& core) const { return lanes_[static_cast<size_t>(core.id)]; }
  static uint64_t moment(uint64_t time) { return uint64_t{1} << time % kSpan; }
  // How far the first of these moments is from this time, seen forward around the wheel.
  static uint64_t distance(uint64_t moments, uint64_t time) {
    return static_cast<uint64_t>(std::countr_zero(std::rotr(moments, static_cast<int>(time % kSpan))));
  }
  uint64_t first_near() const { return now_ + distance(occupied_, now_); }

  void put(Lane& lane, uint32_t rank);
  void put_far(uint32_t rank, uint64_t time);
  void bring_near();

  uint64_t now_ = 0;       // nothing is before it
  uint64_t occupied_ = 0;  // which moments of the wheel have somebody
  uint32_t stopping_ = 0;  // whose log is replayed up to its turn
  std::array<uint16_t, kSpan> at_{};
  std::array<Lane*, kLastRank + 1> by_rank_{};
  std::array<Lane, kLastRank + 1> lanes_{};  // by core
  std::array<uint64_t, kLastRank + 1> far_time_{};
  uint64_t far_first_ = kNever;
  uint32_t far_ = 0;
};

}  // namespace tessera::sim
