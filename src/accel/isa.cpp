#include "accel/isa.hpp"

#include <array>
#include <bit>

namespace tessera::accel {
namespace {

constexpr int required_of(std::string_view operands) {
  const auto mark = operands.find('?');
  return static_cast<int>(mark == operands.npos ? operands.size() : mark);
}

struct Letters {
  char text[8] = {};
  constexpr explicit Letters(std::string_view operands) {
    size_t n = 0;
    for (char c : operands)
      if (c != '?') text[n++] = c;
  }
};

#define TESSERA_LETTERS(name, code, operands, ...) constexpr Letters letters_##name{operands};
TESSERA_ACCEL_ISA(TESSERA_LETTERS)
#undef TESSERA_LETTERS

constexpr OpInfo kSet[] = {
#define TESSERA_INFO(name, code, operands, op_class, ...) \
  {Op::name, #name, letters_##name.text, required_of(operands), OpClass::op_class},
    TESSERA_ACCEL_ISA(TESSERA_INFO)
#undef TESSERA_INFO
};

constexpr auto kByOpcode = [] {
  std::array<const OpInfo*, 64> table{};
  for (const auto& info : kSet) table[static_cast<size_t>(info.op)] = &info;
  return table;
}();

constexpr Operand kOperands[] = {
    {'d', 6, 4, 'g', "rd"},        {'D', 6, 4, 'f', "rd"},        {'A', 6, 4, 'a', "rd"},
    {'s', 10, 4, 'g', "rs1"},      {'S', 10, 4, 'f', "rs1"},      {'t', 14, 4, 'g', "rs2"},
    {'T', 14, 4, 'f', "rs2"},      {'a', 14, 4, 'a', "rs2"},      {'q', 18, 4, 'g', "rs3"},
    {'m', 18, 1, 0, "flag"},       {'p', 22, 4, 0, "funct1"},     {'r', 26, 6, 0, "rows"},
    {'i', 10, 22, 0, "immediate"}, {'j', 14, 18, 0, "immediate"}, {'k', 22, 10, 0, "immediate"},
};

}  // namespace

std::string_view name_of(OpClass c) {
  constexpr std::string_view names[] = {"matrix", "vector", "scalar", "memory", "control"};
  return names[static_cast<size_t>(c)];
}

std::span<const OpInfo> instruction_set() {
  return kSet;
}

const OpInfo* find_op(std::string_view name) {
  for (const auto& info : kSet)
    if (info.name == name) return &info;
  return nullptr;
}

const OpInfo* find_op(uint32_t opcode) {
  return opcode < kByOpcode.size() ? kByOpcode[opcode] : nullptr;
}

const Operand& operand_of(char letter) {
  for (const auto& operand : kOperands)
    if (operand.letter == letter) return operand;
  std::unreachable();
}

uint32_t get(const Instruction& i, const Operand& operand) {
  switch (operand.letter) {
    case 'd':
    case 'D':
    case 'A':
      return i.rd;
    case 's':
    case 'S':
      return i.rs1;
    case 't':
    case 'T':
    case 'a':
      return i.rs2;
    case 'q':
    case 'm':
      return i.rs3;
    case 'p':
      return i.funct;
    default:
      return i.imm;
  }
}

void set(Instruction& i, const Operand& operand, uint32_t value) {
  const auto small = static_cast<uint8_t>(value);
  switch (operand.letter) {
    case 'd':
    case 'D':
    case 'A':
      i.rd = small;
      break;
    case 's':
    case 'S':
      i.rs1 = small;
      break;
    case 't':
    case 'T':
    case 'a':
      i.rs2 = small;
      break;
    case 'q':
    case 'm':
      i.rs3 = small;
      break;
    case 'p':
      i.funct = small;
      break;
    default:
      i.imm = value;
  }
}

uint32_t encode(const Instruction& i) {
  auto word = static_cast<uint32_t>(i.op);
  for (char letter : info_of(i.op).operands) {
    const auto& operand = operand_of(letter);
    word |= get(i, operand) << operand.shift;
  }
  return word;
}

Result<Instruction> decode(uint32_t word) {
  const auto* info = find_op(word & 63);
  if (!info) return input_error("{:08x}: there is no opcode {:#04x}", word, word & 63);
  Instruction i{.op = info->op};
  uint32_t used = 63;
  for (char letter : info->operands) {
    const auto& operand = operand_of(letter);
    const uint32_t mask = ((uint32_t{1} << operand.bits) - 1) << operand.shift;
    const uint32_t value = (word & mask) >> operand.shift;
    if ((operand.file == 'f' || operand.file == 'a') && value > 7)
      return input_error("{:08x}: {} of {} is {}{}, and there are 8", word, operand.name, info->name, operand.file,
                         value);
    set(i, operand, value);
    used |= mask;
  }
  if (word & ~used)
    return input_error("{:08x}: {} does not use bit {}", word, info->name, std::countr_zero(word & ~used));
  return i;
}

int64_t cost_of(Op op, const MachineConfig& config) {
  const auto& lat = config.latency;
  const int64_t MLEN = config.mlen, BLEN = config.blen, SPO = lat.systolic_overhead;
  switch (op) {
#define TESSERA_COST(name, code, operands, op_class, cycles, ...) \
  case Op::name:                                                  \
    return cycles;
    TESSERA_ACCEL_ISA(TESSERA_COST)
#undef TESSERA_COST
  }
  std::unreachable();
}

}  // namespace tessera::accel
