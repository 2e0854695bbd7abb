// Whose turn it is: cores by time, those at the same moment by rank. A moment and a rank are one number, a key, and the
// keys are kept sorted. There is a turn for every few instructions, so each step of the host counts here: keys are
// relative to a moment that is moved up from time to time, have 16 bits, and all of them are compared at once.
//
// A core that waits also says what it is about to do, so that others need not wait for it where they cannot meet:
//   waits at 100 for bank 3, then nothing but floats until 109   ->   claim {.until = 109, .banks = 1 << 3}
//   another at 103 for bank 5: goes on                                another at 103 for bank 3: waits
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "sim/core.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace tessera::sim {

// Before the time `until`, only these banks of L1 are touched.
struct Claim {
  uint64_t until = ~uint64_t{0};
  uint64_t banks = 0;
};

class Turns {
 public:
  static constexpr uint64_t kLastRank = 15;
  static constexpr uint16_t kAnyBank = 0xffff;
  static constexpr size_t kClaims = 16, kDma = 14, kOtherDevices = 15;  // before them the cores, by number
  static constexpr int kMostCores = 13;                                 // of a cluster

  Turns() { clear(0); }

  // Keys of single cores, without limits.
  static uint64_t wide_key(uint64_t time, uint64_t rank) { return time << kRankBits | rank; }
  // The last moment at which a core of this rank is still before `key`.
  static uint64_t last_before(uint64_t key, uint64_t rank) { return (key - rank) >> kRankBits; }
  // Banks beyond the sixteenth share a bit: two that seem to meet may not, but two that meet always seem to.
  static uint16_t bit(uint32_t bank) { return static_cast<uint16_t>(1u << (bank & 15)); }
  static uint16_t bits(uint64_t banks) {
    return static_cast<uint16_t>(banks | banks >> 16 | banks >> 32 | banks >> 48);
  }

  bool empty() const { return count_ == 0; }
  size_t size() const { return count_; }
  // The first core is so far from the base that its key says nothing: all must be put in again, with a new base.
  bool stale() const { return count_ != 0 && first() >= kFar; }
  Core& front() const { return *cores_[first() & kLastRank]; }
  uint64_t time() const { return base_ + (first() >> kRankBits); }
  uint64_t last_before_second() const {
    return base_ + ((static_cast<uint64_t>(low_[1]) - (first() & kLastRank)) >> kRankBits);
  }

  void clear(uint64_t base) {
    base_ = base, count_ = 0;
    low_ = high_ = kNobody;
    until_.fill(kNever), banks_.fill(0), ready_.fill(nullptr);
  }
  void pop() {
    const Core& core = front();
    until_[static_cast<size_t>(core.id)] = kNever, banks_[static_cast<size_t>(core.id)] = 0;
    put_back(kNever);
    --count_;
  }
  void push(uint64_t time, Core& core) {
    cores_[static_cast<size_t>(core.rank)] = &core;
    const Lanes k = all(enter(time, core)), lowest = all(INT16_MIN);
    const Lanes before_low = to_second(lowest, low_), before_high = to_second(low_, high_);
    low_ = min(low_, max(before_low, k));
    high_ = min(high_, max(before_high, k));
    ++count_;
  }
  // The first core has run and waits for its next turn.
  void requeue(uint64_t time, Core& core) { put_back(enter(time, core)); }
  // The same for a core that stands before an instruction and can run on whenever it is first. Returns who is first
  // now, if that core can run on at once and meets no device; up to `limit` it is before all other cores. The answer
  // does not wait for the sorting: it was the second.
  [[gnu::always_inline]] Core* hand_on(uint64_t time, Core& core, const Op* op, uint64_t& limit) {
    const int16_t second = low_[1], third = low_[2], key = enter_ready(time, core, op);
    const auto first = static_cast<uint64_t>(second), rank = first & kLastRank;
    Core* next = ready_[rank];
    limit = base_ + ((static_cast<uint64_t>(std::min(third, key)) - rank) >> kRankBits);
    put_back(key);
    if (key < second) return nullptr;  // it stays the first, and waits for a device
    if (first <= pause_) [[likely]]
      return next;
    return next && first < late_ && next->pending != kAnyBank && (next->pending & banks_[kDma]) == 0 ? next : nullptr;
  }
  Core* first_ready() const { return ready_[first() & kLastRank]; }
  // A turn that would begin after this time is not for cores alone to hand on.
  void pause_after(uint64_t time) {
    pause_ = std::min(static_cast<uint64_t>(relative(std::max(time, base_), kLastRank)), kFar - 1);
  }

