#include "sim/decode.hpp"

#include "sim/compressed.hpp"
#include "sim/ops_float.hpp"

namespace tessera::sim {
namespace {

struct Fields {
  uint32_t w;
  uint32_t opcode() const { return w & 0x7f; }
  uint8_t rd() const { return w >> 7 & 31; }
  uint8_t rs1() const { return w >> 15 & 31; }
  uint8_t rs2() const { return w >> 20 & 31; }
  uint8_t rs3() const { return w >> 27; }
  uint32_t f3() const { return w >> 12 & 7; }
  uint32_t f7() const { return w >> 25; }
  int32_t imm_i() const { return static_cast<int32_t>(w) >> 20; }
  int32_t imm_s() const { return (static_cast<int32_t>(w) >> 25 << 5) | (w >> 7 & 31); }
  int32_t imm_b() const {
    return (static_cast<int32_t>(w) >> 31 << 12) | (w << 4 & 0x800) | (w >> 20 & 0x7e0) | (w >> 7 & 0x1e);
  }
  int32_t imm_u() const { return static_cast<int32_t>(w & 0xfffff000); }
  int32_t imm_j() const {
    return (static_cast<int32_t>(w) >> 31 << 20) | (w & 0xff000) | (w >> 9 & 0x800) | (w >> 20 & 0x7fe);
  }
};

constexpr uint8_t target_register(uint8_t rd) {
  return rd == 0 ? kNowhere : rd;
}

// Builds a Decoded; each family fills in what it knows.
class Decoder {
 public:
  Decoder(uint32_t word, uint32_t pc, const DecodeContext& k) : f_{word}, pc_(pc), k_(k) {}

  Decoded run() {
    d_.imm = static_cast<int32_t>(f_.w);  // an instruction that is none keeps its bits for the message
    switch (f_.opcode()) {
      case 0x37:
        make(Kind::Li, f_.imm_u()), writes();
        break;
      case 0x17:
        make(Kind::Li, static_cast<int32_t>(pc_ + static_cast<uint32_t>(f_.imm_u()))), writes();
        break;
      case 0x13:
        immediate();
        break;
      case 0x33:
        arithmetic();
        break;
      case 0x63:
        branch();
        break;
      case 0x6f:
        jal();
        break;
      case 0x67:
        if (f_.f3() == 0) make(Kind::Jalr, f_.imm_i()), writes(), reads1();
        break;
      case 0x03:
        load();
        break;
      case 0x23:
        store();
        break;
      case 0x0b:
        if (k_.xpulp) post_load();
        break;
      case 0x2b:
        if (k_.xpulp) post_store();
        break;
      case 0x7b:
        if (k_.xpulp && f_.f3() <= 5) loop_setup();
        break;
      case 0x07:
        if (has('f') && f_.f3() == 2) float_load();
        break;
      case 0x27:
        if (has('f') && f_.f3() == 2) make(Kind::Fsw, f_.imm_s()), reads1(), reads_float(f_.rs2()), d_.rs2 = f_.rs2();
        break;
      case 0x43:
      case 0x47:
      case 0x4b:
      case 0x4f:
        if (has('f')) fused();
        break;
      case 0x53:
        if (has('f')) float_op();
        break;
      case 0x2f:
        if (has('a') && f_.f3() == 2) atomic();
        break;
      case 0x0f:
        if (f_.f3() == 0) make(Kind::Nop, 0);
        break;  // fence; fence.i stays a system instruction
      case 0x73:
        system();
        break;
      default:
        break;
    }
    return d_;
  }

 private:
  bool has(char letter) const { return k_.isa & isa_bit(letter); }
  void make(Kind kind, int32_t imm) { d_.kind = kind, d_.imm = imm; }
  void writes() { d_.rd = target_register(f_.rd()); }
  void writes_float() { d_.rd = f_.rd(), d_.writes_float = true; }
  void reads1() { d_.rs1 = f_.rs1(), d_.reads |= 1u << f_.rs1(); }
  void reads2() { d_.rs2 = f_.rs2(), d_.reads |= 1u << f_.rs2(); }
  void reads_float(uint8_t r) { d_.reads_float |= 1u << r; }
  void costs(int target::Timing::*number) {
    if (k_.timing) d_.cost = k_.timing->*number;
  }
  void late(int target::Timing::*number) {
    if (k_.timing) d_.late = k_.timing->*number;
  }

