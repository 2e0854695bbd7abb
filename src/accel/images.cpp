#include "accel/images.hpp"

#include <algorithm>
#include <cmath>

#include "accel/decoder_shape.hpp"

namespace tessera::accel {
namespace {

struct Matrix {
  int64_t rows = 0, columns = 0;
  std::vector<float> v;
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), v(static_cast<size_t>(r * c)) {}
  float& operator()(int64_t r, int64_t c) { return v[r * columns + c]; }
  float operator()(int64_t r, int64_t c) const { return v[r * columns + c]; }
};

DecoderShape shape_of(const Program& program) {
  auto machine = program.machine;
  auto shape = shape_decoder(program.model, machine, program.options);
  return *shape;  // the program was made from it
}

// Elements of a placement in the order of memory.
int64_t element_offset(const Placement& p, int64_t r, int64_t c) {
  if (!p.tile) return r * p.columns + c;
  const int64_t k = r / p.tile, n = c / p.tile;
  return ((n * (p.rows / p.tile) + k) * p.tile + r % p.tile) * p.tile + c % p.tile;
}

const MxFormat& format_of(const Program& program, const Placement& p) {
  return p.region.kind == Kind::Kv ? program.machine.kv : program.machine.weights;
}

void write_matrix(const Program& program, const Placement& p, const Matrix& m, std::vector<uint8_t>& image) {
  const int64_t count = m.rows * m.columns;
  auto* at = image.data() + p.region.offset;
  std::vector<float> ordered(static_cast<size_t>(count));
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.columns; ++c) ordered[element_offset(p, r, c)] = m(r, c);
  if (!p.bf16) {
    const auto& format = format_of(program, p);
    format.encode(ordered, {at, size_t(count)}, {at + count, size_t(count / format.block)});
    return;
  }
  for (int64_t n = 0; n < count; ++n) {
    const auto bits = bf16_bits(ordered[n]);
    at[2 * n] = static_cast<uint8_t>(bits);
    at[2 * n + 1] = static_cast<uint8_t>(bits >> 8);
  }
}

Matrix read_matrix(const Program& program, const Placement& p, const std::vector<uint8_t>& image) {
  Matrix m(p.rows, p.columns);
  const int64_t count = p.rows * p.columns;
  const auto* at = image.data() + p.region.offset;
  std::vector<float> ordered(static_cast<size_t>(count));
  if (p.bf16) {
    for (int64_t n = 0; n < count; ++n) ordered[n] = from_bf16(static_cast<uint16_t>(at[2 * n] | at[2 * n + 1] << 8));
  } else {
    const auto& format = format_of(program, p);
    format.decode({at, size_t(count)}, {at + count, size_t(count / format.block)}, ordered);
  }
  for (int64_t r = 0; r < m.rows; ++r)
    for (int64_t c = 0; c < m.columns; ++c) m(r, c) = ordered[element_offset(p, r, c)];
  return m;
}

const Placement* find(const Program& program, int64_t layer, const std::string& tensor) {
  for (const auto& p : program.placements)
    if (p.region.layer == layer && p.tensor == tensor) return &p;
  return nullptr;
}

// "k_proj.1" -> "k_proj", head 1
std::pair<std::string, int64_t> without_head(const std::string& tensor) {
  const auto dot = tensor.find('.');
  if (dot == tensor.npos) return {tensor, -1};
  return {tensor.substr(0, dot), std::stoll(tensor.substr(dot + 1))};
}

std::pair<int64_t, int64_t> extents(const Model& m, const std::string& tensor) {  // out, in
  if (tensor == "q_proj") return {m.heads * m.head_dim, m.hidden};
  if (tensor == "k_proj" || tensor == "v_proj") return {m.kv_heads * m.head_dim, m.hidden};
  if (tensor == "o_proj") return {m.hidden, m.heads * m.head_dim};
  if (tensor == "down_proj") return {m.hidden, m.intermediate};
  if (tensor == "lm_head") return {m.vocabulary, m.hidden};
  return {m.intermediate, m.hidden};
}

// Where weight (out, in) of a tensor lies in its matrix [in][out].
std::pair<int64_t, int64_t> located(const DecoderShape& s, const std::string& tensor, int64_t out, int64_t in) {
  const int64_t d = s.model.head_dim;
  if (tensor == "q_proj") return {in, s.query_column(out / d, out % d)};
  if (tensor == "o_proj") return {s.query_column(in / d, in % d), out};
  if (tensor == "k_proj" || tensor == "v_proj")
    return {in, s.kv_block(out / d) * s.mlen + s.kv_slot(out / d) * s.hlen + out % d};
  return {in, out};
}

// The norm before a product, which PLENA's layout multiplies into its rows.
const char* folded_norm(const std::string& tensor) {
  if (tensor == "q_proj" || tensor == "k_proj" || tensor == "v_proj") return "norm1";
  if (tensor == "gate_proj" || tensor == "up_proj") return "norm2";
  return tensor == "lm_head" ? "final_norm" : nullptr;
}

