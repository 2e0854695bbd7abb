#include "generator.hpp"

#include <cstring>

namespace tessera::conformance {
namespace {

using Rng = std::mt19937;

// Emits instructions; registers 3 (records) and 4 (scratch memory) belong to the frame around a program.
class Emitter {
 public:
  explicit Emitter(std::vector<uint8_t>& out) : out_(out) {}

  uint32_t here() const { return static_cast<uint32_t>(out_.size()); }
  void word(uint32_t w) { put(&w, 4); }
  void half(uint32_t h) { put(&h, 2); }
  void r(uint32_t opcode, uint32_t f3, uint32_t f7, uint32_t rd, uint32_t rs1, uint32_t rs2) {
    word(f7 << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode);
  }
  void i(uint32_t opcode, uint32_t f3, uint32_t rd, uint32_t rs1, int32_t imm) {
    word(static_cast<uint32_t>(imm) << 20 | rs1 << 15 | f3 << 12 | rd << 7 | opcode);
  }
  void s(uint32_t opcode, uint32_t f3, uint32_t rs1, uint32_t rs2, int32_t imm) {
    const auto v = static_cast<uint32_t>(imm);
    word((v >> 5 & 127) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 | (v & 31) << 7 | opcode);
  }
  void u(uint32_t opcode, uint32_t rd, uint32_t imm) { word((imm & 0xfffff000) | rd << 7 | opcode); }
  void branch(uint32_t f3, uint32_t rs1, uint32_t rs2, uint32_t offset) {
    word((offset >> 12 & 1) << 31 | (offset >> 5 & 63) << 25 | rs2 << 20 | rs1 << 15 | f3 << 12 |
         (offset >> 1 & 15) << 8 | (offset >> 11 & 1) << 7 | 0x63);
  }
  void jal(uint32_t rd, uint32_t offset) {
    word((offset >> 20 & 1) << 31 | (offset >> 1 & 0x3ff) << 21 | (offset >> 11 & 1) << 20 |
         (offset >> 12 & 0xff) << 12 | rd << 7 | 0x6f);
  }
  void load_address(uint32_t rd, uint32_t address) {
    u(0x37, rd, address + 0x800);
    i(0x13, 0, rd, rd, static_cast<int32_t>(address << 20) >> 20);
  }

 private:
  void put(const void* p, size_t n) {
    const auto* bytes = static_cast<const uint8_t*>(p);
    out_.insert(out_.end(), bytes, bytes + n);
  }
  std::vector<uint8_t>& out_;
};

// Floats where it matters: zeros, infinities, NaNs of both kinds, the edges of the normal and integer ranges.
uint32_t interesting_float(Rng& rng) {
  static constexpr uint32_t special[] = {
      0,          0x80000000, 0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7fc00000, 0xffc12345, 0x7f800001,
      0xff812345, 0x00000001, 0x807fffff, 0x00800000, 0x80800001, 0x7f7fffff, 0xff7fffff, 0x4f000000, 0xcf000000,
      0xcf000001, 0x4f7fffff, 0x4f800000, 0x3f000000, 0x3effffff, 0xbf000000, 0x3fc00000, 0x40200000, 0x4b000001,
      0x34000000, 0x00000000, 0x80000000, 0x3f7fffff, 0xbf7fffff, 0x00800000, 0x00ffffff};
  const uint32_t v = rng();
  switch (rng() % 8) {
    case 0:
    case 6:
    case 7:
      return special[rng() % std::size(special)];
    case 1:
      return v;
    case 2:
      return (v & 0x807fffff) | (120 + rng() % 16) << 23;  // near one another
    case 3:
      return (v & 0x807fffff) | (rng() % 30) << 23;  // products fall below the normal range
    case 4:
      return (v & 0x807fffff) | (180 + rng() % 75) << 23;  // products leave it at the top
    default:
      return (v & 0x807f0000) | (140 + rng() % 30) << 23;
  }
}

uint32_t interesting_integer(Rng& rng) {
  static constexpr uint32_t special[] = {0, 1, ~0u, 0x80000000, 0x7fffffff, 2, 31, 32, 0xffff, 0x8000, 0xff};
  return rng() % 3 == 0 ? special[rng() % std::size(special)] : rng() >> rng() % 32;
}

class Generator {
 public:
  Generator(Emitter& e, Rng& rng, bool flags) : e_(e), rng_(rng), flags_(flags) {}

