#include <chrono>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/options.hpp"
#include "plan/allocation/allocate.hpp"
#include "plan/allocation/conflict.hpp"
#include "plan/allocation/csv.hpp"
#include "plan/allocation/picture.hpp"
#include "plan/allocation/validate.hpp"

namespace tessera::cli {
namespace {

using allocation::Conflict;
using allocation::Problem;
using allocation::Solution;
using Clock = std::chrono::steady_clock;

constexpr auto kFooter =
    R"(FILE.csv has a line for each buffer, under a first line that names the columns, in any order:
  id,lower,upper,size[,alignment][,offset][,gaps][,share][,apart]
A buffer lives during [lower, upper). An offset fixes it there; gaps (10-20 30-40@0:64) are times in which it holds
nothing, or only a window of its bytes; share is a word for buffers at one offset; apart lists ids it never touches.

With --capacity the first packing within it is the answer; without, or with --minimize, the lowest that is found in time.

Examples:
  tessera alloc net.csv --capacity 1M -o placed.csv      within 1 MiB, or why not (exit code 3)
  tessera alloc net.csv --minimize --time 30             as low as possible, with a proof or the gap
  tessera alloc net.csv --svg net.svg                    and a picture of the packing)";

struct Flags {
  std::string file;
  Text capacity, time, steps, rows, output, picture;
  bool minimize = false, free = false, progress = false, json = false;
};

// What one call of the subcommand works with.
struct Task {
  Problem problem;
  allocation::Options options;
  Clock::time_point start = Clock::now();
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start).count(); }
};

