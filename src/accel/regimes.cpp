#include "accel/regimes.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <functional>
#include <mutex>
#include <set>
#include <thread>

#include "accel/regime_sizes.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;

constexpr double kStraight = 0.003;  // a curve that is so near its chord is taken for it

// Runs the jobs on a few threads; each writes what it alone owns.
void run_all(const std::vector<std::function<void()>>& jobs, const RegimesOptions& options) {
  std::atomic<size_t> next{0};
  std::mutex mutex;
  size_t done = 0;
  const auto work = [&] {
    for (size_t i; (i = next++) < jobs.size();) {
      jobs[i]();
      std::lock_guard lock(mutex);
      ++done;
      if (options.progress) options.progress(fmt::format("{} of {} points", done, jobs.size()));
    }
  };
  std::vector<std::jthread> others;
  for (int i = 1; i < options.threads; ++i) others.emplace_back(work);
  work();
}

struct Case {
  target::Board board;
  std::optional<NamedLink> link;
};

// Fills in the decode times between two measured contexts: where the middle lies on the line, so does the rest.
Result<void> fill(std::vector<std::optional<ComposedTime>>& times, const std::vector<int64_t>& contexts, size_t low,
                  size_t high, const std::function<Result<ComposedTime>(int64_t)>& measure) {
  const auto get = [&](size_t i) -> Result<void> {
    if (times[i]) return {};
    TRY(times[i], measure(contexts[i]));
    return {};
  };
  CHECK_OK(get(low));
  CHECK_OK(get(high));
  if (high - low < 2) return {};
  const size_t middle = (low + high) / 2;
  const auto between = [&](size_t i, double ComposedTime::*member) {
    const double part =
        static_cast<double>(contexts[i] - contexts[low]) / static_cast<double>(contexts[high] - contexts[low]);
    return (*times[low]).*member + part * ((*times[high]).*member - (*times[low]).*member);
  };
  CHECK_OK(get(middle));
  if (std::abs(between(middle, &ComposedTime::seconds) / times[middle]->seconds - 1) > kStraight) {
    CHECK_OK(fill(times, contexts, low, middle, measure));
    return fill(times, contexts, middle, high, measure);
  }
  for (size_t i = low + 1; i < high; ++i)
    if (!times[i])
      times[i] = ComposedTime{between(i, &ComposedTime::seconds), between(i, &ComposedTime::link_seconds),
                              between(i, &ComposedTime::link_bytes)};
  return {};
}

Result<MachineConfig> machine_of(const RegimesOptions& options, const target::Board& board) {
  TRY(auto machine, machine_for(board, options.model, options.tile));
  TRY(machine.weights, find_format(options.format.value_or(board.weight_type)));
  TRY(machine.kv, find_format(options.format.value_or(board.kv_type)));
  return machine;
}

// Everything that needs sizes alone.
Result<BoardRegimes> sizes_of(const RegimesOptions& options, const Case& c) {
  BoardRegimes b{.board = c.board.name};
  auto board = c.board;
  if (c.link)
    board.link = target::BoardLink{.name = c.link->name,
                                   .bytes_per_second = c.link->timing.bytes_per_second,
                                   .latency_ns = c.link->timing.latency.count / 1000,
                                   .packet = c.link->timing.packet};
  TRY(b.machine, machine_of(options, board));
  TRY(const auto setup, set_up_memory({.kind = Resident,
                                       .board = board,
                                       .ddr_capacity = options.ddr_capacity,
                                       .host_bandwidth = options.host_bandwidth}));
  b.capacity = setup.capacity, b.capacity_source = setup.capacity_source;
  b.link = setup.link, b.link_source = c.link ? "--link " + c.link->name : setup.link ? setup.link_source : "none";
  for (auto context : options.contexts) {
    TRY(const auto bytes, bytes_at(options.model, b.machine, context));
    b.needs.push_back({context, bytes, choose_regime(bytes.weight, bytes.kv + bytes.activation, b.capacity)});
  }
  b.weights_fit = b.needs.front().bytes.weight <= b.capacity;
  TRY(b.resident_up_to, longest_context(options.model, b.machine, b.capacity));
  if (!b.link)
    b.notes.push_back("no link to the host is described: only the resident regime; --host-bandwidth gives one");
  for (auto& assumed : c.board.assumed) b.notes.push_back("assumed, not published: " + assumed);
  return b;
}

void finish_point(RegimePoint& p, const RegimePoint* resident, const target::Board& board) {
  const auto& time = p.token ? *p.token : p.first_token;
  const auto& free = resident ? (resident->token ? *resident->token : resident->first_token) : time;
  p.bound = p.regime != Resident && time.link_seconds > 0.9 * time.seconds ? "link" : "compute";
  if (p.regime != Resident && free.seconds > 0) p.enough_link = time.link_bytes / free.seconds;
  if (board.watts) p.joules = *board.watts * time.seconds;
}

}  // namespace