  void one() {
    switch (rng_() % 16) {
      case 0:
      case 1:
        arithmetic();
        break;
      case 2:
        immediate();
        break;
      case 3:
        multiply_divide();
        break;
      case 4:
        upper();
        break;
      case 5:
        load();
        break;
      case 6:
        store();
        break;
      case 7:
        atomic();
        break;
      case 8:
        skip_one();
        break;
      case 9:
      case 10:
        compressed();
        break;
      case 11:
        compressed_memory();
        break;
      case 12:
        csr();
        break;
      default:
        floating();
        break;
    }
  }

 private:
  uint32_t pick(uint32_t n) { return rng_() % n; }
  uint32_t any() { return pick(32); }
  uint32_t target() {
    uint32_t r = pick(32);
    while (r == 3 || r == 4) r = pick(32);
    return r;
  }
  uint32_t small() { return 8 + pick(8); }
  int32_t near_offset(uint32_t size) {
    return static_cast<int32_t>(pick(kScratch - size)) - static_cast<int32_t>(kScratch / 2);
  }
  int32_t aligned_offset() { return static_cast<int32_t>(4 * pick(kScratch / 4)) - static_cast<int32_t>(kScratch / 2); }
  uint32_t rounding() { return pick(3) ? 7 : pick(5); }

  void arithmetic() {
    const uint32_t f3 = pick(8);
    e_.r(0x33, f3, (f3 == 0 || f3 == 5) && pick(2) ? 0x20 : 0, target(), any(), any());
  }
  void immediate() {
    const uint32_t f3 = pick(8);
    if (f3 == 1 || f3 == 5)
      e_.i(0x13, f3, target(), any(), static_cast<int32_t>(pick(32) | (f3 == 5 && pick(2) ? 0x400 : 0)));
    else
      e_.i(0x13, f3, target(), any(), static_cast<int32_t>(pick(4096)) - 2048);
  }
  void multiply_divide() { e_.r(0x33, pick(8), 1, target(), any(), any()); }
  void upper() { e_.u(pick(2) ? 0x37 : 0x17, target(), rng_()); }
  void load() {
    static constexpr uint32_t widths[] = {0, 1, 2, 4, 5};
    e_.i(0x03, widths[pick(5)], target(), 4, near_offset(4));
  }
  void store() { e_.s(0x23, pick(3), 4, any(), near_offset(4)); }

  void atomic() {
    static constexpr uint32_t operations[] = {0x00, 0x01, 0x04, 0x08, 0x0c, 0x10, 0x14, 0x18, 0x1c};
    const uint32_t base = 5 + pick(27);
    e_.i(0x13, 0, base, 4, aligned_offset());
    if (pick(3)) return e_.r(0x2f, 2, operations[pick(9)] << 2 | pick(4), target(), base, any());
    uint32_t loaded = target();
    if (loaded == base) loaded = 0;  // the address must survive until sc.w
    e_.r(0x2f, 2, 0x02 << 2, loaded, base, 0);
    if (pick(3) == 0) e_.s(0x23, 2, 4, any(), aligned_offset());
    e_.r(0x2f, 2, 0x03 << 2, target(), base, any());
  }

  // A branch or jump over the next instruction.
  void skip_one() {
    static constexpr uint32_t conditions[] = {0, 1, 4, 5, 6, 7};
    if (pick(4))
      e_.branch(conditions[pick(6)], any(), any(), 8);
    else
      e_.jal(target(), 8);
    arithmetic();
  }

  void compressed() {
    const uint32_t rd = target(), imm = pick(32), sign = pick(2) << 12;
    switch (pick(8)) {
      case 0:
        e_.half(0x0001 | sign | rd << 7 | imm << 2);
        break;  // c.addi
      case 1:
        e_.half(0x4001 | sign | rd << 7 | imm << 2);
        break;  // c.li
      case 2:
        e_.half(0x6001 | sign | (rd == 2 ? 5 : rd) << 7 | (imm | 1) << 2);
        break;  // c.lui
      case 3:
        e_.half(0x8002 | sign | (rd == 0 ? 5 : rd) << 7 | (1 + pick(31)) << 2);
        break;  // c.mv, c.add
      case 4:
        e_.half(0x8c01 | (small() - 8) << 7 | pick(4) << 5 | (small() - 8) << 2);
        break;  // c.sub c.xor c.or c.and
      case 5:
        e_.half(0x8001 | pick(2) << 10 | (small() - 8) << 7 | imm << 2);
        break;  // c.srli, c.srai
      case 6:
        e_.half(0x8801 | sign | (small() - 8) << 7 | imm << 2);
        break;  // c.andi
      default:
        e_.half(0x0002 | rd << 7 | imm << 2);
        break;  // c.slli
    }
  }

