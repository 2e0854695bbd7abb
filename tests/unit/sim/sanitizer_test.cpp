// Programs that are wrong on purpose: each stops with what happened, where in the source, and on which core.
#include "support.hpp"

namespace tessera::sim {
namespace {

constexpr const char* kPrelude = R"(#include "rt.h"
extern volatile uint32_t done_flag;
void fc_pre(void){ REG(0x1A102000)=~0u; }
static uint32_t dma(uint32_t loc,uint32_t ext,uint32_t len,int in){uint32_t id=REG(DMA);REG(DMA)=len|in<<17|1<<18|1<<20|1<<22;REG(DMA)=loc;REG(DMA)=ext;return id;}
static void wait(uint32_t id){while(REG(DMA+4)&(1u<<id));REG(DMA+4)=1u<<id;}
uint32_t table[256];
)";

// `body` runs on core 0; the others sleep for ever.
std::string program(const std::string& body) {
  return fmt::format(
      "{}void cl_main(int id){{ if(id){{eu_mask(0);while(1)elw(EUD+0x3C);}}\n{}\n done_flag=1; while(1) elw(EUD+0x3C); "
      "}}\n",
      kPrelude, body);
}

Region region(const char* name, const char* owner, uint32_t address, uint32_t size, bool l3, bool written) {
  Region r;
  r.name = name, r.owner = owner, r.address = address, r.size = size, r.l3 = l3, r.written = written;
  return r;
}

void expect_refused(const std::string& name, const std::string& body, std::vector<std::string> words,
                    Options options = {}) {
  options.sanitize = true;
  const auto result = run_program(name, program(body), options);
  ASSERT_FALSE(result) << name << " ran to its end";
  EXPECT_EQ(result.error().exit_code(), 1);
  words.insert(words.end(), {"core 0", "cl_main", name + ".c:"});
  for (const auto& word : words)
    EXPECT_NE(result.error().text().find(word), std::string::npos) << word << " is not in: " << result.error().text();
}

TEST(Sanitizer, CorrectProgramRunsToItsEnd) {
  Options options;
  options.sanitize = true;
  const auto result = run_program("correct",
                                  program("uint32_t i=dma(L1B,(uint32_t)table,64,1); wait(i); table[0]=REG(L1B); "
                                          "i=dma(L1B,(uint32_t)table,64,0); wait(i);"),
                                  options);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_EQ(result->exit_code, 0);
  EXPECT_EQ(result->dma.l2_to_l1, 64u);
  EXPECT_EQ(result->dma.l1_to_l2, 64u);
}

TEST(Sanitizer, ReadOfUnwrittenBytes) {
  expect_refused("unwritten", "table[0]=REG(L1B+0x400);", {"unwritten.c:8", "nothing wrote", "L1 + 0x400"});
}

TEST(Sanitizer, ReadOfBytesInFlight) {
  expect_refused("early", "uint32_t i=dma(L1B,(uint32_t)table,1024,1); table[0]=REG(L1B+1020); wait(i);",
                 {"race: reads", "will write", "counter 0"});
}

// Long enough for the transfer to end; nobody has asked whether it did.
TEST(Sanitizer, ReadOfBytesThatWereNotWaitedFor) {
  expect_refused(
      "unasked",
      "uint32_t i=dma(L1B,(uint32_t)table,64,1); for(volatile int k=0;k<200;k++); table[0]=REG(L1B); wait(i);",
      {"race: reads", "counter 0", "will write"});
}

TEST(Sanitizer, WriteToASourceInFlight) {
  expect_refused("source", "uint32_t i=dma(L1B,(uint32_t)table,1024,1); table[255]=1; wait(i);",
                 {"race: writes", "'table' + 1020", "is reading"});
}

TEST(Sanitizer, TwoTransfersIntoOneBuffer) {
  expect_refused("overlap",
                 "uint32_t i=dma(L1B,(uint32_t)table,1024,1),j=dma(L1B+512,(uint32_t)table,512,1); wait(i);wait(j);",
                 {"race", "counter 1", "counter 0"});
}

TEST(Sanitizer, TransferOfUnwrittenBytes) {
  expect_refused("garbage", "uint32_t i=dma(L1B,(uint32_t)table,64,0); wait(i);", {"counter 0", "nothing wrote"});
}

TEST(Sanitizer, CounterFreedInFlight) {
  expect_refused("freed", "uint32_t i=dma(L1B,(uint32_t)table,1024,1); REG(DMA+4)=1u<<i;",
                 {"counter 0 is freed while its transfer is in flight"});
}

TEST(Sanitizer, CommandWithoutACounter) {
  expect_refused("nocounter", "REG(DMA)=64|1<<17; REG(DMA)=L1B; REG(DMA)=(uint32_t)table;",
                 {"cannot do", "no counter"});
}

TEST(Sanitizer, CommandOutsideL2) {
  expect_refused("outside", "uint32_t i=dma(L1B,0x1C1FFFF0u,64,1); wait(i);", {"cannot do", "not all in L2"});
}

TEST(Sanitizer, CommandOutsideL1) {
  expect_refused("beyond", "uint32_t i=dma(L1B+0x3fff0,(uint32_t)table,64,1); wait(i);",
                 {"cannot do", "not all in L1"});
}

TEST(Sanitizer, L3IsNoPointer) {
  Options options;
  options.regions = {region("weights", "MatMul_2", 0x100, 64, true, true)};
  expect_refused("deref", "table[0]=*(volatile uint32_t*)0x104;", {"L3", "'weights' of MatMul_2 + 4"}, options);
  expect_refused("deref_far", "table[0]=*(volatile uint32_t*)0x500000;", {"nothing", "L3"});
}

TEST(Sanitizer, OutsideTheArenas) {
  Options options;
  options.arenas_only = true;
  options.regions = {region("x", "Add_0", 0x10000000, 64, false, true)};
  expect_refused("arena", "REG(L1B+60)=1; REG(L1B+64)=2;", {"outside every arena", "L1 + 0x40"}, options);
}

TEST(Sanitizer, OutsideTheStack) {
  // Core 0's stack is the first KiB of cl_stacks: declare half of it, and use more.
  const auto elf = compile("stack", program("volatile uint32_t big[180]; big[0]=1; table[0]=big[0];"));
  ASSERT_TRUE(elf) << elf.error().text();
  Region stack;
  stack.name = "stack of core 0", stack.address = elf->find("cl_stacks")->address + 512, stack.size = 512;
  stack.stack_of = 0;
  Options options;
  options.regions = {stack};
  expect_refused("stack", "volatile uint32_t big[180]; big[0]=1; table[0]=big[0];",
                 {"outside its stack 'stack of core 0'", "stack.c:8"}, options);
}

TEST(Sanitizer, NamesTheTensor) {
  Options options;
  options.regions = {region("grad", "Gemm_7", 0x10000200, 256, false, false)};
  expect_refused("tensor", "table[0]=REG(L1B+0x210);", {"'grad' of Gemm_7 + 16"}, options);
}

// What an inline function of a header does is told by the line that calls it, too.
TEST(Sanitizer, NamesTheLineOfTheFunctionNotOfAHeaderAlone) {
  expect_refused("inlined", "table[0]=1;\n elw(EUD+0x3f0);", {"inlined.c:", " (rt.h:9)", "event unit"});
}

TEST(Sanitizer, HyperBusSourceInFlight) {
  expect_refused("hyper_race",
                 "uint32_t h=0x1A102280; "
                 "REG(h+0x18)=1;REG(h+0x1c)=0;REG(h+0xc)=(uint32_t)table;REG(h+0x10)=256;REG(h+0x14)=0x10; table[3]=1;",
                 {"race: writes", "uDMA", "is reading"});
}

TEST(Sanitizer, HyperBusOutsideL3) {
  expect_refused(
      "hyper_far",
      "uint32_t h=0x1A102280; REG(h+0x18)=5;REG(h+0x1c)=0x7fff00;REG(h)=(uint32_t)table;REG(h+4)=1024;REG(h+8)=0x10;",
      {"uDMA cannot do", "not all in L3"});
}

TEST(Sanitizer, AtomicsAreNotOnTheChip) {
  expect_refused("atomics", R"(asm volatile(".insn r 0x2f, 2, 0, a2, a0, a1"::: "memory");)", {"A extension"});
}

TEST(Deadlock, BarrierThatNobodyCompletes) {
  const auto result = run_program("barrier", program("eu_mask(1<<16); bar_init(3); bar();"));
  ASSERT_FALSE(result);
  const std::string text = result.error().text();
  EXPECT_NE(text.find("deadlock"), std::string::npos) << text;
  EXPECT_NE(text.find("barrier 0 (arrived: 0x1, expected: 0x3)"), std::string::npos) << text;
  EXPECT_NE(text.find("rt.h:9"), std::string::npos) << text;
}

TEST(Deadlock, ParkedAndAsleep) {
  const auto result = run_program("asleep", program("eu_mask(0); elw(EUD+0x38);"));
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find("an event of mask 0x0"), std::string::npos) << result.error().text();
}

