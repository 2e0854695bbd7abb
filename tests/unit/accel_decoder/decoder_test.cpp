// Compiled decoders, run on the machine, against the plain fp32 decoder on the same weights, KV and layer input.
#include <gtest/gtest.h>

#include "accel/decoder_shape.hpp"
#include "accel/images.hpp"
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

}  // namespace
}  // namespace tessera::accel
