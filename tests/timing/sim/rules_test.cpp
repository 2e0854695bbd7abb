// The rules of time, one by one: a few instructions between two reads of the cycle counter, exact to the cycle.
#include <gtest/gtest.h>

#include <sstream>

#include "platform/build.hpp"
#include "sim/machine.hpp"

namespace tessera::sim {
namespace {

struct Rule {
  std::string name, code;
  uint64_t cycles;  // beyond the one of the counter read
};

// Each snippet runs several times, so that the caches hold it, and its last time is printed. a6: an address in L1.
std::string program_of(const std::vector<Rule>& rules) {
  std::string text = "#include \"rt.h\"\nextern volatile uint32_t done_flag;\nvoid fc_pre(void){}\n";
  std::string calls;
  for (size_t i = 0; i < rules.size(); ++i) {
    text += fmt::format(
        "static __attribute__((noinline,aligned(64))) uint32_t f{}(void){{uint32_t a=0,b=0; _Pragma(\"GCC unroll 1\") "
        "for(volatile int k=0;k<8;k++) asm volatile("
        "\".option push\\n.option norvc\\n li a6,0x10001000\\n li a7,0x1C080000\\n li t0,3\\n li t1,7\\n fcvt.s.w "
        "ft0,t0\\n fcvt.s.w ft1,t1\\n nop\\n csrr %0,mcycle\\n{}\\n csrr "
        "%1,mcycle\\n.option "
        "pop\":\"=&r\"(a),\"=&r\"(b)::\"a6\",\"a7\",\"t0\",\"t1\",\"t2\",\"t3\",\"t4\",\"t5\",\"memory\",\"ft0\","
        "\"ft1\",\"ft2\",\"ft3\"); "
        "return b-a-1;}}\n",
        i, rules[i].code);
    calls += fmt::format("pd(f{}());pc('\\n');", i);
  }
  return fmt::format(
      "{}void cl_main(int id){{ if(id){{eu_mask(0);while(1)elw(EUD+0x3C);}} eu_mask(1<<2); {} done_flag=1; while(1) "
      "elw(EUD+0x3C); }}\n",
      text, calls);
}

TEST(Rules, OneCoreToTheCycle) {
  const std::vector<Rule> rules = {
      {"nothing", "", 0},
      {"an instruction", "addi t2,t2,1", 1},
      {"load, used next", "lw t2,0(a6)\\n addi t3,t2,1", 3},
      {"load, used one later", "lw t2,0(a6)\\n addi t4,t4,1\\n addi t3,t2,1", 3},
      {"load, not used", "lw t2,0(a6)\\n addi t3,t4,1", 2},
      {"load, its address register used", "lw t2,0(a6)\\n addi t3,a6,1", 2},
      {"load, stored next", "lw t2,0(a6)\\n sw t2,4(a6)", 3},
      {"load across words", "lw t2,2(a6)", 2},
      {"half inside a word", "lh t2,1(a6)", 1},
      {"half across words", "lh t2,3(a6)", 2},
      {"store across words", "sw t2,2(a6)", 2},
      {"L2 load", "lw t2,0(a7)", 15},
      {"L2 load, used next", "lw t2,0(a7)\\n addi t3,t2,1", 17},
      {"L2 store", "sw t2,0(a7)", 15},
      {"mul", "mul t2,t0,t1", 2},
      {"mul, used next", "mul t2,t0,t1\\n addi t3,t2,1", 4},
      {"mul, used one later", "mul t2,t0,t1\\n addi t4,t4,1\\n addi t3,t2,1", 4},
      {"mulh", "mulh t2,t0,t1", 5},
      {"div by 7", "div t2,t0,t1", 32},
      {"div by -7", "neg t1,t1\\n div t2,t0,t1", 1 + 31},
      {"div by 0", "div t2,t0,zero", 1},
      {"remu by 2^31", "li t1,0x80000000\\n remu t2,t0,t1", 1 + 3},
      {"branch not taken", "bne t0,t0,1f\\n1:", 1},
      {"branch taken", "beq t0,t0,1f\\n nop\\n1:", 3},
      {"jal", "jal zero,1f\\n nop\\n1:", 2},
      {"fadd chain", "fadd.s ft2,ft0,ft1\\n fadd.s ft2,ft2,ft1\\n fadd.s ft2,ft2,ft1", 3},
      {"fmadd, stored next", "fmadd.s ft2,ft0,ft1,ft0\\n fsw ft2,0(a6)", 2},
      {"flw, used next", "flw ft2,0(a6)\\n fadd.s ft3,ft2,ft0", 3},
      {"flw twice into one register", "flw ft2,0(a6)\\n flw ft2,4(a6)", 3},
      {"flw into two registers", "flw ft2,0(a6)\\n flw ft3,4(a6)", 2},
      {"fdiv", "fdiv.s ft2,ft0,ft1", 14},
      {"fsqrt", "fsqrt.s ft2,ft0", 14},
      {"fmv.x.w", "fmv.x.w t2,ft0", 1},
      {"post-increment load", ".insn i 0x0b,2,t2,a6,4\\n addi t3,t4,1", 2},
      {"hardware loop", ".insn i 0x7b,4,x0,t0,4\\n addi t2,t2,1\\n addi t3,t3,1", 1 + 3 * 2},
      {"hardware loop, the load used at the edge", ".insn i 0x7b,4,x0,t0,4\\n addi t3,t2,1\\n lw t2,0(a6)",
       1 + 3 * 2 + 2},
      {"hardware loop by constant", ".insn i 0x7b,5,x0,x4,5\\n addi t2,t2,1\\n addi t3,t3,1", 1 + 5 * 2},
      {"event unit", "li t4,0x10204000\\n lw t2,0x1c(t4)", 2 + 1 - 1},
      {"cluster timer", "li t4,0x10200408\\n lw t2,0(t4)", 2 + 3},
      {"software event to itself", "li t4,0x10204000\\n li t2,1\\n sw t2,0x108(t4)\\n .insn i 0x03,6,t2,t4,0x3c",
       1 + 1 + 1 + 5},
      {"csr", "csrr t2,mhartid", 1},
      {"p.mac", ".insn r 0x33,0,0x21,t2,t0,t1", 1},
      {"p.max", ".insn r 0x33,6,2,t2,t0,t1", 1},
  };
  platform::Build build;
  build.name = "rules", build.text = program_of(rules);
  const auto path = platform::build_elf(build);
  ASSERT_TRUE(path) << path.error().text();
  const auto target = target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets");
  auto machine = Machine::create(target.value(), load_elf(*path).value(), {});
  const auto result = machine->run();
  ASSERT_TRUE(result) << result.error().text();
  std::istringstream out(result->output);
  for (const auto& rule : rules) {
    uint64_t cycles = 0;
    out >> cycles;
    EXPECT_EQ(cycles, rule.cycles) << rule.name << ": " << rule.code;
  }
}

}  // namespace
}  // namespace tessera::sim
