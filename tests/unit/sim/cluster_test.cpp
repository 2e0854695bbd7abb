// What cores do together: mutexes, dispatch, software events, test-and-set, queues, counters; and both DMA engines.
#include <cstring>

#include "sim/busy.hpp"
#include "sim/trace.hpp"
#include "support.hpp"

namespace tessera::sim {
namespace {

constexpr const char* kTeam = R"(#include "harness.h"
#define UD 0x1A102280u
static inline uint32_t dma_cmd(uint32_t len,int in,int d2,int event){return len|in<<17|1<<18|d2<<19|event<<20|1<<22;}
static void dma_wait(uint32_t id){while(REG(DMA+4)&(1u<<id));REG(DMA+4)=1u<<id;}
static volatile uint32_t shared, order[16], turns;
)";

std::string team(const std::string& body) {
  return fmt::format("{}void cl_main(int id){{ enter(id);\n{}\n bar(); if(id==0) fin(); while(1) elw(EUD+0x3C); }}\n",
                     kTeam, body);
}

std::string output_of(const std::string& name, const std::string& body, bool timing = true) {
  Options options;
  options.timing = timing;
  options.instruction_limit = 50'000'000;
  const auto result = run_program(name, team(body), options);
  EXPECT_TRUE(result) << result.error().text();
  if (!result) return "";
  return result->output.substr(0, result->output.find("fc_cycles"));
}

TEST(Cluster, MutexKeepsCoresApart) {
  for (const bool timing : {true, false})
    EXPECT_EQ(output_of("mutex",
                        "eu_mask(1<<16|1<<17); for(int i=0;i<50;i++){ elw(EUD+0xC0); uint32_t v=shared; for(volatile "
                        "int z=0;z<id;z++); shared=v+1; REG(EUD+0xC0)=0; } bar(); if(!id) kv(\"n\",shared);",
                        timing),
              "n=400\n");
}

TEST(Cluster, TestAndSetKeepsCoresApart) {
  EXPECT_EQ(output_of("tas",
                      "if(!id) REG(L1B+64)=0; bar(); for(int i=0;i<20;i++){ while(*(volatile "
                      "int*)(0x10100000u+64)==-1); shared++; REG(L1B+64)=0; } bar(); if(!id) kv(\"n\",shared);"),
            "n=160\n");
}

TEST(Cluster, DispatchReachesTheTeamOnly) {
  EXPECT_EQ(output_of("dispatch",
                      "if(id==0){ for(volatile int z=0;z<200;z++); REG(EUD+0x84)=0x0a; REG(EUD+0x80)=11; "
                      "REG(EUD+0x84)=0xff; REG(EUD+0x80)=22; }\n"
                      " else { uint32_t a=elw(EUD+0x80); order[id]=a; if(id==1||id==3) order[id]+=100*elw(EUD+0x80); "
                      "}\n bar(); if(!id) for(int i=1;i<8;i++) kv(\"v\",order[i]);"),
            "v=2211\nv=22\nv=2211\nv=22\nv=22\nv=22\nv=22\n");
}

TEST(Cluster, SoftwareEventsWakeTheirTargets) {
  EXPECT_EQ(output_of("events",
                      "eu_mask(1<<3|1<<16); if(id==2){ for(volatile int z=0;z<100;z++); REG(EUD+0x10C)=1<<5; } "
                      "if(id==5){ elw(EUD+0x3C); order[0]=REG(EUD+0x1C); shared=7; } bar(); "
                      "if(!id){kv(\"s\",shared);kv(\"buffer\",order[0]);}"),
            "s=7\nbuffer=0\n");
}

TEST(Cluster, BarrierOfSome) {
  EXPECT_EQ(output_of("some",
                      "if(id==0){REG(EUD+0x220)=0x0c;REG(EUD+0x22C)=0x0c;} bar(); if(id==2||id==3){ if(id==3) "
                      "for(volatile int z=0;z<50;z++) shared++; elw(EUD+0x23C); if(id==2) kv(\"s\",shared); } bar();"),
            "s=50\n");
}

TEST(Cluster, DmaQueuesStallTheCore) {
  EXPECT_EQ(output_of("queue",
                      "if(id==0){ for(int i=0;i<64;i++) REG(0x1C080000u+4*i)=i*i; uint32_t c=REG(DMA); for(int "
                      "i=0;i<64;i++){REG(DMA)=dma_cmd(4,1,0,0);REG(DMA)=L1B+4*i;REG(DMA)=0x1C080000u+4*(63-i);} "
                      "dma_wait(c); int ok=1; for(int i=0;i<64;i++) ok&=REG(L1B+4*i)==(63-i)*(63-i); kv(\"ok\",ok); }"),
            "ok=1\n");
}

TEST(Cluster, MoreCoresThanCountersWait) {
  EXPECT_EQ(
      output_of("counters",
                "uint32_t c[3]; for(int i=0;i<2;i++) c[i]=REG(DMA); bar(); if(id==7){ for(volatile int z=0;z<100;z++); "
                "REG(DMA+4)=1u<<c[0]; shared=c[0]; } if(id==0){ uint32_t x=REG(DMA); kv(\"same\",x==shared); } bar();"),
      "same=1\n");
}

TEST(Cluster, DmaLinesBothWays) {
  EXPECT_EQ(
      output_of(
          "lines",
          "if(id==0){ for(int i=0;i<256;i++) REG(0x1C080000u+4*i)=i; uint32_t c=REG(DMA); "
          "REG(DMA)=dma_cmd(40,1,1,0);REG(DMA)=L1B+2;REG(DMA)=0x1C080000u;REG(DMA)=12;REG(DMA)=32; dma_wait(c);\n"
          " volatile uint8_t*p=(uint8_t*)(L1B+2); kv(\"a\",p[0]);kv(\"b\",p[12]);kv(\"c\",p[24]);kv(\"d\",p[36]);\n"
          " c=REG(DMA); REG(DMA)=dma_cmd(8,0,1,0);REG(DMA)=L1B+2;REG(DMA)=0x1C090000u;REG(DMA)=4;REG(DMA)=64; "
          "dma_wait(c); kv(\"e\",REG(0x1C090000u)); kv(\"f\",REG(0x1C090040u)); }"),
      "a=0\nb=8\nc=16\nd=24\ne=0\nf=1\n");
}

TEST(Cluster, HyperBusLinesAndTwoIds) {
  const std::string body =
      "if(id==0){ REG(0x1A102000)=~0u; for(int i=0;i<64;i++) REG(0x1C080000u+4*i)=i+1;\n"
      " REG(UD+0x104)=6; REG(UD+0x108)=1;\n"
      " REG(UD+0x18)=1; REG(UD+0x1C)=0x100; REG(UD+0xC)=0x1C080000u; REG(UD+0x10)=64; REG(UD+0x28)=1; REG(UD+0x2C)=16; "
      "REG(UD+0x30)=256; REG(UD+0x14)=0x10;\n"
      " while(REG(UD+0x24)&1);\n"
      " REG(UD+0x28)=0; REG(UD+0x18)=5; REG(UD+0x1C)=0x200; REG(UD)=0x1C090000u; REG(UD+4)=16; REG(UD+8)=0x10;\n"
      " REG(UD+0x98)=5; REG(UD+0x9C)=0x400; REG(UD+0x80)=0x1C090100u; REG(UD+0x84)=16; REG(UD+0x88)=0x10;\n"
      " while((REG(UD+0x24)&1)||(REG(UD+0xA4)&1)); kv(\"a\",REG(0x1C090000u)); kv(\"b\",REG(0x1C090100u)); }";
  for (const bool timing : {true, false}) EXPECT_EQ(output_of("hyper2d", body, timing), "a=5\nb=13\n");
}

TEST(Cluster, PerformanceCountersCount) {
  EXPECT_EQ(
      output_of(
          "counters2",
          "if(id==0){ uint32_t n,l,s; asm volatile(\"csrw 0xcc0,%3\\n csrwi 0x79f,0\\n csrwi 0xcc1,1\\n lw t0,0(%4)\\n "
          "lw t0,4(%4)\\n sw t0,8(%4)\\n addi t0,t0,1\\n csrwi 0xcc1,0\\n csrr %0,0x781\\n csrr %1,0x785\\n csrr "
          "%2,0x786\":\"=&r\"(n),\"=&r\"(l),\"=&r\"(s):\"r\"(0x7ff),\"r\"(L1B):\"t0\",\"memory\"); "
          "kv(\"n\",n);kv(\"l\",l);kv(\"s\",s);}"),
      "n=5\nl=2\ns=1\n");
}

TEST(Machine, ReadsBackAndPreloads) {
  const auto elf =
      compile("back", team("if(id==0){ REG(0x1A102000)=~0u; REG(UD+0x18)=5; REG(UD+0x1C)=8; REG(UD)=(uint32_t)&shared; "
                           "REG(UD+4)=4; REG(UD+8)=0x10; while(REG(UD+0x24)&1); REG(L1B+16)=shared+1; }"));
  ASSERT_TRUE(elf) << elf.error().text();
  Options options;
  options.l3 = {0, 0, 0, 0, 0, 0, 0, 0, 41, 0, 0, 0};
  auto machine = Machine::create(siracusa(), *elf, options);
  ASSERT_TRUE(machine) << machine.error().text();
  const auto result = machine->run();
  ASSERT_TRUE(result) << result.error().text();
  uint32_t value = 0;
  const std::span bytes(reinterpret_cast<uint8_t*>(&value), 4);
  ASSERT_TRUE(machine->symbol("shared"));
  EXPECT_TRUE(machine->read(*machine->symbol("shared"), bytes));
  EXPECT_EQ(value, 41u);
  EXPECT_TRUE(machine->read(0x10000010, bytes));
  EXPECT_EQ(value, 42u);
  EXPECT_TRUE(machine->read_l3(8, bytes));
  EXPECT_EQ(value, 41u);
  EXPECT_FALSE(machine->read(0x20000000, bytes));
  EXPECT_FALSE(machine->read_l3(0x7fffff, bytes));
  EXPECT_FALSE(machine->symbol("no_such_thing"));
  EXPECT_EQ(result->dma.l3_to_l2, 4u);
  EXPECT_FALSE(machine->run()) << "a machine runs once";
}

TEST(Machine, SameCyclesEveryTime) {
  const auto once = [] {
    auto result = run_program("same", team("for(volatile int z=0;z<100;z++) REG(L1B+4*z)=z; bar();"));
    return std::pair(result->cluster_cycles, result->instructions);
  };
  EXPECT_EQ(once(), once());
}

TEST(Machine, Gap9RunsTheSameProgram) {
  const auto elf = compile("gap", team("if(id==0) kv(\"x\",3);"));
  const auto target = target::load_target("gap9", std::string(TESSERA_ROOT) + "/targets");
  auto machine = Machine::create(target.value(), elf.value(), {});
  ASSERT_TRUE(machine) << machine.error().text();
  const auto result = machine->run();
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(result->output.starts_with("x=3\n"));
}

TEST(Machine, CountsTheCyclesInWhichTheDmaIsBusy) {
  const auto moved = [](const char* name, int bytes) {
    return run_program(name,
                       team(fmt::format("if(id==0){{ uint32_t c=REG(DMA); REG(DMA)=dma_cmd({},1,0,0);REG(DMA)=L1B;"
                                        "REG(DMA)=0x1C080000u; dma_wait(c); for (volatile int i=0;i<1000;++i) ; }}",
                                        bytes)),
                       Options{});
  };
  const auto small = moved("busy_small", 256), large = moved("busy_large", 4096);
  ASSERT_TRUE(small && large);
  // 8 bytes a cycle, and a little for the way; what follows the transfer is no time of the DMA.
  EXPECT_GE(small->dma_cycles.l2_l1, 32u);
  EXPECT_LE(small->dma_cycles.l2_l1, 132u);
  EXPECT_GE(large->dma_cycles.l2_l1 - small->dma_cycles.l2_l1, (4096u - 256u) / 8);
  EXPECT_LE(large->dma_cycles.l2_l1 - small->dma_cycles.l2_l1, (4096u - 256u) / 8 * 3 / 2);
  EXPECT_EQ(large->dma_cycles.any, large->dma_cycles.l2_l1);
  EXPECT_EQ(large->dma_cycles.l3_l2, 0u);
}

TEST(BusyTime, CountsOverlappingIntervalsOnce) {
  BusyTime busy;
  busy.begin(10), busy.begin(12);
  EXPECT_EQ(busy.at(14), 4u);
  busy.end(15);
  EXPECT_EQ(busy.at(16), 6u);
  busy.end(20);
  EXPECT_EQ(busy.at(30), 10u);
  busy.begin(18), busy.end(25);  // heard of late: not counted twice
  EXPECT_EQ(busy.at(30), 15u);
  EXPECT_EQ(busy.at(5), 15u);
}

TEST(Machine, TraceHasCoresFunctionsAndChannels) {
  TraceSink trace;
  Options options;
  options.trace = &trace;
  const auto result =
      run_program("traced",
                  team("if(id==0){ uint32_t c=REG(DMA); REG(DMA)=dma_cmd(256,1,0,0);REG(DMA)=L1B;REG(DMA)=0x1C080000u; "
                       "dma_wait(c); ps(\"x\\n\"); }"),
                  options);
  ASSERT_TRUE(result) << result.error().text();
  const std::string path = (platform::scratch() / "trace.json").string();
  ASSERT_TRUE(trace.write(path));
  std::ifstream in(path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  for (const char* word :
       {"core 0", "core 7", "mchan 0", "\"cl_main\"", "(asleep)", "L2 to L1", "\"bytes\":256", "traceEvents"})
    EXPECT_NE(text.find(word), std::string::npos) << word;
}

}  // namespace
}  // namespace tessera::sim