  void compressed_memory() {
    const uint32_t base = small(), value = small() - 8, word = pick(16);
    if (pick(2)) {                        // through the stack pointer
      e_.half(0x8002 | 2 << 7 | 4 << 2);  // c.mv sp, x4
      const uint32_t data = pick(2) ? 5 + pick(27) : 1, offset = 4 * word;
      const bool is_float = pick(2);
      if (pick(2))
        e_.half((is_float ? 0x6002 : 0x4002) | data << 7 | (offset >> 2 & 7) << 4 | (offset >> 5 & 1) << 12);
      else
        e_.half((is_float ? 0xe002 : 0xc002) | data << 2 | (offset >> 2 & 15) << 9);
      return;
    }
    e_.half(0x8002 | base << 7 | 4 << 2);  // c.mv base, x4
    const uint32_t fields = (word & 1) << 6 | (word >> 1 & 7) << 10 | (base - 8) << 7 | value << 2;
    static constexpr uint32_t kinds[] = {0x4000, 0x6000, 0xc000, 0xe000};
    e_.half(kinds[pick(4)] | fields);
  }

  void csr() {
    if (!flags_) return pick(6) ? e_.i(0x13, 0, 0, 0, 0) : e_.i(0x73, 5, 0, pick(2) ? 0 : pick(5), 2);  // csrwi frm
    switch (pick(4)) {
      case 0:
        return e_.i(0x73, 5, target(), pick(5), 2);  // frm
      case 1:
        return e_.i(0x73, 5 + pick(3), target(), pick(32), 1);  // fflags
      case 2:
        return e_.i(0x73, 2, target(), 0, 3);  // read fcsr
      default:
        return e_.i(0x73, 2, target(), 0, 1 + static_cast<int32_t>(pick(2)));
    }
  }

  void floating() {
    const uint32_t rm = rounding(), f = any();
    switch (pick(12)) {
      case 0:
        return e_.r(0x53, rm, 0x00, f, any(), any());
      case 1:
        return e_.r(0x53, rm, 0x04, f, any(), any());
      case 2:
        return e_.r(0x53, rm, 0x08, f, any(), any());
      case 3:
        return e_.r(0x53, rm, 0x0c, f, any(), any());
      case 4:
        return e_.r(0x53, rm, 0x2c, f, any(), 0);
      case 5:
        return e_.r(0x53, pick(3), 0x10, f, any(), any());
      case 6:
        return e_.r(0x53, pick(2), 0x14, f, any(), any());
      case 7:
        return e_.r(0x53, pick(3), 0x50, target(), any(), any());
      case 8:
        return pick(2) ? e_.r(0x53, rm, 0x60, target(), any(), pick(2)) : e_.r(0x53, rm, 0x68, f, any(), pick(2));
      case 9:
        return pick(2) ? e_.r(0x53, pick(2), 0x70, target(), any(), 0) : e_.r(0x53, 0, 0x78, f, any(), 0);
      case 10:
        return pick(2) ? e_.i(0x07, 2, f, 4, near_offset(4)) : e_.s(0x27, 2, 4, f, near_offset(4));
      default:
        return e_.word(any() << 27 | any() << 20 | any() << 15 | rm << 12 | f << 7 | (0x43 + 4 * pick(4)));
    }
  }

