// A turn is how the simulator goes about its work, never what the chip does: however turns are cut, cycles are the
// same.
#include <random>

#include "support.hpp"

namespace tessera::sim {
namespace {

constexpr const char* kHead = R"(#include "harness.h"
static inline uint32_t dma_cmd(uint32_t len,int in,int event){return len|in<<17|1<<18|event<<20;}
static float sums[8];
)";

// Straight code of loads, stores, floats, integers and divisions, the same for all cores on addresses of their own.
std::string random_code(std::mt19937& rng) {
  const auto pick = [&](unsigned n) { return rng() % n; };
  std::string code;
  for (int i = 0; i < 40; ++i) {
    const unsigned offset = 4 * pick(64);
    switch (pick(9)) {
      case 0:
      case 1:
      case 2:
        code += fmt::format("f{} += p[{}];", pick(4), offset / 4);
        break;
      case 3:
        code += fmt::format("p[{}] = f{};", offset / 4, pick(4));
        break;
      case 4:
      case 5:
        code += fmt::format("f{} = f{} * f{} + f{};", pick(4), pick(4), pick(4), pick(4));
        break;
      case 6:
        code += fmt::format("x = x * {}u + q[(x >> 8) & 63];", 2 * pick(1000) + 1);
        break;
      case 7:
        code += fmt::format("if (x & {}) q[{}] = x;", 1u << pick(8), offset / 4);
        break;
      default:
        code += fmt::format("f{} = p[{}] / 3.0f; asm volatile(\"\" ::: \"memory\");", pick(4), offset / 4);
        break;
    }
    code += "\n";
  }
  return code;
}

// Cores that share banks and FPUs, while core 0 keeps the DMA busy in both directions.
std::string program(unsigned seed) {
  std::mt19937 rng(seed);
  const unsigned stride = 256 + 64 * (rng() % 8) + 4 * (rng() % 3), length = 16 + rng() % 2000, away = 4 * (rng() % 4);
  std::string text = kHead;
  text += fmt::format(
      "void cl_main(int id){{ enter(id);\n"
      " volatile float* p = (volatile float*)(L1B + 0x8000 + id * {}u);\n"
      " volatile uint32_t* q = (volatile uint32_t*)(L1B + 0xc000 + id * {}u);\n"
      " float f0 = 0.f, f1 = 1.f, f2 = (float)id, f3 = 0.25f; uint32_t x = 12345u + id;\n"
      " for (int i = 0; i < 64; i++) p[i] = (float)i, q[i] = i * 77u;\n"
      " if (id == 0) for (unsigned i = 0; i < 2048; i += 4) REG(0x1C080000u + i) = i, REG(L1B + 0x4000 + i) = ~i;\n"
      " bar();\n"
      " for (int r = 0; r < 6; r++) {{\n"
      "  uint32_t a = 0, b = 0;\n"
      "  if (id == (r & 3)) {{ a = REG(DMA); REG(DMA) = dma_cmd({}u, 1, 0); REG(DMA) = L1B + {}u; REG(DMA) = "
      "0x1C080000u;\n"
      "   b = REG(DMA); REG(DMA) = dma_cmd({}u, 0, 0); REG(DMA) = L1B + 0x4000; REG(DMA) = 0x1C090000u; }}\n"
      "  for (int k = 0; k < {}; k++) {{\n{}  }}\n"
      "  if (id == (r & 3)) {{ while (REG(DMA + 4) & (1u << a | 1u << b)); REG(DMA + 4) = 1u << a | 1u << b; }}\n"
      "  bar(); }}\n sums[id] = f0 + f1 + f2 + f3 + (float)x; bar(); if (id == 0) fin(); while (1) elw(EUD + 0x3C); "
      "}}\n",
      stride, stride, length, away, length, 3 + rng() % 5, random_code(rng));
  return text;
}

struct Outcome {
  std::vector<uint64_t> numbers;
  std::vector<uint8_t> l1 = std::vector<uint8_t>(256 * 1024);
};

Outcome run(const Elf& elf, Options options = {}) {
  auto machine = Machine::create(siracusa(), elf, options);
  EXPECT_TRUE(machine) << machine.error().text();
  const auto result = machine->run();
  EXPECT_TRUE(result) << result.error().text();
  Outcome out;
  if (!result) return out;
  for (const auto& c : result->cores)
    out.numbers.insert(out.numbers.end(), {c.cycles, c.asleep, c.instructions, c.stalls.l1_conflict, c.stalls.fpu,
                                           c.stalls.divide, c.stalls.icache, c.stalls.l2, c.stalls.dma_queue});
  machine->read(0x10000000, out.l1);
  return out;
}

Options step_by_step() {
  Options options;
  options.run_ahead = false;
  return options;
}

// The sanitizer looks at every access, so there each is a turn.
TEST(Turns, RunningAheadChangesNoCycle) {
  for (unsigned seed = 0; seed < 8; ++seed) {
    const auto elf = compile(fmt::format("turns{}", seed), program(seed));
    ASSERT_TRUE(elf) << elf.error().text();
    Options sanitize;
    sanitize.sanitize = true;
    const Outcome ahead = run(*elf), plain = run(*elf, step_by_step()), looked_at = run(*elf, sanitize);
    EXPECT_EQ(ahead.numbers, plain.numbers) << "seed " << seed;
    EXPECT_EQ(ahead.l1, plain.l1) << "seed " << seed;
    EXPECT_EQ(ahead.numbers, looked_at.numbers) << "seed " << seed;
  }
}

// Cores that hand a word of L1 back and forth, without the event unit: who polls a word sees a store when it happens,
// not when the core that stores comes to it by running ahead. Each round is a store, a look at it and the way between.
TEST(Turns, WhoPollsAWordOfL1SeesAStoreInTime) {
  const auto elf = compile(
      "polls",
      std::string(kHead) +
          "static volatile uint32_t* const word = (volatile uint32_t*)(L1B + 0x2000);\n"
          "static float work(float f) { volatile float* p = (volatile float*)(L1B + 0x3000);\n"
          " for (int i = 0; i < 40; i++) f = f * p[i] + p[i + 1]; return f; }\n"
          "void cl_main(int id){ enter(id); if (id == 0) *word = 0; bar();\n"
          " if (id < 4) { uint32_t t0, t1; float f = 0.5f; t0 = cyc();\n"
          "  for (uint32_t i = 0; i < 10; i++) { while (*word != 4 * i + id) ; f = work(f); *word = 4 * i + id + 1; }\n"
          "  t1 = cyc(); sums[id] = f; if (id == 3) kv(\"cycles\", t1 - t0); }\n"
          " bar(); if (id == 0) fin(); while (1) elw(EUD + 0x3C); }\n");
  ASSERT_TRUE(elf) << elf.error().text();
  EXPECT_EQ(run(*elf).numbers, run(*elf, step_by_step()).numbers);
}

// What a transfer takes does not hang on how often cores that do not meet it take turns.
TEST(Turns, ATransferTakesItsTimeWhateverTheCoresDo) {
  const auto cycles = [](const std::string& others) {
    const auto result = run_program(
        "alone" + std::to_string(others.size()),
        std::string(kHead) +
            "void cl_main(int id){ enter(id); if (id == 0) { uint32_t c = REG(DMA), t0, t1;"
            " asm volatile(\"csrr %0, 0x780\" : \"=r\"(t0)); REG(DMA) = dma_cmd(4096, 1, 1);"
            " REG(DMA) = L1B; REG(DMA) = 0x1C080000u; elw(EUD + 0x3C);"
            " asm volatile(\"csrr %0, 0x780\" : \"=r\"(t1)); REG(DMA + 4) = 1u << c; kv(\"cycles\", t1 - t0); "
            "bar(); fin(); }\n else { " +
            others + " bar(); } while (1) elw(EUD + 0x3C); }\n");
    EXPECT_TRUE(result) << result.error().text();
    return result ? result->output.substr(0, result->output.find("fc_cycles")) : std::string();
  };
  const std::string quiet = cycles("");
  EXPECT_NE(quiet, "");
  // Jumps end a turn, divisions use what the DMA does not, and neither touches a bank.
  EXPECT_EQ(cycles("float f = id; for (int i = 0; i < 300; i++) { f = 1.0f / f; asm volatile(\"\" : \"+f\"(f)); }"),
            quiet);
  EXPECT_EQ(cycles("for (int i = 0; i < 900; i++) asm volatile(\"nop\");"), quiet);
}

}  // namespace
}  // namespace tessera::sim