  void immediate() {
    constexpr Kind kinds[] = {Kind::Addi, Kind::Slli, Kind::Slti, Kind::Sltiu,
                              Kind::Xori, Kind::Srli, Kind::Ori,  Kind::Andi};
    const uint32_t f3 = f_.f3();
    if (f3 == 1 && f_.f7() != 0) return;
    if (f3 == 5 && f_.f7() != 0 && f_.f7() != 0x20) return;
    if (f3 == 5 && f_.f7() == 0x20)
      make(Kind::Srai, f_.rs2());
    else
      make(kinds[f3], f3 == 1 || f3 == 5 ? f_.rs2() : f_.imm_i());
    writes(), reads1();
  }

  void register_form(Kind kind) { make(kind, 0), writes(), reads1(), reads2(); }
  void immediate_form(Kind kind, int32_t imm) { make(kind, imm), writes(), reads1(); }

  void arithmetic() {
    const uint32_t f3 = f_.f3(), f7 = f_.f7();
    if (f7 == 0) {
      constexpr Kind kinds[] = {Kind::Add, Kind::Sll, Kind::Slt, Kind::Sltu, Kind::Xor, Kind::Srl, Kind::Or, Kind::And};
      register_form(kinds[f3]);
    } else if (f7 == 0x20 && (f3 == 0 || f3 == 5)) {
      register_form(f3 == 0 ? Kind::Sub : Kind::Sra);
    } else if (f7 == 1 && has('m')) {
      multiply_divide(f3);
    } else if (k_.xpulp) {
      pulp_arithmetic(f3, f7);
    }
  }

  void multiply_divide(uint32_t f3) {
    constexpr Kind kinds[] = {Kind::Mul, Kind::Mulh, Kind::Mulhsu, Kind::Mulhu,
                              Kind::Div, Kind::Divu, Kind::Rem,    Kind::Remu};
    register_form(kinds[f3]);
    if (f3 < 4) {
      costs(f3 == 0 ? &target::Timing::mul : &target::Timing::mulh);
      late(&target::Timing::mul_use);
    } else if (k_.timing) {
      d_.imm = k_.timing->div_base | k_.timing->div_negative_base << 8 | k_.timing->div_zero << 16;
    }
  }

  void pulp_arithmetic(uint32_t f3, uint32_t f7) {
    if (f7 == 0x02) {
      constexpr Kind kinds[] = {Kind::Abs, Kind::System, Kind::Slet, Kind::Sletu,
                                Kind::Min, Kind::Minu,   Kind::Max,  Kind::Maxu};
      if (f3 == 0)
        immediate_form(Kind::Abs, 0);
      else if (f3 != 1)
        register_form(kinds[f3]);
    } else if (f7 == 0x08) {
      constexpr Kind kinds[] = {Kind::Ff1,   Kind::Fl1,   Kind::Clb,   Kind::Cnt,
                                Kind::Exths, Kind::Exthz, Kind::Extbs, Kind::Extbz};
      immediate_form(kinds[f3], 0);
    } else if (f7 == 0x04 && f3 == 5) {
      register_form(Kind::Ror);
    } else if (f7 == 0x0a && (f3 == 1 || f3 == 2)) {
      immediate_form(f3 == 1 ? Kind::Clip : Kind::Clipu, f_.rs2());
    } else if (f7 == 0x0a && (f3 == 5 || f3 == 6)) {
      register_form(f3 == 5 ? Kind::Clipr : Kind::Clipur);
    } else if (f7 == 0x21 && f3 < 2) {
      register_form(f3 == 0 ? Kind::Mac : Kind::Msu);
      d_.reads |= 1u << f_.rd();
    } else {
      bit_field(f3, f7);
    }
  }

  void bit_field(uint32_t f3, uint32_t f7) {
    const int32_t field = f_.rs2() | static_cast<int32_t>(f7 & 31) << 5;
    constexpr Kind immediates[] = {Kind::Extract, Kind::Extractu, Kind::Insert, Kind::Bclr, Kind::Bset};
    constexpr Kind registers[] = {Kind::Extractr, Kind::Extractur, Kind::System, Kind::Bclrr, Kind::Bsetr};
    if (f3 > 4) return;
    if (f7 >> 5 == 3) {
      immediate_form(immediates[f3], field);
      if (f3 == 2) d_.reads |= 1u << f_.rd();
    } else if (f7 == 0x40 && f3 != 2) {
      register_form(registers[f3]);
    }
  }

