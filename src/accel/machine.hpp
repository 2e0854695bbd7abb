// The accelerator: registers, SRAMs, arithmetic units and three DMA queues that work beside them.
//
// Instructions issue in order and keep the machine busy for their cost; a transfer goes to its queue and is waited for
// only by whoever touches its tile, its rows, or bytes of memory that a store has not written yet.
//
//   Machine m(config, memory_model, memory_bytes, &image);
//   TRY(m.load(words)); CHECK_OK(m.run_until(words.size()));      m.cycles(), m.stall_cycles()
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "accel/isa.hpp"
#include "accel/machine_config.hpp"
#include "accel/memory_model.hpp"

namespace tessera::accel {

// The three bits of a transfer's precision field.
constexpr uint32_t precision_weight = 0, precision_kv = 1, precision_bf16 = 2;
constexpr uint32_t precision_mask = 3;
constexpr uint32_t narrow_rows = 4;  // rows of a head's width: a tile gets them in every slot

class Machine {
 public:
  // Without an image nothing is computed, only timed; no instruction's time depends on a value.
  Machine(const MachineConfig& config, MemoryModel& memory, int64_t memory_bytes, std::vector<uint8_t>* image);

  Result<void> load(std::span<const uint32_t> words);
  void preload_fp(std::span<const float> values);
  // Runs until `pc` is reached (outside any loop that it lies in).
  Result<void> run_until(uint32_t pc);
  // Waits for every transfer.
  void finish_transfers();
  // Idles until a time.
  void wait_until(memory::Picoseconds time) { now_ = std::max(now_, config_.cycle_at(time)); }

  int64_t cycles() const { return now_; }
  int64_t stall_cycles() const { return stalled_; }
  int64_t link_cycles() const { return for_link_; }  // of them, until bytes were there that came over the link
  memory::Picoseconds link_latency() const { return latency_; }  // of that, while nothing was on the wire
  int64_t instructions() const { return instructions_; }
  int64_t bytes_read() const { return bytes_read_; }
  int64_t bytes_written() const { return bytes_written_; }
  int64_t busy(OpClass c) const { return busy_[static_cast<size_t>(c)]; }
  memory::Picoseconds time() const { return config_.time_of(now_); }
  std::span<const float> vector_row(int64_t row) const { return {&vectors_[row * config_.mlen], size_t(config_.mlen)}; }
  uint32_t gp(int n) const { return gp_[n]; }
  float fp(int n) const { return f_[n]; }
  float fp_sram(int n) const { return fp_sram_[n]; }
  uint32_t int_sram(int n) const { return int_sram_[n]; }
  void set_vector_row(int64_t row, std::span<const float> values);

 private:
  struct Step {
    Instruction i;
    uint32_t partner = 0;  // of a loop: its other end; of a break: the end it leaves
    int32_t cost = 0;
  };
  struct Range {
    uint64_t begin = 0, end = 0;
    bool touches(const Range& o) const { return begin < o.end && o.begin < end; }
  };
  struct Transfer {
    TransferId id;
    Range elements, scales;       // of memory
    int64_t first = 0, rows = 0;  // of the vector SRAM, or one tile
  };
  // What a transfer instruction asks for, worked out.
  struct Stretch {
    bool bf16 = false;
    MxFormat format = mx_ocp;
    int64_t rows = 0, length = 0;  // elements of a row
    uint64_t at = 0, stride = 0, scales_at = 0, scale_stride = 0;
    int64_t scale_length = 0;
    int64_t element_bytes() const { return bf16 ? 2 * length : length; }
    Range elements() const { return {at, at + (rows - 1) * stride + element_bytes()}; }
    Range scales() const {
      return {scales_at, bf16 ? scales_at : scales_at + (rows - 1) * scale_stride + scale_length};
    }
  };
  struct Queue {
    std::deque<Transfer> transfers;
    std::vector<int32_t> pending;  // transfers in flight for each tile or row
  };

  void execute(const Step& step);