Result<Matrix> weight_matrix(const Program& program, const DecoderShape& s, const Placement& p,
                             const Weights& weights) {
  const auto [tensor, head] = without_head(p.tensor);
  const int64_t layer = p.region.layer;
  TRY(const auto values, exact_weight(program, weights, layer, tensor));
  const auto [outs, ins] = extents(s.model, tensor);
  Matrix m(p.rows, p.columns);
  const int64_t d = s.model.head_dim, first = head < 0 ? 0 : head * d, last = head < 0 ? outs : first + d;
  for (int64_t i = 0; i < ins; ++i)
    for (int64_t o = first; o < last; ++o) {
      const float value = values[i * outs + o];
      if (head < 0) {
        const auto [r, c] = located(s, tensor, o, i);
        m(r, c) = value;
      } else {  // PLENA: a head of its own, in every slot
        for (int64_t slot = 0; slot < s.slots; ++slot) m(i, slot * s.hlen + o - first) = value;
      }
    }
  return m;
}

Matrix rope_matrix(const DecoderShape& s) {
  Matrix m(s.mlen, s.mlen);
  const int64_t d = s.model.head_dim;
  for (int64_t base = 0; base < s.mlen; base += d)
    for (int64_t j = 0; j < d; ++j) {
      if (j < d / 2) m(base + j + d / 2, base + j) = -1;
      if (j >= d / 2) m(base + j - d / 2, base + j) = 1;
    }
  return m;
}

Matrix rotation_matrix(const DecoderShape& s, const Placement& p) {
  Matrix m(p.rows, p.columns);
  const int64_t half = s.model.head_dim / 2;
  for (int64_t r = 0; r < p.rows; ++r)
    for (int64_t c = 0; c < p.columns; ++c) {
      const auto position = static_cast<double>(s.plena ? s.past + r : r);
      const double angle =
          position * std::pow(s.model.rope_theta, -static_cast<double>(c % half) / static_cast<double>(half));
      m(r, c) = static_cast<float>(p.tensor == "cosine" ? std::cos(angle) : std::sin(angle));
    }
  return m;
}

Matrix mask_matrix(const DecoderShape& s, const Placement& p) {
  Matrix m(p.rows, p.columns);
  for (int64_t r = 0; r < p.rows; ++r)
    for (int64_t c = 0; c < p.columns; ++c) {
      const int64_t seen = s.plena ? (s.model.causal ? r : s.tokens - 1) : r - s.mlen;  // the last key that is
      m(r, c) = c <= seen ? 0 : masked_score;
    }
  return m;
}

Matrix norm_matrix(const Placement& p, const std::vector<float>& values) {
  Matrix m(p.rows, p.columns);
  std::copy(values.begin(), values.end(), m.v.begin());
  return m;
}

}  // namespace

Result<std::vector<float>> exact_weight(const Program& program, const Weights& weights, int64_t layer,
                                        const std::string& tensor) {
  const auto& model = program.model;
  const bool plena = program.options.layout == Layout::Plena;
  if (tensor == "norm1" || tensor == "norm2" || tensor == "final_norm") {
    if (plena) return std::vector<float>(static_cast<size_t>(model.hidden), 1.0f);
    return weights.tensor(hugging_face_name(tensor, layer), {model.hidden});
  }
  const auto [outs, ins] = extents(model, tensor);
  const auto name = tensor == "lm_head" && model.tied ? "embedding" : tensor;
  TRY(const auto stored, weights.tensor(hugging_face_name(name, layer), {outs, ins}));
  std::vector<float> gain(static_cast<size_t>(ins), 1.0f);
  if (plena && folded_norm(tensor)) {
    TRY(gain, weights.tensor(hugging_face_name(folded_norm(tensor), layer), {model.hidden}));
  }
  std::vector<float> values(stored.size());
  for (int64_t o = 0; o < outs; ++o)
    for (int64_t i = 0; i < ins; ++i) values[i * outs + o] = stored[o * ins + i] * gain[i];
  return values;
}

Result<std::vector<uint8_t>> make_image(const Program& program, const Weights& weights,
                                        const std::function<void(std::string_view)>& progress) {
  const auto s = shape_of(program);
  std::vector<uint8_t> image(static_cast<size_t>(program.memory_bytes));
  for (const auto& p : program.placements) {
    const auto& t = p.tensor;
    if (p.region.kind == Kind::Kv || t == "x" || t == "positions" || t == "logits") continue;
    if (progress) progress(fmt::format("{} into memory", p.region.name));
    if (t == "rope") {
      write_matrix(program, p, rope_matrix(s), image);
    } else if (t == "cosine" || t == "sine") {
      write_matrix(program, p, rotation_matrix(s, p), image);
    } else if (t == "mask") {
      write_matrix(program, p, mask_matrix(s, p), image);
    } else if (p.bf16) {
      TRY(const auto gains, exact_weight(program, weights, p.region.layer, t));
      write_matrix(program, p, norm_matrix(p, gains), image);
    } else {
      TRY(const auto m, weight_matrix(program, s, p, weights));
      write_matrix(program, p, m, image);
    }
  }
  return image;
}

