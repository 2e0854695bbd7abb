// Room is set aside for code and for the controller's stack before they are known. Where a program takes more, the plan
// is made again, and says so; where the user has said how much code there may be, that stands.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/units.hpp"
#include "run/chip.hpp"
#include "run/execute.hpp"
#include "support/compiled.hpp"

namespace tessera::run {
namespace {

constexpr auto kModel = "mlp:61-37-10";

Compiled compiled(const std::string& model, const plan::Options& plan) {
  auto c = compile_model({.model = model}, {.mode = Mode::Train, .plan = plan});
  EXPECT_TRUE(c) << c.error().text();
  return *std::move(c);
}

// Trains and keeps what is said meanwhile.
struct Training {
  std::vector<std::string> said;
  Result<report::RunReport> report;

  explicit Training(Compiled& c, const Directory& keep = {})
      : report(train(c, {.steps = 2, .progress = [this](auto what) { said.emplace_back(what); }}, keep)) {}

  bool planned_again(const std::string& because) const {
    return std::ranges::any_of(
        said, [&](auto& text) { return text.starts_with(because) && text.ends_with("planning again"); });
  }
};

std::string host_bits() {
  auto c = compiled(kModel, {});
  auto report = train(c, {.engine = Engine::Host, .steps = 2}, {});
  EXPECT_TRUE(report) << report.error().text();
  return report->bits;
}

TEST(Grant, CodeThatTakesMoreIsPlannedAgain) {
  auto c = compiled(kModel, {.code = 20000_B});
  c.asked.code.reset();
  const Training training(c);
  ASSERT_TRUE(training.report) << training.report.error().text();
  EXPECT_TRUE(training.planned_again("code takes "));
  EXPECT_GT(c.plan.code, 20000_B);
  EXPECT_GE(c.plan.reserved[1], c.plan.code);
  EXPECT_EQ(training.report->bits, host_bits());
}

TEST(Grant, WhatTheUserGrantsStands) {
  auto c = compiled(kModel, {.code = 20000_B});
  const Training training(c);
  ASSERT_FALSE(training.report);
  EXPECT_EQ(training.report.error().kind(), ErrorKind::DoesNotFit);
  EXPECT_TRUE(training.report.error().way_out().starts_with("--code ")) << training.report.error().text();
  EXPECT_FALSE(training.planned_again(""));
}

// Tensors leave 23 KB of L2: the linker refuses what was planned for less code than there is.
TEST(Grant, CodeThatDoesNotEvenLinkIsMeasuredToo) {
  auto c = compiled("mlp:500-340-10", {.home = plan::Home::L2, .code = 10000_B});
  const Training fixed(c);
  ASSERT_FALSE(fixed.report);
  EXPECT_TRUE(fixed.report.error().way_out().starts_with("--code ")) << fixed.report.error().text();
  c.asked.code.reset();
  const Training stays(c);
  ASSERT_FALSE(stays.report) << "it has no room beside the tensors";
  EXPECT_EQ(stays.report.error().kind(), ErrorKind::DoesNotFit) << stays.report.error().text();
  EXPECT_NE(stays.report.error().text().find("and beside it"), std::string::npos) << stays.report.error().text();
}

TEST(Grant, WhatDoesNotLinkFitsWhereTensorsMayMove) {
  auto c = compiled("mlp:500-340-10", {.home = plan::Home::L2, .code = 10000_B});
  c.asked = {};
  const Training training(c);
  ASSERT_TRUE(training.report) << training.report.error().text();
  EXPECT_TRUE(training.planned_again("code takes "));
}

// What is kept of such a run is judged by what the plan has granted, as every project is.
TEST(Grant, AStackThatTakesMoreIsPlannedAgain) {
  const test::TemporaryDirectory place;
  std::filesystem::copy_file(TESSERA_ROOT "/targets/siracusa.yaml", place.path / "siracusa.yaml");
  std::ofstream(place.path / "tight.yaml")
      << "extends: siracusa\nname: tight\nstacks: {fabric_controller: 4k, controller: 640, worker: 1152}\n";
  setenv("TESSERA_TARGETS", place.path.c_str(), 1);
  auto c = compile_model({.model = kModel}, {.mode = Mode::Train, .target = "tight"});
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->plan.controller_stack, 640_B);
  const auto before = c->plan.reserved[0];
  const auto kept = (place.path / "kept").string();
  const Training training(*c, kept);
  ASSERT_TRUE(training.report) << training.report.error().text();
  EXPECT_TRUE(training.planned_again("the stack of the cluster's controller takes "));
  EXPECT_GT(c->plan.controller_stack, 640_B);
  EXPECT_EQ(c->plan.reserved[0] - before, c->plan.controller_stack - 640_B);
  EXPECT_EQ(training.report->bits, host_bits());
  const auto verdict = check_directory(kept);
  EXPECT_TRUE(verdict) << verdict.error().text();
  unsetenv("TESSERA_TARGETS");
}

// Calls with many arguments, and kernels that look at one channel: the most of both in the zoo. A build that does not
// profile has a deeper stack than the one that `train` runs.
TEST(Grant, TheStackOfTheDeepestNetworkIsEnoughHoweverItIsBuilt) {
  auto c = compiled("mobilenetv1", {.buffering = plan::Buffering::Double, .home = plan::Home::L3, .l1 = 32768_B});
  auto project = make_project(c, {.steps = 1, .data = train::synthetic_samples(c.program, 1, 1)});
  ASSERT_TRUE(project) << project.error().text();
  for (bool prints : {false, true}) {
    const test::TemporaryDirectory place;
    ASSERT_TRUE(emit::write_project(*project, place.path / "out"));
    auto built = build_chip(place.path / "out", c.target, {.print_results = prints});
    EXPECT_TRUE(built) << built.error().text();
  }
}

}  // namespace
}  // namespace tessera::run
