// One channel of a DRAM: its queues, its banks' open rows, and the choice of the next command. Inside this room.
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "memory/dram.hpp"

namespace tessera::memory {

class DramChannel : private EventHandler {
 public:
  DramChannel(EventQueue& events, const DramTiming& timing, const DramPolicy& policy, int number);

  void request(const DramAddress& where, uint64_t address, bool write, LineSink& sink, uint64_t tag, size_t port);
  const DramCounters& counters() const { return counters_; }
  void record(std::vector<IssuedCommand>& log) { log_ = &log; }

 private:
  static constexpr int64_t kClosed = -1;
  static constexpr size_t kNoEntry = ~size_t{0};

  struct Entry {
    uint64_t address = 0, tag = 0;
    LineSink* sink = nullptr;
    Place at;
    int bank = 0;  // index over the channel
    int64_t row = 0;
    int64_t bursts_left = 0;
    int overtaken = 0;
    bool write = false, opened = false, closed_another = false;
  };
  // The best command that is ready, else the first cycle at which one is, and `known`: which one, if nothing comes in
  // between.
  struct Choice {
    bool found = false, known = false;
    Command command = Command::Refresh;
    Place at;
    int64_t row = 0;
    size_t entry = kNoEntry;  // that asked for it; a refresh closes rows for nobody
    int64_t when = 0;
  };

  void on_event(uint64_t what) override;
  void wake_at(int64_t cycle);
  void schedule();
  void admit();
  void admit(std::deque<Entry>& backlog);
  bool answered_by_a_write(const Entry& entry);
  void choose_direction();
  void refresh_while_idle(int64_t cycle);
  Choice next_command(int64_t cycle);
  Choice refresh_choice(int64_t cycle) const;
  Choice choose(int64_t cycle) const;
  void issue(const Choice& choice, int64_t cycle);
  void move_data(size_t index, int64_t cycle);
  void finish(const Entry& entry, int64_t cycle);
  bool must_wait_for_a_read(const Entry& write) const;
  int64_t cycle_of(Picoseconds time) const { return (time.count + tck_ - 1) / tck_; }
  std::vector<Entry>& queue() { return writing_ ? writes_ : reads_; }
  const std::vector<Entry>& queue() const { return writing_ ? writes_ : reads_; }

  EventQueue& events_;
  DramRules rules_;
  DramPolicy policy_;
  int number_;
  int64_t tck_;
  std::array<std::deque<Entry>, 2> backlog_;  // of each port
  std::vector<Entry> reads_, writes_;         // in the order of their arrival
  bool writing_ = false;
  std::vector<int64_t> open_;         // the open row of each bank
  std::vector<int64_t> refresh_due_;  // of each rank
  int64_t first_refresh_ = 0;         // the earliest of them
  int64_t next_command_ = 0;          // the command bus: one a cycle
  int64_t wake_ = -1;
  struct Done {
    LineSink* sink = nullptr;
    uint64_t tag = 0;
  };
  std::vector<Done> done_;  // by slot
  std::vector<uint64_t> free_;
  DramCounters counters_;
  std::vector<IssuedCommand>* log_ = nullptr;
};

}  // namespace tessera::memory
