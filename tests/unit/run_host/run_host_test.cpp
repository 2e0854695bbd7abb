#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "run/host.hpp"
#include "run/process.hpp"
#include "support/compiled.hpp"

namespace tessera::run {
namespace {

using test::compile_network;
using test::TemporaryDirectory;

// One cache of objects for all runs of this program.
const std::filesystem::path& objects() {
  static TemporaryDirectory place;
  return place.path;
}

Result<RunResult> run_network(const test::CompiledNetwork& network, HostOptions options = {}) {
  TRY(auto project, network.project());
  TemporaryDirectory place;
  CHECK_OK(emit::write_project(project, place.path / "p"));
  options.objects = objects();
  return run_host(place.path / "p", options);
}

TEST(RunHost, LossesFallAndParametersChange) {
  auto network = compile_network({.model = "mlp:20-16-4", .batch = 4, .steps = 30, .accumulate = 2});
  ASSERT_TRUE(network) << network.error().text();
  auto result = run_network(*network);
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->losses.size(), 60u);
  EXPECT_LT(result->losses.back(), result->losses.front());
  ASSERT_EQ(result->parameters.size(), network->program.parameters.size());
  for (size_t i = 0; i < result->parameters.size(); ++i) {
    const auto& before = network->program.graph.at(network->program.parameters[i].weight);
    EXPECT_EQ(result->parameters[i].name, before.name);
    EXPECT_EQ(result->parameters[i].data.type(), before.type);
    EXPECT_FALSE(std::ranges::equal(result->parameters[i].data.bytes(), before.value.bytes()));
  }
  EXPECT_TRUE(result->matched);
}

TEST(RunHost, TheSameBitsForAnyTilingBufferingCoresAndMoment) {
  std::optional<std::string> bits;
  auto expect_same = [&](const test::NetworkOptions& options, const HostOptions& host) {
    auto network = compile_network(options);
    ASSERT_TRUE(network) << network.error().text();
    auto result = run_network(*network, host);
    ASSERT_TRUE(result) << result.error().text();
    if (!bits) bits = result->bits;
    EXPECT_EQ(result->bits, *bits);
  };
  test::NetworkOptions options{.model = "mlp:37-19-5", .batch = 7, .steps = 2, .accumulate = 3};
  options.plan.tiling = false;
  expect_same(options, {});
  options.plan = {.buffering = plan::Buffering::Single, .l1 = Bytes(2048)};
  expect_same(options, {.cores = 1});
  options.plan = {.buffering = plan::Buffering::Double, .l1 = Bytes(2048)};
  expect_same(options, {.cores = 3});
  expect_same(options, {.sanitize = true, .seed = 5});
  expect_same(options, {.sanitize = true, .seed = 6});
}

TEST(RunHost, AReferenceThatAgreesPassesAndOneThatDoesNotIsSeen) {
  auto network = compile_network({.model = "mlp:6-5-3", .steps = 2, .accumulate = 2});
  ASSERT_TRUE(network) << network.error().text();
  auto first = run_network(*network);
  ASSERT_TRUE(first) << first.error().text();
  network->harness.reference_losses = first->losses;
  network->harness.tolerance = 1e-6f;
  auto same = run_network(*network);
  ASSERT_TRUE(same) << same.error().text();
  EXPECT_TRUE(same->matched);
  for (float wrong : {first->losses[3] + 1e-3f, std::nanf("")}) {
    network->harness.reference_losses[3] = wrong;
    auto result = run_network(*network);
    ASSERT_TRUE(result) << result.error().text();
    EXPECT_FALSE(result->matched);
    EXPECT_EQ(result->bits, first->bits);
  }
}

TEST(RunHost, ALossThatIsNotANumberNeverMatches) {
  auto network = compile_network({.model = "mlp:6-3", .steps = 1, .accumulate = 1});
  ASSERT_TRUE(network) << network.error().text();
  auto& samples = network->harness.data.data[0];
  std::vector<float> values(static_cast<size_t>(samples.type().elements()), std::nanf(""));
  samples = TensorData::f32(samples.shape(), values);
  network->harness.reference_losses = {std::nanf("")};
  auto result = run_network(*network);
  ASSERT_TRUE(result) << result.error().text();
  EXPECT_TRUE(std::isnan(result->losses[0]));
  EXPECT_FALSE(result->matched);
}

TEST(RunHost, AReferenceOfTheWrongLengthIsRefused) {
  auto network = compile_network({.model = "mlp:6-3", .steps = 2, .accumulate = 2});
  ASSERT_TRUE(network) << network.error().text();
  network->harness.reference_losses = {1.0f, 2.0f};
  auto refused = network->project();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
}

// 3 samples in batches of 2: 01, 20, 12, 01, ...
TEST(RunHost, NoMicroBatchIsDroppedWhenSamplesDoNotDivide) {
  auto network = compile_network({.model = "mlp:4-3", .batch = 2, .training = false, .steps = 4, .accumulate = 1});
  ASSERT_TRUE(network) << network.error().text();
  std::vector<float> values;
  for (int sample = 0; sample < 3; ++sample)
    for (int i = 0; i < 4; ++i) values.push_back(static_cast<float>(sample * 10 + i));
  network->harness.data.data[0] = TensorData::f32({3, 4}, values);
  auto result = run_network(*network);
  ASSERT_TRUE(result) << result.error().text();
  ASSERT_EQ(result->outputs.size(), 4u);
  auto row = [&](size_t run, size_t b) {
    auto all = result->outputs[run].data.as<float>();
    return std::vector<float>(all.begin() + static_cast<long>(b) * 3, all.begin() + static_cast<long>(b + 1) * 3);
  };
  EXPECT_EQ(row(1, 1), row(0, 0));  // sample 0 again
  EXPECT_EQ(row(2, 0), row(0, 1));  // sample 1 again
  EXPECT_EQ(row(2, 1), row(1, 0));  // sample 2 again
  EXPECT_EQ(row(3, 0), row(0, 0));
  EXPECT_NE(row(0, 0), row(0, 1));
}

TEST(RunHost, AMissingCompilerIsSaid) {
  auto network = compile_network({.model = "mlp:4-3", .training = false});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project);
  TemporaryDirectory place;
  ASSERT_TRUE(emit::write_project(*project, place.path / "p"));
  auto refused = run_host(place.path / "p", {.compiler = "no-such-compiler"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  EXPECT_NE(refused.error().text().find("no-such-compiler"), std::string::npos);
  EXPECT_NE(refused.error().text().find("install gcc"), std::string::npos);
}

TEST(RunHost, ACompilerThatFailsIsQuoted) {
  auto network = compile_network({.model = "mlp:4-3", .training = false});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project);
  TemporaryDirectory place;
  ASSERT_TRUE(emit::write_project(*project, place.path / "p"));
  std::ofstream(place.path / "p" / "network.c") << "this is not C\n";
  auto refused = run_host(place.path / "p", {.objects = objects()});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 4);
  EXPECT_NE(refused.error().text().find("network.c:1"), std::string::npos) << refused.error().text();
}

