#include "accel/decoder.hpp"

#include <cmath>

#include "accel/decoder_compiler.hpp"

namespace tessera::accel {

void DecoderCompiler::probe(const char* name, Chunk c) {
  const int64_t l = layer;
  stage("", [this, name, c, l] {
    probes.push_back(
        {name, l, c.first, std::min(c.rows, s.tokens - c.first), e.here(), {s.x, s.hidden_blocks, c.rows}});
  });
}

// `keys`: K and V of these rows into memory. `rest`: everything else. A causal chunk does both at once.
void DecoderCompiler::chunk_layer(Chunk c, bool keys, bool rest) {
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

void DecoderCompiler::decoder_layer(const std::vector<Chunk>& chunks) {
  if (s.model.causal || chunks.size() == 1) {
    for (const auto& c : chunks) chunk_layer(c, true, true);
    return;
  }
  for (const auto& c : chunks) chunk_layer(c, true, false);
  for (const auto& c : chunks) chunk_layer(c, false, true);
}

void DecoderCompiler::emit_stages() {
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

void DecoderCompiler::compile() {
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

namespace {

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
  DecoderCompiler compiler(shape, program.machine);
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
