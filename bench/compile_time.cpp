// How long compilation takes, from the model to the project in memory, and how that grows with the network. Everything
// but the C compiler.
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>

#include "run/pipeline.hpp"
#include "run/samples.hpp"

namespace tessera::run {
namespace {

std::string perceptron(int layers, int width) {
  std::string name = "mlp:784";
  for (int i = 1; i < layers; ++i) name += fmt::format("-{}", width);
  return name + "-10";
}

// Time on the processor, the best of three, so that what else runs on the machine hardly counts.
Result<double> seconds_to_compile(const std::string& model) {
  double best = 1e9;
  for (int i = 0; i < 3; ++i) {
    const auto start = std::clock();
    TRY(auto compiled, compile_model({.model = model}, {.mode = Mode::Train}));
    TRY(auto project, make_project(compiled, {.data = synthetic(compiled.program, 1)}));
    best = std::min(best, static_cast<double>(std::clock() - start) / static_cast<double>(CLOCKS_PER_SEC));
  }
  return best;
}

Result<void> measure() {
  TRY(auto small, seconds_to_compile("simplemlp"));
  fmt::print("simplemlp            {:.3f} s  (limit 0.3)\n", small);
  double first = 0;
  for (int layers : {25, 50, 100, 200}) {
    TRY(auto seconds, seconds_to_compile(perceptron(layers, 24)));
    if (layers == 50) first = seconds;
    fmt::print("{:3} layers           {:.3f} s  ({:.2f} ms a layer){}\n", layers, seconds, 1000 * seconds / layers,
               layers == 200 ? fmt::format(", limit 5; 200 layers are {:.2f} x 50", seconds / first) : "");
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
