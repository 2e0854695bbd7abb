// Instructions as words and as values, straight from the table.
//
//   decode(0x00048022) -> {S_ADDI_INT, rd 0, rs1 0, imm 18}        encode() is its inverse, bit for bit
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "accel/isa_table.hpp"
#include "accel/machine_config.hpp"
#include "base/error.hpp"

namespace tessera::accel {

enum class Op : uint8_t {
#define TESSERA_OP(name, code, ...) name = code,
  TESSERA_ACCEL_ISA(TESSERA_OP)
#undef TESSERA_OP
};

enum class OpClass : uint8_t { Matrix, Vector, Scalar, Memory, Control };
constexpr int op_classes = 5;
std::string_view name_of(OpClass c);

struct Instruction {
  Op op{};
  uint8_t rd = 0, rs1 = 0, rs2 = 0, rs3 = 0;
  uint8_t funct = 0;
  uint32_t imm = 0;  // imm22, imm18, imm10 or rows: an instruction has one of them at most
  bool operator==(const Instruction&) const = default;
};

// One letter of the table's operand strings: where it lies in the word and what it names.
struct Operand {
  char letter;
  int shift, bits;
  char file;         // 'g', 'f', 'a' for a register, 0 for a number
  const char* name;  // for messages
};

struct OpInfo {
  Op op;
  std::string_view name;
  std::string_view operands;  // letters, without the '?'
  int required;               // of them
  OpClass op_class;
};

std::span<const OpInfo> instruction_set();
const OpInfo* find_op(std::string_view name);
const OpInfo* find_op(uint32_t opcode);
inline const OpInfo& info_of(Op op) {
  return *find_op(static_cast<uint32_t>(op));
}
const Operand& operand_of(char letter);
uint32_t get(const Instruction& i, const Operand& operand);
void set(Instruction& i, const Operand& operand, uint32_t value);

uint32_t encode(const Instruction& i);
// Refuses an opcode that does not exist, a register that does not exist, and bits that the instruction does not use.
Result<Instruction> decode(uint32_t word);

// Cycles the machine is busy with it.
int64_t cost_of(Op op, const MachineConfig& config);

}  // namespace tessera::accel