  void claim(size_t who, Claim claim) {
    until_[who] = relative(std::max(claim.until, base_), kLastRank);  // devices come after cores of the same moment
    banks_[who] = bits(claim.banks);
    late_ = std::min<uint64_t>(static_cast<uint64_t>(std::min(until_[kDma], until_[kOtherDevices])), kFar);
  }
  // The core's turn begins: what all the others are about to touch, as one claim.
  [[gnu::always_inline]] void ask_others(Core& c) const {
    const int16_t* mine = &kOwn[kClaims - 1 - static_cast<size_t>(c.id)];
    const Lanes own_low = load(mine), own_high = load(mine + 8);
    Lanes until = min(max(load(&until_[0]), own_low), max(load(&until_[8]), own_high));
    Lanes banks = (load(&banks_[0]) & (own_low == 0)) | (load(&banks_[8]) & (own_high == 0));
    const auto fold = [](Lanes a, auto two) {
      a = two(a, __builtin_shufflevector(a, a, 4, 5, 6, 7, 0, 1, 2, 3));
      a = two(a, __builtin_shufflevector(a, a, 2, 3, 0, 1, 4, 5, 6, 7));
      return two(a, __builtin_shufflevector(a, a, 1, 0, 2, 3, 4, 5, 6, 7));
    };
    until = fold(until, [](Lanes a, Lanes b) { return min(a, b); });
    banks = fold(banks, [](Lanes a, Lanes b) { return a | b; });
    c.others_until = static_cast<uint64_t>(until[0]);
    c.others_banks = static_cast<uint16_t>(banks[0]);
  }

  // May the core, whose turn it is, touch these banks at a time that others have not come to yet?
  [[gnu::always_inline]] bool may_pass(Core& c, uint64_t time, uint16_t banks) const {
    return wide_key(time - base_, static_cast<uint64_t>(c.rank)) < c.others_until && (c.others_banks & banks) == 0;
  }

 private:
  typedef int16_t Lanes __attribute__((vector_size(16)));
  static constexpr unsigned kRankBits = 4;
  static constexpr uint64_t kFar = 0x7ff0;
  static constexpr int16_t kNever = 0x7fff;
  static constexpr Lanes kNobody = {kNever, kNever, kNever, kNever, kNever, kNever, kNever, kNever};

  uint64_t first() const { return static_cast<uint64_t>(low_[0]); }
  int16_t relative(uint64_t time, uint64_t rank) const {
    return static_cast<int16_t>(time - base_ >= kFar >> kRankBits ? kFar | rank : wide_key(time - base_, rank));
  }

  static Lanes min(Lanes a, Lanes b) { return a < b ? a : b; }
  static Lanes max(Lanes a, Lanes b) { return a > b ? a : b; }
  static Lanes all(int16_t a) { return Lanes{} + a; }
  // The lanes of a and then b, without the first; and b's, with the last of a before them.
#if defined(__SSE2__)  // a compiler without SSSE3 makes eight steps of such a shuffle
  static Lanes from_second(Lanes a, Lanes b) {
    return Lanes(_mm_srli_si128(__m128i(a), 2) | _mm_slli_si128(__m128i(b), 14));
  }
  static Lanes to_second(Lanes a, Lanes b) {
    return Lanes(_mm_srli_si128(__m128i(a), 14) | _mm_slli_si128(__m128i(b), 2));
  }
#else
  static Lanes from_second(Lanes a, Lanes b) {
    return __builtin_shufflevector(a, b, 1, 2, 3, 4, 5, 6, 7, 8);
  }
  static Lanes to_second(Lanes a, Lanes b) {
    return __builtin_shufflevector(a, b, 7, 8, 9, 10, 11, 12, 13, 14);
  }
#endif

  // From 15 - i on: sixteen lanes of which the i-th is set.
  static constexpr std::array<int16_t, 2 * kClaims - 1> kOwn = [] {
    std::array<int16_t, 2 * kClaims - 1> own{};
    own[kClaims - 1] = kNever;
    return own;
  }();

  [[gnu::always_inline]] static Lanes load(const void* at) {
    Lanes a;
    std::memcpy(&a, at, sizeof a);
    return a;
  }

  // Takes the first out and puts `key` in where it belongs.
  [[gnu::always_inline]] void put_back(int16_t key) {
    const Lanes after_low = from_second(low_, high_), after_high = from_second(high_, kNobody), k = all(key);
    Lanes before = low_;
    before[0] = INT16_MIN;
    low_ = max(before, min(after_low, k));
    high_ = max(high_, min(after_high, k));
  }

  [[gnu::always_inline]] int16_t enter_ready(uint64_t time, Core& c, const Op* op) {
    const auto rank = static_cast<uint64_t>(c.rank);
    const Ahead ahead = c.ahead[op - c.ops];
    c.fpu_key = wide_key(time + ahead.fpu, rank);
    const int16_t key = relative(time, rank);
    until_[static_cast<size_t>(c.id)] = static_cast<int16_t>(std::min(key + (ahead.bank << kRankBits), int{kNever}));
    banks_[static_cast<size_t>(c.id)] = c.pending;
    ready_[rank] = &c;
    return key;
  }
  int16_t enter(uint64_t time, Core& c) {
    if (c.why == Why::Yield && c.chained) return enter_ready(time, c, c.op);
    const auto rank = static_cast<uint64_t>(c.rank);
    c.fpu_key = wide_key(time, rank);
    until_[static_cast<size_t>(c.id)] = relative(time, rank);
    banks_[static_cast<size_t>(c.id)] = kAnyBank;
    ready_[rank] = nullptr;
    return relative(time, rank);
  }

  Lanes low_, high_;  // the keys in order
  alignas(16) std::array<int16_t, kClaims> until_;
  alignas(16) std::array<uint16_t, kClaims> banks_;
  std::array<Core*, kLastRank + 1> cores_{}, ready_{};  // by rank
  uint64_t base_ = 0, pause_ = 0, late_ = 0;
  size_t count_ = 0;
};

}  // namespace tessera::sim
