// How instructions follow each other. An instruction is a type with one template, `exec<M>`, that reads like the manual
// and ends in advance() or jump_to(). Five handlers are made of each: for short and long (four bytes) instructions one
// in the middle of a line of code and one at the start of a line (it asks whether the cache holds it), and one that
// stops after a single step. A handler is a few host instructions, so everything rare is called in tail position from
// it: a call in the middle would make it save its registers each time.
#pragma once

#include "sim/core.hpp"

namespace tessera::sim {

// Handlers call the next one in tail position. A compiler that does not optimise would pile up stack frames, so there
// each handler returns to the loop that called it.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
inline constexpr bool kThreaded = true;
#else
inline constexpr bool kThreaded = false;
#endif

enum class Mode { Run, RunLong, Line, LineLong, Step };

constexpr bool enters_line(Mode m) {
  return m == Mode::Line || m == Mode::LineLong;
}
constexpr uint64_t is_long(Mode m) {
  return m == Mode::RunLong || m == Mode::LineLong;
}

struct HandlerSet {
  std::array<Handler, 2> run{}, line{};  // [1]: of four bytes
  Handler step = nullptr;
};

[[gnu::always_inline]] inline void leave(Core& c, const Op* op, uint64_t t, uint64_t n, Why why) {
  c.op = op;
  c.t = t;
  c.n += n;
  c.why = why;
}

// A use of a unit that several share: a bank of L1 by its number, an FPU by kFirstFpu and its own. A log ends with
// kTurn: the core's turn.
inline constexpr uint32_t kFirstFpu = 64, kMostUnits = 128, kTurn = 0xff;
constexpr uint64_t use_of(uint32_t unit, uint64_t t) {
  return t << 8 | unit;
}
constexpr uint32_t unit_of(uint64_t use) {
  return use & 0xff;
}
constexpr uint64_t time_of(uint64_t use) {
  return use >> 8;
}
[[gnu::always_inline]] inline void log_use(Core& c, uint32_t unit, uint64_t t) {
  *c.log_end++ = use_of(unit, t);
}

template <Mode M>
[[gnu::always_inline]] inline void go(Core& c, const Op* op, uint64_t t, uint64_t n) {
  if constexpr (kThreaded && M != Mode::Step) return op->exec(c, op, t, n);
  return leave(c, op, t, n, Why::Go);
}

[[gnu::always_inline]] inline uint64_t counted(const Op* op, uint64_t n) {
  return n + 1 + (static_cast<uint64_t>(op->cost_length >> 7) << 32);
}
[[gnu::always_inline]] inline const Op* next_of(const Op* op) {
  return op + 1 + (op->cost_length >> 7);
}
[[gnu::always_inline]] inline uint64_t cost_of(const Op* op) {
  return op->cost_length & kCostMask;
}

// The same where the handler knows the length.
template <Mode M>
[[gnu::always_inline]] inline uint64_t counted(const Op* op, uint64_t n) {
  return M == Mode::Step ? counted(op, n) : n + 1 + (is_long(M) << 32);
}
template <Mode M>
[[gnu::always_inline]] inline const Op* next_of(const Op* op) {
  return M == Mode::Step ? next_of(op) : op + 1 + is_long(M);
}

// The next instruction in memory, `extra` cycles later than the cost that was known when decoding.
template <Mode M>
[[gnu::always_inline]] inline void advance(Core& c, const Op* op, uint64_t t, uint64_t n, uint64_t extra = 0) {
  return go<M>(c, next_of<M>(op), t + cost_of(op) + extra, counted<M>(op, n));
}

[[gnu::always_inline]] inline bool holds_line(const Core& c, const Op* op) {
  return c.line_holders[(op - c.ops) >> 3] & c.cache_bit;
}

// Control goes elsewhere: the turn may be over, and the line of the target may not be at hand.
template <Mode M>
[[gnu::always_inline]] inline void jump_to(Core& c, const Op* target, uint64_t t, uint64_t n) {
  if (t > c.horizon || !holds_line(c, target)) [[unlikely]]
    return leave(c, target, t, n, Why::Fetch);
  return go<M>(c, target, t, n);
}

template <class I, Mode M>
void handler(Core& c, const Op* op, uint64_t t, uint64_t n) {
  // +1: an instruction that begins in the last halfword of a line needs the next line too.
  if constexpr (enters_line(M)) {
    if (!holds_line(c, op + 1)) [[unlikely]]
      return leave(c, op, t, n, Why::Fetch);
  }
  return I::template exec<M>(c, op, t, n);
}

template <class I>
constexpr HandlerSet handlers_of() {
  return {{handler<I, Mode::Run>, handler<I, Mode::RunLong>},
          {handler<I, Mode::Line>, handler<I, Mode::LineLong>},
          handler<I, Mode::Step>};
}

// Inside an instruction, before it touches something shared: stop where it is not yet certain when that is, or another
// core has not come so far.
#define WAIT_FOR_TURN                                      \
  if (t > c.limit || c.log_end > c.log_empty) [[unlikely]] \
  return leave(c, op, t, n, Why::Yield)
// Before it uses a unit whose uses are logged.
#define WAIT_FOR_ROOM                       \
  if (c.log_end == c.log_full) [[unlikely]] \
  return leave(c, op, t, n, Why::Full)

#define INSTRUCTION \
  template <Mode M> \
  static void exec(Core& c, const Op* op, uint64_t t, uint64_t n)

}  // namespace tessera::sim
