#include "run/grid.hpp"

#include <map>

#include "run/model.hpp"

namespace tessera::run {
namespace {

class Grid {
 public:
  explicit Grid(const GridOptions& options) : options_(options) {}

  report::Comparison run() {
    for (auto& model : options_.models) {
      reference(model);
      for (auto& target : options_.targets)
        for (auto& l1 : options_.l1)
          for (auto home : options_.homes)
            for (auto way : options_.ways) cell(model, target, l1, home, way);
    }
    return std::move(out_);
  }

 private:
  void say(const std::string& what) const {
    if (options_.run.progress) options_.run.progress(what);
  }
  RunOptions quiet() const {
    auto run = options_.run;
    run.progress = {};
    return run;
  }
  size_t cells() const {
    return options_.models.size() * options_.targets.size() * options_.l1.size() * options_.homes.size() *
           options_.ways.size();
  }

  static Result<report::RunReport> execute(Compiled& compiled, const RunOptions& run) {
    return compiled.program.training() ? train(compiled, run, {}) : infer(compiled, run, {});
  }

  // On the host everything fits: the memories are as large as need be.
  Result<report::RunReport> untiled_on_host(const ModelSource& model) const {
    auto compile = options_.compile;
    compile.target = options_.targets[0];
    compile.roomy = true;
    compile.plan = {.tiling = false};
    TRY(auto compiled, compile_model(model, compile));
    auto run = quiet();
    run.engine = Engine::Host;
    run.sanitize = false;
    return execute(compiled, run);
  }

  void reference(const ModelSource& model) {
    say(fmt::format("{}: the host's untiled run", model.model));
    auto report = untiled_on_host(model);
    report::ReferenceRun entry{.model = model.model};
    if (report)
      entry.bits = report->bits;
    else
      entry.failure = std::move(report).error();
    out_.references.push_back(std::move(entry));
  }

  Result<report::RunReport> run_cell(const ModelSource& model, const CompileOptions& compile) {
    TRY(auto compiled, compile_model(model, compile));
    const auto run = quiet();
    TRY(auto key, project_digest(compiled, run));
    if (auto seen = seen_.find(key); seen != seen_.end()) return seen->second;
    auto report = execute(compiled, run);
    if (report) seen_.emplace(key, *report);
    return report;
  }

  void cell(const ModelSource& model, const std::string& target, std::optional<Bytes> l1, plan::Home home, Way way) {
    auto compile = options_.compile;
    compile.target = target;
    compile.plan.l1 = l1;
    compile.plan.home = home;
    compile.plan.tiling = way != Way::Untiled;
    compile.plan.buffering = way == Way::Single   ? plan::Buffering::Single
                             : way == Way::Double ? plan::Buffering::Double
                                                  : plan::Buffering::Auto;
    report::Cell cell{.model = model.model,
                      .target = target,
                      .l1 = l1 ? format_bytes(*l1) : "own",
                      .home = std::string(name_of(home)),
                      .mode = std::string(name_of(way))};
    const auto name = fmt::format("[{}/{}] {} {} L1 {} home {} {}", out_.cells.size() + 1, cells(), cell.model, target,
                                  cell.l1, cell.home, cell.mode);
    say(name);
    if (auto report = run_cell(model, compile)) {
      if (auto& bits = out_.references.back().bits; !bits.empty()) cell.same_bits = report->bits == bits;
      cell.run = *std::move(report);
    } else {
      cell.failure = std::move(report).error();
    }
    say(fmt::format("{}: {}{}", name,
                    cell.run && cell.run->train_cycles ? fmt::format("{:.0f} cycles, bits ", *cell.run->train_cycles)
                                                       : std::string(),
                    report::ending(cell)));
    out_.cells.push_back(std::move(cell));
  }

  const GridOptions& options_;
  report::Comparison out_;
  std::map<std::string, report::RunReport> seen_;  // by project: the same C needs no second run
};

}  // namespace

Result<report::Comparison> compare_runs(const GridOptions& options) {
  for (auto& target : options.targets) CHECK_OK(target::load_target(target, target::default_target_directory()));
  for (auto& model : options.models) CHECK_OK(load_model(model));
  return Grid(options).run();
}

}  // namespace tessera::run
