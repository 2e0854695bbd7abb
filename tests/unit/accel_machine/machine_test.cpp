// What instructions do and cost, and how transfers run beside them.
#include <gtest/gtest.h>

#include <random>

#include "accel/asm.hpp"
#include "accel/machine.hpp"
#include "support/expect_error.hpp"
#include "support/fixed_memory.hpp"

namespace tessera::accel {
namespace {

constexpr int kMlen = 32, kBlen = 8, kHlen = 8;

struct Bench {
  MachineConfig config{.mlen = kMlen,
                       .blen = kBlen,
                       .hlen = kHlen,
                       .clock_hz = 1'000'000'000,
                       .matrix_tiles = 4,
                       .vector_rows = 256,
                       .weights = mx_plena,
                       .kv = mx_plena};
  test::FixedMemory::Options timing;
  test::FixedMemory memory;
  std::vector<uint8_t> image = std::vector<uint8_t>(1 << 16);
  std::mt19937 rng{5};
  std::optional<Machine> machine;

  Result<void> run(const std::string& text, const std::function<void(Machine&)>& prepare = {}) {
    TRY(auto words, assemble(text));
    memory = test::FixedMemory(timing);
    machine.emplace(config, memory, static_cast<int64_t>(image.size()), &image);
    CHECK_OK(machine->load(words));
    if (prepare) prepare(*machine);
    CHECK_OK(machine->run_until(static_cast<uint32_t>(words.size())));
    machine->finish_transfers();
    return {};
  }
  void ok(const std::string& text, const std::function<void(Machine&)>& prepare = {}) {
    auto done = run(text, prepare);
    ASSERT_TRUE(done) << done.error().text();
  }
  // Values that the 8-bit format holds exactly, written at `at` with their scales `scale` bytes on.
  std::vector<float> tensor(uint64_t at, uint64_t scale, int64_t count) {
    std::vector<float> x(count);
    for (auto& v : x) v = static_cast<float>(static_cast<int>(rng() % 15) - 7);
    const auto& format = config.weights;
    format.encode(x, std::span(image).subspan(at, count), std::span(image).subspan(at + scale, count / format.block));
    format.decode(std::span(image).subspan(at, count), std::span(image).subspan(at + scale, count / format.block), x);
    return x;
  }
  std::vector<float> row(float first, float step = 0) {
    std::vector<float> x(kMlen);
    for (int n = 0; n < kMlen; ++n) x[n] = bf16(first + step * static_cast<float>(n));
    return x;
  }
};

TEST(Machine, LoopsCountDownAndRunAtLeastOnce) {
  Bench b;
  b.ok(
      "C_LOOP_START gp1, 5\nS_ADDI_INT gp2, gp2, 1\nC_LOOP_START gp3, 0\nS_ADD_INT gp4, gp4, gp1\nC_LOOP_END "
      "gp3\nC_LOOP_END gp1");
  EXPECT_EQ(b.machine->gp(2), 5u);
  EXPECT_EQ(b.machine->gp(4), 15u);
  EXPECT_EQ(b.machine->gp(1), 0u);
  EXPECT_EQ(b.machine->cycles(), 1 + 5 * 5);
  b.ok(
      "C_LOOP_START gp1, 5\nS_ADDI_INT gp2, gp2, 1\nC_BREAK\nS_ADDI_INT gp2, gp2, 100\nC_LOOP_END gp1\nS_ADDI_INT gp0, "
      "gp0, 7");
  EXPECT_EQ(b.machine->gp(2), 1u);
  EXPECT_EQ(b.machine->gp(0), 0u);
}

TEST(Machine, IntegersWrapAndConstantsAreBuiltInTwo) {
  Bench b;
  b.ok(
      "S_LUI_INT gp1, 0xabcde\nS_ADDI_INT gp1, gp1, 0x123\nS_SUB_INT gp2, gp0, gp1\nS_MUL_INT gp3, gp1, gp1\nS_ST_INT "
      "gp1, gp0, 9\nS_LD_INT gp4, gp0, 9");
  EXPECT_EQ(b.machine->gp(1), 0xabcde123u);
  EXPECT_EQ(b.machine->gp(2), 0u - 0xabcde123u);
  EXPECT_EQ(b.machine->gp(3), 0xabcde123u * 0xabcde123u);
  EXPECT_EQ(b.machine->gp(4), 0xabcde123u);
}

TEST(Machine, ScalarsAreBf16) {
  Bench b;
  const float values[] = {0, 3, 0.1f, 2};
  b.ok(
      "S_LD_FP f1, gp0, 1\nS_LD_FP f2, gp0, 2\nS_ADD_FP f3, f1, f2\nS_RECI_FP f4, f1\nS_SQRT_FP f5, f1\nS_EXP_FP f6, "
      "f1\nS_ADD_FP f0, f1, f1\nS_ST_FP f3, gp0, 20",
      [&](Machine& m) { m.preload_fp(values); });
  EXPECT_EQ(b.machine->fp(3), bf16(3 + bf16(0.1f)));
  EXPECT_EQ(b.machine->fp(4), bf16(1 / 3.0f));
  EXPECT_EQ(b.machine->fp(5), bf16(std::sqrt(3.0f)));
  EXPECT_EQ(b.machine->fp(6), bf16(std::exp(3.0f)));
  EXPECT_EQ(b.machine->fp(0), 0);
  EXPECT_EQ(b.machine->fp_sram(20), b.machine->fp(3));
}

TEST(Machine, VectorsAreMaskedBySlotAndDisabledLanesCopy) {
  Bench b;
  const auto x = b.row(1, 0.25f), y = b.row(5, -0.125f);
  const auto prepare = [&](Machine& m) {
    m.set_vector_row(0, x);
    m.set_vector_row(1, y);
    const float values[] = {0, 3};
    m.preload_fp(values);
  };
  b.ok(
      "S_ADDI_INT gp1, gp0, 32\nS_ADDI_INT gp2, gp0, 64\nS_ADDI_INT gp3, gp0, 96\nS_LD_FP f1, gp0, 1\n"
      "S_ADDI_INT gp5, gp0, 5\nC_SET_V_MASK_REG gp5\nV_SUB_VV gp2, gp0, gp1, 1\nV_SUB_VF gp3, gp0, f1, 0, 1\n"
      "V_RED_SUM f2, gp0, 1\nV_RED_MAX f3, gp0, 1\nV_RED_SUM f4, gp0",
      prepare);
  float masked = 0, all = 0, most = 0;
  for (int n = 0; n < kMlen; ++n) {
    const bool on = n / kHlen == 0 || n / kHlen == 2;
    EXPECT_EQ(b.machine->vector_row(2)[n], on ? bf16(x[n] - y[n]) : x[n]);
    EXPECT_EQ(b.machine->vector_row(3)[n], bf16(3 - x[n]));
    all += x[n];
    if (on) masked += x[n], most = std::max(most, x[n]);
  }
  EXPECT_EQ(b.machine->fp(2), bf16(masked));
  EXPECT_EQ(b.machine->fp(3), most);
  EXPECT_EQ(b.machine->fp(4), bf16(all));
}

TEST(Machine, ExpClampsShiftFillsAndMapTakesFpSram) {
  Bench b;
  const auto x = b.row(-200, 12.5f);
  std::vector<float> constants(kMlen + 3);
  for (size_t n = 0; n < constants.size(); ++n) constants[n] = static_cast<float>(n);
  b.ok(
      "S_ADDI_INT gp1, gp0, 32\nS_ADDI_INT gp2, gp0, 64\nS_ADDI_INT gp3, gp0, 96\nS_ADDI_INT gp4, gp0, 5\n"
      "V_EXP_V gp1, gp0\nV_SHFT_V gp2, gp0, gp4\nS_MAP_V_FP gp3, gp0, 3\nV_SHFT_V gp0, gp0, gp4",
      [&](Machine& m) {
        m.set_vector_row(0, x);
        m.preload_fp(constants);
      });
  for (int n = 0; n < kMlen; ++n) {
    EXPECT_EQ(b.machine->vector_row(1)[n], bf16(static_cast<float>(std::exp(double(std::clamp(x[n], -88.0f, 88.0f))))));
    EXPECT_EQ(b.machine->vector_row(2)[n], n < 5 ? 0 : x[n - 5]);
    EXPECT_EQ(b.machine->vector_row(0)[n], n < 5 ? 0 : x[n - 5]);
    EXPECT_EQ(b.machine->vector_row(3)[n], static_cast<float>(n + 3));
  }
}

// rows @ tile or tile^T, blocks of columns, by the plain and the single-row instructions.
TEST(Machine, ProductsAccumulateAndWriteOutOnce) {
  for (const bool transposed : {false, true})
    for (const bool single : {false, true}) {
      Bench b;
      const auto w = b.tensor(0, 1024, 1024);
      std::vector<std::vector<float>> rows;
      const auto prepare = [&](Machine& m) {
        for (int n = 0; n < kBlen; ++n) {
          rows.push_back(b.row(static_cast<float>(n) - 3, 0.5f));
          m.set_vector_row(n, rows.back());
        }
      };
      const std::string op =
          fmt::format("M_{}{} {}\n", transposed ? "T" : "", single ? "MV" : "MM", transposed ? "gp0, gp3" : "gp3, gp0");
      // Column block 2 of tile 1, twice; written to row 10 (every second row) from lane 16 on.
      b.ok("S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_PREFETCH_M gp1, gp0, a0\nS_ADDI_INT gp3, gp1, 512\n" +
               op + op + "S_ADDI_INT gp4, gp0, 336\nS_ADDI_INT gp5, gp0, 2\n" +
               (single ? "M_MV_WO gp4\nM_MV_WO gp4, 8\n" : "M_MM_WO gp4, gp5\nM_MM_WO gp4, gp5, 8\n"),
           prepare);
      for (int r = 0; r < (single ? 1 : kBlen); ++r)
        for (int c = 0; c < kBlen; ++c) {
          float sum = 0;
          for (int twice = 0; twice < 2; ++twice)
            for (int k = 0; k < kMlen; ++k)
              sum += rows[r][k] * (transposed ? w[(16 + c) * kMlen + k] : w[k * kMlen + 16 + c]);
          EXPECT_EQ(b.machine->vector_row(10 + 2 * r)[16 + c], bf16(sum));
          EXPECT_EQ(b.machine->vector_row(10 + 2 * r)[24 + c], 0) << "cleared by writing out";
        }
    }
}

TEST(Machine, BatchedProductsKeepHeadsApart) {
  for (const bool transposed : {false, true})
    for (const bool single : {false, true}) {
      Bench b;
      const auto w = b.tensor(0, 1024, 1024);
      const auto prepare = [&](Machine& m) {
        for (int n = 0; n < kMlen; ++n) m.set_vector_row(n, b.row(static_cast<float>(n) - 3, 0.5f));
      };
      b.ok("S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_PREFETCH_M gp1, gp0, a0\n" +
               fmt::format("M_B{}{} {}{}\n", transposed ? "T" : "", single ? "MV" : "MM", single ? "gp0, " : "",
                           transposed ? "gp0, gp1" : "gp1, gp0") +
               fmt::format("M_B{}_WO gp1, 0\n", single ? "MV" : "MM"),
           prepare);
      for (int h = 0; h < kMlen / kHlen; ++h)
        for (int r = 0; r < (single ? 1 : kMlen); ++r)
          for (int c = 0; c < kMlen; ++c) {
            float sum = 0;
            for (int k = h * kHlen; k < (h + 1) * kHlen; ++k)
              sum += bf16(static_cast<float>(r) - 3 + 0.5f * static_cast<float>(k)) *
                     (transposed ? w[c * kMlen + k] : w[k * kMlen + c]);
            ASSERT_EQ(b.machine->vector_row(32 + (single ? h : h * kMlen + r))[c], bf16(sum));
          }
    }
}

TEST(Machine, ScaleRowsThatCrossALineAreWhole) {
  Bench b;
  const auto x = b.tensor(0, 1024 + 62, 1024);  // scales begin two bytes before a line
  b.ok("S_ADDI_INT gp1, gp0, 1086\nC_SET_SCALE_REG gp1\nH_PREFETCH_V gp0, gp0, a0, 0, 0, 32");
  for (int r = 0; r < kMlen; ++r)
    for (int n = 0; n < kMlen; ++n) ASSERT_EQ(b.machine->vector_row(r)[n], x[r * kMlen + n]);
}

TEST(Machine, StoredRowsReadBackInEveryPrecision) {
  for (int precision : {0, 1, 2}) {
    Bench b;
    const auto x = b.row(-4, 0.25f);
    b.ok(fmt::format("S_ADDI_INT gp1, gp0, 2048\nC_SET_SCALE_REG gp1\nS_ADDI_INT gp2, gp0, 128\nC_SET_STRIDE_REG gp2\n"
                     "S_ADDI_INT gp3, gp0, 64\nH_STORE_V gp0, gp2, a0, 1, {0}, 2\nH_PREFETCH_V gp3, gp2, a0, 1, {0}, 2",
                     precision),
         [&](Machine& m) {
           m.set_vector_row(0, x);
           m.set_vector_row(1, x);
         });
    for (int n = 0; n < kMlen; ++n) {
      EXPECT_NEAR(b.machine->vector_row(2)[n], x[n], precision == 2 ? 0 : 0.25f);
      EXPECT_EQ(b.machine->vector_row(3)[n], b.machine->vector_row(2)[n]);
    }
  }
}

TEST(Machine, NarrowRowsFillEverySlotOfATileAndStoreOneSlot) {
  Bench b;
  const auto x = b.tensor(0, 1024, kMlen * kHlen);
  b.ok("S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_PREFETCH_M gp0, gp0, a0, 0, 5\nM_TMM gp0, gp0\nM_MM_WO gp1\n",
       [&](Machine& m) { m.set_vector_row(0, b.row(1)); });
  for (int c = 0; c < kBlen; ++c) {
    float sum = 0;
    for (int n = 0; n < kHlen; ++n) sum += 4 * x[c * kHlen + n];
    EXPECT_EQ(b.machine->vector_row(32)[c], bf16(sum));
  }
  b.ok("S_ADDI_INT gp2, gp0, 8\nS_ADDI_INT gp3, gp0, 4096\nH_STORE_V gp2, gp3, a0, 0, 6, 1\n",
       [&](Machine& m) { m.set_vector_row(0, b.row(0, 1)); });
  for (int n = 0; n < kHlen; ++n)
    EXPECT_EQ(from_bf16(static_cast<uint16_t>(b.image[4096 + 2 * n] | b.image[4097 + 2 * n] << 8)), 8.0f + n);
  EXPECT_EQ(b.image[4096 + 2 * kHlen], 0);
}

TEST(Dma, LinesAreAskedForOnceUnlessTheyAreCountedByRow) {
  Bench b;
  const std::string load = "S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_PREFETCH_M gp0, gp0, a0\n";
  b.ok(load);
  EXPECT_EQ(b.memory.asked.size(), 16u + 2u);  // 1024 elements, 128 scales
  b.config.coalesce = false;
  b.ok(load);
  EXPECT_EQ(b.memory.asked.size(), 32u * 2);  // every row its element line and its scale line
}

TEST(Dma, StoresReadOnlyWhatTheyWriteInPart) {
  Bench b;
  const std::string store = "S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_STORE_V gp0, gp0, a0, 0, 0, 4\n";
  b.ok(store);
  const auto reads = [&] {
    return std::count_if(b.memory.asked.begin(), b.memory.asked.end(), [](auto& l) { return !l.write; });
  };
  EXPECT_EQ(reads(), 1);                      // the scales' line
  EXPECT_EQ(b.memory.asked.size(), 1u + 3u);  // 128 element bytes, 16 of scales
  b.config.coalesce = false;
  b.ok(store);
  EXPECT_EQ(reads(), 8);
  EXPECT_EQ(b.memory.asked.size(), 16u);
}

TEST(Dma, TransfersOverlapComputeAndAreWaitedForByTheirUsers) {
  Bench b;
  b.config.clock_hz = 100'000'000;
  b.timing = {.latency = 1'000'000, .line = 0};  // 100 cycles
  const std::string head = "S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_PREFETCH_M gp0, gp0, a0\n";
  const std::string work = "C_LOOP_START gp2, 20\nV_ADD_VV gp1, gp1, gp1\nC_LOOP_END gp2\n";  // 1 + 40 cycles
  b.ok(head + work + "M_MM gp0, gp0");
  // Issued at cycle 2, there at 102; then the product.
  EXPECT_EQ(b.machine->cycles(), 102 + 32);
  EXPECT_EQ(b.machine->stall_cycles(), 102 - 3 - 41);
  b.config.dma_overlaps = false;
  b.ok(head + work + "M_MM gp0, gp0");
  EXPECT_EQ(b.machine->cycles(), 103 + 41 + 32);
  b.config.dma_overlaps = true;
  b.ok(head + "H_PREFETCH_V gp0, gp0, a0, 0, 0, 1\nV_ADD_VV gp1, gp1, gp1");  // other rows: no wait before the end
  EXPECT_EQ(b.machine->stall_cycles(), 103 - 5);
}

TEST(Dma, AStoreIsWaitedForByWhoeverChangesItsRowsOrReadsItsBytes) {
  Bench b;
  b.config.clock_hz = 100'000'000;
  b.timing = {.latency = 1'000'000, .line = 0};
  const std::string store = "S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_STORE_V gp0, gp0, a0, 0, 0, 1\n";
  b.ok(store + "V_ADD_VV gp1, gp0, gp0\nV_ADD_VV gp0, gp0, gp0\n");
  EXPECT_EQ(b.machine->cycles(), 102 + 1);
  b.ok(store + "H_PREFETCH_V gp1, gp0, a0, 0, 0, 1\n");
  EXPECT_EQ(b.machine->cycles(), 202);
  b.ok(store + "S_ADDI_INT gp6, gp0, 4096\nH_PREFETCH_V gp1, gp6, a0, 0, 0, 1\n");  // other bytes
  EXPECT_EQ(b.machine->cycles(), 104);
}

TEST(Dma, TheClockIsTheBoards) {
  for (const int64_t hz : {100'000'000, 300'000'000, 400'000'000}) {
    Bench b;
    b.config.clock_hz = hz;
    b.ok("C_LOOP_START gp1, 299\nC_LOOP_END gp1");
    EXPECT_EQ(b.machine->cycles(), 300);
    EXPECT_EQ(b.machine->time().count, 300 * 1'000'000'000'000 / hz);
    EXPECT_EQ(b.config.cycle_at(b.machine->time()), 300);
  }
}

TEST(Dma, WithoutAnImageTheTimeIsTheSame) {
  Bench b;
  const std::string text =
      "S_ADDI_INT gp1, gp0, 1024\nC_SET_SCALE_REG gp1\nH_PREFETCH_M gp0, gp0, a0\nM_MM gp0, gp0\nM_MM_WO gp1\n"
      "V_EXP_V gp1, gp1\nV_RED_SUM f1, gp1\nH_STORE_V gp1, gp1, a0\n";
  b.ok(text);
  test::FixedMemory memory;
  Machine blind(b.config, memory, 1 << 16, nullptr);
  ASSERT_TRUE(blind.load(*assemble(text)));
  ASSERT_TRUE(blind.run_until(8));
  blind.finish_transfers();
  EXPECT_EQ(blind.cycles(), b.machine->cycles());
  EXPECT_EQ(memory.asked.size(), b.memory.asked.size());
}

TEST(Faults, AreErrorsThatNameTheInstruction) {
  using test::expect_error;
  Bench b;
  expect_error(b.run("S_ADDI_INT gp1, gp0, 8192\nV_ADD_VV gp1, gp0, gp0"), {"instruction 1", "V_ADD_VV", "256"});
  expect_error(b.run("S_ADDI_INT gp1, gp0, 3\nV_ADD_VV gp0, gp1, gp0"), {"vector address 3"});
  expect_error(b.run("S_ADDI_INT gp1, gp0, 4096\nM_MM gp1, gp0"), {"tile 4 of a matrix SRAM of 4"});
  expect_error(b.run("M_MM gp0, gp0"), {"never loaded"});
  expect_error(b.run("S_ADDI_INT gp1, gp0, 8\nM_MM gp1, gp0"), {"block of 8 columns"});
  expect_error(b.run("S_LUI_INT gp1, 100\nH_PREFETCH_V gp0, gp1, a0"), {"memory of 65536"});
  expect_error(b.run("H_PREFETCH_V gp0, gp0, a0, 0, 3"), {"precision 3"});
  expect_error(b.run("H_PREFETCH_M gp0, gp0, a0, 0, 2"), {"8-bit"});
  expect_error(b.run("S_ADDI_INT gp1, gp0, 4\nH_PREFETCH_V gp0, gp1, a0"), {"block of 8"});
  expect_error(b.run("S_LD_FP f1, gp0, 1024"), {"FP SRAM has no word 1024"});
  expect_error(b.run("C_LOOP_START gp1, 2"), {"without its end"});
  expect_error(b.run("C_LOOP_END gp1"), {"without its start"});
  expect_error(b.run("C_LOOP_START gp1, 2\nC_LOOP_END gp2"), {"gp2", "gp1"});
  expect_error(b.run("C_LOOP_START gp0, 2\nC_LOOP_END gp0"), {"gp0"});
  expect_error(b.run("C_BREAK"), {"C_BREAK outside"});
  MachineConfig c = b.config;
  c.blen = 5;
  expect_error(check(c), {"32", "5"});
  c = b.config;
  c.weights = mx_ocp;
  expect_error(check(c), {"HLEN 8", "32"});
  c = b.config;
  c.sram_bytes = 1000;
  expect_error(check(c), {"1000", "unlimited"}, 3);
}

}  // namespace
}  // namespace tessera::accel