Result<Task> prepare(const Flags& flags) {
  Task task;
  allocation::CsvLimits limits;
  if (flags.rows) {
    TRY(limits.rows, parse_integer("--rows", *flags.rows, 1, 1'000'000'000));
  }
  task.options.seconds = 10;
  if (flags.time) {
    TRY(task.options.seconds, parse_number("--time", *flags.time, 0.001, 1e6));
  }
  task.options.steps = std::numeric_limits<int64_t>::max();
  if (flags.steps) {
    TRY(task.options.steps, parse_integer("--steps", *flags.steps, 0, std::numeric_limits<int64_t>::max()));
    if (!flags.time) task.options.seconds = 0;  // counted steps alone give the same answer on every machine
  }
  TRY(task.problem, allocation::read_csv(std::filesystem::path(flags.file), limits));
  if (flags.free)
    for (auto& buffer : task.problem.buffers) buffer.offset.reset();
  if (flags.capacity) {
    auto capacity = parse_bytes(*flags.capacity);
    if (!capacity) return std::move(capacity).error().within("--capacity");
    task.problem.capacity = *capacity;
  }
  task.options.minimize = flags.minimize || !flags.capacity;
  return task;
}

nlohmann::ordered_json summary(const Flags& flags, const Task& task, const Solution& solution, double seconds) {
  nlohmann::ordered_json object = {{"file", flags.file},
                                   {"buffers", task.problem.buffers.size()},
                                   {"height", solution.height.count},
                                   {"lower_bound", solution.lower_bound.count},
                                   {"gap", solution.gap()},
                                   {"optimal", solution.optimal()},
                                   {"seconds", seconds},
                                   {"steps", solution.steps}};
  if (const auto& capacity = task.problem.capacity) {
    object["capacity"] = capacity->count;
    object["fits"] = solution.height <= *capacity;
  }
  return object;
}

void print(const nlohmann::ordered_json& object) {
  std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

Result<void> write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) return input_error("{}: cannot be written", path).hint("does the directory exist, and is there room?");
  return {};
}

std::string names(const Problem& problem, const std::vector<int>& buffers) {
  constexpr size_t kMost = 24;
  std::string text;
  for (size_t k = 0; k < std::min(buffers.size(), kMost); ++k) {
    const auto& buffer = problem.buffers[buffers[k]];
    text += fmt::format("\n  {}: {} bytes, times [{}, {})", buffer.id, buffer.size.count, buffer.lower, buffer.upper);
  }
  if (buffers.size() > kMost) text += fmt::format("\n  and {} more; --json lists all", buffers.size() - kMost);
  return text;
}

std::string why(const Problem& problem, const Solution& solution, const Conflict& conflict) {
  const std::string capacity = fmt::format("{} bytes", problem.capacity->count);
  if (solution.lower_bound <= *problem.capacity)
    return fmt::format("no packing within {} was found in time, nor a proof that there is none", capacity);
  std::string text = fmt::format("{} buffers do not fit in {}: they need at least {}", problem.buffers.size(), capacity,
                                 solution.lower_bound.count);
  if (conflict.buffers.empty()) return text;
  const char* kind = conflict.minimum ? "A smallest set" : conflict.irreducible ? "An irreducible set" : "A set";
  text += fmt::format("\n{} that already does not fit, {} of {} buffers, needs {} bytes{}:{}", kind,
                      conflict.buffers.size(), problem.buffers.size(), conflict.lower_bound.count,
                      conflict.irreducible ? "; without any one of them the rest fits" : "",
                      names(problem, conflict.buffers));
  return text;
}

// The capacity was not met: say why, and what would do.
Result<int> refuse(const Flags& flags, const Task& task, const Solution& solution, double seconds) {
  Conflict conflict;
  if (solution.lower_bound > *task.problem.capacity) {
    allocation::Options options;
    options.steps = 5'000;
    options.seconds = flags.steps && !flags.time ? 0 : task.options.seconds;
    TRY(conflict, allocation::smallest_conflict(task.problem, *task.problem.capacity, options));
  }
  const bool open = solution.lower_bound <= *task.problem.capacity;
  Error error = does_not_fit("{}: {}", flags.file, why(task.problem, solution, conflict))
                    .hint(fmt::format("the lowest packing found needs --capacity {}{}", solution.height.count,
                                      open ? "; a longer --time may find a lower one" : ""));
  if (!flags.json) return error;
  nlohmann::ordered_json object = summary(flags, task, solution, seconds);
  object["error"] = error.message();
  object["hint"] = error.way_out();
  object["exit_code"] = error.exit_code();
  object["conflict"] = nlohmann::ordered_json::array();
  for (int b : conflict.buffers) object["conflict"].push_back(task.problem.buffers[b].id);
  object["conflict_is_minimum"] = conflict.minimum;
  object["conflict_is_irreducible"] = conflict.irreducible;
  print(object);
  std::cerr << "error: " << error.text() << "\n";
  return error.exit_code();
}

Result<int> allocate_file(const Flags& flags) {
  TRY(Task task, prepare(flags));
  if (flags.progress)
    task.options.improved = [&task](const Solution& better) {
      std::cerr << fmt::format("{:9.3f} s  height {}  gap {:.2f} %\n", task.seconds(), better.height.count,
                               100 * better.gap());
    };
  auto solved = allocation::allocate(task.problem, task.options);
  if (!solved) return std::move(solved).error().within(flags.file);
  const Solution& solution = *solved;
  const double seconds = task.seconds();
  if (auto valid = allocation::validate(task.problem, solution); !valid)
    return internal_error("the packing is wrong: {}", valid.error().message()).hint("please report it with the file");
  if (task.problem.capacity && solution.height > *task.problem.capacity) return refuse(flags, task, solution, seconds);
  if (flags.output) CHECK_OK(write_file(*flags.output, allocation::to_csv(task.problem, solution)));
  if (flags.picture) CHECK_OK(write_file(*flags.picture, allocation::to_svg(task.problem, solution)));
  if (flags.json) {
    print(summary(flags, task, solution, seconds));
    return 0;
  }
  std::cout << fmt::format(
      "buffers      {}\nheight       {}\nlower bound  {}\ngap          {:.2f} %{}\nseconds      {:.3f}\n",
      task.problem.buffers.size(), solution.height.count, solution.lower_bound.count, 100 * solution.gap(),
      solution.optimal() ? ", proven optimal" : "", seconds);
  return 0;
}

}  // namespace

void add_alloc(CLI::App& app, Chosen& chosen) {
  auto* command = app.add_subcommand("alloc", "Place buffers with known lifetimes in one memory");
  command->footer(kFooter);
  auto flags = std::make_shared<Flags>();
  command->add_option("file", flags->file, "the buffers")->type_name("FILE.csv")->required();
  command->add_option("--capacity", flags->capacity, "the memory; any packing within it will do")->type_name("SIZE");
  command->add_flag("--minimize", flags->minimize, "go on to the lowest packing, even within the capacity");
  command->add_option("--time", flags->time, "stop after this many seconds (10)")->type_name("S");
  command->add_option("--steps", flags->steps, "stop after this many steps: the same answer on every machine")
      ->type_name("N");
  command->add_option("-o,--output", flags->output, "write the buffers with their offsets")->type_name("F.csv");
  command->add_option("--svg", flags->picture, "draw the packing")->type_name("F.svg");
  command->add_flag("--free", flags->free, "take no notice of an offset column: improve a packing");
  command->add_option("--rows", flags->rows, "the most buffers to read (1000000)")->type_name("N");
  command->add_flag("--progress", flags->progress, "report each better packing on standard error");
  command->add_flag("--json", flags->json, "one JSON object on standard output");
  command->callback([&chosen, flags] { chosen = [flags] { return allocate_file(*flags); }; });
}

}  // namespace tessera::cli
