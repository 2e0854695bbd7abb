// The compiler of one program: an operator is one or more stages, which are emitted when all are known, so that a
// product's first tiles can come under the one before it. Inside this room.
//
//   DecoderCompiler c(shape, machine);  c.compile();     // c.e has the words, c.sections where each operator lies
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "accel/decoder_layout.hpp"

namespace tessera::accel {

// Registers of the scalar unit.
constexpr uint32_t f_a = 1, f_b = 2, f_c = 3, f_one = 5;

class DecoderCompiler {
 public:
  DecoderCompiler(const DecoderShape& shape, const MachineConfig& machine)
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

  // decoder_operators.cpp: rows in and out, norms, products, the MLP, the head
  Product weights(const std::string& tensor, int64_t k, int64_t n, int64_t a_row, int64_t rows);
  void load_gamma(int64_t of_layer, const char* tensor);
  void move_x(Op what, Chunk c);
  void norm(const char* op, Chunk c, int64_t from_row, int64_t rows, int64_t step);
  void project(const char* op, const std::string& tensor, int64_t n, int64_t out_row, Chunk c);
  void add_to_residual(Product& p, Chunk c);
  void mlp(Chunk c);
  void head(Chunk last);

  // decoder_attention.cpp: rotary positions, the KV cache, scores, softmax
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

  // decoder.cpp: the order of all that
  void chunk_layer(Chunk c, bool keys, bool rest);
  void decoder_layer(const std::vector<Chunk>& chunks);
  void emit_stages();
  void probe(const char* name, Chunk c);

  const DecoderShape& s;
  DecoderLayout layout;
  std::vector<Stage> stages;
  int64_t layer = 0;
};

}  // namespace tessera::accel