// The DMA has nothing more to do, and says so: the FC alone spins, and nobody will ever answer it.
TEST(Deadlock, IsSeenAfterATransfer) {
  Options options;
  options.instruction_limit = 20'000'000;
  const auto result =
      run_program("after", program("wait(dma(L1B,(uint32_t)table,256,1)); eu_mask(0); elw(EUD+0x38);"), options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find("deadlock"), std::string::npos) << result.error().text();
}

TEST(Faults, SayWhatAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"*(volatile uint32_t*)0x30000000=1;", "stores 4 B to 0x30000000"},
      {"asm volatile(\".word 0xffffffff\");", "illegal instruction"},
      {"((void(*)(void))0x40000000)();", "jumps to 0x40000000"},
      {"asm volatile(\"ecall\");", "ecall"},
      {"asm volatile(\"ebreak\");", "ebreak"},
  };
  int i = 0;
  for (auto [body, expected] : cases) {
    const auto result = run_program(fmt::format("fault{}", i++), program(body));
    ASSERT_FALSE(result) << body;
    EXPECT_NE(result.error().text().find(expected), std::string::npos) << result.error().text();
    EXPECT_NE(result.error().text().find("core 0, in cl_main"), std::string::npos) << result.error().text();
  }
}

TEST(Faults, FloatOnTheFc) {
  const auto result = run_program("fcfloat",
                                  "#include \"rt.h\"\nvoid fc_pre(void){ asm volatile(\"fadd.s ft0,ft0,ft0\"); }\nvoid "
                                  "cl_main(int id){(void)id;while(1);}");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find("without an FPU"), std::string::npos) << result.error().text();
}

TEST(Faults, InstructionLimit) {
  Options options;
  options.instruction_limit = 100000;
  const auto result = run_program("endless", program("for(volatile int i=0;;i++);"), options);
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text().find("limit of 100000"), std::string::npos) << result.error().text();
}

}  // namespace
}  // namespace tessera::sim
