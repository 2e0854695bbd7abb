// Judging costs a few nanoseconds for each byte moved: it is part of every compilation.
#include <ctime>

#include "unit/check/compiled.hpp"

namespace tessera {
namespace {

// Processor time, so that a busy machine does not matter; the best of three.
double seconds_to_judge(const handmade::Case& c) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    auto start = std::clock();
    auto verdict = c.judge();
    EXPECT_TRUE(verdict) << verdict.error().text();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

double seconds_for(const std::string& network, int64_t batch, const plan::Options& options) {
  auto program = compiled::perceptron(network, batch);
  EXPECT_TRUE(program) << program.error().text();
  auto c = compiled::compile(*program, options);
  EXPECT_TRUE(c) << c.error().text();
  auto seconds = seconds_to_judge(*c);
  fmt::print("{:.20}: {:.1f} ms\n", network, seconds * 1000);
  return seconds;
}

std::string layers(int n) {
  std::string name = "mlp:32";
  for (int i = 0; i < n; ++i) name += "-32";
  return name;
}

// Sanitizers and plain debug builds are several times slower.
#if defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
constexpr double kSlack = 1;
#else
constexpr double kSlack = 20;
#endif

TEST(CheckTime, SimpleMlp) {
  EXPECT_LT(seconds_for("simplemlp", 4, {}), 0.05 * kSlack);
  EXPECT_LT(seconds_for("simplemlp", 4, {.l1 = Bytes(2048)}), 0.05 * kSlack);
}

TEST(CheckTime, GrowsWithTheNetworkAndNoFaster) {
  auto small = seconds_for(layers(50), 4, {.l1 = Bytes(16384)}),
       large = seconds_for(layers(200), 4, {.l1 = Bytes(16384)});
  EXPECT_LT(large, 1.5 * kSlack);
  EXPECT_LT(large, 8 * small);
}

}  // namespace
}  // namespace tessera
