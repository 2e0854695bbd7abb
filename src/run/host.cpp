#include "run/host.hpp"

#include <unistd.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <ranges>
#include <tuple>

#include "base/file.hpp"
#include "emit/manifest_text.hpp"
#include "run/process.hpp"

namespace tessera::run {

namespace {

namespace fs = std::filesystem;

double since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Reads what runtime/host/main.c writes: a line, then records of a header line, a name and bytes.
class ResultsReader {
 public:
  explicit ResultsReader(std::span<const std::byte> bytes)
      : rest_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  Result<void> read(RunResult& result) {
    if (until('\n') != "tessera results 1") return damaged();
    while (!rest_.empty()) CHECK_OK(record(result));
    return {};
  }

 private:
  static Error damaged() { return internal_error("the program's results are damaged"); }

  std::string_view until(char end) {
    auto text = rest_.substr(0, rest_.find(end));
    rest_.remove_prefix(std::min(rest_.size(), text.size() + 1));
    return text;
  }
  Result<std::string_view> take(size_t count) {
    if (count > rest_.size()) return damaged();
    auto text = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return text;
  }
  static Result<int64_t> number(std::string_view text) {
    int64_t value = 0;
    auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < 0) return damaged();
    return value;
  }
  static Result<Shape> shape(std::string_view text) {
    Shape extents;
    if (text == "-") return extents;
    for (size_t at = 0; at <= text.size();) {
      auto end = std::min(text.find(',', at), text.size());
      TRY(auto extent, number(text.substr(at, end - at)));
      extents.push_back(extent);
      at = end + 1;
    }
    return extents;
  }

  Result<void> record(RunResult& result) {
    auto kind = until(' ');
    TRY(auto dtype, emit::read_dtype(until(' ')));
    TRY(auto extents, shape(until(' ')));
    TRY(auto bytes, number(until(' ')));
    TRY(auto name_length, number(until('\n')));
    TRY(auto name, take(static_cast<size_t>(name_length)));
    TRY(auto raw, take(static_cast<size_t>(bytes)));
    TensorType type{dtype, std::move(extents)};
    if (type.bytes().count != bytes) return damaged();
    auto data = std::as_bytes(std::span(raw));
    TensorData values(std::move(type), {data.begin(), data.end()});
    if (kind == "losses") {
      auto losses = values.as<float>();
      result.losses.assign(losses.begin(), losses.end());
    } else {
      (kind == "parameter" ? result.parameters : result.outputs).push_back({std::string(name), std::move(values)});
    }
    return {};
  }

  std::string_view rest_;
};

// The log of runtime/host/record.h.
Result<void> read_log(const std::vector<std::byte>& bytes, Recorder& recorder) {
  std::span<const uint8_t> rest(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
  const auto damaged = [] { return internal_error("the record of the emitted program is damaged"); };
  const auto number = [&]() -> uint32_t {
    uint32_t value = 0;
    if (rest.size() < sizeof value) return value;
    std::memcpy(&value, rest.data(), sizeof value);
    rest = rest.subspan(sizeof value);
    return value;
  };
  std::vector<std::tuple<plan::LevelId, uint32_t, std::span<const uint8_t>>> in_place;
  const auto recorded = [&](plan::LevelId level, uint32_t offset, std::span<uint8_t> to) {
    for (auto& [at_level, at, from] : std::views::reverse(in_place))
      if (at_level == level && at == offset && from.size() == to.size())
        return std::memcpy(to.data(), from.data(), to.size()), true;
    return false;
  };
  while (!rest.empty()) {
    const char kind = static_cast<char>(rest[0]);
    rest = rest.subspan(1);
    if (kind == 'N') {
      recorder.node(number(), recorded);
      in_place.clear();
      continue;
    }
    const auto level = static_cast<plan::LevelId>(number()) - 1;
    const uint32_t offset = number(), size = number();
    if (kind != 'S' || size > rest.size()) return damaged();
    recorder.stored(level, offset, rest.first(size));
    in_place.emplace_back(level, offset, rest.first(size));
    rest = rest.subspan(size);
  }
  return {};
}

// A file that goes away with its owner.
struct TemporaryFile {
  fs::path path;
  ~TemporaryFile() {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
};

}  // namespace

Result<RunResult> run_host(const fs::path& project, const HostOptions& options) {
  auto start = std::chrono::steady_clock::now();
  TRY(auto executable, build_host(project, options));
  RunResult result{.build_seconds = since(start)};

  TemporaryFile results{executable.string() + fmt::format(".{}.results", ::getpid())};
  TemporaryFile plan{results.path.string() + ".plan"}, log{results.path.string() + ".log"};
  std::vector<std::string> command{executable.string(), "--out", results.path.string(), "--seed",
                                   fmt::format("{}", options.seed)};
  if (options.recorder) {
    const auto text = options.recorder->plan_text();
    CHECK_OK(write_file(plan.path, std::as_bytes(std::span(text))));
    command.insert(command.end(), {"--record-plan", plan.path.string(), "--record", log.path.string()});
  }
  start = std::chrono::steady_clock::now();
  TRY(auto finished, run_process(command, {.environment = {"ASAN_OPTIONS=detect_leaks=0:abort_on_error=0",
                                                           "UBSAN_OPTIONS=print_stacktrace=1"}}));
  result.run_seconds = since(start);

  constexpr int mismatch_code = 1;
  if (finished.signal || (finished.code != 0 && finished.code != mismatch_code) || !fs::exists(results.path))
    return internal_error("the emitted program failed: {}", describe(finished, 30));
  result.matched = finished.code == 0;
  TRY(auto bytes, read_file(results.path));
  CHECK_OK(ResultsReader(bytes).read(result));
  if (options.recorder) {
    TRY(auto logged, read_file(log.path));
    CHECK_OK(read_log(logged, *options.recorder));
  }
  result.bits = digest_of(result);
  return result;
}

}  // namespace tessera::run
