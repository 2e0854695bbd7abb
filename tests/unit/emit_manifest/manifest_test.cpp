#include "emit/manifest.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "check/check.hpp"
#include "emit/manifest_text.hpp"
#include "support/compiled.hpp"

namespace tessera::emit {
namespace {

using test::compile_network;
using test::TemporaryDirectory;

std::string text_of(const std::filesystem::path& path) {
  std::stringstream all;
  all << std::ifstream(path, std::ios::binary).rdbuf();
  return all.str();
}

TEST(Manifest, EmittingWhatWasReadGivesTheSameBytes) {
  for (const auto& options :
       {test::NetworkOptions{}, test::NetworkOptions{.model = "mlp:13-7-5-3", .batch = 7, .plan = {.l1 = Bytes(4096)}},
        test::NetworkOptions{.model = "mlp:9-4", .training = false},
        test::NetworkOptions{.model = "resnet8", .plan = {.l1 = Bytes(65536)}}}) {
    auto network = compile_network(options);
    ASSERT_TRUE(network) << network.error().text();
    if (options.training) network->harness.reference_losses.assign(4, 1.5f);
    auto project = network->project();
    ASSERT_TRUE(project) << project.error().text();
    TemporaryDirectory place;
    ASSERT_TRUE(write_project(*project, place.path / "p"));
    auto back = read_manifest(place.path / "p");
    ASSERT_TRUE(back) << back.error().text();
    EXPECT_EQ(back->target, "siracusa");
    auto again = emit(back->program, back->plan, back->schedule, network->target, back->options);
    ASSERT_TRUE(again) << again.error().text();
    ASSERT_EQ(again->files.size(), project->files.size());
    for (size_t i = 0; i < project->files.size(); ++i)
      EXPECT_EQ(again->files[i].bytes, project->files[i].bytes) << project->files[i].path;
    EXPECT_EQ(to_string(back->program.graph), to_string(network->program.graph));
    // The manifest speaks of every member of a plan, so equal manifests are equal plans; but these it must have kept:
    EXPECT_EQ(back->plan.reserved, network->plan.reserved);
    EXPECT_EQ(back->plan.cores, network->plan.cores);
    EXPECT_TRUE(check::check(back->program.graph, back->plan, back->schedule, network->target));
    EXPECT_EQ(schedule::to_string(back->schedule, back->program.graph),
              schedule::to_string(network->schedule, network->program.graph));
  }
}

TEST(Manifest, EveryAttributeAndRealReadsBack) {
  auto network = compile_network({.model = "mlp:3-2", .training = false});
  ASSERT_TRUE(network) << network.error().text();
  auto& node = network->program.graph.at(NodeId{0});
  auto infinity = std::numeric_limits<float>::infinity();
  node.attributes.set("i", int64_t{-5});
  node.attributes.set("f", infinity);
  node.attributes.set("s", std::string("a\"b"));
  node.attributes.set("is", std::vector<int64_t>{1, -2});
  node.attributes.set("fs", std::vector<float>{0.1f, -infinity});
  node.attributes.set("ss", std::vector<std::string>{"x", ""});
  node.attributes.set("t", TensorData::scalar(0.3f));
  auto project = network->project();
  ASSERT_TRUE(project) << project.error().text();
  TemporaryDirectory place;
  ASSERT_TRUE(write_project(*project, place.path / "p"));
  auto back = read_manifest(place.path / "p");
  ASSERT_TRUE(back) << back.error().text();
  const auto& read = back->program.graph.at(NodeId{0}).attributes;
  EXPECT_EQ(read.integer("i", 0), -5);
  EXPECT_EQ(read.real("f", 0), infinity);
  EXPECT_EQ(read.text("s", ""), "a\"b");
  EXPECT_EQ(read.integers("is"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(read.reals("fs"), (std::vector<float>{0.1f, -infinity}));
  EXPECT_EQ(std::get<std::vector<std::string>>(*read.find("ss")), (std::vector<std::string>{"x", ""}));
  EXPECT_EQ(std::get<TensorData>(*read.find("t")).as<float>()[0], 0.3f);
}

TEST(Manifest, ADirectoryThatIsNoProjectIsRefused) {
  TemporaryDirectory place;
  for (const auto& path : {place.path, place.path / "missing"}) {
    auto refused = read_manifest(path);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().exit_code(), 2);
    EXPECT_FALSE(refused.error().way_out().empty());
  }
}

// Each number that is an index, one at a time, set to something that it cannot be: an error or the same meaning, never
// a crash.
void damage(nlohmann::json& all, nlohmann::json& here, const std::filesystem::path& project, int& tried, int& refused) {
  if (here.is_structured()) {
    for (auto& item : here) damage(all, item, project, tried, refused);
    return;
  }
  auto old = here;
  for (const nlohmann::json& wrong : {nlohmann::json(1 << 20), nlohmann::json(-7), nlohmann::json("nonsense"),
                                      nlohmann::json(nullptr), nlohmann::json("v99")}) {
    here = wrong;
    std::ofstream(project / "schedule.json") << all.dump();
    ++tried;
    refused += !read_manifest(project);
  }
  here = old;
}

TEST(Manifest, ADamagedManifestNeverCrashesTheReader) {
  auto network = compile_network({.model = "mlp:3-2", .training = false, .plan = {.l1 = Bytes(4096)}});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project);
  TemporaryDirectory place;
  ASSERT_TRUE(write_project(*project, place.path / "p"));
  auto text = text_of(place.path / "p" / "schedule.json");
  auto json = nlohmann::json::parse(text);
  int tried = 0, refused = 0;
  damage(json, json, place.path / "p", tried, refused);
  EXPECT_GT(tried, 300);
  EXPECT_GT(refused, tried / 2);
  for (size_t length = 0; length < text.size(); length += 97) {
    std::ofstream(place.path / "p" / "schedule.json") << text.substr(0, length);
    EXPECT_FALSE(read_manifest(place.path / "p"));
  }
}

TEST(Manifest, AnImageOutsideOfTheProjectIsNotRead) {
  auto network = compile_network({.model = "mlp:3-2", .training = false});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project);
  TemporaryDirectory place;
  ASSERT_TRUE(write_project(*project, place.path / "p"));
  auto json = nlohmann::json::parse(text_of(place.path / "p" / "schedule.json"));
  json["harness"]["samples"][0]["image"] = "images/../../secret";
  std::ofstream(place.path / "p" / "schedule.json") << json.dump();
  auto refused = read_manifest(place.path / "p");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("not an image of the project"), std::string::npos);
}

