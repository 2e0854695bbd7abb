// ONNX's own test data, through emitted C on the host engine. Every case passes or is refused with a reason.
//
//   conformance_run_models --gtest_filter='*node*'                      in shards, as ctest runs them
//   tests/conformance/report                                        all of it, as the table of docs/operators.md
//   TESSERA_CASES=test_pad conformance_run_models --gtest_also_run_disabled_tests --gtest_filter='*some'
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <map>
#include <regex>
#include <thread>

#include "case.hpp"
#include "support/onnx_text.hpp"

namespace tessera::test {
namespace {

const char* const sets[] = {"node", "simple", "pytorch-operator", "pytorch-converted"};

struct Tally {
  int passed = 0, refused = 0, failed = 0, tiled = 0;
  std::map<std::string, std::vector<std::string>> reasons;  // of refusals: the cases
};

// A refusal without the names of nodes and tensors, so that equal reasons stand together.
std::string reason(const std::string& message) {
  static const std::regex file("^[^ ]*\\.(onnx|pb): "), name("'[^']*'"), node("^node …( \\(([A-Za-z.]+)\\))?: ?"),
      space("^ +");
  auto text = std::regex_replace(std::regex_replace(message, file, ""), name, "…");
  return std::regex_replace(std::regex_replace(text, node, "$2 "), space, "");
}

void count_into(Tally& tally, const CaseId& id, const Outcome& outcome) {
  switch (outcome.verdict) {
    case Verdict::Passed:
      ++tally.passed;
      tally.tiled += outcome.tiled;
      break;
    case Verdict::Refused:
      ++tally.refused;
      tally.reasons[reason(outcome.why)].push_back(id.name);
      break;
    case Verdict::Failed:
      ++tally.failed;
      ADD_FAILURE() << id.set << "/" << id.name << ": " << outcome.why;
  }
}

void run_into(Tally& tally, const CaseId& id) {
  count_into(tally, id, run_case(id, runs_tiled(id)));
}

// Every case, dealt out to several processes: most of the time is the C compiler's. One that dies has failed.
std::vector<Outcome> run_at_once(const std::vector<CaseId>& all) {
  const size_t workers = 2 * std::max(1u, std::thread::hardware_concurrency());
  TemporaryFolder folder;
  std::vector<pid_t> children;
  for (size_t w = 0; w < workers; ++w) {
    children.push_back(fork());
    if (children.back() != 0) continue;
    std::ofstream out(folder.path() / std::to_string(w));
    for (size_t i = w; i < all.size(); i += workers) {
      auto outcome = run_case(all[i], runs_tiled(all[i]));
      std::ranges::replace(outcome.why, '\n', ' ');
      out << i << " " << static_cast<int>(outcome.verdict) << " " << outcome.tiled << " " << outcome.why << std::endl;
    }
    _exit(0);
  }
  for (auto child : children) waitpid(child, nullptr, 0);
  std::vector<Outcome> outcomes(all.size(), {Verdict::Failed, "the compiler died", false});
  for (size_t w = 0; w < workers; ++w) {
    std::ifstream in(folder.path() / std::to_string(w));
    size_t i = 0;
    for (int verdict = 0, tiled = 0; in >> i >> verdict >> tiled;) {
      outcomes[i] = {static_cast<Verdict>(verdict), "", tiled != 0};
      in.get();  // the space before the reason
      std::getline(in, outcomes[i].why);
    }
  }
  return outcomes;
}

constexpr int shards = 16;
// Of all node tests, at least so many pass: every shard holds its share.
constexpr size_t all_nodes = 932, least_passed = 600;

class Shard : public ::testing::TestWithParam<int> {};

TEST_P(Shard, of_the_node_tests) {
  auto all = cases_of("node");
  if (all.empty()) GTEST_SKIP() << "needs the package libonnx-testdata";
  EXPECT_EQ(all.size(), all_nodes);
  Tally tally;
  size_t mine = 0;
  for (size_t i = static_cast<size_t>(GetParam()); i < all.size(); i += shards, ++mine) run_into(tally, all[i]);
  std::cout << fmt::format("{} passed, {} of them also in tiles, {} refused, {} failed\n", tally.passed, tally.tiled,
                           tally.refused, tally.failed);
  EXPECT_EQ(tally.failed, 0);
  EXPECT_GE(static_cast<size_t>(tally.passed) * all_nodes, least_passed * mine);
  EXPECT_GT(tally.tiled, 0);
}
INSTANTIATE_TEST_SUITE_P(Nodes, Shard, ::testing::Range(0, shards));

struct LeastOfSet {
  const char* set;
  int passed;
};
void PrintTo(const LeastOfSet& least, std::ostream* out) {
  *out << least.set;
}
class Set : public ::testing::TestWithParam<LeastOfSet> {};

TEST_P(Set, of_models) {
  auto all = cases_of(GetParam().set);
  if (all.empty()) GTEST_SKIP() << "needs the package libonnx-testdata";
  Tally tally;
  for (auto& id : all) run_into(tally, id);
  EXPECT_EQ(tally.failed, 0);
  EXPECT_GE(tally.passed, GetParam().passed);
}
INSTANTIATE_TEST_SUITE_P(Models, Set,
                         ::testing::Values(LeastOfSet{"simple", 9}, LeastOfSet{"pytorch-operator", 35},
                                           LeastOfSet{"pytorch-converted", 82}));

// The cases whose names contain $TESSERA_CASES, with what became of each.
TEST(Cases, DISABLED_some) {
  const char* wanted = getenv("TESSERA_CASES");
  for (auto* set : sets)
    for (auto& id : cases_of(set)) {
      if (wanted && id.name.find(wanted) == std::string::npos) continue;
      auto outcome = run_case(id, runs_tiled(id));
      const char* words[] = {"passed", "refused", "FAILED"};
      std::cout << fmt::format("{:8} {}/{} {}{}\n", words[static_cast<int>(outcome.verdict)], set, id.name, outcome.why,
                               outcome.tiled ? "(tiled)" : "")
                << std::flush;
    }
}

// Everything, as the section of docs/operators.md; written to $TESSERA_REPORT where that is set.
TEST(Report, DISABLED_all) {
  std::string table = "| set | cases | pass | of them also in tiles | refused | fail |\n|---|---|---|---|---|---|\n";
  std::string refusals;
  for (auto* set : sets) {
    Tally tally;
    auto all = cases_of(set);
    auto outcomes = run_at_once(all);
    for (size_t i = 0; i < all.size(); ++i) count_into(tally, all[i], outcomes[i]);
    table += fmt::format("| {} | {} | {} | {} | {} | {} |\n", set, all.size(), tally.passed, tally.tiled, tally.refused,
                         tally.failed);
    std::vector<std::pair<size_t, std::string>> by_count;
    for (auto& [why, names] : tally.reasons) by_count.emplace_back(names.size(), why);
    std::ranges::sort(by_count, std::greater{});
    if (!by_count.empty()) refusals += fmt::format("\nRefused of `{}`:\n\n", set);
    for (auto& [count, why] : by_count)
      refusals += fmt::format("- {}: {} (`{}`{})\n", count, why, tally.reasons[why][0], count > 1 ? ", ..." : "");
  }
  std::cout << table << refusals;
  if (const char* path = getenv("TESSERA_REPORT")) std::ofstream(path) << table << refusals;
}

}  // namespace
}  // namespace tessera::test
