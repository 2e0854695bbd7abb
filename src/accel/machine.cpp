#include "accel/machine.hpp"

#include <algorithm>

#include "accel/machine_vector.hpp"

namespace tessera::accel {

Result<void> check(const MachineConfig& c) {
  if (c.mlen <= 0 || c.blen <= 0 || c.hlen <= 0 || c.mlen > 4096)
    return input_error("MLEN {}, BLEN {}, HLEN {}: must be positive, and MLEN at most 4096", c.mlen, c.blen, c.hlen);
  if (c.mlen % c.blen || c.mlen % c.hlen)
    return input_error("MLEN {} is not a multiple of BLEN {} and HLEN {}", c.mlen, c.blen, c.hlen);
  if (c.broadcast() > 32) return input_error("MLEN {} has more than 32 slots of HLEN {}", c.mlen, c.hlen);
  for (const auto& format : {c.weights, c.kv})
    if (c.hlen % format.block)
      return input_error("HLEN {} is not a multiple of the {} format's block of {}", c.hlen, format.name, format.block)
          .hint("--format plena has blocks of 8");
  if (c.clock_hz <= 0) return input_error("a clock of {} Hz", c.clock_hz);
  const int64_t need = c.matrix_sram_bytes() + c.vector_sram_bytes() + small_sram_bytes;
  if (c.sram_bytes && need > c.sram_bytes)
    return does_not_fit("SRAMs of {} tiles and {} rows need {} bytes; the board has {}", c.matrix_tiles, c.vector_rows,
                        need, c.sram_bytes)
        .hint("--sram unlimited lifts the limit");
  return {};
}

Machine::Machine(const MachineConfig& config, MemoryModel& memory, int64_t memory_bytes, std::vector<uint8_t>* image)
    : config_(config), memory_(memory), memory_bytes_(memory_bytes), image_(image) {
  const auto mlen = static_cast<size_t>(config.mlen), blen = static_cast<size_t>(config.blen);
  if (image) {
    vectors_.resize(static_cast<size_t>(config.vector_rows) * mlen);
    tiles_.resize(static_cast<size_t>(config.matrix_tiles));
    heads_.resize(config.broadcast() * mlen * mlen);
  }
  block_.resize(blen * blen);
  row_.resize(blen);
  row_heads_.resize(config.broadcast() * mlen);
  tile_loads_.pending.resize(static_cast<size_t>(config.matrix_tiles));
  row_loads_.pending.resize(static_cast<size_t>(config.vector_rows));
  row_stores_.pending.resize(static_cast<size_t>(config.vector_rows));
}

Result<void> Machine::load(std::span<const uint32_t> words) {
  code_.clear();
  code_.reserve(words.size());
  std::vector<uint32_t> open;
  for (uint32_t n = 0; n < words.size(); ++n) {
    auto i = decode(words[n]);
    if (!i) return std::move(i).error().within(fmt::format("instruction {}", n));
    code_.push_back({*i, 0, static_cast<int32_t>(cost_of(i->op, config_))});
    if (i->op == Op::C_LOOP_START) open.push_back(n);
    if (i->op == Op::C_BREAK && open.empty()) return input_error("instruction {}: C_BREAK outside of a loop", n);
    if (i->op != Op::C_LOOP_END) continue;
    if (open.empty()) return input_error("instruction {}: C_LOOP_END without its start", n);
    const auto start = open.back();
    open.pop_back();
    if (code_[start].i.rd != i->rd)
      return input_error("instruction {}: C_LOOP_END of gp{} ends the loop of gp{}", n, i->rd, code_[start].i.rd);
    if (i->rd == 0) return input_error("instruction {}: gp0 cannot count a loop", start);
    code_[n].partner = start;
    code_[start].partner = n;
  }
  if (!open.empty()) return input_error("instruction {}: C_LOOP_START without its end", open.back());
  for (uint32_t n = 0; n < code_.size(); ++n) {  // a break leaves the innermost loop around it
    if (code_[n].i.op == Op::C_LOOP_START) open.push_back(code_[n].partner);
    if (code_[n].i.op == Op::C_LOOP_END) open.pop_back();
    if (code_[n].i.op == Op::C_BREAK) code_[n].partner = open.back();
  }
  pc_ = 0;
  return {};
}

void Machine::preload_fp(std::span<const float> values) {
  for (size_t n = 0; n < std::min<size_t>(values.size(), fp_sram_words); ++n) fp_sram_[n] = bf16(values[n]);
}

void Machine::set_vector_row(int64_t row, std::span<const float> values) {
  std::copy(values.begin(), values.end(), vectors_.begin() + row * config_.mlen);
}

Result<void> Machine::run_until(uint32_t pc) {
  const auto end = std::min<uint32_t>(pc, static_cast<uint32_t>(code_.size()));
  while (pc_ < end) {
    const auto at = pc_++;
    const auto& step = code_[at];
    execute(step);
    now_ += step.cost;
    busy_[static_cast<size_t>(info_of(step.i.op).op_class)] += step.cost;
    ++instructions_;
    if (!fault_.empty())
      return input_error("instruction {}, {}: {}", at, info_of(step.i.op).name, fault_)
          .hint("the program does not suit this machine; compile it for this one");
  }
  return {};
}

void Machine::execute(const Step& step) {
  auto& m = *this;
  const auto& i = step.i;
  switch (i.op) {
#define TESSERA_MEANING(name, code, operands, op_class, cycles, ...) \
  case Op::name:                                                     \
    __VA_ARGS__;                                                     \
    break;
    TESSERA_ACCEL_ISA(TESSERA_MEANING)
#undef TESSERA_MEANING
  }
}

void Machine::loop_end(const Instruction& i) {
  // A count of zero runs the body once, as a count of one does.
  const auto left = std::max<uint32_t>(g(i.rd), 1) - 1;
  set_g(i.rd, left);
  if (left) pc_ = code_[pc_ - 1].partner + 1;
}

void Machine::loop_break(const Instruction&) {
  pc_ = code_[pc_ - 1].partner + 1;
}

void Machine::load_fp(const Instruction& i) {
  const uint32_t at = g(i.rs1) + i.imm;
  if (at >= fp_sram_words) return fault("FP SRAM has no word {}", at);
  set_f(i.rd, fp_sram_[at]);
}

void Machine::store_fp(const Instruction& i) {
  const uint32_t at = g(i.rs1) + i.imm;
  if (at >= fp_sram_words) return fault("FP SRAM has no word {}", at);
  fp_sram_[at] = f(i.rd);
}

void Machine::load_int(const Instruction& i) {
  const uint32_t at = g(i.rs1) + i.imm;
  if (at >= int_sram_words) return fault("INT SRAM has no word {}", at);
  set_g(i.rd, int_sram_[at]);
}

void Machine::store_int(const Instruction& i) {
  const uint32_t at = g(i.rs1) + i.imm;
  if (at >= int_sram_words) return fault("INT SRAM has no word {}", at);
  int_sram_[at] = g(i.rd);
}

}  // namespace tessera::accel
