#include "accel/decoder_shape.hpp"

#include <algorithm>

namespace tessera::accel {
namespace {

Result<void> check_options(const Model& model, const MachineConfig& machine, const DecoderOptions& o) {
  if (o.tokens < 1 || o.past < 0)
    return input_error("{} tokens after {}: there must be at least one", o.tokens, o.past);
  if (o.layers < 0 || o.layers > model.layers)
    return input_error("{} has {} layers, not {}", model.name, model.layers, o.layers);
  if (!model.causal && o.past > 0)
    return input_error("{} is bidirectional: it has no token-by-token decode", model.name)
        .hint("leave --decode out: its step works on all tokens at once");
  if (o.context && o.context < o.past + o.tokens)
    return input_error("a context of {} has no room for {} tokens", o.context, o.past + o.tokens);
  if (model.head_dim % machine.mlen && machine.mlen % model.head_dim)
    return input_error("heads of {} and tiles of {}: one must be a multiple of the other", model.head_dim, machine.mlen)
        .hint("choose another --mlen");
  if (model.head_dim > machine.mlen && model.head_dim / machine.mlen % 2)
    return input_error("a head of {} is {} tiles of {}: rotary halves need an even number", model.head_dim,
                       model.head_dim / machine.mlen, machine.mlen);
  const int64_t slot = std::min<int64_t>(model.head_dim, machine.mlen);
  if (machine.hlen != slot)
    return input_error("HLEN {} is not the head's {}", machine.hlen, slot).hint(fmt::format("--hlen {}", slot));
  if (slot % machine.blen)
    return input_error("heads of {} are not whole blocks of BLEN {}", slot, machine.blen)
        .hint("choose a smaller --blen");
  if (o.layout == Layout::Plena && model.head_dim > machine.mlen)
    return input_error("PLENA's layout has no heads wider than MLEN {}", machine.mlen);
  return {};
}

void set_blocks(DecoderShape& s, const MachineConfig& machine) {
  const auto& m = s.model;
  s.mlen = machine.mlen, s.blen = machine.blen, s.hlen = machine.hlen;
  s.head_blocks = std::max<int64_t>(1, m.head_dim / s.mlen);
  s.slots = std::max<int64_t>(1, s.mlen / m.head_dim);
  s.group = m.group();
  s.group_blocks = s.slots > 1 ? divide_up(s.group, s.slots) : s.group * s.head_blocks;
  s.hidden_blocks = divide_up(m.hidden, s.mlen);
  s.inner_blocks = divide_up(m.intermediate, s.mlen);
  s.query_blocks = m.kv_heads * s.group_blocks;
  s.kv_blocks = s.plena ? m.kv_heads : s.slots > 1 ? divide_up(m.kv_heads, s.slots) : m.kv_heads * s.head_blocks;
  s.vocabulary_blocks = divide_up(m.vocabulary, s.mlen);
  s.rope_blocks = std::max<int64_t>(1, s.head_blocks / 2);
  s.layers = s.options.layers ? s.options.layers : m.layers;
  s.head = s.options.head && m.vocabulary > 0;
  s.tokens = s.options.tokens, s.past = s.options.past;
  s.padded = s.tokens == 1 ? 1 : round_up(s.tokens, s.plena ? s.mlen : s.blen);
  s.kv_rows = round_up(std::max({s.past + s.padded, s.past + s.tokens, s.options.context}), s.mlen);
  s.kv_width = s.plena ? s.mlen : m.head_dim;
}

// Stands tensors one after the other; what is dead while another is alive shares its rows.
int64_t place(DecoderShape& s, int64_t rows, int64_t query_rows, int64_t slices) {
  s.rows = rows, s.query_rows = query_rows, s.mlp_slices = slices;
  int64_t next = 0;
  const auto take = [&](int64_t count) { return std::exchange(next, next + count); };
  const int64_t spill = s.blen;  // a block of rows may write past its tensor
  s.x = take(s.hidden_blocks * rows);
  s.normed = take(std::max(s.hidden_blocks, s.query_blocks) * rows + spill);
  s.cosine = take(s.rope_blocks * rows);
  s.sine = take(s.rope_blocks * rows);
  s.mask = take(2 * query_rows);
  s.gamma = take(s.plena ? 0 : s.hidden_blocks);
  s.temporary = take(std::max<int64_t>(2 * rows, s.blen));
  s.partial = take(std::max(s.score_rows(query_rows), round_up(rows, s.blen)));
  s.scratch = take(1);
  const int64_t shared = next;
  s.query = take(s.query_blocks * rows);
  s.key = take(s.kv_blocks * rows);
  s.value = take(s.kv_blocks * rows);
  s.group_query = take(s.head_blocks * s.score_rows(query_rows) + spill);
  s.scores = take(s.most_tiles() * s.score_rows(query_rows));
  const int64_t attention = next;
  next = shared;
  s.gate = take(divide_up(s.inner_blocks, slices) * rows + spill);
  const int64_t mlp = next;
  next = shared;
  s.logits = take(s.head ? s.vocabulary_blocks : 0);
  return s.vector_rows = std::max({attention, mlp, next});
}

// The most rows first, then the fewest slices of the MLP, then the most rows in attention.
bool place_within(DecoderShape& s, int64_t available) {
  std::vector<int64_t> candidates = {s.padded};
  for (int64_t rows = s.blen; rows < s.padded; rows *= 2) candidates.push_back(rows);
  std::sort(candidates.rbegin(), candidates.rend());
  for (const int64_t rows : candidates)
    for (const int64_t slices : {1, 2, 3, 4, 6, 8}) {
      if (slices > s.inner_blocks) break;
      for (int64_t part = rows == 1 ? 1 : std::min(rows, s.mlen) / s.blen * s.blen; part >= 1; part -= s.blen) {
        if (rows % part) continue;
        if (place(s, rows, part, slices) <= available) return true;
        if (s.plena) break;
      }
    }
  return false;
}

int64_t longest_product(const DecoderShape& s) {
  return std::max({s.hidden_blocks, s.inner_blocks, s.query_blocks, s.head_blocks, int64_t{4}});
}

}  // namespace

Result<DecoderShape> shape_decoder(const Model& model, MachineConfig& machine, const DecoderOptions& options) {
  CHECK_OK(check(model));
  CHECK_OK(check_options(model, machine, options));
  DecoderShape s{.model = model, .options = options, .plena = options.layout == Layout::Plena};
  set_blocks(s, machine);
  constexpr int64_t kUnlimited = int64_t{1} << 40;
  const int64_t tile = machine.weights.bytes(machine.tile_elements());
  s.group_tiles = s.plena ? 16 : longest_product(s);
  if (machine.sram_bytes) {
    // A quarter of the SRAM for tiles; more would only take rows from the vectors.
    const int64_t most = (machine.sram_bytes / 4 / tile - 1) / 2;
    if (most < s.head_blocks)
      return does_not_fit("an SRAM of {} bytes holds no {} tiles of MLEN {}", machine.sram_bytes, 8 * s.head_blocks,
                          s.mlen)
          .hint("choose a smaller --mlen, a larger board, or --sram unlimited");
    s.group_tiles = std::min(s.group_tiles, most);
  }
  s.matrix_tiles = 2 * s.group_tiles + 1;
  s.rope_tile = 2 * s.group_tiles;
  machine.matrix_tiles = s.matrix_tiles;
  machine.vector_rows = 0;
  const int64_t left =
      machine.sram_bytes ? machine.sram_bytes - machine.matrix_sram_bytes() - small_sram_bytes : kUnlimited;
  if (!place_within(s, left / (2 * s.mlen))) {
    place(s, s.tokens == 1 ? 1 : s.blen, s.tokens == 1 ? 1 : s.blen, std::min<int64_t>(8, s.inner_blocks));
    const int64_t need = s.vector_rows * s.mlen * 2;
    return does_not_fit("{} with {} tokens needs a vector SRAM of {} bytes at least; there are {}", model.name,
                        s.past + s.tokens, need, std::max<int64_t>(left, 0))
        .hint("fewer tokens, a smaller --blen, a larger board, or --sram unlimited");
  }
  machine.vector_rows = s.vector_rows;
  CHECK_OK(check(machine));
  return s;
}

}  // namespace tessera::accel
