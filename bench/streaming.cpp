// What a streamed layer takes, against its link and its compute alone.
//
//   bench_streaming                              the table of docs/accelerator.md
//   bench_streaming MODEL BOARD PAST TOKENS...   every link of a grid; contexts for decode as PAST 1, prompts as 0 N
#include <cstdio>
#include <cstdlib>
#include <string>

#include "support/layer_times.hpp"

namespace {

using namespace tessera;
using namespace tessera::accel;
using enum MemoryModelKind;

struct Row {
  int64_t past, tokens;
  double rate;  // GB/s
};

target::Board board_named(const std::string& name) {
  return target::load_board(name, target::default_target_directory()).value();
}

void table() {
  const auto board = board_named("custom_a7");
  const auto model = find_model("SmolLM2-135M").value();
  constexpr Row rows[] = {{0, 64, 1.5}, {0, 64, 0.3},   {0, 64, 0.1},    {64, 1, 1.5},    {1024, 1, 6},   {1024, 1, 1},
                          {4096, 1, 1}, {4096, 1, 0.3}, {8192, 1, 0.85}, {8192, 1, 0.75}, {8192, 1, 0.65}};
  std::printf("| step | link | compute | link | measured | above the larger |\n|---|---|---|---|---|---|\n");
  for (auto& r : rows) {
    const DecoderOptions options{.past = r.past, .tokens = r.tokens};
    const auto rate = static_cast<int64_t>(r.rate * 1e9);
    const double compute = test::layer_times(board, model, {.kind = Resident, .link = rate}, options).total * 1e3;
    const auto t = test::layer_times(board, model, {.kind = WeightStream, .link = rate}, options);
    const auto step = r.past ? "decode after " + std::to_string(r.past) : "prefill of " + std::to_string(r.tokens);
    std::printf("| %s | %g GB/s | %.2f | %.2f | %.2f | %.1f %% |\n", step.c_str(), r.rate, compute, t.link * 1e3,
                t.total * 1e3, 100 * (t.total * 1e3 / std::max(t.link * 1e3, compute) - 1));
  }
}

void grid(const Model& model, const target::Board& board, int64_t past, int64_t tokens) {
  const DecoderOptions options{.past = past, .tokens = tokens};
  const double compute = test::layer_times(board, model, {.kind = Resident}, options).total;
  std::printf("%s on %s, %ld after %ld: compute %.3f ms\n", model.name.c_str(), board.name.c_str(), tokens, past,
              compute * 1e3);
  const double weights = test::layer_times(board, model, {.kind = WeightStream, .link = 1'000'000'000}, options).link;
  for (double ratio : {0.1, 0.33, 0.48, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.35, 1.5, 1.7, 1.95, 2.1, 3.0, 10.0}) {
    const auto rate = static_cast<int64_t>(weights * 1e9 / (ratio * compute));
    const auto t = test::layer_times(board, model, {.kind = WeightStream, .link = rate}, options);
    const double above = 100 * (t.total / std::max(t.link, compute) - 1), allowed = ratio > 0.5 && ratio < 2 ? 15 : 5;
    std::printf("  %7.3f GB/s  link/compute %4.2f  %6.1f %%%s\n", static_cast<double>(rate) * 1e-9, t.link / compute,
                above,
                above > allowed ? "  above"
                : above < -0.2  ? "  below"
                                : "");
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return table(), 0;
  for (int i = 3; i + 1 < argc; i += 2)
    grid(find_model(argv[1]).value(), board_named(argv[2]), std::atoll(argv[i]), std::atoll(argv[i + 1]));
}
