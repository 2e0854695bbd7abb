// The platform's programs, what they should print, and how far a figure may be off.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <fstream>
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

// "max=65 min=7" -> words "max=# min=#", numbers 65 7
struct Split {
  std::string words;
  std::vector<double> numbers;
};

inline Split split(const std::string& line) {
  Split s;
  for (size_t i = 0; i < line.size(); ++i) {
    const auto is_digit = [&](size_t at) { return at < line.size() && line[at] >= '0' && line[at] <= '9'; };
    if (!is_digit(i)) {
      s.words += line[i];
      continue;
    }
    double number = 0;
    for (; is_digit(i); ++i) number = 10 * number + (line[i] - '0');
    --i;
    s.words += '#';
    s.numbers.push_back(number);
  }
  return s;
}

inline Comparison compare(const std::string& program, const std::string& expected, const std::string& measured) {
  Comparison c{expected, measured};
  c.judged = expected.find("fc_cycles_cluster_run") == std::string::npos;  // hangs on how the cluster boots
  const Split want = split(expected), got = split(measured);
  const Tolerance tolerance = tolerance_of(program, expected);
  c.passed = want.words == got.words && want.numbers.size() == got.numbers.size();
  for (size_t i = 0; i < want.numbers.size() && want.numbers.size() == got.numbers.size(); ++i) {
    c.worst = std::max(c.worst, std::abs(got.numbers[i] - want.numbers[i]));
    c.passed = c.passed && tolerance.allows(want.numbers[i], got.numbers[i]);
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
