// Training on the virtual chip: the bits of the host, the same cycles every time, and broken programs found.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "run/chip.hpp"
#include "run/host.hpp"
#include "support/compiled.hpp"
#include "support/session.hpp"

namespace tessera::test {
namespace {

class Chip : public Session {
 protected:
  nlohmann::json train(const std::string& engine, const std::vector<std::string>& arguments) {
    std::vector<std::string> command{"train"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    command.insert(command.end(), {"--engine", engine, "--steps", "3"});
    return json(command);
  }
  void expect_bits_of_the_host(const std::vector<std::string>& arguments) {
    const auto host = train("host", arguments), chip = train("sim", arguments), again = train("sim", arguments);
    EXPECT_EQ(chip["bits"], host["bits"]) << fmt::format("{}", fmt::join(arguments, " "));
    EXPECT_EQ(chip["losses"], host["losses"]);
    EXPECT_EQ(chip["dma_bytes"], host["dma_bytes"]) << "measured, and as the schedule says";
    EXPECT_GT(chip["train_cycles"], 1000);
    EXPECT_GT(chip["optimizer_cycles"], 100);
    EXPECT_EQ(chip["train_cycles"], again["train_cycles"]);
    EXPECT_EQ(chip["operators"], again["operators"]);
    EXPECT_EQ(chip["instructions"], again["instructions"]);
  }
};

TEST_F(Chip, TheBitsOfTheHostOnEveryTarget) {
  for (auto* target : {"siracusa", "gap9"})
    for (auto* model : {"simplemlp", "mlp:61-37-10"}) expect_bits_of_the_host({model, "--target", target});
}

TEST_F(Chip, TheBitsOfTheHostHoweverItIsTiled) {
  for (auto* target : {"siracusa", "gap9"}) {
    expect_bits_of_the_host({"simplemlp", "--target", target, "--tiling", "off"});
    expect_bits_of_the_host({"simplemlp", "--target", target, "--l1", "8k"});
    expect_bits_of_the_host({"mlp:61-37-10", "--target", target, "--cores", "1"});
    expect_bits_of_the_host({"mlp:61-37-10", "--target", target, "--cores", "5", "--batch", "4", "--accumulate", "2"});
    expect_bits_of_the_host({"mlp:61-37-10", "--target", target, "--buffering", "single", "--l1", "24k"});
  }
}

TEST_F(Chip, OperatorsAddUpToTheStep) {
  const auto run = json({"train", "mlp:61-37-10", "--accumulate", "2", "--steps", "2"});
  EXPECT_EQ(run["engine"], "sim") << "the default";
  double training = 0, optimizer = 0;
  for (auto& op : run["operators"]) {
    (op["phase"] == "training" ? training : optimizer) += op["cycles"].get<double>();
    const double parts =
        op["compute_cycles"].get<double>() + op["dma_wait_cycles"].get<double>() + op["overhead_cycles"].get<double>();
    EXPECT_NEAR(parts, op["cycles"].get<double>(), 1e-6);
    EXPECT_GE(op["overhead_cycles"], 0);
    EXPECT_GT(op["compute_cycles"], 0);
  }
  // What is not in any operator: the counters, and the entry point with the registers that it saves.
  EXPECT_NEAR(training, run["train_cycles"].get<double>(), 400);
  EXPECT_NEAR(optimizer, run["optimizer_cycles"].get<double>(), 400);
  EXPECT_FALSE(run.contains("assumed"));
  const auto gap9 = json({"train", "mlp:61-37-10", "--target", "gap9", "--steps", "1"});
  EXPECT_EQ(gap9["assumed"], nlohmann::json({"cores.isa", "cores.macs_per_cycle", "dma", "timing", "registers"}));
  EXPECT_NE(tessera({"train", "mlp:61-37-10", "--target", "gap9", "--steps", "1"}).out.find("assumed: cores.isa"),
            std::string::npos);
}

TEST_F(Chip, CleanProgramsPassTheSanitizer) {
  for (auto* target : {"siracusa", "gap9"})
    for (auto* more : {"--tiling=on", "--tiling=off", "--l1=8k"}) {
      const auto host = train("host", {"mlp:61-37-10", "--target", target, more});
      const auto chip = train("sim", {"mlp:61-37-10", "--target", target, more, "--sanitize"});
      EXPECT_EQ(chip["bits"], host["bits"]);
    }
}

// Its first node that normalises finds scratch memory that nothing has written yet.
TEST_F(Chip, NormalisationReadsNothingUnwritten) {
  const auto host = train("host", {"dscnn", "--l1=64k"});
  const auto chip = train("sim", {"dscnn", "--l1=64k", "--sanitize"});
  EXPECT_EQ(chip["bits"], host["bits"]);
}

TEST_F(Chip, TheProjectsMakefileBuildsTheSameProgram) {
  tessera({"compile", "mlp:61-37-10", "-o", "out"});
  const auto make = run_program({"/usr/bin/make", "-C", "out", "chip", "PROFILE=1"}, folder.path());
  ASSERT_EQ(make.code, 0) << make.err;
  const auto sim = tessera({"sim", "out/build/network.elf"});
  EXPECT_TRUE(sim.out.starts_with("BENCH train_cycles=")) << sim.out;
  const auto run = json({"train", "mlp:61-37-10"});
  const auto total = static_cast<uint64_t>(run["train_cycles"].get<double>() * 8 + 0.5);
  EXPECT_NE(sim.out.find(fmt::format("train_cycles={} ", total)), std::string::npos) << sim.out << total;
}

// The gvsoc command, played by the virtual chip: what it prints is all that the engine sees.
TEST_F(Chip, GvsocRunsTheSameProgram) {
  const auto refused = tessera({"train", "mlp:61-37-10", "--engine", "gvsoc"}, 2);
  EXPECT_NE(refused.err.find("put its `gvsoc` on PATH"), std::string::npos) << refused.err;
  const auto place = folder.path() / "bin";
  std::filesystem::create_directory(place);
  std::ofstream(place / "gvsoc") << "#!/bin/sh\n"
                                    "[ \"$1\" = --target=gap9 ] && [ \"$3\" = run ] || exit 9\n"
                                    "exec " TESSERA_PROGRAM " sim \"${2#--binary=}\" --target gap9\n";
  std::filesystem::permissions(place / "gvsoc", std::filesystem::perms::owner_all);
  const std::vector<std::string> command{"train", "mlp:61-37-10", "--target", "gap9", "--steps", "3"};
  auto with = [&](const std::string& engine) {
    auto all = command;
    all.insert(all.begin(), {"/usr/bin/env", "PATH=" + place.string() + ":" + std::getenv("PATH"), TESSERA_PROGRAM});
    all.insert(all.end(), {"--engine", engine, "--json"});
    const auto ran = run_program(all, folder.path());
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out, nullptr, false);
  };
  const auto gvsoc = with("gvsoc"), sim = with("sim");
  EXPECT_EQ(gvsoc["engine"], "gvsoc");
  EXPECT_EQ(gvsoc["bits"], sim["bits"]);
  EXPECT_NEAR(gvsoc["train_cycles"].get<double>(), sim["train_cycles"].get<double>(),
              0.05 * sim["train_cycles"].get<double>());
}

TEST_F(Chip, InferenceGivesTheOutputsOfTheHost) {
  NEEDS_PYTHON();
  std::ofstream(folder.path() / "x.py") << "import numpy\nnumpy.savez('x.npz', input=numpy.linspace(-1, 1, 3 * 61, "
                                           "dtype=numpy.float32).reshape(3, 61))\n";
  ASSERT_EQ(run_program({"/usr/bin/python3", "x.py"}, folder.path()).code, 0);
  const std::vector<std::string> command{"infer", "mlp:61-37-10", "--batch", "3", "--inputs", "x.npz", "--engine"};
  auto with = [&](const std::string& engine) {
    auto all = command;
    all.push_back(engine);
    return json(all);
  };
  const auto host = with("host"), chip = with("sim");
  EXPECT_EQ(chip["bits"], host["bits"]);
  EXPECT_EQ(chip["outputs"], host["outputs"]);
  EXPECT_GT(chip["train_cycles"], 1000);
}

// --- through the engine's own interface: samples that L2 cannot hold, losses that do not match, edited programs

Result<run::Compiled> compiled(const std::string& model, const std::string& target = "siracusa",
                               const plan::Options& plan = {}) {
  run::CompileOptions options{.mode = run::Mode::Train, .target = target, .plan = plan};
  return run::compile_model({model}, options);
}

Result<run::RunResult> run_edited(const run::Compiled& c, const emit::HarnessOptions& harness, const std::string& from,
                                  const std::string& to, bool sanitize = true) {
  auto copy = c;
  TRY(auto project, run::make_project(copy, harness));
  for (auto& file : project.files) {
    if (file.path != "network.c" || from.empty()) continue;
    auto at = file.bytes.find(from);
    if (at == std::string::npos) return internal_error("nothing to edit: {}", from);
    file.bytes.replace(at, from.size(), to);
  }
  TemporaryDirectory place;
  CHECK_OK(emit::write_project(project, place.path / "p"));
  return run::run_chip(place.path / "p", c, {.sanitize = sanitize});
}

// Where a text begins in network.c.
ptrdiff_t line_of(const run::Compiled& c, const emit::HarnessOptions& harness, const std::string& text) {
  auto copy = c;
  auto project = run::make_project(copy, harness);
  if (!project) return 0;
  for (auto& file : project->files)
    if (file.path == "network.c")
      return 1 + std::ranges::count(std::string_view(file.bytes).substr(0, file.bytes.find(text)), '\n');
  return 0;
}

emit::HarnessOptions one_step(const train::Program& program) {
  return {.steps = 1, .data = train::synthetic_samples(program, 1, 1)};
}

// With tensors of the network beside them there or without.
TEST(ChipEngine, SamplesThatL2CannotHoldStandInTheRam) {
  for (auto home : {plan::Home::Auto, plan::Home::L3}) {
    auto c = compiled("simplemlp", "siracusa", {.home = home});
    ASSERT_TRUE(c) << c.error().text();
    const emit::HarnessOptions harness{
        .steps = 2, .accumulate = 2, .data = train::synthetic_samples(c->program, 1000, 1)};  // 3 MB
    auto chip = run_edited(*c, harness, "", "");
    ASSERT_TRUE(chip) << chip.error().text();
    auto copy = *c;
    TemporaryDirectory place;
    ASSERT_TRUE(emit::write_project(*run::make_project(copy, harness), place.path / "p"));
    auto host = run::run_host(place.path / "p", {});
    ASSERT_TRUE(host) << host.error().text();
    EXPECT_EQ(chip->bits, host->bits);
  }
}

TEST(ChipEngine, LossesAreComparedOnTheCluster) {
  auto c = compiled("mlp:20-16-4");
  ASSERT_TRUE(c) << c.error().text();
  auto harness = one_step(c->program);
  auto free_run = run_edited(*c, harness, "", "", false);
  ASSERT_TRUE(free_run) << free_run.error().text();
  harness.reference_losses = free_run->losses;
  auto same = run_edited(*c, harness, "", "", false);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE(same->matched);
  harness.reference_losses[0] += 0.5f;
  auto other = run_edited(*c, harness, "", "", false);
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_FALSE(other->matched);
}

void expect_found(const Result<run::RunResult>& result, const std::vector<std::string>& words) {
  ASSERT_FALSE(result) << "not found";
  EXPECT_EQ(result.error().kind(), ErrorKind::Mismatch);
  for (auto& word : words)
    EXPECT_NE(result.error().text().find(word), std::string::npos) << word << "\n" << result.error().text();
}

TEST(ChipEngine, BrokenProgramsAreFound) {
  auto c = compiled("mlp:61-37-10", "siracusa", {.buffering = plan::Buffering::Single});
  ASSERT_TRUE(c) << c.error().text();
  const auto harness = one_step(c->program);
  const auto broken = [&](const std::string& from, const std::string& to) { return run_edited(*c, harness, from, to); };
  ASSERT_TRUE(broken("", "")) << broken("", "").error().text();

  // A kernel starts while its input is still on its way.
  const std::string fork = "pi_cl_team_fork(TS_CORES, ts_matmul, &args);\n";
  const std::string waits = "  done(4); done(5);\n  " + fork;
  expect_found(broken(waits, "  " + fork), {"race", "'fc2.weight' of Gemm fc2", "core ", "ts_matmul", "matmul.c:"});
  // A request is used again, and one is waited for twice.
  const auto line = fmt::format("network.c:{})", line_of(*c, harness, waits));
  expect_found(broken(waits, "  fetch(L2_fc2_weight, L1_b, 1480, 4);\n" + waits),
               {"used again", "core 0", line, "'fc2.weight' of Gemm fc2"});
  const auto next = fmt::format("network.c:{})", 1 + line_of(*c, harness, waits));
  expect_found(broken(waits, "  done(4);\n" + waits), {"no transfer in flight", next, "'fc2.weight' of Gemm fc2"});
  // A transfer beyond the arena.
  expect_found(broken("L1_b, 1480,", "L1_b + TS_L1_BYTES, 1480,"),
               {"outside every arena", "L1 + ", "core 0", "during Gemm fc2", "dma.h:"});
  // A team that waits for a core that never comes.
  expect_found(broken(waits, "  pi_cl_team_barrier();\n" + waits),
               {"deadlock", "barrier", "during Gemm fc2", "core 0, in "});
  // An offset in L3 taken for a pointer.
  expect_found(broken(".a = l1(L1_relu1)", ".a = (float *)256"),
               {"L3", "core ", "ts_matmul", "matmul.c:", "during Gemm fc2"});
}

}  // namespace
}  // namespace tessera::test
