#include "accel/profile.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace tessera::accel {
namespace {

int64_t sum_of(const std::array<int64_t, op_classes>& cycles) {
  return std::accumulate(cycles.begin(), cycles.end(), int64_t{0});
}

// How often each instruction is executed. A break ends its loop in the first turn.
Result<std::vector<int64_t>> executions(std::span<const uint32_t> words) {
  std::vector<Instruction> code;
  for (size_t n = 0; n < words.size(); ++n) {
    auto i = decode(words[n]);
    if (!i) return std::move(i).error().within(fmt::format("instruction {}", n));
    code.push_back(*i);
  }
  // First, which loops have a break of their own: those turn once.
  std::vector<bool> breaks(code.size());
  std::vector<size_t> open;
  for (size_t n = 0; n < code.size(); ++n) {
    if (code[n].op == Op::C_LOOP_START) open.push_back(n);
    if (code[n].op == Op::C_LOOP_END) {
      if (open.empty()) return input_error("instruction {}: C_LOOP_END without its start", n);
      open.pop_back();
    }
    if (code[n].op == Op::C_BREAK && !open.empty()) breaks[open.back()] = true;
  }
  if (!open.empty()) return input_error("instruction {}: C_LOOP_START without its end", open.back());
  std::vector<int64_t> counts(code.size());
  struct Level {
    int64_t times;
    bool left;  // a break has been passed
  };
  std::vector<Level> levels = {{1, false}};
  for (size_t n = 0; n < code.size(); ++n) {
    const auto& level = levels.back();
    counts[n] = level.left ? 0 : level.times;
    if (code[n].op == Op::C_LOOP_START) {
      const int64_t turns = breaks[n] ? 1 : std::max<int64_t>(code[n].imm, 1);
      levels.push_back({counts[n] * turns, false});
    } else if (code[n].op == Op::C_LOOP_END) {
      levels.pop_back();
    } else if (code[n].op == Op::C_BREAK) {
      levels.back().left = true;
    }
  }
  return counts;
}

}  // namespace

int64_t SectionProfile::total() const {
  return sum_of(cycles);
}
int64_t Profile::total() const {
  return sum_of(cycles);
}

Result<Profile> static_profile(std::span<const uint32_t> words, std::span<const Section> sections,
                               const MachineConfig& machine) {
  TRY(const auto counts, executions(words));
  Profile profile;
  std::map<std::pair<int64_t, std::string>, size_t> index;
  const auto part = [&](int64_t layer, const std::string& op) -> SectionProfile& {
    const auto [at, fresh] = index.try_emplace({layer, op}, profile.sections.size());
    if (fresh) profile.sections.push_back({.op = op, .layer = layer});
    return profile.sections[at->second];
  };
  auto section = sections.begin();
  for (uint32_t n = 0; n < words.size(); ++n) {
    while (section != sections.end() && section->end <= n) ++section;
    const bool covered = section != sections.end() && section->begin <= n;
    auto& s = covered ? part(section->layer, section->op) : part(0, "program");
    const auto op = decode(words[n])->op;
    const auto c = static_cast<size_t>(info_of(op).op_class);
    const int64_t cycles = counts[n] * cost_of(op, machine);
    s.cycles[c] += cycles, profile.cycles[c] += cycles;
    s.instructions += counts[n], profile.instructions += counts[n];
    if (op == Op::H_PREFETCH_M) s.tile_loads += counts[n];
    if (op == Op::H_PREFETCH_V) s.row_loads += counts[n];
    if (op == Op::H_STORE_V) s.row_stores += counts[n];
  }
  return profile;
}

LayerBound bound_of(int64_t layer, int64_t compute_cycles, int64_t ddr_bytes, int64_t link_bytes,
                    const MachineConfig& machine, double ddr_bytes_per_second, double link_bytes_per_second) {
  LayerBound b{.layer = layer, .compute_cycles = compute_cycles, .ddr_bytes = ddr_bytes, .link_bytes = link_bytes};
  b.compute_ns = static_cast<double>(compute_cycles) * 1e9 / static_cast<double>(machine.clock_hz);
  if (ddr_bytes_per_second > 0) b.ddr_ns = static_cast<double>(ddr_bytes) * 1e9 / ddr_bytes_per_second;
  if (link_bytes_per_second > 0) b.link_ns = static_cast<double>(link_bytes) * 1e9 / link_bytes_per_second;
  b.bound = b.link_ns >= std::max(b.ddr_ns, b.compute_ns) && b.link_ns > 0 ? "link"
            : b.ddr_ns > b.compute_ns                                      ? "ddr"
                                                                           : "compute";
  return b;
}

}  // namespace tessera::accel
