#include "accel/decoder.hpp"

#include <cmath>
#include <numeric>

#include "accel/decoder_layout.hpp"

namespace tessera::accel {
namespace {

// Registers of the scalar unit.
constexpr uint32_t f_a = 1, f_b = 2, f_c = 3, f_one = 5;

class Compiler {
 public:
  Compiler(const DecoderShape& shape, const MachineConfig& machine)
      : e(shape), s(shape), layout(lay_out(shape, machine)) {}

  DecoderLayout take_layout() { return std::move(layout); }
  void compile();

  DecoderEmitter e;
  std::vector<Section> sections;
  std::vector<Probe> probes;

 private:
  // Rows [first, first + rows) of this call's tokens.
  struct Chunk {
    int64_t first = 0, rows = 0;
  };

  void stage(std::string op, std::function<void()> work) { stages.push_back({std::move(op), layer, std::move(work)}); }
  void stage(std::string op, Product work) { stages.push_back({std::move(op), layer, std::move(work)}); }

  Product weights(const std::string& tensor, int64_t k, int64_t n, int64_t a_row, int64_t rows);
  void load_gamma(int64_t of_layer, const char* tensor);
  void move_x(Op what, Chunk c);
  void norm(const char* op, Chunk c, int64_t from_row, int64_t rows, int64_t step);
  void project(const char* op, const std::string& tensor, int64_t n, int64_t out_row, Chunk c);
  void add_to_residual(Product& p, Chunk c);
  void rope(int64_t first_row, int64_t blocks, Chunk c);
  void rope_narrow(int64_t block_row, Chunk c);
  void rope_wide(int64_t head_row, Chunk c);
  void keys_and_values(Chunk c);
  void store_cache(const char* which, int64_t first_row, Chunk c);
  void load_positions(Chunk c);
  void attention(Chunk c);
  void gather_queries(int64_t kv, Chunk c, int64_t first, int64_t rows);
  void load_mask(int64_t first_position, int64_t rows, int64_t tiles);
  void softmax(int64_t rows, int64_t tiles, int64_t masked);
  void scores_product(int64_t kv, int64_t rows, int64_t tiles, bool early);
  void values_product(int64_t kv, Chunk c, int64_t first, int64_t rows, int64_t tiles);
  void mlp(Chunk c);
  void chunk_layer(Chunk c, bool keys, bool rest);
  void decoder_layer(const std::vector<Chunk>& chunks);
  void head(Chunk last);
  void emit_stages();
  void probe(const char* name, Chunk c);

