// Rotary positions, the KV cache, scores, softmax.
#include <numeric>

#include "accel/decoder_compiler.hpp"

namespace tessera::accel {

// x cos + (x R) sin, where R turns the halves of each head in a row.
void DecoderCompiler::rope_narrow(int64_t block_row, Chunk c) {
  if (s.plena) {
    auto source = layout.source(layout.at(0, "rope"), precision_weight);
    e.point_at(0, source.base, source.scale, 0, reg::p0);
    e.constant(reg::p0, s.rope_tile * s.mlen * s.mlen);
    e.op(Op::H_PREFETCH_M, {reg::p0, 0, 0});
  }
  e.fixed_product(s.rope_tile, block_row, c.rows, s.temporary);
  e.over_rows(c.rows, reg::count_a,
              {{reg::p0, block_row}, {reg::p1, s.temporary}, {reg::p2, s.cosine}, {reg::p3, s.sine}}, [&] {
                e.op(Op::V_MUL_VV, {reg::p0, reg::p0, reg::p2});
                e.op(Op::V_MUL_VV, {reg::p1, reg::p1, reg::p3});
                e.op(Op::V_ADD_VV, {reg::p0, reg::p0, reg::p1});
              });
}

// A head of several blocks: its halves are whole blocks, so they are turned as they are.
void DecoderCompiler::rope_wide(int64_t head_row, Chunk c) {
  const int64_t half = s.head_blocks / 2;
  for (int64_t b = 0; b < half; ++b) {
    const int64_t low = head_row + b * c.rows, high = head_row + (b + half) * c.rows;
    e.constant(reg::p5, s.temporary * s.mlen);
    e.over_rows(c.rows, reg::count_a,
                {{reg::p0, low}, {reg::p1, high}, {reg::p2, s.cosine + b * c.rows}, {reg::p3, s.sine + b * c.rows}},
                [&] {
                  e.sum(reg::p4, reg::p5, s.mlen);
                  e.op(Op::V_MUL_VV, {reg::p5, reg::p1, reg::p3});
                  e.op(Op::V_MUL_VV, {reg::p4, reg::p0, reg::p3});
                  e.op(Op::V_MUL_VV, {reg::p0, reg::p0, reg::p2});
                  e.op(Op::V_MUL_VV, {reg::p1, reg::p1, reg::p2});
                  e.op(Op::V_SUB_VV, {reg::p0, reg::p0, reg::p5});
                  e.op(Op::V_ADD_VV, {reg::p1, reg::p1, reg::p4});
                });
  }
}

void DecoderCompiler::rope(int64_t first_row, int64_t blocks, Chunk c) {
  stage("rope", [this, first_row, blocks, c] {
    for (int64_t b = 0; b < blocks; b += s.head_blocks)
      s.head_blocks == 1 ? rope_narrow(first_row + b * c.rows, c) : rope_wide(first_row + b * c.rows, c);
  });
}

void DecoderCompiler::store_cache(const char* which, int64_t first_row, Chunk c) {
  stage("cache", [this, which, first_row, c, l = layer] {
    // Rows of padding are not kept, except by PLENA, which moves all of them.
    const int64_t rows = s.plena ? c.rows : std::min(c.rows, s.tokens - c.first);
    for (int64_t kv = 0; kv < s.model.kv_heads && rows > 0; ++kv) {
      const auto& p = layout.at(l, fmt::format("{}.{}", which, kv));
      auto source = layout.source(p, precision_kv | (s.slots > 1 && !s.plena ? narrow_rows : 0));
      if (s.head_blocks > 1) source.stride = s.kv_width;
      for (int64_t b = 0; b < s.head_blocks; ++b)
        e.move_rows(Op::H_STORE_V, first_row + (s.kv_block(kv) + b) * c.rows, s.kv_slot(kv) * s.hlen, rows, source,
                    (s.past + c.first) * s.kv_width + b * s.mlen);
    }
  });
}

void DecoderCompiler::keys_and_values(Chunk c) {
  if (s.plena) {
    for (int64_t kv = 0; kv < s.model.kv_heads; ++kv)
      project("k_proj", fmt::format("k_proj.{}", kv), 1, s.key + kv * c.rows, c);
    for (int64_t kv = 0; kv < s.model.kv_heads; ++kv)
      project("v_proj", fmt::format("v_proj.{}", kv), 1, s.value + kv * c.rows, c);
  } else {
    project("k_proj", "k_proj", s.kv_blocks, s.key, c);
    project("v_proj", "v_proj", s.kv_blocks, s.value, c);
  }
  rope(s.key, s.kv_blocks, c);
  store_cache("k", s.key, c);
  store_cache("v", s.value, c);
}

void DecoderCompiler::load_positions(Chunk c) {
  stage("load", [this, c] {
    for (const auto& [tensor, to] : {std::pair{"cosine", s.cosine}, {"sine", s.sine}}) {
      const auto& p = layout.at(0, tensor);
      auto source = layout.source(p, precision_weight);
      const int64_t bytes = p.bf16 ? 2 : 1, first = (s.plena ? 0 : s.past) + c.first;
      source.stride = p.columns * bytes;
      for (int64_t b = 0; b < s.rope_blocks; ++b)
        e.move_rows(Op::H_PREFETCH_V, to + b * c.rows, 0, c.rows, source, (first * p.columns + b * s.mlen) * bytes);
    }
  });
}

// The query rows of one KV head, scaled, a row for each head and token; where heads share a block, alone in their slot.
void DecoderCompiler::gather_queries(int64_t kv, Chunk c, int64_t first, int64_t rows) {
  stage("attention", [this, kv, c, first, rows] {
    e.op(Op::S_LD_FP, {f_a, 0, kAttentionScale});
    const int64_t all = s.score_rows(rows);
    for (int64_t h = 0; h < s.group; ++h) {
      const int64_t block = s.query_column(kv * s.group + h, 0) / s.mlen;
      if (s.slots > 1) {
        const int64_t slot = h % s.slots;
        e.constant(reg::p2, ((int64_t{1} << s.slots) - 1) & ~(int64_t{1} << slot));
        e.op(Op::C_SET_V_MASK_REG, {reg::p2});
      }
      for (int64_t b = 0; b < s.head_blocks; ++b)
        e.over_rows(rows, reg::count_a,
                    {{reg::p0, s.query + (block + b) * c.rows + first}, {reg::p1, s.group_query + b * all + h * rows}},
                    [&] {
                      e.op(Op::V_MUL_VF, {reg::p1, reg::p0, f_a});
                      if (s.slots > 1) e.op(Op::V_SUB_VV, {reg::p1, reg::p1, reg::p1, 1});
                    });
    }
  });
}

// Rows of the mask for `rows` queries from a position on, and the last `masked` key tiles. The table's row r is what a
// query sees of a tile that begins MLEN - r keys after it.
void DecoderCompiler::load_mask(int64_t first_position, int64_t rows, int64_t tiles) {
  const auto& p = layout.at(0, "mask");
  auto source = layout.source(p, precision_weight);
  const int64_t bytes = p.bf16 ? 2 : 1;
  const int64_t first_masked = s.model.causal ? (first_position + 1) / s.mlen : tiles - 1;
  for (int64_t t = first_masked; t < tiles; ++t) {
    const int64_t row = s.plena ? 0 : first_position - t * s.mlen + s.mlen;
    e.move_rows(Op::H_PREFETCH_V, s.mask + (t - first_masked) * rows, 0, s.model.causal ? rows : 1, source,
                row * s.mlen * bytes);
  }
}

void DecoderCompiler::scores_product(int64_t kv, int64_t rows, int64_t tiles, bool early) {
  const auto& p = layout.at(layer, fmt::format("k.{}", kv));
  const int64_t all = s.score_rows(rows);
  Product product{.source = layout.source(p, precision_kv | (s.slots > 1 && !s.plena ? narrow_rows : 0)),
                  .k_step = s.mlen,
                  .n_step = s.mlen * s.kv_width,
                  .transposed = true,
                  .early = early,
                  .k = s.head_blocks,
                  .n = tiles,
                  .a_row = s.group_query,
                  .a_step = all,
                  .pieces = {{.rows = s.group * rows, .columns = s.mlen / s.blen, .out_row = s.scores}},
                  .out_step = all};
  if (s.head_blocks > 1) product.source.stride = s.kv_width;
  stage("attention", std::move(product));
}

// Each head's rows of probabilities with the values, into its columns of the output.
void DecoderCompiler::values_product(int64_t kv, Chunk c, int64_t first, int64_t rows, int64_t tiles) {
  const auto& p = layout.at(layer, fmt::format("v.{}", kv));
  const int64_t all = s.score_rows(rows);
  Product product{.source = layout.source(p, precision_kv | (s.slots > 1 && !s.plena ? narrow_rows : 0)),
                  .k_step = s.mlen * s.kv_width,
                  .n_step = s.mlen,
                  .k = tiles,
                  .n = s.head_blocks,
                  .a_row = s.scores,
                  .a_step = all,
                  .out_step = c.rows};
  if (s.head_blocks > 1) product.source.stride = s.kv_width;
  std::vector<Piece> pieces;
  const int64_t columns = std::min(s.hlen, s.mlen) / s.blen;
  for (int64_t h = 0; h < s.group; ++h) {
    const int64_t column = s.query_column(kv * s.group + h, 0), slot = s.slots > 1 ? h % s.slots : 0;
    pieces.push_back({.row = h * rows,
                      .rows = rows,
                      .column = slot * columns,
                      .columns = columns,
                      .out_row = s.normed + column / s.mlen * c.rows + first,
                      .out_lane = slot * s.hlen,
                      .mask = s.slots > 1 ? uint32_t{1} << slot : 0});
  }
  if (c.rows == 1 && s.slots == 1 && s.head_blocks == 1) {  // the heads of one token are rows in a row
    pieces.resize(1);
    pieces[0].rows = s.group;
  }
  if (!s.plena) {
    product.pieces = std::move(pieces);
    return stage("attention", std::move(product));
  }
  for (const auto& piece : pieces) {  // PLENA brings the values again for each head
    product.pieces = {piece};
    stage("attention", product);
  }
}

// Over the whole of a row: its largest, then exp and its sum, then the quotient. The mask goes on first.
void DecoderCompiler::softmax(int64_t rows, int64_t tiles, int64_t masked) {
  const int64_t next_tile = s.score_rows(rows) * s.mlen, mask_step = s.model.causal ? 1 : 0;
  const auto over_tiles = [&](const std::function<void()>& body) {
    e.op(Op::S_ADDI_INT, {reg::p1, reg::p0, 0});
    e.loop(tiles, reg::count_c, [&] {
      body();
      if (tiles > 1) e.add(reg::p1, next_tile);
    });
  };
  const auto one_row = [&] {
    for (int64_t t = 0; t < masked; ++t) {
      e.sum(reg::p1, reg::p0, (tiles - masked + t) * next_tile);
      e.sum(reg::p3, reg::p2, t * rows * s.mlen);
      e.op(Op::V_ADD_VV, {reg::p1, reg::p1, reg::p3});
    }
    e.op(Op::S_LD_FP, {f_a, 0, kMinusInfinity});
    over_tiles([&] { e.op(Op::V_RED_MAX, {f_a, reg::p1}); });
    over_tiles([&] {
      e.op(Op::V_SUB_VF, {reg::p1, reg::p1, f_a});
      e.op(Op::V_EXP_V, {reg::p1, reg::p1});
    });
    e.op(Op::S_ADDI_INT, {reg::p1, reg::p0, 0});
    e.two_level_sum(tiles, f_c, f_b, [&] {
      e.op(Op::V_RED_SUM, {f_b, reg::p1});
      e.add(reg::p1, next_tile);
    });
    e.op(Op::S_RECI_FP, {f_c, f_c});
    over_tiles([&] { e.op(Op::V_MUL_VF, {reg::p1, reg::p1, f_c}); });
  };
  e.constant(reg::p0, s.scores * s.mlen);
  e.loop(s.group, reg::columns, [&] {
    e.constant(reg::p2, s.mask * s.mlen);
    e.loop(rows, reg::count_a, [&] {
      one_row();
      e.add(reg::p0, s.mlen);
      e.add(reg::p2, mask_step * s.mlen);
    });
  });
}

void DecoderCompiler::attention(Chunk c) {
  const int64_t part = c.rows == 1 ? 1 : std::gcd(c.rows, s.query_rows);
  for (int64_t first = 0; first < c.rows; first += part) {
    const int64_t position = s.past + c.first + first;
    const int64_t last = s.model.causal ? std::min(position + part, s.kv_rows) - 1 : s.past + s.tokens - 1;
    const int64_t tiles = s.key_tiles(last);
    const int64_t open = s.model.causal ? (position + 1) / s.mlen : (s.past + s.tokens) / s.mlen;
    const int64_t masked = std::max<int64_t>(tiles - open, 0);
    if (masked)
      stage("attention", [=, this] { load_mask(s.model.causal ? position : s.past + s.tokens - 1, part, tiles); });
    for (int64_t kv = 0; kv < s.model.kv_heads; ++kv) {
      gather_queries(kv, c, first, part);
      scores_product(kv, part, tiles, first > 0 || kv > 0);
      stage("attention", [=, this] { softmax(part, tiles, masked); });
      values_product(kv, c, first, part, tiles);
    }
  }
}

}  // namespace tessera::accel
