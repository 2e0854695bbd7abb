// Loads, stores and atomics. An aligned access to L1 is done here; everything else is asked of the chip.
#pragma once

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "sim/ops_control.hpp"

namespace tessera::sim {

// In access.cpp. They return Go (done, `extra` cycles beyond the decoded cost), Resched, Asleep or Stop.
Why slow_load(Core& c, const Op* op, uint32_t address, uint32_t size, uint64_t t, uint32_t& value, uint64_t& extra);
Why slow_store(Core& c, const Op* op, uint32_t address, uint32_t size, uint64_t t, uint32_t value, uint64_t& extra);
Why event_load(Core& c, const Op* op, uint32_t address, uint64_t t, uint32_t& value, uint64_t& extra);

// How an instruction makes its address; next() only looks. Post-increment writes the base back before the loaded
// value lands.
struct BaseOffset {
  static uint32_t next(const Core& c, const Op* op) { return address(c, op); }
  static uint32_t address(const Core& c, const Op* op) { return c.x[op->rs1] + static_cast<uint32_t>(op->imm); }
};
struct BaseRegister {
  static uint32_t next(const Core& c, const Op* op) { return address(c, op); }
  static uint32_t address(const Core& c, const Op* op) { return c.x[op->rs1] + c.x[static_cast<uint32_t>(op->imm)]; }
};
struct PostIncrement {
  static uint32_t next(const Core& c, const Op* op) { return c.x[op->rs1]; }
  static uint32_t address(Core& c, const Op* op) {
    const uint32_t at = c.x[op->rs1];
    c.x[op->rs1] = at + static_cast<uint32_t>(op->imm);
    c.x[0] = 0;
    return at;
  }
};
struct PostIncrementRegister {
  static uint32_t next(const Core& c, const Op* op) { return c.x[op->rs1]; }
  static uint32_t address(Core& c, const Op* op) {
    const uint32_t at = c.x[op->rs1];
    c.x[op->rs1] = at + c.x[static_cast<uint32_t>(op->imm)];
    c.x[0] = 0;
    return at;
  }
};

template <class T>
[[gnu::always_inline]] inline bool in_window(const Core& c, uint32_t address) {
  return address - c.l1_base < c.l1_size && address % sizeof(T) == 0;
}

[[gnu::always_inline]] inline uint32_t bank_of(const Core& c, uint32_t address) {
  return (address >> 2) & c.bank_mask;
}

// A bit stands for many words.
[[gnu::always_inline]] inline uint64_t polled_bit(uint32_t address) {
  return uint64_t{1} << (address >> 2 & 63);
}

template <class T>
[[gnu::always_inline]] inline uint32_t widened(uint32_t raw) {
  if constexpr (sizeof(T) == 4) return raw;
  return static_cast<uint32_t>(static_cast<int32_t>(static_cast<T>(raw)));
}

template <class T, class Address, bool Float>
struct Load {
  INSTRUCTION {
    if (!in_window<T>(c, Address::next(c, op))) [[unlikely]]
      return slow<M>(c, op, t, n);
    WAIT_FOR_ROOM;
    const uint32_t address = Address::address(c, op);
    uint32_t& rd = Float ? c.f[op->rd] : c.x[op->rd];
    ++c.count.loads;
    c.count.load_use += cost_of(op) - 1;
    T raw;
    std::memcpy(&raw, c.l1 + (address - c.l1_base), sizeof(T));
    rd = widened<T>(static_cast<uint32_t>(raw));
    log_use(c, bank_of(c, address), t);
    return advance<M>(c, op, t, n);
  }

  // Not inlined: it has locals whose addresses escape, and those forbid a tail call.
  template <Mode M>
  [[gnu::noinline]] static void slow(Core& c, const Op* op, uint64_t t, uint64_t n) {
    WAIT_FOR_TURN;
    const uint32_t address = Address::address(c, op);
    uint32_t& rd = Float ? c.f[op->rd] : c.x[op->rd];
    ++c.count.loads;
    c.count.load_use += cost_of(op) - 1;
    uint32_t value = 0;
    uint64_t extra = 0;
    const Why why = slow_load(c, op, address, sizeof(T), t, value, extra);
    if (why == Why::Stop) return leave(c, op, t, n, why);
    if (why == Why::Asleep) return leave(c, next_of(op), t, counted(op, n), why);
    rd = widened<T>(value);
    return leave(c, next_of(op), t + cost_of(op) + extra, counted(op, n), why);
  }
};

// A load that waits in a loop for what someone else stores. From now on those who store there wait for their turn.
template <class L>
struct Polling {
  INSTRUCTION {
    const uint32_t address = BaseOffset::next(c, op);
    if (in_window<uint8_t>(c, address)) *c.polled |= polled_bit(address);
    return L::template slow<M>(c, op, t, n);
  }
};

// p.elw: a load from a register that may put the core to sleep.
struct EventLoad {
  INSTRUCTION {
    WAIT_FOR_TURN;
    uint32_t value = 0;
    uint64_t extra = 0;
    ++c.count.loads;
    const Why why = event_load(c, op, BaseOffset::address(c, op), t, value, extra);
    if (why == Why::Stop) return leave(c, op, t, n, why);
    if (why == Why::Asleep) return leave(c, next_of(op), t, counted(op, n), why);
    c.x[op->rd] = value;
    return leave(c, next_of(op), t + cost_of(op) + extra, counted(op, n), Why::Resched);
  }
};

template <class T, class Address, bool Float>
struct Store {
  INSTRUCTION {
    const uint32_t next = Address::next(c, op);
    if (!in_window<T>(c, next) || (*c.polled & polled_bit(next)) != 0) [[unlikely]]
      return slow<M>(c, op, t, n);
    WAIT_FOR_ROOM;
    const uint32_t value = Float ? c.f[op->rs2] : c.x[op->rs2];
    const uint32_t address = Address::address(c, op);
    ++c.count.stores;
    const T raw = static_cast<T>(value);
    std::memcpy(c.l1 + (address - c.l1_base), &raw, sizeof(T));
    log_use(c, bank_of(c, address), t);
    return advance<M>(c, op, t, n);
  }