TEST(RunHost, ASecondBuildCompilesNothingThatIsThere) {
  auto network = compile_network({.model = "mlp:4-3", .training = false});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project);
  TemporaryDirectory place;
  ASSERT_TRUE(emit::write_project(*project, place.path / "p"));
  auto first = build_host(place.path / "p", {.objects = objects()});
  ASSERT_TRUE(first) << first.error().text();
  auto written = std::filesystem::last_write_time(*first);
  auto second = build_host(place.path / "p", {.objects = objects()});
  ASSERT_TRUE(second);
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(std::filesystem::last_write_time(*second), written);
  std::ofstream(place.path / "p" / "ts_config.h") << "#define TS_CORES 2\n";
  auto other = build_host(place.path / "p", {.objects = objects()});
  ASSERT_TRUE(other) << other.error().text();
  EXPECT_NE(*other, *first);
}

TEST(RunHost, NothingIsLeftBehindInTheProjectButItsBuild) {
  auto network = compile_network({.model = "mlp:4-3", .training = false});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project);
  TemporaryDirectory place;
  ASSERT_TRUE(emit::write_project(*project, place.path / "p"));
  ASSERT_TRUE(run_host(place.path / "p", {}));
  EXPECT_EQ(emit::differing_files(*project, place.path / "p").value(), std::vector<std::string>{});
  for (const auto& entry : std::filesystem::directory_iterator(place.path / "p" / "build")) {
    auto name = entry.path().filename().string();
    EXPECT_TRUE(name.ends_with(".o") || name.starts_with("network-")) << name;
    EXPECT_FALSE(name.ends_with(".results") || name.ends_with(".part")) << name;
  }
}

TEST(RunHost, TheDigestTreatsEveryNanAlike) {
  RunResult a, b;
  a.losses = {std::nanf("1"), 1.0f};
  b.losses = {-std::nanf("2"), 1.0f};
  EXPECT_EQ(digest_of(a), digest_of(b));
  b.losses[1] = std::nextafter(1.0f, 2.0f);
  EXPECT_NE(digest_of(a), digest_of(b));
}

TEST(Process, ReportsCodesSignalsAndOutput) {
  auto done = run_process({"sh", "-c", "echo out; echo err >&2; exit 3"}, {});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code, 3);
  EXPECT_EQ(done->output, "out\nerr\n");
  auto killed = run_process({"sh", "-c", "kill -6 $$"}, {});
  ASSERT_TRUE(killed);
  EXPECT_EQ(killed->signal, 6);
  auto environment =
      run_process({"sh", "-c", "echo $X $HOME; pwd"}, {.directory = "/", .environment = {"X=5", "HOME=h"}});
  EXPECT_EQ(environment->output, "5 h\n/\n");
  EXPECT_FALSE(run_process({"/no/such/program"}, {}));
}

}  // namespace
}  // namespace tessera::run
