// The pieces that a decoder's program is made of: products whose tiles stream through two buffers, loops over rows,
// transfers of rows.
//
//   bring group 0 | bring group 1, multiply group 0 | bring group 2, multiply group 1 | ... | bring the next product's
//   first
#pragma once

#include <functional>
#include <variant>

#include "accel/decoder_shape.hpp"
#include "accel/emitter.hpp"
#include "accel/machine.hpp"

namespace tessera::accel {

// Registers by what they hold.
namespace reg {
constexpr uint32_t current = 1, total = 2, offset = 3, out = 4, columns = 5;  // of a product, all through it
constexpr uint32_t tile_block = 6, tile = 7, row_block = 8, row = 9, out_block = 10, out_at = 11;
constexpr uint32_t count_a = 12, count_b = 13, count_c = 14;
// Loops over rows use the ones from 6 on.
constexpr uint32_t p0 = 6, p1 = 7, p2 = 8, p3 = 9, p4 = 10, p5 = 11;
}  // namespace reg

// Where a tensor's rows lie in memory. Offsets and strides are bytes of elements.
struct Source {
  uint64_t base = 0;
  uint64_t scale = 0;  // from elements to scales
  int64_t stride = 0;  // 0: rows follow each other
  uint32_t precision = precision_weight;
};

// Rows of the left operand with some columns of the right one, and where the result goes.
struct Piece {
  int64_t row = 0, rows = 0;        // from the operand's first row on
  int64_t column = 0, columns = 0;  // in blocks of BLEN
  int64_t out_row = 0, out_lane = 0;
  uint32_t mask = 0;  // slots that the result takes up, 0 for all of them
};

struct Product {
  Source source;
  int64_t start = 0, k_step = 0, n_step = 0;  // offset of tile (k, n): start + k * k_step + n * n_step
  bool transposed = false;
  bool early = true;  // its first tiles may be brought while the product before it runs
  int64_t k = 0, n = 0;
  int64_t a_row = 0, a_step = 0;  // rows of the vector SRAM: the left operand, and its next block
  std::vector<Piece> pieces;
  bool walks = true;            // pieces move on by out_step rows from one column tile to the next
  int64_t out_step = 0;         // reg::out counts it in either case
  std::function<void()> after;  // each column tile; reg::out is n * out_step rows
};

struct Stage {
  std::string op;
  int64_t layer = 0;
  std::variant<std::function<void()>, Product> work;
};

class DecoderEmitter : public Emitter {
 public:
  explicit DecoderEmitter(const DecoderShape& shape) : s(shape) {}

  void product(const Product& p, const Product* next);
  // rows @ the tile at a fixed place, into out.
  void fixed_product(int64_t tile, int64_t a_row, int64_t rows, int64_t out_row);

  // Rows between memory and the vector SRAM, a block at a time.
  void move_rows(Op op, int64_t vector_row, int64_t lane, int64_t rows, const Source& source, int64_t offset);

  // Each register starts at a row and goes on by a number of rows.
  struct Walk {
    uint32_t reg;
    int64_t row;
    int64_t step = 1;
  };
  template <class Body>
  void over_rows(int64_t rows, uint32_t counter, std::initializer_list<Walk> walks, Body body) {
    for (const auto& w : walks) constant(w.reg, w.row * s.mlen);
    loop(rows, counter, [&] {
      body();
      if (rows == 1) return;
      for (const auto& w : walks) add(w.reg, w.step * s.mlen);
    });
  }
  // total = sum of `count` rows' values; a sum of few sums, since each addition rounds. body adds one row to partial.
  void two_level_sum(int64_t count, uint32_t total, uint32_t partial, const std::function<void()>& body);

 private:
  void bring(const Product& p, int64_t first, int64_t count);
  void multiply(const Product& p, int64_t first, int64_t count, bool continues);
  void multiply_piece(const Product& p, const Piece& piece, int64_t first, int64_t count, bool continues);
  void systolic(int64_t blocks, int64_t columns, int64_t count, int64_t a_step, bool transposed, bool single);

  const DecoderShape& s;
  int parity_ = 0;
  bool brought_ = false;  // the next product's first tiles are on their way
};

}  // namespace tessera::accel
