// Options that the subcommands of `tessera accel` share.
//
//   --board nexys_video --layers 1 --tokens 64 --layout plena   ->   JobOptions{.board = ..., .layers = 1, ...}
#pragma once

#include <nlohmann/json.hpp>

#include "accel/job.hpp"
#include "cli/options.hpp"

namespace tessera::cli {

struct AccelJobFlags {
  std::string model;
  Text board, layers, tokens, layout, mlen, blen, hlen, sram, weights, format, seed, prompt, generate, forced, numerics;
  bool decode = false, no_head = false;
};
// `generates`: the run's options beside those of the compiler.
void add_accel_job(CLI::App& command, AccelJobFlags& flags, const char* what, bool runs);
Result<accel::JobOptions> resolve(const AccelJobFlags& flags);
// Whether any option was given that decides what is compiled, which a compiled folder has settled already.
std::string compile_option_given(const AccelJobFlags& flags);

struct AccelMemoryFlags {
  Text model, manifest, capacity, bandwidth, prefetch, start, accounting, dma;
};
void add_accel_memory(CLI::App& command, AccelMemoryFlags& flags);
Result<accel::MemoryOptions> resolve(const AccelMemoryFlags& flags, const std::optional<target::Board>& board);
Result<bool> dma_overlaps(const AccelMemoryFlags& flags);

Result<std::optional<target::Board>> find_board(const Text& name);
// Says what is being done, at most once a second and only to a person: nothing of a command that is done by then.
std::function<void(std::string_view)> slow_progress();
void print_json(const nlohmann::ordered_json& object);

}  // namespace tessera::cli
