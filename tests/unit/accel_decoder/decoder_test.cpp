// Compiled decoders, run on the machine, against the plain fp32 decoder on the same weights, KV and layer input.
#include <gtest/gtest.h>

#include <algorithm>

#include "accel/asm.hpp"
#include "accel/decoder_shape.hpp"
#include "accel/images.hpp"
#include "accel/machine.hpp"
#include "accel/profile.hpp"
#include "accel/reference.hpp"
#include "accel/run.hpp"
#include "support/expect_error.hpp"
#include "support/fixed_memory.hpp"

namespace tessera::accel {
namespace {

struct Case {
  const char* name;
  Model model;
  MachineConfig machine;
  int64_t past = 0, tokens = 16, context = 0;
  Layout layout = Layout::Own;
};

Model tiny(int64_t heads, int64_t kv, int64_t d, int64_t hidden, int64_t inner, int64_t layers, int64_t words = 0) {
  return {"tiny", hidden, inner, heads, kv, d, layers, 1e4, 1e-5, words, false, true};
}

Model bidirectional(Model m) {
  m.causal = false;
  return m;
}

MachineConfig machine(int mlen, int blen, int hlen, int64_t sram = 0) {
  return {
      .mlen = mlen, .blen = blen, .hlen = hlen, .latency = artix7_latency, .clock_hz = 100'000'000, .sram_bytes = sram};
}

struct Outcome {
  Program program;
  std::vector<uint8_t> image;
  RunResult result;
  std::vector<double> errors;  // of each layer
  double cache_error = 0;
};

std::vector<int64_t> tokens_of(int64_t count, int64_t seed) {
  std::vector<int64_t> tokens(count);
  for (int64_t n = 0; n < count; ++n) tokens[n] = (n * 7 + seed) % 32;
  return tokens;
}

// Runs one program over an image whose cache is `before`'s, and measures every layer.
void run_one(const Case& c, int64_t past, int64_t tokens, const Weights& weights, const Outcome* before, Outcome& o) {
  auto compiled =
      compile_decoder(c.model, c.machine, {.past = past, .tokens = tokens, .context = c.context, .layout = c.layout});
  ASSERT_TRUE(compiled) << compiled.error().text();
  o.program = *compiled;
  auto image = make_image(o.program, weights);
  ASSERT_TRUE(image) << image.error().text();
  o.image = std::move(*image);
  if (before) {
    ASSERT_TRUE(copy_cache(before->program, before->image, o.program, o.image));
  }
  ASSERT_TRUE(set_tokens(o.program, weights, tokens_of(tokens, past), o.image));
  test::FixedMemory memory;
  const int64_t layers = c.model.layers, hidden = c.model.hidden;
  std::vector<std::vector<float>> in(layers, std::vector<float>(tokens * hidden)), out = in;
  auto result = run_program(o.program, memory,
                            {.image = &o.image, .probed = [&](const Probe& p, const std::vector<float>& values) {
                               auto& to = std::string(p.name) == "input" ? in : out;
                               std::copy(values.begin(), values.end(), to[p.layer].begin() + p.first_token * hidden);
                             }});
  ASSERT_TRUE(result) << result.error().text();
  o.result = *result;
  for (int64_t l = 0; l < layers; ++l) {
    const auto reference = reference_layer(o.program, o.image, l, in[l]);
    o.errors.push_back(relative_error(out[l], reference.output));
    // The cache holds what the reference computes, but for its quantisation.
    for (const char* which : {"k", "v"}) {
      const auto all = read_cache(o.program, o.image, l, which, past + tokens);
      std::vector<float> now;
      const int64_t d = c.model.head_dim;
      for (int64_t kv = 0; kv < c.model.kv_heads; ++kv)
        now.insert(now.end(), all.begin() + (kv * (past + tokens) + past) * d,
                   all.begin() + (kv + 1) * (past + tokens) * d);
      o.cache_error = std::max(o.cache_error, relative_error(now, which[0] == 'k' ? reference.key : reference.value));
    }
  }
}

class Decoder : public testing::TestWithParam<Case> {};

TEST_P(Decoder, EveryLayerIsWhatTheReferenceMakesOfItsInput) {
  const auto& c = GetParam();
  const auto weights = synthetic_weights(11);
  Outcome before, o;
  if (c.past) run_one(c, 0, c.past, *weights, nullptr, before);
  if (HasFatalFailure()) return;
  run_one(c, c.past, c.tokens, *weights, c.past ? &before : nullptr, o);
  if (HasFatalFailure()) return;
  for (const double e : o.errors) {
    EXPECT_LT(e, 0.015);
    RecordProperty("error", std::to_string(e));
  }
  EXPECT_LT(o.cache_error, 0.045);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Decoder,
    testing::
        Values(
            Case{"head_is_a_block", tiny(4, 2, 64, 192, 256, 2), machine(64, 16, 64), 0, 32},
            Case{"odd_tokens", tiny(4, 2, 64, 192, 256, 2), machine(64, 16, 64), 0, 21},
            Case{"several_key_tiles", tiny(2, 1, 64, 128, 128, 2), machine(64, 16, 64), 0, 150},
            Case{"decode", tiny(6, 2, 64, 192, 256, 2), machine(64, 16, 64), 40, 1},
            Case{"decode_across_a_tile", tiny(6, 2, 64, 192, 256, 2), machine(64, 16, 64), 64, 1},
            Case{"decode_long", tiny(2, 2, 64, 128, 128, 1), machine(64, 16, 64), 700, 1},
            Case{"continued", tiny(4, 2, 64, 192, 256, 2), machine(64, 16, 64), 21, 50},
            Case{"four_slots", tiny(6, 2, 64, 384, 512, 2), machine(256, 64, 64), 0, 64},
            Case{"four_slots_decode", tiny(6, 2, 64, 384, 512, 2), machine(256, 64, 64), 30, 1},
            Case{"two_slots_odd_groups", tiny(9, 3, 64, 192, 256, 1), machine(128, 64, 64), 0, 70},
            Case{"head_of_two_blocks", tiny(4, 2, 128, 192, 256, 2), machine(64, 16, 64), 0, 40},
            Case{"head_of_two_blocks_decode", tiny(4, 2, 128, 192, 256, 2), machine(64, 16, 64), 40, 1},
            Case{"small_array", tiny(4, 2, 32, 96, 160, 1), machine(32, 4, 32), 0, 19},
            Case{"chunks", tiny(4, 2, 64, 256, 512, 2), machine(64, 16, 64, 420'000), 0, 200},
        Case{"chunks_and_slices", tiny(4, 2, 64, 256, 1024, 1), machine(64, 16, 64, 190'000), 0, 100},
        Case{"bidirectional", bidirectional(tiny(4, 2, 64, 192, 256, 2)), machine(64, 16, 64), 0, 150},
        Case{"bidirectional_whole_tiles", bidirectional(tiny(2, 2, 64, 128, 128, 1)), machine(64, 16, 64), 0, 128},
        Case{"bidirectional_chunks", bidirectional(tiny(4, 4, 128, 256, 512, 2)), machine(64, 16, 64, 420'000), 0, 150},
            Case{
                "plena",
                tiny(6, 2, 64, 384, 512, 1),
                [] {
                  auto m = machine(256, 64, 64);
                  m.weights = m.kv = mx_plena;
                  return m;
                }(),
                0, 64, 0, Layout::Plena}),
    [](const auto& info) { return info.param.name; });

// Faults of a machine's program or memory, each as the reference emulator has it or could have it.
TEST(Mutations, EachIsFarOutsideTheBound) {
  const auto model = tiny(6, 2, 64, 192, 256, 1);
  const auto weights = synthetic_weights(3);
  const auto find = [](const Program& p, const std::string& tensor) {
    return std::find_if(p.placements.begin(), p.placements.end(), [&](auto& q) { return q.tensor == tensor; })->region;
  };
  for (const std::string fault : {"none", "gain", "silu", "scale", "mask"}) {
    auto program = *compile_decoder(model, machine(64, 16, 64), {.tokens = 48});
    auto sound = *make_image(program, *weights);
    ASSERT_TRUE(set_tokens(program, *weights, tokens_of(48, 0), sound));
    auto image = sound;
    if (fault == "gain")
      for (const char* norm : {"norm1", "norm2"})
        for (auto at = find(program, norm).offset; at < find(program, norm).end(); at += 2)
          image[at] = 0x80, image[at + 1] = 0x3f;
    if (fault == "mask")
      std::fill_n(image.begin() + static_cast<long>(find(program, "mask").offset), find(program, "mask").size, 0);
    if (fault == "scale") program.fp_sram[kAttentionScale] *= 0.25f;
    if (fault == "silu")
      std::swap_ranges(image.begin() + static_cast<long>(find(program, "gate_proj").offset),
                       image.begin() + static_cast<long>(find(program, "gate_proj").end()),
                       image.begin() + static_cast<long>(find(program, "up_proj").offset));
    std::vector<float> in, out;
    test::FixedMemory memory;
    const auto run = run_program(program, memory, {.image = &image, .probed = [&](const Probe& p, const auto& values) {
                                                     (p.name == "input" ? in : out) = values;
                                                   }});
    ASSERT_TRUE(run) << run.error().text();
    // Judged with the sound weights, and the KV that the faulty machine made.
    for (const auto& p : program.placements)
      if (p.region.kind == Kind::Kv)
        std::copy_n(image.begin() + static_cast<long>(p.region.offset), p.region.size,
                    sound.begin() + static_cast<long>(p.region.offset));
    const double error = relative_error(out, reference_layer(program, sound, 0, in).output);
    if (fault == "none") {
      EXPECT_LT(error, 0.015);
    } else {
      EXPECT_GT(error, 0.045) << fault;
    }
  }
}

TEST(Timing, NeedsNoNumbersAndIsTheSameTwice) {
  const auto model = tiny(6, 2, 64, 192, 256, 2, 500);
  const auto program = *compile_decoder(model, machine(64, 16, 64), {.tokens = 48});
  const auto weights = synthetic_weights(3);
  auto image = *make_image(program, *weights);
  ASSERT_TRUE(set_tokens(program, *weights, tokens_of(48, 0), image));
  test::FixedMemory a, b, c;
  const auto with = *run_program(program, a, {.image = &image}), without = *run_program(program, b, {}),
             again = *run_program(program, c, {});
  EXPECT_EQ(with.cycles, without.cycles);
  EXPECT_EQ(with.total, without.total);
  EXPECT_EQ(without.cycles, again.cycles);
  EXPECT_EQ(with.memory.bytes_read, without.memory.bytes_read);
  ASSERT_EQ(with.sections.size(), program.sections.size());
  const auto profile = *static_profile(program.words, program.sections, program.machine);
  EXPECT_EQ(profile.total(), with.busy_cycles);
  EXPECT_EQ(profile.instructions, with.instructions);
  for (int n = 0; n < op_classes; ++n)
    EXPECT_EQ(profile.cycles[n], with.classes.at(std::string(name_of(static_cast<OpClass>(n)))));
}

TEST(Timing, AProfileFollowsBreaksAndNestedLoops) {
  const auto words = *assemble(
      "C_LOOP_START gp1, 7\nS_ADDI_INT gp2, gp2, 1\nC_LOOP_START gp3, 5\nS_ADDI_INT gp4, gp4, 1\nC_BREAK\n"
      "S_ADDI_INT gp4, gp4, 1\nC_LOOP_END gp3\nC_LOOP_START gp3, 0\nS_ADDI_INT gp5, gp5, 1\nC_LOOP_END gp3\nC_LOOP_END "
      "gp1\n");
  MachineConfig config = machine(64, 16, 64);
  config.matrix_tiles = 1, config.vector_rows = 16;
  test::FixedMemory memory;
  Machine m(config, memory, 64, nullptr);
  ASSERT_TRUE(m.load(words));
  ASSERT_TRUE(m.run_until(static_cast<uint32_t>(words.size())));
  EXPECT_EQ(m.gp(4), 7u);
  const auto profile = *static_profile(words, {}, config);
  EXPECT_EQ(profile.total(), m.cycles());
  EXPECT_EQ(profile.instructions, m.instructions());
}

TEST(Shapes8B, APlanOfTheLargeModelFitsTheSmallBoard) {
  const auto model = *find_model("llada-8b");
  auto config = machine(64, 16, 64, 1'495'040);
  config.weights = config.kv = mx_ocp8;
  const auto program = compile_decoder(model, config, {.layers = 1, .tokens = 64});
  ASSERT_TRUE(program) << program.error().text();
  const auto& m = program->machine;
  EXPECT_LE(m.matrix_sram_bytes() + m.vector_sram_bytes() + small_sram_bytes, 1'495'040);
}

}  // namespace
}  // namespace tessera::accel
