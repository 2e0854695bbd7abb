// How long compilation takes, from the model to the project in memory, and how that grows with the network. Everything
// but the C compiler.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "check/check.hpp"
#include "run/pipeline.hpp"
#include "run/samples.hpp"

namespace tessera::run {
namespace {

std::string perceptron(int layers, int width) {
  std::string name = "mlp:784";
  for (int i = 1; i < layers; ++i) name += fmt::format("-{}", width);
  return name + "-10";
}

struct Seconds {
  double all = 1e9, check = 1e9;
};

double since(std::clock_t start) {
  return static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC);
}

// Time on the processor, the best of three, so that what else runs on the machine hardly counts; and the checker's part
// of it.
Result<Seconds> seconds_to_compile(const std::string& model) {
  Seconds best;
  for (int i = 0; i < 3; ++i) {
    auto start = std::clock();
    TRY(auto compiled, compile_model({.model = model}, {.mode = Mode::Train}));
    TRY(auto project, make_project(compiled, {.data = synthetic(compiled.program, 1)}));
    best.all = std::min(best.all, since(start));
    start = std::clock();
    CHECK_OK(check::check(compiled.program.graph, compiled.plan, compiled.schedule, compiled.target,
                          {.budget = compiled.budget}));
    best.check = std::min(best.check, since(start));
  }
  return best;
}

Result<void> measure() {
  for (const char* network : {"simplemlp", "autoencoder", "dscnn", "resnet8", "mobilenetv1", "cct", "cct_lora"}) {
    TRY(auto taken, seconds_to_compile(network));
    fmt::print("{:12} {:7.3f} s, the checker {:.3f} of them  (limit 2)\n", network, taken.all, taken.check);
  }
  double first = 0;
  for (int layers : {50, 100, 200, 1000}) {
    TRY(auto taken, seconds_to_compile(perceptron(layers, 24)));
    if (layers == 50) first = taken.all;
    fmt::print("{:4} layers  {:7.3f} s, the checker {:.3f} of them  ({:.2f} ms a layer; {:.2f} x 50 layers){}\n",
               layers, taken.all, taken.check, 1000 * taken.all / layers, taken.all / first,
               layers == 1000 ? "  (limit 20)" : "");
  }
  return {};
}

}  // namespace
}  // namespace tessera::run

int main() {
  auto done = tessera::run::measure();
  if (done) return 0;
  fmt::print(stderr, "error: {}\n", done.error().text());
  return done.error().exit_code();
}
