// The cluster DMA: 16 counters, a queue for each core and one for each direction, bursts on the L2 side, and word ports
// on the L1 side that compete with the cores for banks.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "sim/words.hpp"
#include "target/target.hpp"

namespace tessera::sim {

class Chip;

class Mchan {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr int kCounters = 16;
  enum class Outcome { Done, Stalled, Stop };

  Mchan(Chip& chip, int ports);

  // The registers, for port i (a core's own, or the last: the peripheral side) at time t.
  Outcome load(int port, uint32_t offset, uint64_t t, uint32_t& value);
  Outcome store(int port, uint32_t offset, uint32_t value, uint64_t t);

  // Nothing happens before it but words that are moved.
  uint64_t next_event() const;
  // Words compete for banks with what the cores have logged, and are moved as that is replayed; a core that uses L1 in
  // its turn asks for those that come before.
  void move_words_before(uint64_t t) { stream(t), copy_moved(); }
  WordPorts& in() { return in_; }
  WordPorts& out() { return out_; }
  // What is due before `until`, up to the first thing that a core has to hear of.
  void run(uint64_t until);
  bool idle() const { return live_.empty(); }
  // The program has seen which transfers have ended. Until it has, the sanitizer takes their bytes for bytes in flight:
  // that a transfer happened to be fast enough is no excuse for not waiting.
  void learn();

 private:
  struct Command {
    int port = 0, counter = 0;
    uint32_t size = 0, l2 = 0, l1 = 0, line = 0, stride = 0;
    bool to_l1 = false, two_d = false, event = false, irq = false, broadcast = false;
    uint32_t issued = 0, line_left = 0, line_start = 0, left = 0;
    uint64_t start = 0;
    uint32_t l1_start = 0, l2_start = 0, pc = 0;
  };
  // A piece of a command: at most a burst, never across a line.
  struct Burst {
    Command* command = nullptr;
    uint32_t l1 = 0, l2 = 0, size = 0, done = 0;
    uint64_t arrival = 0;
  };
  struct Port {
    std::vector<uint32_t> words;
    int counter = -1;
    std::deque<Command*> queue;
    std::optional<uint32_t> stalled_word;  // a store that waits for room in the queue
    bool waits_for_counter = false;
  };

  void push_word(Port& port, uint32_t word, uint64_t t);
  bool legal(const Command& c, int port);
  void mark(const Command& c, bool begin);
  void transfer_at_once(Command* c, uint64_t t);
  void move_to_direction(uint64_t t);
  Burst next_burst(Command& c);
  void issue_read(uint64_t t);
  void issue_write(uint64_t t);
  void move_words_in(uint64_t t);
  void move_words_out(uint64_t t);
  uint64_t move_word(Burst& b, bool in, uint64_t t);
  void finish_bytes(Command* c, uint32_t bytes, uint64_t t);
  void step(uint64_t t);
  void stream(uint64_t until);
  void copy_moved();
  void start_words(WordPorts& ports, const Burst& b, uint64_t t);
  void schedule(uint64_t t);
  void grant_counter(uint64_t t);
  bool room(const std::deque<Command*>& q) const;

  Chip& chip_;
  const target::Timing& timing_;
  const target::DmaEngine& engine_;
  std::vector<Port> ports_;
  std::array<uint64_t, kCounters> bytes_left_{};
  uint32_t allocated_ = 0;
  std::deque<int> counter_waiters_;
  std::vector<std::unique_ptr<Command>> ended_;  // that nobody has asked about yet; with a sanitizer only
  std::vector<std::unique_ptr<Command>> live_;   // every command that has not ended; the queues point into it
  std::array<size_t, 2> waiting_{};              // commands in the cores' queues: writes, reads
  std::deque<Command*> reads_, writes_;
  Command* read_ = nullptr;
  Command* write_ = nullptr;
  std::deque<Burst> arriving_;    // asked of L2, in order of arrival
  std::optional<Burst> leaving_;  // being read from L1
  std::deque<Burst> sent_;        // on their way to L2
  WordPorts in_, out_;            // words of the first that arrives, of the one that leaves
  uint64_t queue_at_ = kNever, read_at_ = kNever, write_at_ = kNever;
  uint64_t others_at_ = kNever;  // the earliest of what is not words
  uint64_t far_ready_ = 0;
  size_t turn_ = 0;
  uint8_t *l1_, *l2_;  // where address 0 would be
  uint32_t bank_mask_;
};

}  // namespace tessera::sim
