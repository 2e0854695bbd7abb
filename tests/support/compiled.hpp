// A network of the zoo, compiled as far as the emission, for tests of what comes behind.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include "emit/emit.hpp"
#include "plan/make_plan.hpp"
#include "schedule/build.hpp"
#include "target/target.hpp"
#include "train/build.hpp"
#include "train/dataset.hpp"
#include "train/zoo.hpp"

namespace tessera::test {

struct CompiledNetwork {
  train::Program program;
  plan::Plan plan;
  schedule::Schedule schedule;
  target::Target target;
  emit::HarnessOptions harness;

  Result<emit::Project> project() const { return emit::emit(program, plan, schedule, target, harness); }
};

struct NetworkOptions {
  std::string model = "simplemlp";
  int64_t batch = 1;
  bool training = true;
  plan::Options plan;
  int steps = 2;
  int accumulate = 2;
};

inline Result<CompiledNetwork> compile_network(const NetworkOptions& options) {
  CompiledNetwork c;
  TRY(c.target, target::load_target("siracusa", std::string(TESSERA_ROOT) + "/targets"));
  TRY(auto graph, train::zoo_model(options.model, options.batch));
  if (options.training) {
    TRY(c.program, train::training_program(std::move(graph), std::nullopt, {.loss = train::Loss::CrossEntropy}));
  } else {
    TRY(c.program, train::inference_program(std::move(graph)));
  }
  TRY(c.plan, plan::make_plan(c.program, c.target, options.plan));
  TRY(c.schedule, schedule::build(c.program.graph, c.plan, c.target));
  c.harness.steps = options.steps;
  c.harness.accumulate = options.training ? options.accumulate : 1;
  c.harness.data = train::synthetic_samples(c.program, int64_t{options.steps} * options.accumulate, 1);
  return c;
}

// A directory that goes away with its owner.
class TemporaryDirectory {
 public:
  TemporaryDirectory() {
    auto pattern = (std::filesystem::temp_directory_path() / "tessera-test-XXXXXX").string();
    path = ::mkdtemp(pattern.data());
  }
  ~TemporaryDirectory() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

  std::filesystem::path path;
};

}  // namespace tessera::test