  void branch() {
    constexpr Kind kinds[] = {Kind::Beq, Kind::Bne, Kind::Beqimm, Kind::Bneimm,
                              Kind::Blt, Kind::Bge, Kind::Bltu,   Kind::Bgeu};
    const bool immediate = f_.f3() == 2 || f_.f3() == 3;
    if (immediate && !k_.xpulp) return;
    make(kinds[f_.f3()], f_.imm_b()), reads1();
    if (immediate)
      d_.rs2 = f_.rs2();
    else
      reads2();
  }

  void jal() { make(f_.imm_j() == 0 && f_.rd() == 0 ? Kind::Park : Kind::Jal, f_.imm_j()), writes(); }

  // Which of byte, half, word (signed or not) a width field means; -1: none.
  static int width(uint32_t f3) { return f3 < 3 ? static_cast<int>(f3) : f3 == 4 ? 3 : f3 == 5 ? 4 : -1; }
  static Kind offset_by(Kind first, int by) { return static_cast<Kind>(static_cast<int>(first) + by); }

  void load() {
    if (f_.f3() == 6 && k_.xpulp) {
      make(Kind::Elw, f_.imm_i()), writes(), reads1();
      return;
    }
    if (f_.f3() == 7 && k_.xpulp) return register_load(Kind::LbReg);
    const int w = width(f_.f3());
    if (w < 0) return;
    make(offset_by(Kind::Lb, w), f_.imm_i()), writes(), reads1(), late(&target::Timing::load_use);
  }

  void register_load(Kind first) {
    const int w = f_.f7() % 8 == 0 ? width(f_.f7() >> 3) : -1;
    if (w < 0) return;
    make(offset_by(first, w), f_.rs2()), writes(), reads1(), late(&target::Timing::load_use);
    d_.reads |= 1u << f_.rs2();
  }

  void post_load() {
    if (f_.f3() == 7) return register_load(Kind::LbPostReg);
    const int w = width(f_.f3());
    if (w < 0) return;
    make(offset_by(Kind::LbPost, w), f_.imm_i()), writes(), reads1(), late(&target::Timing::load_use);
  }

  void store() {
    const uint32_t f3 = f_.f3();
    if (f3 == 3 || f3 == 7 || (f3 >= 4 && !k_.xpulp)) return;
    if (f3 < 3)
      make(offset_by(Kind::Sb, static_cast<int>(f3)), f_.imm_s());
    else
      make(offset_by(Kind::SbReg, static_cast<int>(f3) - 4), f_.rd()), d_.reads |= 1u << f_.rd();
    reads1(), reads2();
  }

  void post_store() {
    const uint32_t f3 = f_.f3();
    if (f3 == 3 || f3 == 7) return;
    if (f3 < 3)
      make(offset_by(Kind::SbPost, static_cast<int>(f3)), f_.imm_s());
    else
      make(offset_by(Kind::SbPostReg, static_cast<int>(f3) - 4), f_.rd()), d_.reads |= 1u << f_.rd();
    reads1(), reads2();
  }

  void loop_setup() {
    make(Kind::LoopSetup, static_cast<int32_t>(f_.w));
    if (f_.f3() == 2 || f_.f3() == 4) reads1();
  }

  void float_load() {
    make(Kind::Flw, f_.imm_i()), writes_float(), reads1(), late(&target::Timing::load_use);
    d_.float_load = true;
  }

  bool rounding_is_valid() const { return f_.f3() <= 4 || f_.f3() == kDynamicRounding; }

  // The mode, marked where it is one that host floats are not in.
  int32_t rounding() const {
    const auto mode = static_cast<int32_t>(f_.f3());
    return mode == soft::kNearestEven || mode == kDynamicRounding ? mode : mode | kRoundsItself;
  }

  void fused() {
    constexpr Kind kinds[] = {Kind::Fmadd, Kind::Fmsub, Kind::Fnmsub, Kind::Fnmadd};
    if ((f_.f7() & 3) != 0 || !rounding_is_valid()) return;
    make(kinds[f_.opcode() >> 2 & 3], rounding() | f_.rs3() << 3), writes_float();
    d_.rs1 = f_.rs1(), d_.rs2 = f_.rs2();
    reads_float(f_.rs1()), reads_float(f_.rs2()), reads_float(f_.rs3());
  }

  void float_two(Kind kind, bool to_integer = false) {
    make(kind, rounding());
    to_integer ? writes() : writes_float();
    d_.rs1 = f_.rs1(), d_.rs2 = f_.rs2();
    reads_float(f_.rs1()), reads_float(f_.rs2());
  }
  void float_one(Kind kind, bool to_integer = false) {
    make(kind, rounding());
    to_integer ? writes() : writes_float();
    d_.rs1 = f_.rs1(), reads_float(f_.rs1());
  }
  void float_from_integer(Kind kind) { make(kind, rounding()), writes_float(), reads1(); }

