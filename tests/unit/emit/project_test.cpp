// Whole projects of the zoo's networks: they read well, compile cleanly, and are the same bytes every time.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>

#include "support/compiled.hpp"

namespace tessera {
namespace {

using test::compile_network;
using test::TemporaryDirectory;

size_t lines_of(const emit::Project& project, std::string_view path) {
  const auto* file = project.find(path);
  return file ? static_cast<size_t>(std::ranges::count(file->bytes, '\n')) : 0;
}

bool has(const char* program) {
  return std::system(fmt::format("command -v {} >/dev/null 2>&1", program).c_str()) == 0;
}

TEST(Project, SimplemlpIsUnder600LinesAndNoneIsTooWide) {
  auto network = compile_network({});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project) << project.error().text();
  size_t lines = 0;
  for (const char* path : {"network.c", "network.h", "ts_config.h", "config.c"}) {
    ASSERT_NE(project->find(path), nullptr);
    lines += lines_of(*project, path);
  }
  EXPECT_LT(lines, 600u);
  EXPECT_GT(lines, 200u);
  std::string_view text = project->find("network.c")->bytes;
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    EXPECT_LE(line.size(), 120u) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << line;
    text.remove_prefix(line.size() + 1);
  }
}

TEST(Project, CompilesWithoutAWarningUnderGccAndClang) {
  int compilers = 0;
  const plan::Options far{.home = plan::Home::L3, .l1 = Bytes(65536), .l2 = Bytes(65536)};
  for (const auto& options : {test::NetworkOptions{.model = "mlp:8-8-8-8", .plan = {.l1 = Bytes(2048)}},
                              test::NetworkOptions{.model = "mlp:7-5-3", .batch = 3, .training = false},
                              test::NetworkOptions{.model = "resnet8", .plan = far}}) {
    auto network = compile_network(options);
    ASSERT_TRUE(network) << network.error().text();
    auto project = network->project();
    ASSERT_TRUE(project) << project.error().text();
    TemporaryDirectory place;
    ASSERT_TRUE(emit::write_project(*project, place.path / "p"));
    for (const char* compiler : {"gcc", "clang"}) {
      if (!has(compiler)) continue;
      ++compilers;
      auto command =
          fmt::format("cd {} && make -s CC={} clean build/network > log 2>&1", (place.path / "p").string(), compiler);
      bool clean = std::system(command.c_str()) == 0;
      std::stringstream log;
      log << std::ifstream(place.path / "p" / "log").rdbuf();
      EXPECT_TRUE(clean) << compiler << ": " << log.str();
    }
  }
  if (compilers == 0) GTEST_SKIP() << "no C compiler here";
}

// The queues of the external RAM, the arena and the commands of the DMA, each from a multiple of 16 on: what stands
// beside the arena is taken from the controller's stack, or an arena that is full to the last byte does not link.
TEST(Project, WhatStandsBesideTheArenaIsTakenFromAStack) {
  std::set<int> commands_seen;
  for (const char* model : {"mlp:7-5-3", "mlp:40-30-20-10", "dscnn", "resnet8"}) {
    auto network = compile_network({.model = model});
    ASSERT_TRUE(network) << network.error().text();
    auto project = network->project();
    ASSERT_TRUE(project) << project.error().text();
    auto number = [&](const char* path, std::string_view before) {
      std::string_view text = project->find(path)->bytes;
      auto at = text.find(before);
      return at == std::string_view::npos ? -1 : std::atoi(text.data() + at + before.size());
    };
    const int commands = number("network.c", "PI_CL_L1 static pi_cl_dma_cmd_t dma[");
    ASSERT_GT(commands, 0) << model;
    EXPECT_EQ(number("chip/memory.ld", "__controller_stack_bytes = 2048 - (DEFINED(ts_broken_rule) ? 0 : "),
              48 + (commands + 15) / 16 * 16)
        << model << ": " << commands << " commands";
    commands_seen.insert(commands % 16);
  }
  EXPECT_GT(commands_seen.size(), 2u);
}

TEST(Project, TheMakefileAsksForTheStrictestWarnings) {
  auto network = compile_network({.model = "mlp:4-3"});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project);
  EXPECT_NE(project->find("Makefile")->bytes.find("-Wall -Wextra -Wconversion -Werror"), std::string::npos);
}

TEST(Project, TheSameInputGivesTheSameBytes) {
  auto first = compile_network({}), second = compile_network({});
  ASSERT_TRUE(first && second);
  auto a = first->project(), b = second->project();
  ASSERT_TRUE(a && b);
  ASSERT_EQ(a->files.size(), b->files.size());
  for (size_t i = 0; i < a->files.size(); ++i) {
    EXPECT_EQ(a->files[i].path, b->files[i].path);
    EXPECT_EQ(a->files[i].bytes, b->files[i].bytes) << a->files[i].path;
    EXPECT_EQ(a->files[i].bytes.find(TESSERA_ROOT), std::string::npos) << a->files[i].path;
  }
}

TEST(Project, WithLessRoomForCodeMoreIsShared) {
  std::vector<size_t> lines;
  for (int64_t kilobytes : {512, 100}) {
    auto network = compile_network({.model = "resnet8"});
    ASSERT_TRUE(network) << network.error().text();
    network->plan.code = Bytes(kilobytes * 1024);
    auto project = network->project();
    ASSERT_TRUE(project) << project.error().text();
    lines.push_back(lines_of(*project, "network.c"));
  }
  EXPECT_LT(lines[1], lines[0] * 4 / 5);
}

