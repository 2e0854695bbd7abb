// Every function of ts_math.h, ts_trig.h and ts_hyperbolic.h against the true value, over the floats: how far it is off
// in units in the last place, and whether sign, infinities and NaN are right. A sample of all floats here; with
// TESSERA_EXHAUSTIVE=1 in the environment all 2^32 of them, which takes a minute or more a function (docs/operators.md
// has what that found).
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <sstream>

#include "support/onnx_text.hpp"
#include "support/program.hpp"

namespace tessera::test {
namespace {

struct Bound {
  const char* name;
  double units;                 // what the complete run found, rounded up
  float limit = 3.4028235e38f;  // of |x| where that holds; sign, infinity and NaN are right everywhere
};
constexpr Bound bounds[] = {{"exp", 1.02},       {"log", 1.16},       {"tanh", 1.47},     {"sigmoid", 1.0},
                            {"erf", 1.10},       {"sqrt", 0.5},       {"expm1", 1.5},     {"softplus", 1.9},
                            {"sin", 0.95, 8192}, {"cos", 0.95, 8192}, {"tan", 1.5, 8192}, {"asin", 0.75},
                            {"acos", 0.75},      {"atan", 1.9},       {"sinh", 1.1},      {"cosh", 1.1},
                            {"asinh", 1.4},      {"acosh", 1.3},      {"atanh", 0.95}};

class Exhaustive : public testing::TestWithParam<Bound> {
 protected:
  // Two files, compiled apart: only the true values may take fast mathematics.
  static std::string program() {
    static TemporaryFolder folder;
    static std::string path;
    if (!path.empty()) return path;
    std::string here = std::string(TESSERA_ROOT) + "/tests/unit/math/",
                kernels = std::string(TESSERA_ROOT) + "/runtime/kernels";
    auto exact = run_program({"gcc", "-std=c11", "-Ofast", "-march=native", "-c", here + "exact.c", "-o", "exact.o"},
                             folder.path());
    EXPECT_EQ(exact.code, 0) << exact.err;
    auto all = run_program(
        {"gcc", "-std=gnu11", "-O3", "-march=native", "-ffp-contract=off", "-fno-math-errno", "-Wall", "-Wextra",
         "-Werror", "-I" + kernels, here + "exhaustive.c", "exact.o", "-o", "exhaustive", "-lmvec", "-lm", "-pthread"},
        folder.path());
    EXPECT_EQ(all.code, 0) << all.err;
    path = folder.path() / "exhaustive";
    return path;
  }
};

TEST_P(Exhaustive, IsCloseAndNeverOfAnotherKind) {
#ifndef __x86_64__
  GTEST_SKIP() << "needs the vector functions of an x86-64";
#endif
  bool complete = std::getenv("TESSERA_EXHAUSTIVE") != nullptr;
  auto ran =
      run_program({program(), GetParam().name, fmt::format("{}", GetParam().limit), complete ? "1" : "251"}, "/");
  ASSERT_EQ(ran.code, 0) << ran.err;
  double units = 0;
  unsigned long long wrong = 0, count = 0;
  char worst_at[64], wrong_at[64];
  ASSERT_EQ(std::sscanf(ran.out.c_str(), "%lf %63s %llu %63s %llu", &units, worst_at, &wrong, wrong_at, &count), 5);
  EXPECT_LE(units, GetParam().units) << GetParam().name << "(" << worst_at << ")";
  EXPECT_EQ(wrong, 0u) << GetParam().name << "(" << wrong_at << ")";
  EXPECT_GE(count, complete ? uint64_t{1} << 32 : 17000000u);
}
INSTANTIATE_TEST_SUITE_P(Math, Exhaustive, testing::ValuesIn(bounds),
                         [](auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tessera::test
