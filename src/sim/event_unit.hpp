// The cluster's event unit: event masks and buffers, sleeping, barriers, mutexes, task dispatch, software events.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace tessera::sim {

// A core that wakes: when the event came, and what its waiting load returns.
struct Wake {
  int core;
  uint64_t time;
  uint32_t value;
};

class EventUnit {
 public:
  enum Event : uint32_t { kDma = 8, kTimerLow = 10, kTimerHigh = 11, kBarrier = 16, kMutex = 17, kDispatch = 18 };
  enum class Outcome { Done, Asleep, Invalid };

  explicit EventUnit(int cores) : cores_(static_cast<size_t>(cores)) {}

  // A core's own port (0x1020_4000) at time t. `Asleep`: the core waits until a Wake for it appears in wakes().
  Outcome load(int core, uint32_t offset, uint64_t t, uint32_t& value);
  Outcome store(int core, uint32_t offset, uint32_t value, uint64_t t);
  // The peripheral side, where no core can wait.
  Outcome load_peripheral(uint32_t offset, uint32_t& value);
  Outcome store_peripheral(uint32_t offset, uint32_t value, uint64_t t);

  // Events from outside (DMA, timers) for the cores of a mask; 0: all.
  void trigger(uint32_t event, uint32_t core_mask, uint64_t t);

  // A core sleeps until this event (or another of its mask) comes.
  bool expects(int core, uint32_t event) const {
    const PerCore& c = cores_[static_cast<size_t>(core)];
    return c.waits == Waits::Events && c.what < 0 && (c.mask >> event & 1);
  }

  std::vector<Wake>& wakes() { return wakes_; }
  // "barrier 0 (arrived: 0x3, expected: 0xff)" for the message of a deadlock
  std::string describe(int core) const;

 private:
  enum class Waits { No, Events, Mutex, Dispatch };
  struct PerCore {
    uint32_t mask = 0, irq_mask = 0, buffer = 0;
    Waits waits = Waits::No;
    uint32_t clear = 0;  // bits to clear at wake-up
    uint32_t value = 0;  // what a mutex or dispatch wait returns
    int what = -1;       // the barrier or mutex that is waited for
    unsigned tail = 0;   // in the dispatch fifo
  };
  struct Barrier {
    uint32_t trigger = 0, status = 0, target = 0;
  };
  struct Mutex {
    bool locked = false;
    uint32_t value = 0, waiting = 0;
  };
  struct Task {
    uint32_t value = 0, team = 0, unread = 0;
  };

  Outcome load_core(PerCore& c, uint32_t offset, uint64_t t, uint32_t& value);
  Outcome store_core(PerCore& c, uint32_t offset, uint32_t value, uint64_t t);
  Outcome load_barrier(int core, uint32_t offset, uint64_t t, uint32_t& value);
  Outcome store_barrier(int core, uint32_t offset, uint32_t value, uint64_t t);
  Outcome load_mutex(int core, unsigned n, uint64_t t, uint32_t& value);
  Outcome load_dispatch(int core, uint64_t t, uint32_t& value);
  void push_dispatch(uint32_t value, uint64_t t);
  Outcome load_software(int core, uint32_t offset, uint64_t t, uint32_t& value);
  void check_barrier(Barrier& b, uint64_t t);
  Outcome wait(PerCore& c, uint64_t t, bool clear);
  void check(PerCore& c, uint64_t t);
  int index(const PerCore& c) const { return static_cast<int>(&c - cores_.data()); }

  std::vector<PerCore> cores_;
  std::array<Barrier, 16> barriers_{};
  std::array<Mutex, 16> mutexes_{};
  std::array<Task, 8> fifo_{};
  unsigned head_ = 0;
  uint32_t team_ = 0;
  uint32_t software_target_ = 0;
  std::vector<Wake> wakes_;
};

}  // namespace tessera::sim
