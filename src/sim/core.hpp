// One core's state, and a decoded instruction. A core runs ahead of the others and logs when it would use a bank of L1
// or its FPU if nobody were in its way; the logs of all cores are then replayed in the order of time, and that is when
// they wait for each other. Before anything else that it shares (a register, L2, a refill) a core stops until its log
// is replayed and every other core is past that moment.
#pragma once

#include <array>
#include <cstdint>

#include "sim/machine.hpp"
#include "sim/softfloat.hpp"

namespace tessera::sim {

struct Core;
struct Op;
class Chip;

// t: the core's clock when the instruction starts. n: instructions of this turn, the 32-bit ones counted again in the
// upper half. Both travel in registers from handler to handler.
using Handler = void (*)(Core& c, const Op* op, uint64_t t, uint64_t n);

// One decoded instruction. There is a slot for every halfword of code, so the next is op + 1 or op + 2 and a branch
// target is op + imm. Registers that are written as x0 go to a 33rd that nobody reads.
struct Op {
  Handler exec;
  int32_t imm;
  uint8_t rd, rs1, rs2;
  uint8_t cost_length;  // cycles when nothing is in the way, low six bits; top bit: four bytes long
};
static_assert(sizeof(Op) == 16);

inline constexpr uint8_t kLongInstruction = 0x80, kCostMask = 0x3f, kNowhere = 32;

enum class Why : uint8_t {
  Go,       // nothing: run on at `op`
  Yield,    // someone else's turn; `op` has not started
  Full,     // the log is; `op` has not started
  Fetch,    // `op` starts on a line that the core's cache may not hold
  Resched,  // `op` is next, but the order of turns may have changed
  Asleep,   // the event unit or a queue will wake it
  Parked,   // it jumps to itself for ever
  Stop,     // the program ended or went wrong
};

// What the core counts, for its performance counters and the report.
struct Counts {
  uint64_t loads = 0, stores = 0, jumps = 0, branches = 0, taken = 0, load_use = 0, fetch_misses = 0;
  uint64_t l1_conflict = 0, l2 = 0, peripheral = 0, fpu = 0, divide = 0, branch = 0, multiply = 0, icache = 0;
  uint64_t dma_queue = 0, asleep = 0;
};

struct HardwareLoop {
  uint32_t start = 0, end = 0, count = 0;  // end: the address of the last instruction of the body
};

// The control registers that a bare-metal program may set; the others read as zero.
struct Csrs {
  uint32_t mstatus = 0x1800, mtvec = 0, mepc = 0, mcause = 0, mscratch = 0, mtval = 0, mie = 0;
  uint32_t pcer = 0, pcmr = 0;
  std::array<uint32_t, 12> pccr_base{}, pccr_start{};  // counted before, and where the count stood when it was started
};

struct Core {
  // hot: the state of the program and of the turn
  std::array<uint32_t, 33> x{};
  std::array<uint32_t, 33> f{};
  const Op* op = nullptr;
  uint64_t t = 0;
  uint64_t n = 0;
  uint64_t limit = 0;          // up to this time the core may touch shared things, if its log is empty
  uint64_t horizon = 0;        // at a jump beyond it the turn ends
  uint64_t* polled = nullptr;  // words of L1 that some core polls
  uint64_t* log = nullptr;
  uint64_t* log_end = nullptr;    // where the next use is logged
  uint64_t* log_full = nullptr;   // no use is logged there
  uint64_t* log_empty = nullptr;  // up to there the log counts as empty
  Op* ops = nullptr;
  uint32_t code_base = 0, code_slots = 0, l1_code_base = 0;
  uint16_t* line_holders = nullptr;  // per line of code: a bit for each core whose cache holds it
  uint16_t cache_bit = 0;            // this core's
  Why why = Why::Go;
  uint8_t fp_slow = 0;  // rounding is not to nearest-even, or the program reads the flags
  uint8_t taken_cost = 3, jump_cost = 2;
  uint8_t* l1 = nullptr;  // the window that loads and stores may take without asking
  uint32_t l1_base = 0, l1_size = 0, bank_mask = 0;
  uint32_t fpu_unit = 0;
  uint64_t* banks = nullptr;  // when each bank is free
  uint64_t* divider = nullptr;
  soft::Context fp;
  Counts count;

  // cold
  Chip* chip = nullptr;
  int id = 0;  // in the cluster; the FC is Chip::kFc
  bool is_fc = false;
  bool running = false;  // started, not asleep, not parked
  bool parked = false;
  bool started = false;
  uint64_t start_time = 0, sleep_time = 0;
  uint64_t debt = 0;  // cycles of a fetch, to be paid after the instruction that was fetched
  uint8_t wake_rd = 0;
  const Op* last_access = nullptr;  // where a core that sleeps went to sleep
  uint64_t instructions = 0, long_instructions = 0;
  std::array<HardwareLoop, 2> loop{};
  Csrs csr;
  uint32_t boot_address = 0;
  uint32_t reserved_address = 0, reserved_value = 0;
  bool reserved = false;
  uint32_t isa = 0;  // bit per letter, 'a' first
  int rank = 0;      // who goes first among cores at the same moment
  uint32_t stack_low = 0xffffffff;

  uint64_t instructions_at(uint64_t turn_n) const { return instructions + static_cast<uint32_t>(n + turn_n); }
  void settle() {
    instructions += static_cast<uint32_t>(n);
    long_instructions += n >> 32;
    n = 0;
  }
};

inline constexpr uint32_t isa_bit(char letter) {
  return 1u << (letter - 'a');
}

}  // namespace tessera::sim