Result<RegimeSweep> sweep_regimes(const RegimesOptions& options) {
  RegimeSweep sweep{.model = options.model.name};
  std::vector<Case> cases;
  for (auto& board : options.boards) {
    if (options.links.empty()) cases.push_back({board, std::nullopt});
    for (auto& link : options.links) cases.push_back({board, link});
  }
  PieceStore store;
  std::vector<std::unique_ptr<RegimePieces>> pieces;
  for (auto& c : cases) {
    TRY(auto b, sizes_of(options, c));
    pieces.push_back(std::make_unique<RegimePieces>(options.model, b.machine, c.board, b.link, b.capacity, store));
    sweep.boards.push_back(std::move(b));
  }
  struct Times {
    std::vector<std::optional<ComposedTime>> first, token;
  };
  const auto n = options.contexts.size();
  std::vector<std::array<Times, 3>> times(cases.size());
  constexpr std::array kRegimes{Resident, KvSwap, WeightStream};
  std::vector<Result<void>> results;
  std::vector<std::function<void()>> jobs;
  results.reserve(cases.size() * 3 * (n + 2));
  const auto add = [&](std::function<Result<void>()> job) {
    auto& result = results.emplace_back();
    jobs.push_back([&result, job] { result = job(); });
  };
  // The long ones first; what boards share, whoever comes first measures.
  for (size_t k = n; k-- > 0;)
    for (size_t b = 0; b < cases.size(); ++b)
      for (size_t r = 0; r < 3; ++r) {
        if (r > 0 && !sweep.boards[b].link) continue;
        times[b][r].first.resize(n), times[b][r].token.resize(n);
        add([&, b, r, k]() -> Result<void> {
          TRY(times[b][r].first[k], pieces[b]->prefill(kRegimes[r], options.contexts[k]));
          return {};
        });
      }
  for (size_t b = 0; b < cases.size(); ++b)
    for (size_t r = 0; r < 3; ++r)
      if (options.model.causal && (r == 0 || sweep.boards[b].link))
        add([&, b, r]() -> Result<void> {
          return fill(times[b][r].token, options.contexts, 0, n - 1,
                      [&](int64_t context) { return pieces[b]->decode(kRegimes[r], context); });
        });
  if (options.check)
    for (size_t b = 0; b < cases.size(); ++b)
      add([&, b]() -> Result<void> {
        TRY(sweep.boards[b].checks,
            check_composition(options.model, sweep.boards[b].machine, cases[b].board, sweep.boards[b].link));
        return {};
      });
  run_all(jobs, options);
  for (auto& result : results) CHECK_OK(result);

  for (size_t b = 0; b < cases.size(); ++b)
    for (size_t k = 0; k < n; ++k)
      for (size_t r = 0; r < 3; ++r) {
        if (r > 0 && !sweep.boards[b].link) continue;
        auto& board = sweep.boards[b];
        RegimePoint p{
            .regime = kRegimes[r], .context = options.contexts[k], .chosen = board.needs[k].regime == kRegimes[r]};
        p.first_token = *times[b][r].first[k];
        if (options.model.causal) p.token = times[b][r].token[k];
        finish_point(p, r > 0 ? &board.points[board.points.size() - r] : nullptr, cases[b].board);
        board.points.push_back(std::move(p));
      }
  return sweep;
}

Result<std::vector<int64_t>> parse_contexts(std::string_view text) {
  constexpr int64_t kMost = 1 << 20;
  const auto number = [&](std::string_view part) -> Result<int64_t> {
    int64_t value = 0;
    const auto [end, code] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (code != std::errc() || end != part.data() + part.size() || value < 1 || value > kMost)
      return input_error("--context {}: '{}' is not a number of tokens from 1 to {}", text, part, kMost)
          .hint("128:8192 doubles from 128 to 8192; 100,200 are these two");
    return value;
  };
  std::set<int64_t> contexts;
  if (const auto colon = text.find(':'); colon != text.npos) {
    TRY(const auto first, number(text.substr(0, colon)));
    TRY(const auto last, number(text.substr(colon + 1)));
    if (first > last) return input_error("--context {}: {} is above {}", text, first, last);
    for (auto c = first; c < last; c *= 2) contexts.insert(c);
    contexts.insert(last);
    return std::vector(contexts.begin(), contexts.end());
  }
  for (size_t at = 0; at <= text.size();) {
    const auto comma = std::min(text.find(',', at), text.size());
    TRY(const auto c, number(text.substr(at, comma - at)));
    contexts.insert(c);
    at = comma + 1;
  }
  return std::vector(contexts.begin(), contexts.end());
}

}  // namespace tessera::accel
