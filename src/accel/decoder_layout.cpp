#include "accel/decoder_layout.hpp"

namespace tessera::accel {
namespace {

class Builder {
 public:
  Builder(const DecoderShape& shape, const MachineConfig& machine) : s(shape), machine_(machine) {
    // PLENA aligns to a tile of bytes where tiles are large; ours to a page of the DRAM's columns.
    alignment_ = !s.plena ? 4096 : s.mlen >= 256 ? s.mlen * s.mlen : s.mlen;
  }

  void add(int64_t layer, std::string tensor, std::string name, Kind kind, int64_t rows, int64_t columns,
           bool bf16 = false, int64_t tile = 0) {
    const auto& format = kind == Kind::Kv ? machine_.kv : machine_.weights;
    const int64_t size = bf16 ? rows * columns * 2 : format.bytes(rows * columns);
    out.bytes = round_up(out.bytes, alignment_);
    Region region{std::move(name), static_cast<uint32_t>(layer), kind, static_cast<uint64_t>(out.bytes),
                  static_cast<uint64_t>(size)};
    out.index[{layer, tensor}] = out.placements.size();
    out.placements.push_back({std::move(region), rows, columns, tile, bf16, std::move(tensor)});
    out.bytes += size;
  }

  void constants() {
    const int64_t hidden = s.hidden_blocks * s.mlen;
    if (s.plena) add(0, "x", "X", Kind::Activation, s.padded, hidden);
    if (s.plena) add(0, "positions", "POS", Kind::Activation, s.padded, hidden);
    if (s.head_blocks == 1) add(0, "rope", "R_rope", Kind::Activation, s.mlen, s.mlen);
    const int64_t positions = s.plena ? s.padded : s.kv_rows;
    add(0, "cosine", "COS", Kind::Activation, positions, s.rope_blocks * s.mlen, !s.plena);
    add(0, "sine", "SIN", Kind::Activation, positions, s.rope_blocks * s.mlen, !s.plena);
    add(0, "mask", "mask", Kind::Activation, s.plena ? s.padded : mask_tiles * s.mlen, s.mlen, !s.plena);
    if (s.head) add(0, "logits", "logits", Kind::Activation, s.vocabulary_blocks, s.mlen, true);
  }

  void matrix(int64_t layer, const char* tensor, const std::string& name, int64_t k_blocks, int64_t n_blocks) {
    add(layer, tensor, name, Kind::Weight, k_blocks * s.mlen, n_blocks * s.mlen, false, s.plena ? 0 : s.mlen);
  }

  void layer_weights(int64_t l) {
    const auto name = [&](const char* own) { return fmt::format("layer{}.{}", l, own); };
    const int64_t h = s.hidden_blocks;
    add(l, "norm1", name("norm1"), Kind::Weight, h, s.mlen, true);
    matrix(l, "q_proj", name("q_proj"), h, s.query_blocks);
    matrix(l, "k_proj", name("k_proj"), h, s.kv_blocks);
    matrix(l, "v_proj", name("v_proj"), h, s.kv_blocks);
    matrix(l, "o_proj", name("o_proj"), s.query_blocks, h);
    add(l, "norm2", name("norm2"), Kind::Weight, h, s.mlen, true);
    matrix(l, "gate_proj", name("gate_proj"), h, s.inner_blocks);
    matrix(l, "up_proj", name("up_proj"), h, s.inner_blocks);
    matrix(l, "down_proj", name("down_proj"), s.inner_blocks, h);
  }

  void plena_weights(int64_t l) {
    const auto name = [&](const std::string& plena) { return l ? fmt::format("{}_l{}", plena, l) : plena; };
    const int64_t h = s.hidden_blocks;
    matrix(l, "q_proj", name("W_q"), h, s.query_blocks);
    matrix(l, "o_proj", name("W_o"), s.query_blocks, h);
    for (int64_t kv = 0; kv < s.model.kv_heads; ++kv) {
      matrix(l, fmt::format("k_proj.{}", kv).c_str(), name(fmt::format("W_k_h{}", kv)), h, 1);
      matrix(l, fmt::format("v_proj.{}", kv).c_str(), name(fmt::format("W_v_h{}", kv)), h, 1);
    }
    matrix(l, "gate_proj", name("W_gate"), h, s.inner_blocks);
    matrix(l, "up_proj", name("W_up"), h, s.inner_blocks);
    matrix(l, "down_proj", name("W_down"), s.inner_blocks, h);
  }

  void layer_cache(int64_t l) {
    for (int64_t kv = 0; kv < s.model.kv_heads; ++kv)
      for (const char* which : {"k", "v"}) {
        const char big = which[0] == 'k' ? 'K' : 'V';
        const auto name = !s.plena ? fmt::format("layer{}.{}_stored_h{}", l, big, kv)
                          : l      ? fmt::format("{}_h{}_l{}", big, kv, l)
                                   : fmt::format("{}_h{}", big, kv);
        add(l, fmt::format("{}.{}", which, kv), name, Kind::Kv, s.kv_rows, s.kv_width);
      }
  }

  void head_weights() {
    if (!s.plena) add(s.layers, "final_norm", "final_norm", Kind::Weight, s.hidden_blocks, s.mlen, true);
    matrix(s.layers, "lm_head", "lm_head", s.hidden_blocks, s.vocabulary_blocks);
  }

  DecoderLayout out;

 private:
  const DecoderShape& s;
  const MachineConfig& machine_;
  int64_t alignment_;
};

}  // namespace

Source DecoderLayout::source(const Placement& p, uint32_t precision) const {
  return {.base = p.region.offset,
          .scale = p.bf16 ? 0 : static_cast<uint64_t>(p.rows * p.columns),
          .precision = p.bf16 ? precision_bf16 : precision};
}

DecoderLayout lay_out(const DecoderShape& s, const MachineConfig& machine) {
  Builder b(s, machine);
  b.constants();
  for (int64_t l = 0; l < s.layers; ++l) {
    s.plena ? b.plena_weights(l) : b.layer_weights(l);
    if (s.plena) b.layer_cache(l);
  }
  if (s.head) b.head_weights();
  if (!s.plena) {
    for (int64_t l = 0; l < s.layers; ++l) b.layer_cache(l);
    // Last, since only its size depends on how many tokens a program works on: programs for one context share an image.
    b.add(0, "x", "X", Kind::Activation, s.padded, s.hidden_blocks * s.mlen, true);
  }
  b.out.bytes = round_up(b.out.bytes, 64);
  return std::move(b.out);
}

}  // namespace tessera::accel
