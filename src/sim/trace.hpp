// A timeline in the format of chrome://tracing and Perfetto: a row for each core, with the functions that it runs and
// its sleep, and a row for each DMA channel.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "sim/elf.hpp"
#include "target/target.hpp"

namespace tessera::sim {

class TraceSink {
 public:
  // Times in picoseconds. Core -1 is the FC.
  void begin(const Elf& elf, const target::Target& target);
  void enter(int core, uint32_t pc, uint64_t ps);
  void sleep(int core, uint64_t from_ps, uint64_t to_ps);
  void transfer(const std::string& channel, const char* direction, uint32_t bytes, uint64_t from_ps, uint64_t to_ps);
  void end(uint64_t ps);

  Result<void> write(const std::string& path) const;

 private:
  struct Slice {
    std::string row, name;
    uint64_t from, to;
    uint32_t bytes;
  };
  struct Open {
    const Symbol* function = nullptr;
    uint64_t since = 0;
  };
  static std::string row_of(int core);
  void close(int core, Open& open, uint64_t ps);

  const Elf* elf_ = nullptr;
  std::vector<Slice> slices_;
  std::map<int, Open> open_;
};

}  // namespace tessera::sim
