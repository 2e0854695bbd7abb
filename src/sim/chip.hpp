// The chip put together: memories, cores, caches, engines, and the clock that gives each its turn.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/busy.hpp"
#include "sim/code.hpp"
#include "sim/core.hpp"
#include "sim/event_unit.hpp"
#include "sim/hyperbus.hpp"
#include "sim/icache.hpp"
#include "sim/machine.hpp"
#include "sim/mchan.hpp"
#include "sim/memory.hpp"
#include "sim/sanitizer.hpp"
#include "sim/timer.hpp"
#include "sim/turns.hpp"

namespace tessera::sim {

class Chip {
 public:
  static constexpr uint64_t kNever = ~uint64_t{0};
  static constexpr size_t kLogged = 64;  // uses of shared units that a core may run ahead
  static constexpr uint64_t kUntimedTurn = 1024;

  Chip(const target::Target& target, const Elf& elf, Options options);
  Result<void> load();
  Result<RunResult> run();

  // --- what the parts need of each other
  const target::Target& target() const { return target_; }
  const target::Timing& timing() const { return target_.timing; }
  const Elf& elf() const { return elf_; }
  Memories& memory() { return memory_; }
  EventUnit& events() { return events_; }
  bool timed() const { return options_.timing; }
  bool sanitizing() const { return options_.sanitize; }
  bool stopped() const { return stopped_; }

  // The program did something that cannot be: the run ends with this message, the core, the function and the line.
  void fault(std::string what);
  // When a bank of L1 serves a request of time t, counted from t.
  uint64_t take_bank(uint32_t l1_address, uint64_t t) {
    uint64_t& free = unit_free_[(l1_address >> 2) & cores_.back().bank_mask];
    const uint64_t start = std::max(t, free);
    free = start + 1;
    return start - t;
  }
  uint64_t* unit_free() { return unit_free_.data(); }
  uint32_t l1_address(uint32_t address) const { return memory_.l1.base + (address & (l1_span_ - 1)); }
  void count_dma(bool to_l1, uint32_t bytes) { (to_l1 ? dma_.l2_to_l1 : dma_.l1_to_l2) += bytes; }
  void count_l3(bool read, uint32_t bytes) { (read ? dma_.l3_to_l2 : dma_.l2_to_l3) += bytes; }
  // A transfer begins or ends at a time of the cluster.
  void stored(bool l3, uint32_t address, std::span<const uint8_t> bytes) {
    if (options_.on_stored) options_.on_stored(l3, address, bytes);
  }
  bool tells_of_stores() const { return static_cast<bool>(options_.on_stored); }
  void dma_begins(uint64_t t) { dma_busy_.begin(t), any_busy_.begin(t); }
  void dma_ends(uint64_t t) { dma_busy_.end(t), any_busy_.end(t); }
  void l3_begins(uint64_t t) { l3_busy_.begin(t), any_busy_.begin(t); }
  void l3_ends(uint64_t t) { l3_busy_.end(t), any_busy_.end(t); }
  DmaCycles dma_cycles(uint64_t t) const { return {dma_busy_.at(t), l3_busy_.at(t), any_busy_.at(t)}; }
  void mark_flight(Level level, uint32_t address, uint32_t size, bool arriving, bool begin, const std::string& what);
  // A core that a full queue held back goes on after time t (the cluster's).
  void resume(int port, uint64_t t, uint32_t value);
  bool cores_to_wake() { return !events_.wakes().empty() || !resumes_.empty(); }
  void udma_done(bool read, uint64_t ps);
  void trace_dma(int counter, bool to_l1, uint32_t bytes, uint64_t from, uint64_t to);
  void trace_l3(uint32_t id, bool read, uint32_t bytes, uint64_t from_ps, uint64_t to_ps);

  // --- what the instructions need
  Why load(Core& c, const Op* op, uint32_t address, uint32_t size, uint64_t t, bool event, uint32_t& value,
           uint64_t& extra);
  Why store(Core& c, uint32_t address, uint32_t size, uint64_t t, uint32_t value, uint64_t& extra);
  CodeStore& code_of(const Core& c) { return c.is_fc ? *fc_code_ : *cluster_code_; }
  void note_jump(Core& c, uint32_t target, uint64_t t);
  void mark(Core& c, uint32_t value, uint64_t t);
  void flush_code();
  bool wait_for_interrupt(Core& c);

  // Time of the cluster at a moment of a core's own clock, and picoseconds of both.
  uint64_t cluster_time(const Core& c, uint64_t t) const { return c.is_fc ? to_cluster(t * soc_ps()) : t; }
  uint64_t picoseconds(const Core& c, uint64_t t) const { return t * (c.is_fc ? soc_ps() : cluster_ps()); }
  uint64_t to_cluster(uint64_t ps) const { return (ps + cluster_ps() - 1) / cluster_ps(); }
  uint64_t cluster_ps() const { return static_cast<uint64_t>(timing().cluster_period_ps); }
  uint64_t soc_ps() const { return static_cast<uint64_t>(timing().soc_period_ps); }

