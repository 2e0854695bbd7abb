#include "accel/decoder_emit.hpp"

#include <cmath>

namespace tessera::accel {

// Tiles first .. first + count - 1 of the column that reg::offset stands at, into the buffer that is not current.
void DecoderEmitter::bring(const Product& p, int64_t first, int64_t count) {
  op(Op::S_SUB_INT, {reg::tile, reg::total, reg::current});
  sum(reg::row, reg::offset, first * p.k_step);
  loop(count, reg::count_a, [&] {
    op(Op::H_PREFETCH_M, {reg::tile, reg::row, 0, p.source.stride ? 1 : 0, p.source.precision});
    if (count == 1) return;
    add(reg::tile, s.mlen * s.mlen);
    add(reg::row, p.k_step);
  });
}

void DecoderEmitter::systolic(int64_t blocks, int64_t columns, int64_t count, int64_t a_step, bool transposed,
                              bool single) {
  const Op multiply = single ? (transposed ? Op::M_TMV : Op::M_MV) : transposed ? Op::M_TMM : Op::M_MM;
  loop(blocks, reg::count_a, [&] {
    op(Op::S_ADDI_INT, {reg::tile_block, reg::tile, 0});
    op(Op::S_ADDI_INT, {reg::out_at, reg::out_block, 0});
    loop(columns, reg::count_b, [&] {
      // Registers are scarce: the tile's walk borrows reg::total within the innermost loop.
      op(Op::S_ADDI_INT, {reg::total, reg::tile_block, 0});
      op(Op::S_ADDI_INT, {reg::row, reg::row_block, 0});
      loop(count, reg::count_c, [&] {
        if (transposed) {
          op(multiply, {reg::row, reg::total});
        } else {
          op(multiply, {reg::total, reg::row});
        }
        if (count == 1) return;
        add(reg::total, s.mlen * s.mlen);
        add(reg::row, a_step * s.mlen);
      });
      op(single ? Op::M_MV_WO : Op::M_MM_WO, {reg::out_at});
      if (columns == 1) return;
      add(reg::tile_block, s.blen * s.mlen);
      add(reg::out_at, s.blen);
    });
    if (blocks == 1) return;
    add(reg::row_block, s.blen * s.mlen);
    add(reg::out_block, s.blen * s.mlen);
  });
}

void DecoderEmitter::multiply_piece(const Product& p, const Piece& piece, int64_t first, int64_t count,
                                    bool continues) {
  const bool single = piece.rows == 1;
  const int64_t out = (continues ? s.partial : piece.out_row) * s.mlen + piece.out_lane;
  constant(reg::row_block, (p.a_row + piece.row + first * p.a_step) * s.mlen);
  constant(reg::out_block, out);
  if (p.walks && !continues) op(Op::S_ADD_INT, {reg::out_block, reg::out_block, reg::out});
  sum(reg::tile, reg::current, piece.column * s.blen * s.mlen);
  systolic(divide_up(piece.rows, s.blen), piece.columns, count, p.a_step, p.transposed, single);
  if (!continues) return;
  if (piece.mask) {
    constant(reg::row, piece.mask);
    op(Op::C_SET_V_MASK_REG, {reg::row});
  }
  constant(reg::row, piece.out_row * s.mlen);
  if (p.walks) op(Op::S_ADD_INT, {reg::row, reg::row, reg::out});
  over_rows(piece.rows, reg::count_a, {{reg::row_block, s.partial}}, [&] {
    op(Op::V_ADD_VV, {reg::row, reg::row, reg::row_block, piece.mask ? 1 : 0});
    if (piece.rows > 1) add(reg::row, s.mlen);
  });
}

void DecoderEmitter::multiply(const Product& p, int64_t first, int64_t count, bool continues) {
  for (const auto& piece : p.pieces) multiply_piece(p, piece, first, count, continues);
  constant(reg::total, s.group_tiles * s.mlen * s.mlen);
}

void DecoderEmitter::fixed_product(int64_t tile, int64_t a_row, int64_t rows, int64_t out_row) {
  constant(reg::row_block, a_row * s.mlen);
  constant(reg::out_block, out_row * s.mlen);
  constant(reg::tile, tile * s.mlen * s.mlen);
  systolic(divide_up(rows, s.blen), s.mlen / s.blen, 1, 0, false, rows == 1);
}

void DecoderEmitter::product(const Product& p, const Product* next) {
  const int64_t parts = divide_up(p.k, s.group_tiles), size = divide_up(p.k, parts);
  const auto part_size = [&](int64_t part) { return std::min(size, p.k - part * size); };
  const int64_t buffer = s.group_tiles * s.mlen * s.mlen;
  const auto point = [&](const Product& at) {
    point_at(0, at.source.base, at.source.scale, static_cast<uint64_t>(at.source.stride), reg::row);
    constant(reg::offset, at.start);
  };
  constant(reg::total, buffer);
  point(p);
  if (!brought_) {
    constant(reg::current, parity_ ? 0 : buffer);
    bring(p, 0, part_size(0));
  }
  constant(reg::current, parity_ ? buffer : 0);
  constant(reg::out, 0);
  brought_ = next && next->early;
  const auto column = [&](bool last) {
    for (int64_t part = 0; part < parts; ++part) {
      if (part + 1 < parts) {
        bring(p, (part + 1) * size, part_size(part + 1));
      } else if (!last) {
        add(reg::offset, p.n_step);
        bring(p, 0, part_size(0));
      } else if (brought_) {
        point(*next);
        bring(*next, 0, divide_up(next->k, divide_up(next->k, s.group_tiles)));
      }
      multiply(p, part * size, part_size(part), part > 0);
      op(Op::S_SUB_INT, {reg::current, reg::total, reg::current});
    }
    if (p.after) p.after();
    if (!last) add(reg::out, p.out_step * s.mlen);
  };
  loop(p.n - 1, reg::columns, [&] { column(false); });
  column(true);
  parity_ ^= static_cast<int>(p.n * parts & 1);
}

void DecoderEmitter::move_rows(Op what, int64_t vector_row, int64_t lane, int64_t rows, const Source& source,
                               int64_t offset) {
  const bool narrow = source.precision & narrow_rows, bf16 = (source.precision & precision_mask) == precision_bf16;
  const int64_t natural = (narrow ? s.hlen : s.mlen) * (bf16 ? 2 : 1), stride = source.stride ? source.stride : natural;
  const int64_t most = s.plena ? s.blen : 32, step = std::min(rows, most);
  point_at(0, source.base, source.scale, stride == natural ? 0 : static_cast<uint64_t>(stride), reg::p0);
  constant(reg::p0, vector_row * s.mlen + lane);
  constant(reg::p1, offset);
  const auto one = [&](int64_t count) {
    op(what, {reg::p0, reg::p1, 0, stride == natural ? 0 : 1, source.precision, count == s.blen ? 0 : count});
  };
  loop(rows / step, reg::count_a, [&] {
    one(step);
    if (rows == step) return;
    add(reg::p0, step * s.mlen);
    add(reg::p1, step * stride);
  });
  if (rows % step) one(rows % step);
}

void DecoderEmitter::two_level_sum(int64_t count, uint32_t total, uint32_t partial, const std::function<void()>& body) {
  op(Op::S_ADD_FP, {total, 0, 0});
  const int64_t inner = count <= 4 ? count : static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const auto group = [&](int64_t n) {
    op(Op::S_ADD_FP, {partial, 0, 0});
    loop(n, reg::count_c, body);
    op(Op::S_ADD_FP, {total, total, partial});
  };
  loop(count / inner, reg::count_b, [&] { group(inner); });
  if (count % inner) group(count % inner);
}

}  // namespace tessera::accel
