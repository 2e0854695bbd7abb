// Every instruction goes through words and text and comes back the same; whatever is no instruction is refused.
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "accel/asm.hpp"
#include "support/expect_error.hpp"

namespace tessera::accel {
namespace {

Instruction random_instruction(const OpInfo& info, std::mt19937& rng) {
  Instruction i{.op = info.op};
  for (char letter : info.operands) {
    const auto& operand = operand_of(letter);
    const int bits = operand.file == 'f' || operand.file == 'a' ? 3 : operand.bits;
    set(i, operand, rng() & ((uint32_t{1} << bits) - 1));
  }
  return i;
}

TEST(Isa, EveryOpcodeWithRandomFieldsComesBackFromWordsAndFromText) {
  std::mt19937 rng(1);
  EXPECT_EQ(instruction_set().size(), 52u);
  for (const auto& info : instruction_set())
    for (int n = 0; n < 200; ++n) {
      const auto i = random_instruction(info, rng);
      const auto word = encode(i);
      const auto back = decode(word);
      ASSERT_TRUE(back) << back.error().text();
      EXPECT_EQ(*back, i) << info.name;
      const auto again = assemble(to_text(i));
      ASSERT_TRUE(again) << again.error().text();
      ASSERT_EQ(again->size(), 1u);
      EXPECT_EQ(again->front(), word) << to_text(i);
    }
}

TEST(Isa, EveryWordEitherDecodesToItselfOrIsRefused) {
  std::mt19937 rng(2);
  int accepted = 0;
  for (int n = 0; n < 200'000; ++n) {
    const auto word = static_cast<uint32_t>(rng()) >> (n % 32);
    if (auto i = decode(word)) {
      EXPECT_EQ(encode(*i), word);
      ++accepted;
    }
  }
  EXPECT_GT(accepted, 10'000);
}

TEST(Isa, OpcodesAreThoseOfTheManual) {
  const std::pair<const char*, uint32_t> some[] = {{"M_MM", 0x01},      {"M_BMV_WO", 0x0c},  {"V_SUB_VF", 0x10},
                                                   {"V_RED_MAX", 0x16}, {"S_SQRT_FP", 0x1d}, {"S_MAP_V_FP", 0x20},
                                                   {"S_ST_INT", 0x27},  {"H_STORE_V", 0x2a}, {"C_LOOP_END", 0x30},
                                                   {"V_SHFT_V", 0x32},  {"C_BREAK", 0x34},   {"V_MIN_VF", 0x36}};
  for (auto& [name, code] : some) EXPECT_EQ(static_cast<uint32_t>(find_op(name)->op), code) << name;
}

TEST(Isa, FieldsLieWhereTheManualPutsThem) {
  EXPECT_EQ(*assemble("V_ADD_VV gp1, gp2, gp3, 1"),
            std::vector<uint32_t>{0x0du | 1 << 6 | 2 << 10 | 3 << 14 | 1 << 18});
  EXPECT_EQ(*assemble("V_SUB_VF gp1, gp2, f3, 0, 1"),
            std::vector<uint32_t>{0x10u | 1 << 6 | 2 << 10 | 3 << 14 | 1 << 22});
  EXPECT_EQ(*assemble("S_ADDI_INT gp1, gp0, 262143"), std::vector<uint32_t>{0x22u | 1 << 6 | 0xffffc000u});
  EXPECT_EQ(*assemble("S_LUI_INT gp15, 0x3fffff"), std::vector<uint32_t>{0x25u | 15 << 6 | 0xfffffc00u});
  EXPECT_EQ(*assemble("H_STORE_V gp1, gp2, a7, 1, 2, 63"),
            std::vector<uint32_t>{0x2au | 1 << 6 | 2 << 10 | 7 << 14 | 1 << 18 | 2 << 22 | 63u << 26});
}

TEST(Isa, CostsAreTheTables) {
  MachineConfig c{.mlen = 64, .blen = 16, .hlen = 64, .latency = artix7_latency};
  EXPECT_EQ(cost_of(Op::M_MM, c), 72);
  EXPECT_EQ(cost_of(Op::M_MV, c), 64);
  EXPECT_EQ(cost_of(Op::M_BTMM, c), 8 + 64 * 16);
  EXPECT_EQ(cost_of(Op::M_BMV, c), 8 + 256);
  EXPECT_EQ(cost_of(Op::V_ADD_VV, c), 9);
  EXPECT_EQ(cost_of(Op::V_MUL_VF, c), 7);
  EXPECT_EQ(cost_of(Op::V_EXP_V, c), 15);
  EXPECT_EQ(cost_of(Op::V_RECI_V, c), 8);
  EXPECT_EQ(cost_of(Op::V_RED_SUM, c), 30);
  EXPECT_EQ(cost_of(Op::V_RED_MAX, c), 4);
  EXPECT_EQ(cost_of(Op::S_SQRT_FP, c), 2);
  EXPECT_EQ(cost_of(Op::S_MAP_V_FP, c), 64);
}

TEST(Assembler, CommentsBlankLinesAndHexWordsAreRead) {
  const auto words =
      assemble("; a loop\nC_LOOP_START gp1, 3 // three times\n\n  S_ADDI_INT gp2, gp2, 1\nC_LOOP_END gp1\n");
  ASSERT_TRUE(words);
  EXPECT_EQ(words->size(), 3u);
  EXPECT_EQ(*parse_hex(to_hex(*words)), *words);
  EXPECT_EQ(*disassemble(*words), "C_LOOP_START gp1, 3\n  S_ADDI_INT gp2, gp2, 1\nC_LOOP_END gp1\n");
}

TEST(Assembler, ErrorsNameTheLineAndWhatIsWrong) {
  using test::expect_error;
  expect_error(assemble("C_BREAK\n\nM_MUM gp1, gp2"), {"line 3", "M_MUM"});
  expect_error(assemble("M_MM gp1"), {"line 1", "M_MM takes 2 operands, not 1"});
  expect_error(assemble("V_ADD_VV gp1, gp2, gp3, 0, 0"), {"takes 3 to 4 operands, not 5"});
  expect_error(assemble("M_MM gp1, gp16"), {"line 1", "operand 2", "gp16"});
  expect_error(assemble("S_ADD_FP f1, f2, f8"), {"operand 3", "f8"});
  expect_error(assemble("S_ADD_FP f1, gp2, f3"), {"operand 2", "'gp2' is not a register f0..f7"});
  expect_error(assemble("S_ADDI_INT gp1, gp0, 262144"), {"262144 is more than 262143"});
  expect_error(assemble("S_ADDI_INT gp1, gp0, 99999999999"), {"does not fit 32 bits"});
  expect_error(assemble("S_ADDI_INT gp1, gp0, x"), {"'x' is not a number"});
  expect_error(assemble("S_ADDI_INT gp1, gp0, -1"), {"'-1' is not a number"});
  expect_error(parse_hex("00000022\n0000zz"), {"line 2", "0000zz"});
  expect_error(parse_hex("123456789"), {"123456789"});
  expect_error(decode(0x3f), {"no opcode 0x3f"});
  expect_error(decode(0x00), {"no opcode 0x00"});
  expect_error(decode(0x01 | 1 << 6), {"M_MM does not use bit 6"});
  expect_error(decode(0x17 | 9 << 6), {"f9"});
  const uint32_t bad[] = {0x34, 0x3f};
  expect_error(disassemble(bad), {"word 1", "no opcode"});
}

}  // namespace
}  // namespace tessera::accel