TEST(ManifestText, ExpressionsReadBackToTheSameStructure) {
  auto t = Expr::var(0), u = Expr::var(1);
  for (const Expr& e : {Expr(-5), t, (t + 1) * 4 - u, min(t / 3, u % 5), both(less(t, 4), equal(u, max(t, 2)))}) {
    auto back = read_expression(expression_text(e), 2);
    ASSERT_TRUE(back);
    EXPECT_TRUE(same(*back, e)) << expression_text(e);
  }
  EXPECT_EQ(expression_text((t + 1) * 4), "* + v0 1 4");
  for (const char* wrong : {"", "+", "+ 1", "+ 1 2 3", "v2", "v-1", "x", "1x", "++ 1 2"})
    EXPECT_FALSE(read_expression(wrong, 2)) << wrong;
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "+ ";
  EXPECT_FALSE(read_expression(deep, 2));
}

TEST(ManifestText, BytesReadBack) {
  std::vector<std::byte> bytes = {std::byte{0}, std::byte{255}, std::byte{16}};
  EXPECT_EQ(bytes_text(bytes), "00ff10");
  EXPECT_EQ(read_bytes("00ff10").value(), bytes);
  EXPECT_FALSE(read_bytes("0"));
  EXPECT_FALSE(read_bytes("0g"));
}

}  // namespace
}  // namespace tessera::emit