 private:
  friend class Machine;
  struct Resume {
    int core;
    uint64_t time;
    uint32_t value;
  };

  void make_core(Core& c, int id, bool is_fc);
  void share_units();
  void give_log(Core& c);
  void start_core(int id, uint64_t t);
  Core& core(int id) { return cores_[static_cast<size_t>(id)]; }
  Core& fc() { return cores_.back(); }

  // --- the clock (clock.cpp)
  void loop();
  void take_turns();
  void set_limits(Core& c, uint64_t before_others);
  void run_until_it_must_wait(Core& c);
  bool fetch_and_step(Core& c);
  void set_order();
  void end_turn(Core& c);
  void check_instruction_limit(Core& c);
  void run_devices();
  void update_devices();
  void apply_wakes();
  void wake(Core& c, uint64_t t, uint32_t value);
  void to_front(int id);
  bool spins_for_ever(Core& c);
  void report_deadlock();

  // --- the map (access.cpp, registers.cpp)
  Why load_memory(Core& c, Ram& from, uint32_t address, uint32_t size, uint32_t& value);
  Why store_memory(Core& c, Ram& to, uint32_t address, uint32_t size, uint32_t value);
  bool leaves_stack(const Core& c, uint32_t address, uint32_t size);
  Why low_address(const char* verb, uint32_t address);
  uint64_t l1_wait(Core& c, uint32_t address, uint32_t size, uint64_t t);
  uint64_t l2_wait(Core& c, uint32_t address, uint32_t size, uint64_t t);
  Why load_event_unit(Core& c, const Op* op, uint32_t offset, uint64_t t, bool event, uint32_t& value, uint64_t& extra);
  Why load_dma(Core& c, const Op* op, int port, uint32_t offset, uint64_t t, uint32_t& value);
  Why store_dma(Core& c, int port, uint32_t offset, uint64_t t, uint32_t value);
  Why load_cluster(Core& c, const Op* op, uint32_t offset, uint64_t t, uint32_t& value);
  Why store_cluster(Core& c, uint32_t offset, uint64_t t, uint32_t value);
  Why load_soc(Core& c, uint32_t address, uint64_t t, uint32_t& value);
  Why store_soc(Core& c, uint32_t address, uint64_t t, uint32_t value);
  void flush_cluster_cache();
  void put_char(uint32_t port, char ch);
  void flush_output(std::string& line);
  void set_interrupt(uint32_t bits, uint64_t ps);

  RunResult report(double seconds) const;
  std::string where(const Core& c, uint32_t pc) const;

  target::Target target_;
  Elf elf_;
  Options options_;
  Memories memory_;
  std::vector<Core> cores_;  // the cluster's, then the FC
  uint32_t l1_span_ = 0;     // the power of two that L1's addresses repeat in
  std::unique_ptr<CodeStore> cluster_code_, fc_code_;
  std::unique_ptr<InstructionCache> cluster_cache_, fc_cache_;
  EventUnit events_;
  std::unique_ptr<Mchan> mchan_;
  std::unique_ptr<HyperBus> hyperbus_;
  Timer cluster_timer_, fc_timer_;
  std::unique_ptr<Sanitizer> sanitizer_;

  std::array<uint64_t, kMostUnits> unit_free_{};  // when each bank of L1 and each FPU is free
  std::array<uint64_t, 64> l2_free_{};
  std::vector<uint64_t> divider_free_;
  std::vector<std::unique_ptr<uint64_t[]>> logs_;
  uint64_t polled_ = 0;
  std::vector<std::array<uint64_t, 64>> private_banks_;  // with timing off nobody conflicts
  std::vector<uint64_t> private_dividers_;
  std::vector<uint32_t> soc_registers_, cluster_registers_;
  uint32_t interrupt_status_ = 0, interrupt_mask_ = 0;

  Turns turns_;
  std::vector<int> order_;  // who goes first at the same moment: the last to wake up
  bool order_changed_ = false;
  uint64_t device_time_ = kNever, others_time_ = kNever;  // of the next event: of all devices, of all but the DMA
  std::vector<Resume> resumes_;
  uint64_t executed_ = 0;
  Core* current_ = nullptr;

  // a core alone that repeats itself: registers and instruction of an earlier moment
  std::array<uint32_t, 33> spin_x_{};
  const Op* spin_op_ = nullptr;
  uint64_t spin_stores_ = ~uint64_t{0}, spin_count_ = 0, spin_next_ = 0;

  bool stopped_ = false, ran_ = false;
  std::optional<int> exit_code_;
  std::optional<Error> error_;
  std::string output_;
  std::map<uint32_t, std::string> output_lines_;  // by port, what has not gone out
  DmaBytes dma_;
  BusyTime dma_busy_, l3_busy_, any_busy_;
};

}  // namespace tessera::sim
