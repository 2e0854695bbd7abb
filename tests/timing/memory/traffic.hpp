// Lines asked for with so many outstanding, and how long they took.
#pragma once

#include <cstdint>
#include <functional>

#include "memory/line_memory.hpp"

namespace tessera::memory {

struct Asked {
  uint64_t address = 0;
  bool write = false;
};

class Traffic : public LineSink {
 public:
  Traffic(EventQueue& events, LineMemory& memory) : events_(events), memory_(memory) {}

  // The time from the first request to the last answer.
  Picoseconds run(int64_t lines, int64_t outstanding, std::function<Asked(int64_t)> next) {
    const auto start = events_.now();
    int64_t asked = 0;
    done_ = 0;
    const auto ask = [&] {
      while (asked < lines && asked - done_ < outstanding) {
        const auto a = next(asked);
        memory_.request(a.address, a.write, *this, static_cast<uint64_t>(asked++));
      }
    };
    for (ask(); done_ < lines && events_.step();) ask();
    return events_.now() - start;
  }
  int64_t done() const { return done_; }

 private:
  void line_done(uint64_t) override { ++done_; }

  EventQueue& events_;
  LineMemory& memory_;
  int64_t done_ = 0;
};

}  // namespace tessera::memory