TEST(Project, HasOnlyTheKernelsThatItCalls) {
  auto network = compile_network({.model = "mlp:4-3", .training = false});
  ASSERT_TRUE(network) << network.error().text();
  auto project = network->project();
  ASSERT_TRUE(project) << project.error().text();
  EXPECT_NE(project->find("kernels/matmul.c"), nullptr);
  EXPECT_NE(project->find("kernels/ts_kernel.h"), nullptr);
  EXPECT_EQ(project->find("kernels/update.c"), nullptr);
  EXPECT_EQ(project->find("kernels/cross_entropy.c"), nullptr);
}

TEST(Project, NetworkAndKernelsNeitherAllocateNorPrint) {
  auto network = compile_network({});
  ASSERT_TRUE(network);
  auto project = network->project();
  ASSERT_TRUE(project);
  int looked_at = 0;
  for (const auto& file : project->files) {
    if (file.path != "network.c" && !file.path.starts_with("kernels/")) continue;
    ++looked_at;
    for (const char* call : {"alloc(", "free(", "printf("})
      EXPECT_EQ(file.bytes.find(call), std::string::npos) << file.path;
  }
  EXPECT_GT(looked_at, 4);
}

TEST(Project, ANetworkWithHostileNamesCompiles) {
  auto network = compile_network({.model = "mlp:5-4-3", .steps = 1, .accumulate = 1});
  ASSERT_TRUE(network) << network.error().text();
  Graph renamed;
  const char* names[] = {"*/ int x; /*", "main", "printf", "for",   "a\"b\\",
                         "L2_x",         "L2 x", "ts_l2",  "\?\?/", "\xff\xfe"};
  const Graph& graph = network->program.graph;
  renamed.name = "evil */ name";
  size_t n = 0;
  for (auto tensor : graph.tensors()) {
    tensor.name = fmt::format("{}{}", names[n % 10], n < 10 ? "" : std::to_string(n));
    ++n;
    renamed.add_tensor(std::move(tensor));
  }
  n = 0;
  for (auto node : graph.nodes()) {
    node.name = fmt::format("{}{}", names[n % 10], n < 10 ? "" : std::to_string(n));
    ++n;
    renamed.add_node(std::move(node));
  }
  renamed.inputs = graph.inputs;
  renamed.outputs = graph.outputs;
  network->program.graph = renamed;
  auto project = network->project();
  ASSERT_TRUE(project) << project.error().text();
  if (!has("gcc")) GTEST_SKIP() << "no gcc here";
  TemporaryDirectory place;
  ASSERT_TRUE(emit::write_project(*project, place.path / "p"));
  EXPECT_EQ(std::system(fmt::format("cd {} && make -s build/network", (place.path / "p").string()).c_str()), 0);
}

TEST(WriteProject, RefusesADirectoryThatHoldsSomething) {
  TemporaryDirectory place;
  emit::Project project{{{"a/b.txt", "text"}}};
  std::ofstream(place.path / "mine") << "x";
  auto refused = emit::write_project(project, place.path);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  EXPECT_NE(refused.error().message().find("not empty"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(place.path / "a"));
}

TEST(WriteProject, FillsAnEmptyDirectoryAndMakesMissingOnes) {
  TemporaryDirectory place;
  emit::Project project{{{"a/b.txt", "text"}}};
  std::filesystem::create_directory(place.path / "empty");
  EXPECT_TRUE(emit::write_project(project, place.path / "empty"));
  EXPECT_TRUE(emit::write_project(project, place.path / "new" / "deep/"));
  EXPECT_TRUE(std::filesystem::exists(place.path / "empty/a/b.txt"));
  EXPECT_TRUE(std::filesystem::exists(place.path / "new/deep/a/b.txt"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path), {}), 2);  // nothing half-written beside them
}

TEST(WriteProject, APlaceThatCannotBeWrittenIsAnInputErrorAndLeavesNothing) {
  TemporaryDirectory place;
  std::ofstream(place.path / "file") << "x";
  emit::Project project{{{"a", "text"}}};
  for (const char* where : {"file", "file/below"}) {
    auto refused = emit::write_project(project, place.path / where);
    ASSERT_FALSE(refused) << where;
    EXPECT_EQ(refused.error().exit_code(), 2);
  }
  auto refused = emit::write_project(project, "/proc/no/such/place");
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().exit_code(), 2);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(place.path), {}), 1);
}

TEST(WriteProject, DifferencesAreNamed) {
  TemporaryDirectory place;
  emit::Project project{{{"a", "1"}, {"b", "2"}, {"c", "3"}}};
  ASSERT_TRUE(emit::write_project(project, place.path / "p"));
  EXPECT_EQ(emit::differing_files(project, place.path / "p").value(), std::vector<std::string>{});
  std::ofstream(place.path / "p" / "b") << "changed";
  std::filesystem::remove(place.path / "p" / "c");
  EXPECT_EQ(emit::differing_files(project, place.path / "p").value(), (std::vector<std::string>{"b", "c (missing)"}));
}

}  // namespace
}  // namespace tessera