  // The vocabulary of the table's meanings.
  uint32_t g(int n) const { return gp_[n]; }
  void set_g(int n, uint32_t value) {
    if (n) gp_[n] = value;
  }
  float f(int n) const { return f_[n]; }
  void set_f(int n, float value) {
    if (n) f_[n] = bf16(value);
  }
  void multiply(int rows, int tile, bool transposed);
  void multiply_row(int row, int tile, bool transposed);
  void multiply_heads(int rows, int tile, bool transposed);
  void multiply_row_heads(int row, int tile, int offset, bool transposed);
  void write_block(const Instruction& i);
  void write_row(const Instruction& i);
  void write_heads(const Instruction& i);
  void write_row_heads(const Instruction& i);
  template <class F>
  void vector_vector(const Instruction& i, F op);
  template <class F>
  void vector_scalar(const Instruction& i, F op);
  void vector_difference(const Instruction& i);
  void vector_exp(const Instruction& i);
  void reduce_sum(const Instruction& i);
  void reduce_max(const Instruction& i);
  void shift(const Instruction& i);
  void map_fp(const Instruction& i);
  void load_fp(const Instruction& i);
  void store_fp(const Instruction& i);
  void load_int(const Instruction& i);
  void store_int(const Instruction& i);
  void prefetch_tile(const Instruction& i);
  void prefetch_rows(const Instruction& i);
  void store_rows(const Instruction& i);
  void set_address(const Instruction& i) { a_[i.rd] = uint64_t{g(i.rs1)} << 32 | g(i.rs2); }
  void set_scale(uint32_t value) { scale_ = value; }
  void set_stride(uint32_t value) { stride_ = value; }
  void set_mask(uint32_t value) { mask_ = value; }
  void loop_start(const Instruction& i) { set_g(i.rd, i.imm); }
  void loop_end(const Instruction& i);
  void loop_break(const Instruction& i);

  // Operands: a fault, or where they are. Reading waits for loads, writing for loads and stores.
  template <class... A>
  void fault(fmt::format_string<A...> format, A&&... args);
  float* rows_to_read(uint32_t address, int64_t count);
  float* rows_to_write(uint32_t address, int64_t count, int64_t stride = 1);
  bool enabled(const Instruction& i, int slot) const { return !i.rs3 || mask_ >> slot & 1; }
  struct TileBlock {
    const float* values = nullptr;  // [mlen][mlen], transposed where asked for
    int64_t block = 0;
  };
  TileBlock tile_to_read(uint32_t address, bool transposed);

  // DMA.
  Stretch stretch_of(const Instruction& i, int64_t rows, int64_t width);
  bool in_memory(const Stretch& s);
  void submit(Queue& queue, Transfer transfer);
  void add_lines(const Range& bytes, bool write);
  void load_lines(const Stretch& s);
  void store_lines(const Stretch& s);
  void wait_for_stores(const Stretch& s);
  void wait(const Transfer& transfer);
  void retire(Queue& queue);                                // waits for the oldest
  void settle(Queue& queue, int64_t first, int64_t count);  // until nothing is in flight there
  void wait_for_rows(int64_t first, int64_t count, bool stores_too);

  const MachineConfig config_;
  MemoryModel& memory_;
  const int64_t memory_bytes_;
  std::vector<uint8_t>* image_;

  std::vector<Step> code_;
  uint32_t pc_ = 0;
  std::string fault_;

  std::array<uint32_t, 16> gp_{};
  std::array<float, 8> f_{};
  std::array<uint64_t, 8> a_{};
  uint32_t scale_ = 0, stride_ = 1, mask_ = 0;
  std::array<float, fp_sram_words> fp_sram_{};
  std::array<uint32_t, int_sram_words> int_sram_{};
  std::vector<float> vectors_;
  // A tile, and its transpose from the first time that someone wants it.
  struct Tile {
    std::vector<float> values, transposed;
    bool has_transposed = false;
  };
  std::vector<Tile> tiles_;
  std::vector<float> block_, row_, heads_, row_heads_;  // accumulators, fp32

  Queue tile_loads_, row_loads_, row_stores_;
  std::vector<LineRequest> lines_;

  int64_t now_ = 0, stalled_ = 0, for_link_ = 0, instructions_ = 0, bytes_read_ = 0, bytes_written_ = 0;
  memory::Picoseconds latency_;
  std::array<int64_t, op_classes> busy_{};
};

inline float larger(float a, float b) {
  return a > b || a != a ? a : b;
}
inline float smaller(float a, float b) {
  return a < b || a != a ? a : b;
}
float exponential(float x);

template <class... A>
void Machine::fault(fmt::format_string<A...> format, A&&... args) {
  if (fault_.empty()) fault_ = fmt::format(format, std::forward<A>(args)...);
}

}  // namespace tessera::accel
