// How a model lies on a machine: blocks of columns, slots of heads, rows worked on at a time, and where tensors stand
// in the vector SRAM.
//
//   SmolLM2-135M, MLEN 64:   hidden 9 blocks, a head a block            llada-8b, MLEN 64:  a head is two blocks
//   SmolLM2-135M, MLEN 256:  hidden 3 blocks, a KV head's three query heads in a block of four slots
#pragma once

#include "accel/decoder.hpp"

namespace tessera::accel {

struct DecoderShape {
  Model model;
  DecoderOptions options;
  bool plena = false;
  int64_t mlen = 0, blen = 0, hlen = 0;
  int64_t head_blocks = 1;   // blocks that one head takes (a wide head)
  int64_t slots = 1;         // heads that one block takes (narrow heads)
  int64_t group = 1;         // query heads of a KV head
  int64_t group_blocks = 1;  // blocks of a KV head's query heads
  int64_t hidden_blocks = 0, inner_blocks = 0, query_blocks = 0, kv_blocks = 0, vocabulary_blocks = 0;
  int64_t rope_blocks = 1;  // width of the cosines
  int64_t layers = 0;
  bool head = false;

  int64_t tokens = 0, past = 0;
  int64_t padded = 0;      // rows of the residual stream in memory
  int64_t rows = 0;        // worked on at a time, at most
  int64_t query_rows = 0;  // of them, in attention
  int64_t mlp_slices = 1;
  int64_t kv_rows = 0;      // of a KV region, whole tiles
  int64_t kv_width = 0;     // elements of one of its rows
  int64_t group_tiles = 0;  // matrix tiles brought at a time; there is room for twice as many

  // Rows of the vector SRAM.
  int64_t x = 0, normed = 0, cosine = 0, sine = 0, mask = 0, gamma = 0, temporary = 0, partial = 0, scratch = 0;
  int64_t query = 0, key = 0, value = 0, group_query = 0, scores = 0, gate = 0, logits = 0;
  int64_t vector_rows = 0;
  int64_t rope_tile = 0;  // of the matrix SRAM
  int64_t matrix_tiles = 0;

  // Column of element j of query head h, in W_q's columns, W_o's rows, and the rows of Q.
  int64_t query_column(int64_t h, int64_t j) const {
    if (slots == 1) return h * head_blocks * mlen + j;
    const int64_t kv = h / group, in_group = h % group;
    return (kv * group_blocks + in_group / slots) * mlen + in_group % slots * hlen + j;
  }
  int64_t kv_block(int64_t kv) const { return plena ? kv : slots > 1 ? kv / slots : kv * head_blocks; }
  int64_t kv_slot(int64_t kv) const { return plena || slots == 1 ? 0 : kv % slots; }
  bool single_chunk() const { return rows >= padded; }
  // Whether a program reads the mask at all: without an order of tokens, only for what pads the last tile of keys.
  bool masks() const { return model.causal || (past + tokens) % mlen != 0; }
  int64_t key_tiles(int64_t last_position) const { return last_position / mlen + 1; }
  int64_t most_tiles() const { return kv_rows / mlen; }
  int64_t score_rows(int64_t of_rows) const {
    const int64_t all = group * of_rows;
    return all == 1 ? 1 : (all + blen - 1) / blen * blen;
  }
};

// Chooses rows, slices and groups of tiles, the largest that the SRAM has room for, and fills in the machine's sizes.
Result<DecoderShape> shape_decoder(const Model& model, MachineConfig& machine, const DecoderOptions& options);

constexpr int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}
constexpr int64_t divide_up(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

// Words of the FP SRAM that a compile preloads.
enum FpConstant : int64_t { kZero, kAttentionScale, kMinusInfinity, kEpsilon, kInverseHidden, kOne, kFpConstants };
constexpr float masked_score = -6e4f;
constexpr int mask_tiles = 3;  // of the mask's table: rows before, on and after the diagonal

}  // namespace tessera::accel
