// The systolic array. Products of bf16 rows and 8-bit tiles are exact in fp32; sums run over K in order, so the result
// does not depend on how the host computes it.
#include <algorithm>

#include "accel/machine.hpp"

namespace tessera::accel {
namespace {

// out[rows][columns] += a[rows][depth] @ b[depth][columns]
__attribute__((target_clones("avx512f", "avx2", "default"))) void accumulate(float* out, int64_t out_stride,
                                                                             const float* a, int64_t a_stride,
                                                                             const float* b, int64_t b_stride,
                                                                             int64_t rows, int64_t columns,
                                                                             int64_t depth) {
  for (int64_t r = 0; r < rows; ++r) {
    float* __restrict y = out + r * out_stride;
    for (int64_t k = 0; k < depth; ++k) {
      const float x = a[r * a_stride + k];
      const float* w = b + k * b_stride;
      for (int64_t c = 0; c < columns; ++c) y[c] += x * w[c];
    }
  }
}

void write_out(float* from, float* to, int64_t count) {
  for (int64_t n = 0; n < count; ++n) to[n] = bf16(from[n]);
  std::fill_n(from, count, 0.0f);
}

}  // namespace

Machine::TileBlock Machine::tile_to_read(uint32_t address, bool transposed) {
  const int64_t edge = config_.mlen, size = edge * edge, tile = address / size, within = address % size;
  if (tile >= config_.matrix_tiles) {
    fault("tile {} of a matrix SRAM of {}", tile, config_.matrix_tiles);
    return {};
  }
  if (within % (edge * config_.blen)) {
    fault("matrix address {} is not the beginning of a block of {} columns", address, config_.blen);
    return {};
  }
  settle(tile_loads_, tile, 1);
  if (!image_) return {};
  auto& t = tiles_[tile];
  if (t.values.empty()) {
    fault("tile {} was never loaded", tile);
    return {};
  }
  if (transposed && !t.has_transposed) {
    t.transposed.resize(size);
    for (int64_t r = 0; r < edge; ++r)
      for (int64_t c = 0; c < edge; ++c) t.transposed[c * edge + r] = t.values[r * edge + c];
    t.has_transposed = true;
  }
  return {transposed ? t.transposed.data() : t.values.data(), within / (edge * config_.blen)};
}

void Machine::multiply(int rows, int tile, bool transposed) {
  const auto b = tile_to_read(g(tile), transposed);
  const float* a = rows_to_read(g(rows), config_.blen);
  if (!a || !b.values) return;
  accumulate(block_.data(), config_.blen, a, config_.mlen, b.values + b.block * config_.blen, config_.mlen,
             config_.blen, config_.blen, config_.mlen);
}

void Machine::multiply_row(int row, int tile, bool transposed) {
  const auto b = tile_to_read(g(tile), transposed);
  const float* a = rows_to_read(g(row), 1);
  if (!a || !b.values) return;
  accumulate(row_.data(), config_.blen, a, config_.mlen, b.values + b.block * config_.blen, config_.mlen, 1,
             config_.blen, config_.mlen);
}

// Head h of a row is its slot h, and meets that slot's share of the tile: columns of a tile that is transposed, else
// rows.
void Machine::multiply_heads(int rows, int tile, bool transposed) {
  const auto b = tile_to_read(g(tile), transposed);
  const float* a = rows_to_read(g(rows), config_.mlen);
  if (!a || !b.values) return;
  const int64_t edge = config_.mlen, head = config_.hlen;
  for (int64_t h = 0; h < config_.broadcast(); ++h)
    accumulate(&heads_[h * edge * edge], edge, a + h * head, edge, b.values + h * head * edge, edge, edge, edge, head);
}

void Machine::multiply_row_heads(int row, int tile, int offset, bool transposed) {
  const auto b = tile_to_read(g(tile), transposed);
  const float* a = rows_to_read(g(row) + g(offset), 1);
  if (!a || !b.values) return;
  const int64_t edge = config_.mlen, head = config_.hlen;
  for (int64_t h = 0; h < config_.broadcast(); ++h)
    accumulate(&row_heads_[h * edge], edge, a + h * head, edge, b.values + h * head * edge, edge, 1, edge, head);
}

void Machine::write_block(const Instruction& i) {
  const uint32_t address = g(i.rd) + i.imm;
  const int64_t stride = i.rs3 ? g(i.rs3) : 1;
  if (address % config_.blen) return fault("offset {} in a row is not a multiple of {}", address, config_.blen);
  float* to = rows_to_write(address, config_.blen, stride);
  if (!to) return;
  for (int64_t r = 0; r < config_.blen; ++r)
    write_out(&block_[r * config_.blen], to + r * stride * config_.mlen, config_.blen);
}

void Machine::write_row(const Instruction& i) {
  const uint32_t address = g(i.rd) + i.imm;
  if (address % config_.blen) return fault("offset {} in a row is not a multiple of {}", address, config_.blen);
  if (float* to = rows_to_write(address, 1)) write_out(row_.data(), to, config_.blen);
}

void Machine::write_heads(const Instruction& i) {
  const int64_t rows = int64_t{config_.broadcast()} * config_.mlen;
  const uint32_t address = g(i.rd) + i.imm;
  if (address % config_.mlen) return fault("vector address {} is not the beginning of a row", address);
  if (float* to = rows_to_write(address, rows)) write_out(heads_.data(), to, rows * config_.mlen);
}

void Machine::write_row_heads(const Instruction& i) {
  const uint32_t address = g(i.rd) + i.imm;
  if (address % config_.mlen) return fault("vector address {} is not the beginning of a row", address);
  if (float* to = rows_to_write(address, config_.broadcast()))
    write_out(row_heads_.data(), to, int64_t{config_.broadcast()} * config_.mlen);
}

}  // namespace tessera::accel