  template <Mode M>
  [[gnu::noinline]] static void slow(Core& c, const Op* op, uint64_t t, uint64_t n) {
    WAIT_FOR_TURN;
    const uint32_t value = Float ? c.f[op->rs2] : c.x[op->rs2];
    const uint32_t address = Address::address(c, op);
    ++c.count.stores;
    uint64_t extra = 0;
    const Why why = slow_store(c, op, address, sizeof(T), t, value, extra);
    if (why == Why::Stop) return leave(c, op, t, n, why);
    if (why == Why::Asleep) return leave(c, next_of(op), t, counted(op, n), why);
    return leave(c, next_of(op), t + cost_of(op) + extra, counted(op, n), why);
  }
};

// amo*.w: old value to rd, F(old, rs2) to memory, at one moment.
template <auto F>
struct Atomic {
  INSTRUCTION {
    WAIT_FOR_TURN;
    const uint32_t address = c.x[op->rs1], operand = c.x[op->rs2];
    uint32_t old = 0;
    uint64_t extra = 0, extra_store = 0;
    ++c.count.loads, ++c.count.stores;
    Why why = slow_load(c, op, address, 4, t, old, extra);
    if (why == Why::Go) why = slow_store(c, op, address, 4, t, F(old, operand), extra_store);
    if (why == Why::Stop || why == Why::Asleep) return leave(c, op, t, n, Why::Stop);
    c.x[op->rd] = old;
    return leave(c, next_of(op), t + cost_of(op) + extra, counted(op, n), why);
  }
};

struct LoadReserved {
  INSTRUCTION {
    WAIT_FOR_TURN;
    uint32_t value = 0;
    uint64_t extra = 0;
    ++c.count.loads;
    const uint32_t address = c.x[op->rs1];
    const Why why = slow_load(c, op, address, 4, t, value, extra);
    if (why != Why::Go) return leave(c, op, t, n, Why::Stop);
    c.reserved = true, c.reserved_address = address, c.reserved_value = value;
    c.x[op->rd] = value;
    return leave(c, next_of(op), t + cost_of(op) + extra, counted(op, n), Why::Go);
  }
};

// Succeeds if the word still holds what was reserved.
struct StoreConditional {
  INSTRUCTION {
    WAIT_FOR_TURN;
    uint32_t value = 0;
    uint64_t extra = 0;
    const uint32_t address = c.x[op->rs1], operand = c.x[op->rs2];
    bool stored = c.reserved && c.reserved_address == address;
    c.reserved = false;
    if (stored && slow_load(c, op, address, 4, t, value, extra) != Why::Go) return leave(c, op, t, n, Why::Stop);
    stored = stored && value == c.reserved_value;
    if (stored && slow_store(c, op, address, 4, t, operand, extra) != Why::Go) return leave(c, op, t, n, Why::Stop);
    c.count.stores += stored;
    c.x[op->rd] = !stored;
    return leave(c, next_of(op), t + cost_of(op) + extra, counted(op, n), Why::Go);
  }
};

inline constexpr auto amo_swap = [](uint32_t, uint32_t b) { return b; };
inline constexpr auto amo_min = [](uint32_t a, uint32_t b) { return s(a) < s(b) ? a : b; };
inline constexpr auto amo_max = [](uint32_t a, uint32_t b) { return s(a) > s(b) ? a : b; };
inline constexpr auto amo_minu = [](uint32_t a, uint32_t b) { return a < b ? a : b; };
inline constexpr auto amo_maxu = [](uint32_t a, uint32_t b) { return a > b ? a : b; };

}  // namespace tessera::sim
