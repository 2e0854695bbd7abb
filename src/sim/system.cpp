// Control and status registers, system instructions, hardware loops.
#include <algorithm>

#include "sim/chip.hpp"
#include "sim/ops_memory.hpp"

namespace tessera::sim {

const Op* find_op(Core& c, uint32_t address) {
  const Op* op = c.chip->code_of(c).find(address);
  if (!op) c.chip->fault(fmt::format("jumps to 0x{:x}, where there is no memory", address));
  return op;
}

void decode_slot(Core& c, const Op* op) {
  c.chip->code_of(c).decode_slot(op);
}

void note_jump(Core& c, uint32_t target, uint64_t t) {
  c.chip->note_jump(c, target, t);
}

namespace {

enum : uint32_t {
  kFflags = 0x001,
  kFrm = 0x002,
  kFcsr = 0x003,
  kMstatus = 0x300,
  kMisa = 0x301,
  kMie = 0x304,
  kMtvec = 0x305,
  kMscratch = 0x340,
  kMepc = 0x341,
  kMcause = 0x342,
  kMtval = 0x343,
  kPccr = 0x780,
  kPccrEnd = 0x79f,
  kPccrAll = 0x79f,
  kLoopStart = 0x7b0,
  kMarker = 0x7c0,
  kMcycle = 0xb00,
  kMinstret = 0xb02,
  kMcycleH = 0xb80,
  kMinstretH = 0xb82,
  kCycle = 0xc00,
  kTime = 0xc01,
  kInstret = 0xc02,
  kCycleH = 0xc80,
  kTimeH = 0xc81,
  kInstretH = 0xc82,
  kPcer = 0xcc0,
  kPcmr = 0xcc1,
  kMhartid = 0xf14,
  kPrivilege = 0xc10,
};

constexpr size_t kCounters = 11;

// The events of the performance counters, as they have been counted since the start of the run.
uint32_t counted(const Core& c, size_t which, uint64_t t, uint64_t n) {
  const uint64_t all = c.instructions_at(n);
  const auto long_ones = c.long_instructions + ((c.n + n) >> 32);
  const uint64_t values[kCounters] = {t,
                                      all,
                                      c.count.load_use,
                                      c.count.jumps * (c.jump_cost - 1u),
                                      c.count.icache,
                                      c.count.loads,
                                      c.count.stores,
                                      c.count.jumps,
                                      c.count.branches,
                                      c.count.taken,
                                      all - long_ones};
  return which < kCounters ? static_cast<uint32_t>(values[which]) : 0;
}

bool counting(const Core& c, size_t which) {
  return (c.csr.pcmr & 1) && (c.csr.pcer >> which & 1);
}

uint32_t read_counter(const Core& c, size_t which, uint64_t t, uint64_t n) {
  if (which >= kCounters) return 0;
  return c.csr.pccr_base[which] + (counting(c, which) ? counted(c, which, t, n) - c.csr.pccr_start[which] : 0);
}

void write_counter(Core& c, size_t which, uint32_t value, uint64_t t, uint64_t n) {
  if (which >= kCounters) return;
  c.csr.pccr_base[which] = value;
  c.csr.pccr_start[which] = counted(c, which, t, n);
}

// Which counters run is about to change: what they have so far is kept.
void settle_counters(Core& c, uint64_t t, uint64_t n) {
  for (size_t i = 0; i < kCounters; ++i) write_counter(c, i, read_counter(c, i, t, n), t, n);
}

uint32_t hart_id(const Core& c) {
  const auto& target = c.chip->target();
  return static_cast<uint32_t>(c.is_fc ? target.fc_cluster_id << 5 : target.cluster_id << 5 | c.id);
}

uint32_t read_csr(Core& c, uint32_t csr, uint64_t t, uint64_t n) {
  if (csr >= kPccr && csr < kPccrEnd) return read_counter(c, csr - kPccr, t, n);
  if (csr >= kLoopStart && csr < kLoopStart + 8) {
    const HardwareLoop& l = c.loop[(csr - kLoopStart) / 4];
    return (csr & 3) == 0 ? l.start : (csr & 3) == 1 ? l.end : l.count;
  }
  switch (csr) {
    case kFflags:
      return c.fp.flags;
    case kFrm:
      return c.fp.rounding;
    case kFcsr:
      return c.fp.flags | c.fp.rounding << 5;
    case kMstatus:
      return c.csr.mstatus;
    case kMie:
      return c.csr.mie;
    case kMtvec:
      return c.csr.mtvec;
    case kMscratch:
      return c.csr.mscratch;
    case kMepc:
      return c.csr.mepc;
    case kMcause:
      return c.csr.mcause;
    case kMtval:
      return c.csr.mtval;
    case kMisa:
      return 0x40000000 | c.isa;
    case kMcycle:
    case kCycle:
    case kTime:
      return static_cast<uint32_t>(t);
    case kMcycleH:
    case kCycleH:
    case kTimeH:
      return static_cast<uint32_t>(t >> 32);
    case kMinstret:
    case kInstret:
      return static_cast<uint32_t>(c.instructions_at(n));
    case kMinstretH:
    case kInstretH:
      return static_cast<uint32_t>(c.instructions_at(n) >> 32);
    case kPcer:
      return c.csr.pcer;
    case kPcmr:
      return c.csr.pcmr;
    case kMhartid:
      return hart_id(c);
    case kPrivilege:
      return 3;
    default:
      return 0;
  }
}

void write_csr(Core& c, uint32_t csr, uint32_t value, uint64_t t, uint64_t n) {
  if (csr >= kPccr && csr < kPccrEnd) return write_counter(c, csr - kPccr, value, t, n);
  if (csr >= kLoopStart && csr < kLoopStart + 8) {
    HardwareLoop& l = c.loop[(csr - kLoopStart) / 4];
    ((csr & 3) == 0 ? l.start : (csr & 3) == 1 ? l.end : l.count) = value;
    if ((csr & 3) == 1) c.chip->code_of(c).mark_loop_end(value);
    return;
  }
  switch (csr) {
    case kFflags:
      c.fp.flags = value & 31;
      break;
    case kFrm:
      c.fp.rounding = value & 7;
      break;
    case kFcsr:
      c.fp.flags = value & 31, c.fp.rounding = value >> 5 & 7;
      break;
    case kMstatus:
      c.csr.mstatus = value;
      break;
    case kMie:
      c.csr.mie = value;
      break;
    case kMtvec:
      c.csr.mtvec = value;
      break;
    case kMscratch:
      c.csr.mscratch = value;
      break;
    case kMepc:
      c.csr.mepc = value & ~1u;
      break;
    case kMcause:
      c.csr.mcause = value;
      break;
    case kMtval:
      c.csr.mtval = value;
      break;
    case kPcer:
      settle_counters(c, t, n), c.csr.pcer = value;
      settle_counters(c, t, n);
      break;
    case kPcmr:
      settle_counters(c, t, n), c.csr.pcmr = value;
      settle_counters(c, t, n);
      break;
    case kMarker:
      c.chip->mark(c, value, t);
      break;
    case kPccrAll:
      for (size_t i = 0; i < kCounters; ++i) write_counter(c, i, value, t, n);
      break;
    default:
      break;
  }
  c.fp_slow = static_cast<uint8_t>((c.fp_slow & 2) | (c.fp.rounding != soft::kNearestEven));
}

bool is_float_csr(uint32_t csr) {
  return csr >= kFflags && csr <= kFcsr;
}

// An exception goes to the program's handler, or ends the run if it has none.
void trap(Core& c, const Op* op, uint64_t t, uint64_t n, uint32_t cause, const std::string& what) {
  const uint32_t pc = address_of(c, op);
  const uint32_t vector = c.csr.mtvec & ~3u;
  c.op = op;
  if (vector == 0) return c.chip->fault(what), leave(c, op, t, n, Why::Stop);
  const Op* to = find_op(c, vector);
  if (!to) return leave(c, op, t, n, Why::Stop);
  c.csr.mepc = pc, c.csr.mcause = cause, c.csr.mtval = cause == 2 ? static_cast<uint32_t>(op->imm) : 0;
  c.csr.mstatus = (c.csr.mstatus & ~0x88u) | (c.csr.mstatus & 8) << 4;
  return leave(c, to, t + c.jump_cost, n, Why::Fetch);
}

std::string illegal(const Core& c, uint32_t word) {
  if (word == 0x80000000) return "branches to where there is no memory";
  const uint32_t opcode = word & 0x7f;
  const bool is_float = opcode == 0x07 || opcode == 0x27 || opcode == 0x53 || (opcode >= 0x43 && opcode <= 0x4f);
  if (is_float && !(c.isa & isa_bit('f')))
    return fmt::format("float instruction 0x{:08x} on a core without an FPU", word);
  if (opcode == 0x2f && !(c.isa & isa_bit('a')))
    return fmt::format("atomic instruction 0x{:08x}: the chip has no A extension", word);
  return fmt::format("illegal instruction 0x{:0{}x}", word, (word & 3) == 3 ? 8 : 4);
}

}  // namespace

void execute_csr(Core& c, const Op* op, uint64_t t, uint64_t n) {
  const uint32_t csr = static_cast<uint32_t>(op->imm) & 0xfff, f3 = static_cast<uint32_t>(op->imm) >> 12;
  if (is_float_csr(csr) && !(c.isa & isa_bit('f')))
    return trap(c, op, t, n, 2, fmt::format("csr 0x{:x} on a core without an FPU", csr));
  if (!is_float_csr(csr) && csr != kMhartid) WAIT_FOR_TURN;  // the others hang on the time
  const uint32_t operand = f3 & 4 ? op->rs1 : c.x[op->rs1];
  const uint32_t old = read_csr(c, csr, t, n);
  if ((f3 & 3) == 1)
    write_csr(c, csr, operand, t, n);
  else if (op->rs1 != 0)
    write_csr(c, csr, (f3 & 3) == 2 ? old | operand : old & ~operand, t, n);
  c.x[op->rd] = old;
  return leave(c, next_of(op), t + cost_of(op), sim::counted(op, n), Why::Go);
}

void execute_system(Core& c, const Op* op, uint64_t t, uint64_t n) {
  const auto word = static_cast<uint32_t>(op->imm);
  switch (word) {
    case 0x00000073:
      return trap(c, op, t, n, 11, "ecall without a trap handler");
    case 0x00100073:
      return trap(c, op, t, n, 3, "ebreak without a trap handler");
    case 0x30200073: {  // mret
      c.csr.mstatus = (c.csr.mstatus & ~8u) | (c.csr.mstatus >> 4 & 8) | 0x80;
      const Op* to = find_op(c, c.csr.mepc);
      return to ? leave(c, to, t + c.jump_cost, sim::counted(op, n), Why::Fetch) : leave(c, op, t, n, Why::Stop);
    }
    case 0x10500073:  // wfi
      WAIT_FOR_TURN;
      return leave(c, next_of(op), t + 1, sim::counted(op, n), c.chip->wait_for_interrupt(c) ? Why::Asleep : Why::Go);
    default:
      break;
  }
  if ((word & 0x707f) == 0x100f) {  // fence.i
    WAIT_FOR_TURN;
    c.chip->flush_code();
    return leave(c, next_of(op), t + 1, sim::counted(op, n), Why::Resched);
  }
  return trap(c, op, t, n, 2, illegal(c, word));
}

// lp.starti, lp.endi, lp.count, lp.counti, lp.setup, lp.setupi: offsets in halfwords from the instruction.
void execute_loop_setup(Core& c, const Op* op) {
  const auto word = static_cast<uint32_t>(op->imm);
  const uint32_t pc = address_of(c, op), long_imm = word >> 20, short_imm = word >> 15 & 31;
  HardwareLoop& loop = c.loop[word >> 7 & 1];
  switch (word >> 12 & 7) {
    case 0:
      loop.start = pc + 2 * long_imm;
      break;
    case 1:
      loop.end = pc + 2 * long_imm;
      break;
    case 2:
      loop.count = c.x[op->rs1];
      break;
    case 3:
      loop.count = long_imm;
      break;
    case 4:
      loop = {pc + 4, pc + 2 * long_imm, c.x[op->rs1]};
      break;
    default:
      loop = {pc + 4, pc + 2 * short_imm, long_imm};
      break;
  }
  c.chip->code_of(c).mark_loop_end(loop.end);
}

}  // namespace tessera::sim
