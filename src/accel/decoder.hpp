// The decoder compiler: a model's shape and a machine -> a program, and where everything lies in memory.
//
//   compile_decoder(model, machine, {.tokens = 64})               prefill of 64 tokens
//   compile_decoder(model, machine, {.past = 64, .tokens = 1})    one token more: its K and V are appended, all 65 read
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "accel/machine_config.hpp"
#include "accel/model.hpp"
#include "accel/region.hpp"
#include "base/error.hpp"

namespace tessera::accel {

enum class Layout : uint8_t { Own, Plena };

struct DecoderOptions {
  int64_t layers = 0;   // 0: all of the model's
  int64_t past = 0;     // tokens whose K and V are in memory already
  int64_t tokens = 64;  // rows to work on, at positions past, past + 1, ...
  int64_t context = 0;  // rows that the KV regions have room for; 0: past + tokens
  bool head = true;     // final norm and lm_head of the last row, where the model has a vocabulary
  Layout layout = Layout::Own;
};

// A stretch of the program that belongs to one operator of one layer. The layer after the last is the head.
struct Section {
  std::string op;  // "norm1", "q_proj", ...
  int64_t layer = 0;
  uint32_t begin = 0, end = 0;  // instructions
};

// A tensor in the vector SRAM, column-block-major [blocks][rows][mlen].
struct VectorTensor {
  int64_t row = 0;  // its first row
  int64_t blocks = 0;
  int64_t rows = 0;
};

// Where to look while the program runs: `tensor` holds `name` when execution reaches instruction `at`.
struct Probe {
  std::string name;  // "input", "output"
  int64_t layer = 0;
  int64_t first_token = 0;  // of this call's tokens
  int64_t tokens = 0;
  uint32_t at = 0;
  VectorTensor tensor;
};

// How a region's bytes come to be, so that images can be made and read back.
struct Placement {
  Region region;
  int64_t rows = 0, columns = 0;  // as they lie in memory, padding included
  int64_t tile = 0;               // 0: row-major; else tiles of that edge, column block outermost
  bool bf16 = false;              // plain bf16; else elements, then scales
  std::string tensor;             // which tensor: "q_proj", "embedding", "k.0", ...
};

struct Program {
  MachineConfig machine;  // with the SRAM sizes that the program uses
  Model model;
  DecoderOptions options;
  std::vector<uint32_t> words;
  std::vector<Section> sections;
  std::vector<Probe> probes;
  std::vector<Placement> placements;
  std::vector<float> fp_sram;  // constants, preloaded
  int64_t memory_bytes = 0;
  uint64_t activation_ceiling = 0;  // the lowest weight offset, as a manifest wants it
  int64_t host_bytes_in = 0;        // embeddings over the link
  int64_t host_bytes_out = 0;       // logits over the link
  int64_t padded_rows = 0;          // rows of the residual stream that move

  std::vector<Region> regions() const;
};

// `machine` gives tile, clock, latencies and SRAM; its matrix_tiles and vector_rows are chosen here where they are 0.
Result<Program> compile_decoder(const Model& model, const MachineConfig& machine, const DecoderOptions& options);

}  // namespace tessera::accel
