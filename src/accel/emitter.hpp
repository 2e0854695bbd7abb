// Writes instructions: constants, loops, addresses that walk.
//
//   e.loop(rows, R::count, [&] { e.op(Op::V_ADD_VV, {x, x, y}); e.add(x, 64); });     one row: the body alone, no loop
#pragma once

#include <cstdint>
#include <initializer_list>
#include <utility>
#include <vector>

#include "accel/isa.hpp"

namespace tessera::accel {

// gp15 is the emitter's own, for constants that do not fit an immediate.
constexpr uint32_t scratch_register = 15;

class Emitter {
 public:
  uint32_t here() const { return static_cast<uint32_t>(words_.size()); }
  std::vector<uint32_t> take() && { return std::move(words_); }

  // Operands in the order in which assembly has them; those left out are 0.
  void op(Op op, std::initializer_list<int64_t> operands) {
    Instruction i{.op = op};
    size_t n = 0;
    for (const auto value : operands) set(i, operand_of(info_of(op).operands[n++]), static_cast<uint32_t>(value));
    words_.push_back(encode(i));
  }

  void constant(uint32_t reg, int64_t value) {
    if (value < immediate_limit) return op(Op::S_ADDI_INT, {reg, 0, value});
    op(Op::S_LUI_INT, {reg, value >> 12});
    if (value & 0xfff) op(Op::S_ADDI_INT, {reg, reg, value & 0xfff});
  }
  // to = from + delta
  void sum(uint32_t to, uint32_t from, int64_t delta) {
    if (delta == 0 && to == from) return;
    if (delta >= 0 && delta < immediate_limit) return op(Op::S_ADDI_INT, {to, from, delta});
    constant(scratch_register, delta < 0 ? -delta : delta);
    op(delta < 0 ? Op::S_SUB_INT : Op::S_ADD_INT, {to, from, scratch_register});
  }
  void add(uint32_t reg, int64_t delta) { sum(reg, reg, delta); }

  template <class Body>
  void loop(int64_t count, uint32_t counter, Body body) {
    if (count <= 0) return;
    if (count == 1) return body();
    op(Op::C_LOOP_START, {counter, count});
    body();
    op(Op::C_LOOP_END, {counter});
  }

  // Where the next transfers are from: elements at `base`, their scales `scale` bytes on, rows `stride` bytes apart.
  void point_at(uint32_t address_register, uint64_t base, uint64_t scale, uint64_t stride, uint32_t temporary) {
    constant(temporary, static_cast<int64_t>(base >> 32));
    constant(scratch_register, static_cast<int64_t>(base & 0xffffffffu));
    op(Op::C_SET_ADDR_REG, {address_register, temporary, scratch_register});
    constant(temporary, static_cast<int64_t>(scale));
    op(Op::C_SET_SCALE_REG, {temporary});
    if (!stride) return;
    constant(temporary, static_cast<int64_t>(stride));
    op(Op::C_SET_STRIDE_REG, {temporary});
  }

 private:
  static constexpr int64_t immediate_limit = int64_t{1} << 18;
  std::vector<uint32_t> words_;
};

}  // namespace tessera::accel
