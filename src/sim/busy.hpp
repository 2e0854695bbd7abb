// For how long something was busy, by intervals that may overlap.
//
//   begin(10), begin(12), end(15), end(20)  ->  at(14) is 4, at(30) is 10
#pragma once

#include <algorithm>
#include <cstdint>

namespace tessera::sim {

class BusyTime {
 public:
  void begin(uint64_t t) {
    if (users_++ == 0) since_ = std::max(t, until_);
  }
  void end(uint64_t t) {
    if (--users_ != 0) return;
    until_ = std::max(t, since_);
    total_ += until_ - since_;
  }
  // Up to t, which may lie before the last begin: parts of the chip are a few cycles ahead of each other.
  uint64_t at(uint64_t t) const { return total_ + (users_ != 0 && t > since_ ? t - since_ : 0); }

 private:
  uint64_t total_ = 0, since_ = 0, until_ = 0;
  int users_ = 0;
};

}  // namespace tessera::sim
