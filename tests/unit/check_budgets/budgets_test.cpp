// A budget that is too small is refused with the smallest that works: that one works, and a step less does not.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "check/check.hpp"
#include "plan/make_plan.hpp"
#include "schedule/build.hpp"
#include "simplify/simplify.hpp"
#include "train/build.hpp"
#include "train/zoo.hpp"

namespace tessera::plan {
namespace {

// A budget of the options, by its flag.
struct Knob {
  std::string_view flag;
  std::optional<Bytes> Options::*budget;
  LevelId level;
};
constexpr Knob kKnobs[] = {{"--l1", &Options::l1, 0}, {"--l2", &Options::l2, 1}, {"--l3", &Options::l3, 2}};

struct Case {
  std::string network;
  bool trains = true;
  std::string target;
  Options options;

  std::string text() const {
    auto out = fmt::format("{} ({}) on {}, home {}, buffering {}", network, trains ? "train" : "infer", target,
                           static_cast<int>(options.home), static_cast<int>(options.buffering));
    for (auto& knob : kKnobs)
      if (options.*knob.budget) out += fmt::format(" {} {}", knob.flag, (options.*knob.budget)->count);
    if (options.code) out += fmt::format(" --code {}", options.code->count);
    return out;
  }
};

train::Program program_of(const Case& c) {
  auto graph = train::zoo_model(c.network).value();
  if (!c.trains) return train::inference_program(std::move(graph)).value();
  auto* entry = train::find_in_zoo(c.network);
  train::Options options;
  options.loss = entry->loss == "mse" ? train::Loss::Mse : train::Loss::CrossEntropy;
  options.trainable = std::string(entry->trainable);
  auto program = train::training_program(std::move(graph), {}, options).value();
  EXPECT_TRUE(simplify::fuse(program.graph));
  return program;
}

// Plan, schedule, check: what a compile does before it writes anything.
Result<void> compile(const train::Program& program, const target::Target& target, const Options& options) {
  TRY(auto plan, make_plan(program, target, options));
  TRY(auto schedule, schedule::build(program.graph, plan, target));
  CHECK_OK(check::check(program.graph, plan, schedule, target));
  return {};
}

// "the smallest that works is --l1 3128 --l2 64k" -> the options with these; nothing where it names none.
std::optional<Options> named(const std::string& hint, Options options) {
  bool any = false;
  for (auto& knob : kKnobs) {
    auto at = hint.find(fmt::format("{} ", knob.flag));
    if (hint.find("smallest that works") == std::string::npos || at == std::string::npos) continue;
    auto text = hint.substr(at + 5);
    options.*knob.budget = parse_bytes(text.substr(0, text.find(' '))).value();
    any = true;
  }
  return any ? std::optional(options) : std::nullopt;
}

// Returns whether the budget was refused.
bool judge(const Case& c, const train::Program& program) {
  auto target = target::load_target(c.target, TESSERA_ROOT "/targets").value();
  auto begun = std::clock();  // of the processor: others may be at work
  auto compiled = compile(program, target, c.options);
  auto seconds = static_cast<double>(std::clock() - begun) / CLOCKS_PER_SEC;
  if (std::getenv("TESSERA_BUDGETS")) {
    fmt::print("{}: {:.2f} s, {}\n", c.text(), seconds, compiled ? "fits" : compiled.error().text());
    std::fflush(stdout);
  }
  if (compiled) return false;
  auto& refusal = compiled.error();
  EXPECT_EQ(refusal.kind(), ErrorKind::DoesNotFit) << c.text() << ": " << refusal.text();
  auto works = named(refusal.way_out(), c.options);
  if (!works) {
    // Nothing to name: then not even all of the chip will do.
    auto most = c.options;
    for (auto& knob : kKnobs)
      if (most.*knob.budget && !(knob.level == 2 && *most.l3 == 0_B)) most.*knob.budget = std::nullopt;
    most.advise = false;
    EXPECT_FALSE(compile(program, target, most)) << c.text() << ": " << refusal.text();
    return true;
  }
  auto again = compile(program, target, *works);
  EXPECT_TRUE(again) << c.text() << ": " << refusal.text() << "\nbut: " << again.error().text();
  for (auto& knob : kKnobs) {
    if ((*works).*knob.budget == c.options.*knob.budget) continue;
    auto less = *works;
    less.*knob.budget =
        std::max(*((*works).*knob.budget) - kSmallestStep[static_cast<size_t>(knob.level)], *(c.options.*knob.budget));
    less.advise = false;
    EXPECT_FALSE(compile(program, target, less)) << c.text() << ": " << refusal.text() << "\nbut a step less works";
  }
  return true;
}

// Mostly too small, sometimes not; several at once, sometimes.
Case random_case(std::mt19937_64& random, const std::vector<std::string>& networks) {
  auto below = [&](uint64_t n) { return random() % n; };
  auto size = [&](double least, double most) {
    auto part = static_cast<double>(below(1000)) / 1000;
    return Bytes(static_cast<int64_t>(least * std::pow(most / least, part)));
  };
  Case c{.network = networks[below(networks.size())], .target = below(2) ? "siracusa" : "gap9", .options = {}};
  if (c.network == "mlp") c.network = fmt::format("mlp:{}-{}-{}", 1 + below(900), 1 + below(200), 2 + below(30));
  c.trains = below(4) != 0;
  c.options.home = std::array{Home::Auto, Home::Auto, Home::L2, Home::L3}[below(4)];
  c.options.buffering = std::array{Buffering::Auto, Buffering::Single, Buffering::Double}[below(3)];
  auto which = 1 + below(7);
  if (which & 1) c.options.l1 = size(64, 16384);
  if (which & 2) c.options.l2 = size(256, 1 << 20);
  if (which & 4 && c.options.home != Home::L2)
    c.options.l3 = c.options.home == Home::Auto && below(2) ? 0_B : size(1024, 1 << 21);
  if (below(8) == 0) c.options.code = size(1 << 16, 1 << 21);
  return c;
}

// 200 budgets of all networks, in parts that run side by side; TESSERA_BUDGETS=1000 asks for more and prints each.
// Under the address sanitizer a few of the small networks have to do.
#ifdef __SANITIZE_ADDRESS__
constexpr int kBudgets = 24, kParts = 2;
const std::vector<std::string> kNetworks{"mlp", "mlp", "simplemlp", "cct:tiny", "cct_lora:tiny", "dscnn"};
#else
constexpr int kBudgets = 200, kParts = 8;
const std::vector<std::string> kNetworks{"mlp",      "simplemlp",     "autoencoder", "dscnn",
                                         "resnet8",  "mobilenetv1",   "cct",         "cct_lora",
                                         "cct:tiny", "cct_lora:tiny", "attention",   "transformer"};
#endif

class Budgets : public testing::TestWithParam<int> {};

TEST_P(Budgets, TheSmallestThatIsNamedWorksAndAStepLessDoesNot) {
  const char* asked = std::getenv("TESSERA_BUDGETS");
  const int all = (asked ? std::atoi(asked) : kBudgets) / kParts;
  std::mt19937_64 random(static_cast<uint64_t>(7 + GetParam()));
  int refused = 0;
  for (int i = 0; i < all; ++i) {
    auto c = random_case(random, kNetworks);
    refused += judge(c, program_of(c)) ? 1 : 0;
  }
  EXPECT_GE(refused * 4, all) << "budgets that are not too small say little";
}
INSTANTIATE_TEST_SUITE_P(Parts, Budgets, testing::Range(0, kParts));

}  // namespace
}  // namespace tessera::plan
