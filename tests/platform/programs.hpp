// The platform's programs, what they should print, and how far a figure may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "platform/build.hpp"

namespace tessera::platform {

inline std::vector<Build> programs() {
  const std::string l1 = "BASE=0x10004000", l2 = "BASE=0x1C0A0000";
  return {
      {"conflict_c1", {"NC=1"}, "", "conflict.c"},
      {"conflict_c8", {"NC=8"}, "", "conflict.c"},
      {"dma", {"NC=1"}, "", "dma.c"},
      {"dot_n1024_L1_c1", {"NC=1", "N=1024", "BOFF=0", l1}, "", "dot.c"},
      {"dot_n1024_L1_c8", {"NC=8", "N=1024", "BOFF=0", l1}, "", "dot.c"},
      {"dot_n1024_L2_c1", {"NC=1", "N=1024", "BOFF=0", l2}, "", "dot.c"},
      {"fpu_c1", {"NC=1"}, "", "fpu.c"},
      {"fpu_c8", {"NC=8"}, "", "fpu.c"},
      {"hyper", {}, "", "hyper.c"},
      {"icache_c1", {"NC=1"}, "", "icache.c"},
      {"icache_c8", {"NC=8"}, "", "icache.c"},
      {"matmul32_L1_c1", {"NC=1", "M=32", l1}, "", "matmul.c"},
      {"matmul32_L1_c8", {"NC=8", "M=32", l1}, "", "matmul.c"},
      {"micro", {}, "", "micro.c"},
      {"mips_c1", {"NC=1"}, "", "mips.c"},
      {"mips_c8", {"NC=8"}, "", "mips.c"},
      {"sync_c8", {"NC=8"}, "", "sync.c"},
  };
}

struct Tolerance {
  double cycles, share;
  bool allows(double expected, double measured) const {
    return std::abs(measured - expected) <= std::max(cycles, share * std::abs(expected));
  }
};

inline Tolerance tolerance_of(const std::string& program, const std::string& line) {
  if (program.starts_with("icache") || line.find("after_flush") != std::string::npos) return {15, 0.05};
  if (program.starts_with("hyper")) return {15, 0.05};
  if (program.starts_with("dma") || program.ends_with("_c8")) return {8, 0.03};
  return {2, 0.005};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

inline std::vector<std::string> expected_lines(const std::string& program) {
  std::ifstream in(std::string(TESSERA_ROOT) + "/tests/platform/expected/" + program + ".txt");
  return lines_of(std::string(std::istreambuf_iterator<char>(in), {}));
}

// A printed line against the expected one: the same words, numbers within the tolerance.
struct Comparison {
  std::string expected, measured;
  bool judged = true, passed = false;
  double worst = 0;  // the largest difference of a number, in cycles
};

inline Comparison compare(const std::string& program, const std::string& expected, const std::string& measured) {
  static const std::regex number("[0-9]+");
  Comparison c{expected, measured};
  c.judged = expected.find("fc_cycles_cluster_run") == std::string::npos;  // hangs on how the cluster boots
  const std::string shape = std::regex_replace(expected, number, "#");
  c.passed = shape == std::regex_replace(measured, number, "#");
  const Tolerance tolerance = tolerance_of(program, expected);
  std::sregex_iterator m(measured.begin(), measured.end(), number), end;
  for (std::sregex_iterator e(expected.begin(), expected.end(), number); c.passed && e != end && m != end; ++e, ++m) {
    const double want = std::stod(e->str()), got = std::stod(m->str());
    c.worst = std::max(c.worst, std::abs(got - want));
    c.passed = c.passed && tolerance.allows(want, got);
  }
  return c;
}

inline std::vector<Comparison> compare_all(const std::string& program, const std::string& output, int exit_code) {
  auto measured = lines_of(output);
  measured.push_back("rc=" + std::to_string(exit_code));
  const auto expected = expected_lines(program);
  std::vector<Comparison> all;
  for (size_t i = 0; i < std::max(measured.size(), expected.size()); ++i)
    all.push_back(compare(program, i < expected.size() ? expected[i] : "", i < measured.size() ? measured[i] : ""));
  return all;
}

}  // namespace tessera::platform