Result<void> set_tokens(const Program& program, const Weights& weights, std::span<const int64_t> tokens,
                        std::vector<uint8_t>& image) {
  const auto& model = program.model;
  const auto* p = find(program, 0, "x");
  Matrix x(p->rows, p->columns);
  // A model without a vocabulary has as many made-up words as there are tokens.
  int64_t words = model.vocabulary;
  if (!words)
    for (const auto t : tokens) words = std::max(words, t + 1);
  for (size_t t = 0; t < tokens.size(); ++t) {
    if (tokens[t] < 0 || tokens[t] >= words) return input_error("token {}: {} has {}", tokens[t], model.name, words);
    TRY(const auto row, weights.rows(hugging_face_name("embedding", 0), {words, model.hidden}, tokens[t], 1));
    std::copy(row.begin(), row.end(), x.v.begin() + static_cast<int64_t>(t) * p->columns);
  }
  write_matrix(program, *p, x, image);
  return {};
}

Result<void> copy_cache(const Program& from, const std::vector<uint8_t>& old, const Program& to,
                        std::vector<uint8_t>& image) {
  for (const auto& p : to.placements) {
    if (p.region.kind != Kind::Kv) continue;
    const auto* q = find(from, p.region.layer, p.tensor);
    if (!q || q->columns != p.columns) return internal_error("the cache of {} is laid out differently", p.region.name);
    const auto block = format_of(to, p).block;
    const int64_t elements = std::min(p.rows, q->rows) * p.columns;
    const auto copy = [&](int64_t to_at, int64_t from_at, int64_t bytes) {
      std::copy_n(old.begin() + static_cast<int64_t>(q->region.offset) + from_at, bytes,
                  image.begin() + static_cast<int64_t>(p.region.offset) + to_at);
    };
    copy(0, 0, elements);
    copy(p.rows * p.columns, q->rows * q->columns, elements / block);
  }
  return {};
}

std::vector<float> read_weight(const Program& program, const std::vector<uint8_t>& image, int64_t layer,
                               const std::string& tensor) {
  const auto s = shape_of(program);
  const auto& model = program.model;
  if (tensor == "norm1" || tensor == "norm2" || tensor == "final_norm") {
    const auto* p = find(program, layer, tensor);
    std::vector<float> gains(static_cast<size_t>(model.hidden), 1.0f);
    if (p) std::copy_n(read_matrix(program, *p, image).v.begin(), model.hidden, gains.begin());
    return gains;
  }
  const auto [outs, ins] = extents(model, tensor);
  std::vector<float> values(static_cast<size_t>(outs * ins));
  if (const auto* p = find(program, layer, tensor)) {
    const auto m = read_matrix(program, *p, image);
    for (int64_t i = 0; i < ins; ++i)
      for (int64_t o = 0; o < outs; ++o) {
        const auto [r, c] = located(s, tensor, o, i);
        values[i * outs + o] = m(r, c);
      }
    return values;
  }
  for (int64_t kv = 0; kv < model.kv_heads; ++kv) {
    const auto m = read_matrix(program, *find(program, layer, fmt::format("{}.{}", tensor, kv)), image);
    for (int64_t i = 0; i < ins; ++i)
      for (int64_t j = 0; j < model.head_dim; ++j) values[i * outs + kv * model.head_dim + j] = m(i, j);
  }
  return values;
}

std::vector<float> read_cache(const Program& program, const std::vector<uint8_t>& image, int64_t layer,
                              const std::string& which, int64_t tokens) {
  const auto& model = program.model;
  std::vector<float> values(static_cast<size_t>(model.kv_heads * tokens * model.head_dim));
  for (int64_t kv = 0; kv < model.kv_heads; ++kv) {
    const auto m = read_matrix(program, *find(program, layer, fmt::format("{}.{}", which, kv)), image);
    for (int64_t t = 0; t < tokens; ++t)
      for (int64_t j = 0; j < model.head_dim; ++j) values[(kv * tokens + t) * model.head_dim + j] = m(t, j);
  }
  return values;
}

std::vector<float> read_rotation(const Program& program, const std::vector<uint8_t>& image, const std::string& which) {
  const auto* p = find(program, 0, which);
  const auto m = read_matrix(program, *p, image);
  const int64_t d = program.model.head_dim, tokens = program.options.tokens;
  const int64_t first = program.options.layout == Layout::Plena ? 0 : program.options.past;
  std::vector<float> values(static_cast<size_t>(tokens * d));
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t j = 0; j < d; ++j) values[t * d + j] = m(first + t, j % p->columns);
  return values;
}

std::vector<float> read_logits(const Program& program, const std::vector<uint8_t>& image) {
  const auto* p = find(program, 0, "logits");
  if (!p) return {};
  auto m = read_matrix(program, *p, image);
  m.v.resize(static_cast<size_t>(program.model.vocabulary));
  return m.v;
}

}  // namespace tessera::accel
