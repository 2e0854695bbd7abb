#include "run/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>

#include "base/file.hpp"
#include "emit/manifest.hpp"
#include "run/digest.hpp"
#include "run/model.hpp"
#include "schedule/build.hpp"
#include "simplify/simplify.hpp"
#include "train/build.hpp"
#include "train/loss_doubts.hpp"

namespace tessera::run {
namespace {

constexpr auto kChecksums = "checksums.txt";

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

Result<train::Program> make_program(Model model, const CompileOptions& options) {
  const auto kind = train::kind_of(model.graph);
  const auto train_options = with_usual(options.train, model);
  const bool trains = options.mode == Mode::Train ||
                      (options.mode == Mode::Auto && (kind != train::GraphKind::Inference || train_options.loss));
  if (trains) {
    TRY(auto program, train::training_program(std::move(model.graph), std::move(model.optimizer_graph), train_options));
    CHECK_OK(simplify::fuse(program.graph));
    return program;
  }
  if (kind != train::GraphKind::Inference)
    return input_error("'{}' is a training graph: there is no inference in it to run", model.graph.name)
        .hint("give the inference graph, or use `tessera train`");
  TRY(auto program, train::inference_program(std::move(model.graph)));
  simplify::fold_batch_norms(program.graph);
  CHECK_OK(simplify::fuse(program.graph));
  return program;
}

// Nothing at all to compute on is refused here, where the name of the input is still known.
Result<void> refuse_empty(const Graph& graph) {
  for (auto id : graph.inputs)
    if (graph.at(id).type.elements() == 0)
      return input_error("input '{}' is {}: it has no elements", graph.at(id).name, to_string(graph.at(id).type))
          .hint("every dimension must be at least 1; --dim and --batch set the named ones");
  return {};
}

// What a plan may take of each memory, with all that it reserves there.
std::vector<Bytes> budgets(const plan::Options& options, const plan::Plan& plan, const target::Target& target) {
  std::vector<Bytes> budget;
  for (auto& memory : target.memories) budget.push_back(memory.size);
  if (options.l1 && !budget.empty()) budget[0] = *options.l1;
  if (options.l2 && budget.size() > 1) budget[1] = std::min(budget[1], *options.l2 + plan.reserved[1]);
  if (options.l3 && budget.size() > 2) budget[2] = *options.l3;
  return budget;
}

// Every file of the list is there with the bytes that were written; images have no other witness.
Result<void> compare_checksums(const std::string& directory) {
  const std::filesystem::path root(directory);
  TRY(auto list, read_file(root / kChecksums));
  std::string_view text(reinterpret_cast<const char*>(list.data()), list.size());
  constexpr size_t kDigest = 16, kGap = 2;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.size() <= kDigest + kGap) return mismatch("{}: {} is damaged", directory, kChecksums);
    const std::string path(line.substr(kDigest + kGap));
    auto bytes = read_file(root / path);
    if (!bytes) return mismatch("{}: {} is missing or cannot be read", directory, path).hint("compile the model again");
    if (Digest().add(*bytes).hex() != line.substr(0, kDigest))
      return mismatch("{}: {} has changed since it was written", directory, path).hint("compile the model again");
  }
  return {};
}

}  // namespace

plan::Options plan_options(const CompileOptions& options, const target::Target& target) {
  auto plan = options.plan;
  plan.cores = static_cast<int>(options.cores.value_or(target.workers));
  return plan;
}

Result<Compiled> load_program(const ModelSource& source, const CompileOptions& options) {
  Stopwatch watch;
  Compiled compiled{.model = source.model};
  TRY(compiled.target, target::load_target(options.target, target::default_target_directory()));
  constexpr Bytes kRoomy(int64_t{1} << 30);
  if (options.roomy)
    for (auto& memory : compiled.target.memories) memory.size = std::max(memory.size, kRoomy);
  TRY(auto model, load_model(source));
  compiled.notes = model.notes;
  CHECK_OK(refuse_empty(model.graph));
  const auto loss = with_usual(options.train, model).loss;
  if (loss && options.mode != Mode::Infer && train::kind_of(model.graph) == train::GraphKind::Inference)
    if (auto doubt = train::loss_doubt(model.graph, *loss)) compiled.notes.push_back(*std::move(doubt));
  auto program = make_program(std::move(model), options);
  if (!program) return std::move(program).error().within(source.model);
  compiled.program = *std::move(program);
  compiled.seconds = watch.seconds();
  return compiled;
}

Result<Compiled> compile_model(const ModelSource& source, const CompileOptions& options) {
  TRY(auto compiled, load_program(source, options));
  compiled.asked = plan_options(options, compiled.target);
  CHECK_OK(plan_program(compiled));
  return compiled;
}

Result<void> plan_program(Compiled& compiled) {
  Stopwatch watch;
  auto plan = plan::make_plan(compiled.program, compiled.target, compiled.asked);
  if (!plan) return std::move(plan).error().within(compiled.model);
  compiled.plan = *std::move(plan);
  TRY(compiled.schedule, schedule::build(compiled.program.graph, compiled.plan, compiled.target));
  compiled.budget = budgets(compiled.asked, compiled.plan, compiled.target);
  CHECK_OK(check::check(compiled.program.graph, compiled.plan, compiled.schedule, compiled.target,
                        {.budget = compiled.budget}));
  compiled.seconds += watch.seconds();
  return {};
}

Result<emit::Project> make_project(Compiled& compiled, emit::HarnessOptions harness) {
  Stopwatch watch;
  harness.budget = compiled.budget;
  TRY(auto project, emit::emit(compiled.program, compiled.plan, compiled.schedule, compiled.target, harness));
  std::string sums;
  for (auto& file : project.files) sums += fmt::format("{}  {}\n", Digest().add(file.bytes).hex(), file.path);
  project.files.push_back({kChecksums, std::move(sums)});
  std::ranges::sort(project.files, {}, &emit::File::path);
  compiled.seconds += watch.seconds();
  return project;
}

Result<check::Verdict> check_directory(const std::string& directory) {
  TRY(auto manifest, emit::read_manifest(directory));
  TRY(auto target, target::load_target(manifest.target, target::default_target_directory()));
  CHECK_OK(verify(manifest.program.graph));
  auto verdict = check::check(manifest.program.graph, manifest.plan, manifest.schedule, target,
                              {.budget = manifest.options.budget, .refusal = ErrorKind::Mismatch});
  if (!verdict) return std::move(verdict).error().within(directory);
  TRY(auto project, emit::emit(manifest.program, manifest.plan, manifest.schedule, target, manifest.options));
  TRY(auto differing, emit::differing_files(project, directory));
  if (!differing.empty())
    return mismatch("{}: {} is not what the schedule says", directory, differing[0])
        .hint("compile the model again; edits of generated files do not last");
  CHECK_OK(compare_checksums(directory));
  return verdict;
}

}  // namespace tessera::run
