// A memory model for tests: every transfer takes a latency and then its lines, one after the other.
//
//   FixedMemory memory({.latency = 100'000, .line = 10'000});      in picoseconds
#pragma once

#include <algorithm>
#include <vector>

#include "accel/memory_model.hpp"

namespace tessera::test {

class FixedMemory : public accel::MemoryModel {
 public:
  struct Options {
    int64_t latency = 100'000;
    int64_t line = 10'000;
  };
  explicit FixedMemory(Options options) : options_(options) {}
  FixedMemory() : FixedMemory(Options{}) {}

  accel::TransferId submit(memory::Picoseconds now, std::span<const accel::LineRequest> lines) override {
    for (const auto& line : lines) {
      (line.write ? statistics_.bytes_written : statistics_.bytes_read) += accel::line_bytes;
      asked.push_back(line);
    }
    const auto begin = std::max(now.count, free_);
    free_ = begin + static_cast<int64_t>(lines.size()) * options_.line;
    done_.push_back(free_ + options_.latency);
    return {static_cast<int64_t>(done_.size()) - 1};
  }
  accel::TransferId host_transfer(memory::Picoseconds now, Bytes) override { return submit(now, {}); }
  memory::Picoseconds finish(accel::TransferId id) override { return memory::Picoseconds(done_[id.index]); }
  memory::Picoseconds drain(memory::Picoseconds now) override {
    for (auto d : done_) now = std::max(now, memory::Picoseconds(d));
    return now;
  }
  accel::MemoryStatistics statistics() const override { return statistics_; }

  std::vector<accel::LineRequest> asked;

 private:
  Options options_;
  accel::MemoryStatistics statistics_;
  int64_t free_ = 0;
  std::vector<int64_t> done_;
};

}  // namespace tessera::test
