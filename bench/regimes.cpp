// How long the sweep of SmolLM2-135M takes: seven contexts, three boards, every regime. The aim is 20 s on two cores.
#include <chrono>
#include <cstdio>
#include <ctime>

#include "accel/regimes.hpp"
#include "target/target.hpp"

int main() {
  using namespace tessera;
  accel::RegimesOptions options{.model = accel::find_model("SmolLM2-135M").value(),
                                .contexts = accel::parse_contexts("128:8192").value()};
  for (auto* name : {"nexys_video", "custom_a7", "v80"}) {
    auto board = target::load_board(name, target::default_target_directory());
    if (!board) return std::fprintf(stderr, "%s\n", board.error().text().c_str()), 2;
    options.boards.push_back(*board);
  }
  const auto start = std::chrono::steady_clock::now();
  const auto cpu = std::clock();
  const auto sweep = accel::sweep_regimes(options);
  if (!sweep) return std::fprintf(stderr, "%s\n", sweep.error().text().c_str()), 2;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  const double cpu_seconds = static_cast<double>(std::clock() - cpu) / CLOCKS_PER_SEC;
  std::printf("%s\n%.1f s on %d threads, %.1f s of processor time\n", accel::regimes_table(*sweep).c_str(),
              took.count(), options.threads, cpu_seconds);
}