  Emitter& e_;
  Rng& rng_;
  bool flags_;
};

void make_program(Batch& b, uint32_t index, bool flags, Rng& rng) {
  Emitter e(b.code);
  b.starts.push_back(e.here());
  for (uint32_t r = 0; r < 32; ++r) {
    const uint32_t x = interesting_integer(rng);
    b.init.insert(b.init.end(), reinterpret_cast<const uint8_t*>(&x), reinterpret_cast<const uint8_t*>(&x) + 4);
  }
  for (uint32_t r = 0; r < 32; ++r) {
    const uint32_t x = interesting_float(rng);
    b.init.insert(b.init.end(), reinterpret_cast<const uint8_t*>(&x), reinterpret_cast<const uint8_t*>(&x) + 4);
  }
  e.load_address(3, kInit + index * kInitRecord);
  e.i(0x73, 5, 0, 0, 3);  // fcsr <- 0
  for (uint32_t r = 0; r < 32; ++r) e.i(0x07, 2, r, 3, static_cast<int32_t>(128 + 4 * r));
  for (uint32_t r = 1; r < 32; ++r)
    if (r != 3 && r != 4) e.i(0x03, 2, r, 3, static_cast<int32_t>(4 * r));
  e.load_address(4, kOut + index * kRecord + kScratch / 2);
  Generator g(e, rng, flags);
  for (uint32_t n = 20 + rng() % 40; n != 0; --n) g.one();
  if (e.here() % 4) e.half(0x0001);
  e.load_address(3, kOut + index * kRecord + kScratch);
  for (uint32_t r = 0; r < 32; ++r) e.s(0x23, 2, 3, r == 3 || r == 4 ? 0 : r, static_cast<int32_t>(4 * r));
  for (uint32_t r = 0; r < 32; ++r) e.s(0x27, 2, 3, r, static_cast<int32_t>(128 + 4 * r));
  if (!flags) return;
  e.i(0x73, 2, 5, 0, 3);
  e.s(0x23, 2, 3, 5, 256);
}

void end_on_qemu(Emitter& e, uint32_t bytes) {
  e.load_address(10, 1);
  e.load_address(11, kOut);
  e.load_address(12, bytes);
  e.load_address(17, 64);  // write
  e.word(0x00000073);
  e.load_address(10, 0);
  e.load_address(17, 93);  // exit
  e.word(0x00000073);
}

void end_on_chip(Emitter& e) {
  e.load_address(5, 0x1A1040A0);
  e.u(0x37, 6, 0x80000000);
  e.s(0x23, 2, 5, 6, 0);
  e.jal(0, 0);
}

// The FC starts core 0 on the programs and waits.
void start_on_chip(Emitter& e, uint32_t first) {
  e.load_address(5, 0x10201400);
  e.i(0x13, 0, 6, 0, -1);
  e.s(0x23, 2, 5, 6, 0);
  e.load_address(5, 0x10200000);
  e.load_address(6, first);
  e.s(0x23, 2, 5, 6, 0x40);
  e.i(0x13, 0, 6, 0, 1);
  e.s(0x23, 2, 5, 6, 8);
  e.jal(0, 0);
}

struct Loaded {
  uint32_t address;
  const std::vector<uint8_t>* bytes;
  uint32_t memory;
};

}  // namespace

Batch make_batch(uint32_t programs, bool flags, uint32_t seed) {
  Batch b;
  Rng rng(seed);
  for (b.programs = 0; b.programs < programs; ++b.programs) make_program(b, b.programs, flags, rng);
  return b;
}

std::vector<uint8_t> make_elf(const Batch& batch, Executor executor) {
  std::vector<uint8_t> code = batch.code, none;
  Emitter e(code);
  executor == Executor::Qemu ? end_on_qemu(e, batch.programs * kRecord) : end_on_chip(e);
  uint32_t entry = kCode;
  if (executor == Executor::Chip) entry = kCode + e.here(), start_on_chip(e, kCode);
  const Loaded parts[] = {{kCode, &code, static_cast<uint32_t>(code.size())},
                          {kInit, &batch.init, static_cast<uint32_t>(batch.init.size())},
                          {kOut, &none, batch.programs * kRecord}};
  std::vector<uint8_t> elf(52 + 3 * 32);
  const auto put = [&](size_t at, uint32_t v, size_t n) { std::memcpy(elf.data() + at, &v, n); };
  const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 1, 1, 1};
  std::memcpy(elf.data(), ident, sizeof ident);
  put(16, 2, 2), put(18, 243, 2), put(20, 1, 4), put(24, entry, 4), put(28, 52, 4), put(36, 3, 4), put(40, 52, 2),
      put(42, 32, 2), put(44, 3, 2);
  for (size_t i = 0; i < 3; ++i) {
    // a page-aligned file offset, as qemu maps whole pages
    elf.resize((elf.size() + 4095) / 4096 * 4096);
    const auto offset = static_cast<uint32_t>(elf.size());
    const size_t at = 52 + 32 * i;
    put(at, 1, 4), put(at + 4, offset, 4), put(at + 8, parts[i].address, 4), put(at + 12, parts[i].address, 4);
    put(at + 16, static_cast<uint32_t>(parts[i].bytes->size()), 4), put(at + 20, parts[i].memory, 4),
        put(at + 24, 7, 4), put(at + 28, 4096, 4);
    elf.insert(elf.end(), parts[i].bytes->begin(), parts[i].bytes->end());
  }
  return elf;
}

}  // namespace tessera::conformance
