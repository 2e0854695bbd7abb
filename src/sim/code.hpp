// Decoded code of one clock domain: a slot for every halfword of L2 and L1, filled when it is first reached.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

#include "sim/decode.hpp"
#include "sim/memory.hpp"

namespace tessera::sim {

class CodeStore {
 public:
  CodeStore(Memories& memory, DecodeContext context, bool lines, bool traced);

  // Shows a core its code.
  void attach(Core& c);
  // The slot of an address; null where there is no memory to execute from.
  Op* find(uint32_t address);
  uint32_t address_of(const Op* op) const;
  void decode_slot(const Op* op);
  // Runs one instruction, and the hardware loop that may end at it.
  void step(Core& c, const Op* op);
  // The last instruction of a loop body must look at the loop registers.
  void mark_loop_end(uint32_t address);
  // fence.i, cache flush: code may have changed.
  void forget();

  std::span<uint16_t> line_holders() { return {holders_.get(), slots_ / 8 + 2}; }
  bool is_loop_end(const Op* op) const { return loop_end_[slot(op)] != 0; }
  // The fetch buffer always takes four bytes: an instruction in the last halfword of a line, short or long, asks for
  // the next line as well.
  bool needs_next_line(const Op* op) const { return (slot(op) & 7) == 7; }
  size_t slot(const Op* op) const { return static_cast<size_t>(op - ops_.get()); }

 private:
  struct Free {
    void operator()(void* p) const { std::free(p); }
  };
  // calloc: megabytes of slots of which a program reaches a few pages
  template <class T>
  using Lazy = std::unique_ptr<T[], Free>;
  static constexpr size_t kChunk = 1024;

  void ensure(size_t slot);
  uint32_t word_at(uint32_t address) const;
  Decoded decoded_at(uint32_t address) const { return decode(word_at(address), address, context_); }
  void loop_edge(Core& c, const Op* op);
  bool polls(uint32_t address) const;

  Memories& memory_;
  DecodeContext context_;
  bool lines_, traced_;
  size_t l2_slots_, slots_;
  Lazy<Op> ops_;
  Lazy<uint8_t> kinds_, loop_end_;
  Lazy<uint16_t> holders_;
  std::vector<bool> ready_;
  std::vector<uint32_t> loop_ends_;
};

}  // namespace tessera::sim