  void float_op() {
    const uint32_t f3 = f_.f3(), rs2 = f_.rs2();
    const bool rounds = rounding_is_valid();
    switch (f_.f7()) {
      case 0x00:
        if (rounds) float_two(Kind::Fadd);
        break;
      case 0x04:
        if (rounds) float_two(Kind::Fsub);
        break;
      case 0x08:
        if (rounds) float_two(Kind::Fmul);
        break;
      case 0x0c:
        if (rounds) float_two(Kind::Fdiv), costs(&target::Timing::fdiv);
        break;
      case 0x2c:
        if (rounds && rs2 == 0) float_one(Kind::Fsqrt), costs(&target::Timing::fsqrt);
        break;
      case 0x10:
        if (f3 < 3) float_two(f3 == 0 ? Kind::Fsgnj : f3 == 1 ? Kind::Fsgnjn : Kind::Fsgnjx);
        break;
      case 0x14:
        if (f3 < 2) float_two(f3 == 0 ? Kind::Fmin : Kind::Fmax);
        break;
      case 0x50:
        if (f3 < 3) float_two(f3 == 0 ? Kind::Fle : f3 == 1 ? Kind::Flt : Kind::Feq, true);
        break;
      case 0x60:
        if (rounds && rs2 < 2) float_one(rs2 == 0 ? Kind::FcvtWS : Kind::FcvtWuS, true);
        break;
      case 0x68:
        if (rounds && rs2 < 2) float_from_integer(rs2 == 0 ? Kind::FcvtSW : Kind::FcvtSWu);
        break;
      case 0x70:
        if (rs2 == 0 && f3 < 2) float_one(f3 == 0 ? Kind::FmvXW : Kind::Fclass, true);
        break;
      case 0x78:
        if (rs2 == 0 && f3 == 0) float_from_integer(Kind::FmvWX);
        break;
      default:
        break;
    }
  }

  void atomic() {
    switch (f_.f7() >> 2) {
      case 0x02:
        if (f_.rs2() != 0) return;
        make(Kind::Lr, 0);
        break;
      case 0x03:
        make(Kind::Sc, 0);
        break;
      case 0x01:
        make(Kind::Amoswap, 0);
        break;
      case 0x00:
        make(Kind::Amoadd, 0);
        break;
      case 0x04:
        make(Kind::Amoxor, 0);
        break;
      case 0x0c:
        make(Kind::Amoand, 0);
        break;
      case 0x08:
        make(Kind::Amoor, 0);
        break;
      case 0x10:
        make(Kind::Amomin, 0);
        break;
      case 0x14:
        make(Kind::Amomax, 0);
        break;
      case 0x18:
        make(Kind::Amominu, 0);
        break;
      case 0x1c:
        make(Kind::Amomaxu, 0);
        break;
      default:
        return;
    }
    writes(), reads1(), reads2(), late(&target::Timing::load_use);
  }

  void system() {
    const uint32_t f3 = f_.f3();
    if (f3 == 0 || f3 == 4) return;
    make(Kind::Csr, static_cast<int32_t>(f_.w >> 20 | f3 << 12)), writes();
    d_.rs1 = f_.rs1();
    if (f3 < 4) d_.reads |= 1u << f_.rs1();
  }

  Fields f_;
  uint32_t pc_;
  const DecodeContext& k_;
  Decoded d_;
};

}  // namespace

Decoded decode(uint32_t word, uint32_t pc, const DecodeContext& context) {
  if ((word & 3) == 3) return Decoder(word, pc, context).run();
  const uint32_t expanded = context.isa & isa_bit('c') ? expand(static_cast<uint16_t>(word)) : 0;
  Decoded d;
  if (expanded != 0) d = Decoder(expanded, pc, context).run();
  if (d.kind == Kind::System && expanded != 0x00100073) d.imm = static_cast<int32_t>(word & 0xffff);
  d.length = 2;
  return d;
}

int dependency_stall(const Decoded& first, const Decoded& next, const DecodeContext& context) {
  if (first.late == 0 || (!first.writes_float && first.rd == kNowhere)) return 0;
  const uint32_t reads = first.writes_float ? next.reads_float : next.reads;
  if (reads >> first.rd & 1) return first.late;
  if (first.float_load && next.float_load && next.rd == first.rd) return context.timing->float_load_reload;
  return 0;
}

}  // namespace tessera::sim
