// Boards, contexts and regimes: time to the first token, tokens a second, where the regime changes, and what a better
// link or more memory would buy.
//
//   TRY(auto sweep, sweep_regimes({.model = smollm, .boards = {custom_a7}, .contexts = {128, 1024, 8192}}));
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "accel/board_machine.hpp"
#include "accel/regime_pieces.hpp"

namespace tessera::accel {

struct NamedLink {
  std::string name;
  memory::LinkTiming timing;
};

struct RegimesOptions {
  Model model;
  std::vector<target::Board> boards;
  std::vector<int64_t> contexts;
  std::optional<uint64_t> ddr_capacity;
  std::optional<int64_t> host_bandwidth;
  std::vector<NamedLink> links;  // each board with each of them; none: with its own
  TileOptions tile;
  std::optional<std::string> format;
  int threads = 2;
  bool check = true;
  std::function<void(std::string_view)> progress;  // one call at a time, from any thread
};

struct RegimePoint {
  MemoryModelKind regime = MemoryModelKind::Resident;
  int64_t context = 0;
  bool chosen = false;  // by auto, at this context
  ComposedTime first_token;
  std::optional<ComposedTime> token;  // none: the model does not decode token by token
  std::string bound;                  // "compute" or "link"
  // Bytes a second at which the link stops being what a token waits for.
  std::optional<double> enough_link;
  std::optional<double> joules;  // of a token; of the step where there are no tokens
};

struct ContextNeeds {
  int64_t context = 0;
  KindTotals bytes;
  MemoryModelKind regime = MemoryModelKind::Resident;
};

struct BoardRegimes {
  std::string board, link_source, capacity_source;
  uint64_t capacity = 0;
  std::optional<memory::LinkTiming> link;
  MachineConfig machine;
  std::vector<ContextNeeds> needs;
  std::vector<RegimePoint> points;
  bool weights_fit = false;
  std::optional<int64_t> resident_up_to;  // tokens of context, exactly
  std::vector<CompositionCheck> checks;
  std::vector<std::string> notes;
};

struct RegimeSweep {
  std::string model;
  std::vector<BoardRegimes> boards;
};

Result<RegimeSweep> sweep_regimes(const RegimesOptions& options);

// "128:8192" doubles from the first to the last; "100,200" are those; errors name the option.
Result<std::vector<int64_t>> parse_contexts(std::string_view text);

std::string regimes_table(const RegimeSweep& sweep);
std::string regimes_json(const RegimeSweep& sweep);
std::string regimes_svg(const RegimeSweep& sweep);

}  // namespace tessera::accel