  const DecoderShape& s;
  DecoderLayout layout;
  std::vector<Stage> stages;
  int64_t layer = 0;
};

Product Compiler::weights(const std::string& tensor, int64_t k, int64_t n, int64_t a_row, int64_t rows) {
  const auto& p = layout.at(layer, tensor);
  Product product{.source = layout.source(p, precision_weight), .k = k, .n = n, .a_row = a_row, .a_step = rows};
  if (p.tile) {  // column tile outermost: the whole matrix is one stream
    product.k_step = s.mlen * s.mlen;
    product.n_step = p.rows * s.mlen;
  } else {
    product.source.stride = p.columns == s.mlen ? 0 : p.columns;
    product.k_step = s.mlen * p.columns;
    product.n_step = s.mlen;
  }
  return product;
}

// The gains of a norm arrive while whatever comes before it still runs.
void Compiler::load_gamma(int64_t of_layer, const char* tensor) {
  if (s.plena) return;
  const auto& p = layout.at(of_layer, tensor);
  stage("norm", [this, source = layout.source(p, 0)] {
    e.move_rows(Op::H_PREFETCH_V, s.gamma, 0, s.hidden_blocks, source, 0);
  });
}

void Compiler::move_x(Op what, Chunk c) {
  const auto move = [this, what, c](const char* tensor, int64_t to) {
    const auto& p = layout.at(0, tensor);
    auto source = layout.source(p, precision_weight);
    const int64_t bytes = p.bf16 ? 2 : 1;
    source.stride = p.columns * bytes;
    for (int64_t b = 0; b < s.hidden_blocks; ++b)
      e.move_rows(what, to + b * c.rows, 0, c.rows, source, (c.first * p.columns + b * s.mlen) * bytes);
  };
  stage(what == Op::H_STORE_V ? "store" : "load", [this, move, c] {
    move("x", s.x);
    if (!s.plena) return;
    move("positions", s.normed);
    e.over_rows(s.hidden_blocks * c.rows, reg::count_a, {{reg::p0, s.x}, {reg::p1, s.normed}}, [&] {
      e.op(Op::V_ADD_VV, {reg::p0, reg::p0, reg::p1});
    });
  });
}

// y = x / sqrt(mean(x^2) + eps) * gamma, for `rows` rows of blocks that are `step` rows apart.
void Compiler::norm(const char* op, Chunk c, int64_t from_row, int64_t rows, int64_t step) {
  stage(op, [this, c, from_row, rows, step] {
    const int64_t next_block = step * s.mlen;
    e.op(Op::S_LD_FP, {f_one, 0, kOne});
    e.constant(reg::p4, s.scratch * s.mlen);
    e.over_rows(rows, reg::count_a, {{reg::p0, from_row}, {reg::p1, s.normed}}, [&] {
      e.op(Op::S_ADDI_INT, {reg::p2, reg::p0, 0});
      e.two_level_sum(s.hidden_blocks, f_a, f_b, [&] {
        e.op(Op::V_MUL_VV, {reg::p4, reg::p2, reg::p2});
        e.op(Op::V_RED_SUM, {f_b, reg::p4});
        e.add(reg::p2, next_block);
      });
      e.op(Op::S_LD_FP, {f_b, 0, kInverseHidden});
      e.op(Op::S_MUL_FP, {f_a, f_a, f_b});
      e.op(Op::S_LD_FP, {f_b, 0, kEpsilon});
      e.op(Op::S_ADD_FP, {f_a, f_a, f_b});
      e.op(Op::S_SQRT_FP, {f_a, f_a});
      e.op(Op::S_RECI_FP, {f_a, f_a});
      e.op(Op::S_ADDI_INT, {reg::p2, reg::p0, 0});
      e.op(Op::S_ADDI_INT, {reg::p3, reg::p1, 0});
      e.constant(reg::p5, s.gamma * s.mlen);
      e.loop(s.hidden_blocks, reg::count_b, [&] {
        e.op(Op::V_MUL_VF, {reg::p3, reg::p2, f_a});
        if (!s.plena) e.op(Op::V_MUL_VV, {reg::p3, reg::p3, reg::p5});
        e.add(reg::p2, next_block);
        e.add(reg::p3, rows == 1 ? s.mlen : c.rows * s.mlen);
        e.add(reg::p5, s.mlen);
      });
    });
  });
}

void Compiler::project(const char* op, const std::string& tensor, int64_t n, int64_t out_row, Chunk c) {
  auto p = weights(tensor, s.hidden_blocks, n, s.normed, c.rows);
  p.pieces = {{.rows = c.rows, .columns = s.mlen / s.blen, .out_row = out_row}};
  p.out_step = c.rows;
  stage(op, std::move(p));
}

// The product's column tile goes to the temporary, and from there onto the residual stream.
void Compiler::add_to_residual(Product& p, Chunk c) {
  p.pieces = {{.rows = c.rows, .columns = s.mlen / s.blen, .out_row = s.temporary}};
  p.walks = false;
  p.out_step = c.rows;
  p.after = [this, c] {
    e.sum(reg::p0, reg::out, s.x * s.mlen);
    e.over_rows(c.rows, reg::count_a, {{reg::p1, s.temporary}}, [&] {
      e.op(Op::V_ADD_VV, {reg::p0, reg::p0, reg::p1});
      if (c.rows > 1) e.add(reg::p0, s.mlen);
    });
  };
}

// x cos + (x R) sin, where R turns the halves of each head in a row.
void Compiler::rope_narrow(int64_t block_row, Chunk c) {
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
void Compiler::rope_wide(int64_t head_row, Chunk c) {
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

void Compiler::rope(int64_t first_row, int64_t blocks, Chunk c) {
  stage("rope", [this, first_row, blocks, c] {
    for (int64_t b = 0; b < blocks; b += s.head_blocks)
      s.head_blocks == 1 ? rope_narrow(first_row + b * c.rows, c) : rope_wide(first_row + b * c.rows, c);
  });
}

void Compiler::store_cache(const char* which, int64_t first_row, Chunk c) {
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

void Compiler::keys_and_values(Chunk c) {
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

void Compiler::load_positions(Chunk c) {
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
void Compiler::gather_queries(int64_t kv, Chunk c, int64_t first, int64_t rows) {
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
void Compiler::load_mask(int64_t first_position, int64_t rows, int64_t tiles) {
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

void Compiler::scores_product(int64_t kv, int64_t rows, int64_t tiles, bool early) {
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
void Compiler::values_product(int64_t kv, Chunk c, int64_t first, int64_t rows, int64_t tiles) {
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
void Compiler::softmax(int64_t rows, int64_t tiles, int64_t masked) {
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

void Compiler::attention(Chunk c) {
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

void Compiler::mlp(Chunk c) {
  const int64_t size = divide_up(s.inner_blocks, s.mlp_slices);
  for (int64_t first = 0; first < s.inner_blocks; first += size) {
    const int64_t count = std::min(size, s.inner_blocks - first);
    auto gate = weights("gate_proj", s.hidden_blocks, count, s.normed, c.rows);
    gate.start = first * gate.n_step;
    gate.pieces = {{.rows = c.rows, .columns = s.mlen / s.blen, .out_row = s.gate}};
    gate.out_step = c.rows;
    stage("gate_proj", std::move(gate));
    auto up = weights("up_proj", s.hidden_blocks, count, s.normed, c.rows);
    up.start = first * up.n_step;
    up.pieces = {{.rows = c.rows, .columns = s.mlen / s.blen, .out_row = s.temporary}};
    up.walks = false;
    up.out_step = c.rows;
    up.after = [this, c] {  // gate = gate / (1 + exp(-gate)) * up
      e.op(Op::S_LD_FP, {f_one, 0, kOne});
      e.sum(reg::p0, reg::out, s.gate * s.mlen);
      e.constant(reg::p2, s.scratch * s.mlen);
      e.over_rows(c.rows, reg::count_a, {{reg::p1, s.temporary}}, [&] {
        e.op(Op::V_SUB_VF, {reg::p2, reg::p0, 0, 0, 1});
        e.op(Op::V_EXP_V, {reg::p2, reg::p2});
        e.op(Op::V_ADD_VF, {reg::p2, reg::p2, f_one});
        e.op(Op::V_RECI_V, {reg::p2, reg::p2});
        e.op(Op::V_MUL_VV, {reg::p2, reg::p2, reg::p0});
        e.op(Op::V_MUL_VV, {reg::p0, reg::p2, reg::p1});
        if (c.rows > 1) e.add(reg::p0, s.mlen);
      });
    };
    stage("up_proj", std::move(up));
    auto down = weights("down_proj", count, s.hidden_blocks, s.gate, c.rows);
    down.start = first * down.k_step;
    add_to_residual(down, c);
    stage("down_proj", std::move(down));
  }
}

void Compiler::probe(const char* name, Chunk c) {
  const int64_t l = layer;
  stage("", [this, name, c, l] {
    probes.push_back(
        {name, l, c.first, std::min(c.rows, s.tokens - c.first), e.here(), {s.x, s.hidden_blocks, c.rows}});
  });
}

// `keys`: K and V of these rows into memory. `rest`: everything else. A causal chunk does both at once.
void Compiler::chunk_layer(Chunk c, bool keys, bool rest) {
  if (layer == 0 || !s.single_chunk()) move_x(Op::H_PREFETCH_V, c);
  load_positions(c);
  load_gamma(layer, "norm1");
  if (rest) probe("input", c);
  norm("norm1", c, s.x, c.rows, c.rows);
  if (rest) {
    load_gamma(layer, "norm2");
    project("q_proj", "q_proj", s.query_blocks, s.query, c);
    rope(s.query, s.query_blocks, c);
  }
  if (keys) keys_and_values(c);
  if (!rest) return;
  attention(c);
  auto out = weights("o_proj", s.query_blocks, s.hidden_blocks, s.normed, c.rows);
  add_to_residual(out, c);
  stage("o_proj", std::move(out));
  norm("norm2", c, s.x, c.rows, c.rows);
  mlp(c);
  probe("output", c);
  if (!s.plena && (!s.single_chunk() || layer + 1 == s.layers)) move_x(Op::H_STORE_V, c);
}

void Compiler::decoder_layer(const std::vector<Chunk>& chunks) {
  if (s.model.causal || chunks.size() == 1) {
    for (const auto& c : chunks) chunk_layer(c, true, true);
    return;
  }
  for (const auto& c : chunks) chunk_layer(c, true, false);
  for (const auto& c : chunks) chunk_layer(c, false, true);
}

// The last token alone: its norm, a score for each word, and those to memory, where the host reads them.
void Compiler::head(Chunk last) {
  load_gamma(layer, "final_norm");
  norm("final_norm", last, s.x + s.tokens - 1 - last.first, 1, last.rows);
  auto p = weights("lm_head", s.hidden_blocks, s.vocabulary_blocks, s.normed, 1);
  p.pieces = {{.rows = 1, .columns = s.mlen / s.blen, .out_row = s.logits}};
  p.out_step = 1;
  stage("lm_head", std::move(p));
  stage("store", [this] {
    e.move_rows(Op::H_STORE_V, s.logits, 0, s.vocabulary_blocks, layout.source(layout.at(0, "logits"), 0), 0);
  });
}

void Compiler::emit_stages() {
  std::vector<const Product*> next(stages.size());
  const Product* following = nullptr;
  for (size_t n = stages.size(); n-- > 0;) {
    next[n] = following;
    if (const auto* p = std::get_if<Product>(&stages[n].work)) following = p;
  }
  for (size_t n = 0; n < stages.size(); ++n) {
    const auto begin = e.here();
    if (const auto* p = std::get_if<Product>(&stages[n].work)) {
      e.product(*p, next[n]);
    } else {
      std::get<0>(stages[n].work)();
    }
    if (e.here() == begin) continue;
    const auto& [op, of_layer, work] = stages[n];
    if (!sections.empty() && sections.back().op == op && sections.back().layer == of_layer) {
      sections.back().end = e.here();
    } else {
      sections.push_back({op, of_layer, begin, e.here()});
    }
  }
}

void Compiler::compile() {
  std::vector<Chunk> chunks;
  for (int64_t first = 0; first < s.padded; first += s.rows)
    chunks.push_back({first, std::min(s.rows, s.padded - first)});
  if (s.head_blocks == 1 && !s.plena)
    stage("load", [this] {
      const auto source = layout.source(layout.at(0, "rope"), precision_weight);
      e.point_at(0, source.base, source.scale, 0, reg::p0);
      e.constant(reg::p0, s.rope_tile * s.mlen * s.mlen);
      e.op(Op::H_PREFETCH_M, {reg::p0, 0, 0});
    });
  for (layer = 0; layer < s.layers; ++layer) decoder_layer(chunks);
  if (s.head) head(chunks.back());
  emit_stages();
}

std::vector<float> fp_constants(const Model& m) {
  std::vector<float> fp(kFpConstants);
  fp[kAttentionScale] = static_cast<float>(1 / std::sqrt(static_cast<double>(m.head_dim)));
  fp[kMinusInfinity] = masked_score;
  fp[kEpsilon] = static_cast<float>(m.epsilon);
  fp[kInverseHidden] = static_cast<float>(1.0 / static_cast<double>(m.hidden));
  fp[kOne] = 1;
  return fp;
}

}  // namespace

std::vector<Region> Program::regions() const {
  std::vector<Region> all;
  for (const auto& p : placements) all.push_back(p.region);
  return all;
}

Result<Program> compile_decoder(const Model& model, const MachineConfig& machine, const DecoderOptions& options) {
  Program program{.machine = machine, .model = model, .options = options};
  TRY(const auto shape, shape_decoder(model, program.machine, options));
  program.machine.coalesce = options.layout == Layout::Own;
  Compiler compiler(shape, program.machine);
  compiler.compile();
  program.words = std::move(compiler.e).take();
  program.sections = std::move(compiler.sections);
  program.probes = std::move(compiler.probes);
  auto layout = compiler.take_layout();
  program.placements = std::move(layout.placements);
  program.memory_bytes = layout.bytes;
  program.fp_sram = fp_constants(model);
  program.padded_rows = shape.padded;
  uint64_t ceiling = UINT64_MAX;
  for (const auto& p : program.placements)
    if (p.region.kind == Kind::Weight) ceiling = std::min(ceiling, p.region.offset);
  program.activation_ceiling = ceiling;
  program.host_bytes_in = options.tokens * model.hidden * 2;
  program.host_bytes_out = shape.head ? model.vocabulary * 2 : 0;
  return program;
}

}  // namespace tessera::accel
