// Rows in and out, norms, products, the MLP, the head.
#include "accel/decoder_compiler.hpp"

namespace tessera::accel {

Product DecoderCompiler::weights(const std::string& tensor, int64_t k, int64_t n, int64_t a_row, int64_t rows) {
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
void DecoderCompiler::load_gamma(int64_t of_layer, const char* tensor) {
  if (s.plena) return;
  const auto& p = layout.at(of_layer, tensor);
  stage("norm", [this, source = layout.source(p, 0)] {
    e.move_rows(Op::H_PREFETCH_V, s.gamma, 0, s.hidden_blocks, source, 0);
  });
}

void DecoderCompiler::move_x(Op what, Chunk c) {
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
void DecoderCompiler::norm(const char* op, Chunk c, int64_t from_row, int64_t rows, int64_t step) {
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

void DecoderCompiler::project(const char* op, const std::string& tensor, int64_t n, int64_t out_row, Chunk c) {
  auto p = weights(tensor, s.hidden_blocks, n, s.normed, c.rows);
  p.pieces = {{.rows = c.rows, .columns = s.mlen / s.blen, .out_row = out_row}};
  p.out_step = c.rows;
  stage(op, std::move(p));
}

// The product's column tile goes to the temporary, and from there onto the residual stream.
void DecoderCompiler::add_to_residual(Product& p, Chunk c) {
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

void DecoderCompiler::mlp(Chunk c) {
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

// The last token alone: its norm, a score for each word, and those to memory, where the host reads them.
void DecoderCompiler::head(Chunk last) {
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

}  // namespace tessera::accel
