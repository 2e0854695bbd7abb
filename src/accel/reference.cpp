#include "accel/reference.hpp"

#include <algorithm>
#include <cmath>

#include "accel/images.hpp"

namespace tessera::accel {
namespace {

using Values = std::vector<float>;

// x [rows][in] @ w [in][out]
Values product(const Values& x, const Values& w, int64_t in, int64_t out) {
  const int64_t rows = static_cast<int64_t>(x.size()) / in;
  Values y(static_cast<size_t>(rows * out));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t i = 0; i < in; ++i) {
      const float a = x[r * in + i];
      const float* from = &w[i * out];
      float* to = &y[r * out];
      for (int64_t o = 0; o < out; ++o) to[o] += a * from[o];
    }
  return y;
}

Values rms_norm(const Values& x, const Values& gain, double epsilon) {
  const auto width = static_cast<int64_t>(gain.size());
  Values y(x.size());
  for (size_t at = 0; at < x.size(); at += gain.size()) {
    double sum = 0;
    for (int64_t j = 0; j < width; ++j) sum += static_cast<double>(x[at + j]) * x[at + j];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(width) + epsilon);
    for (int64_t j = 0; j < width; ++j) y[at + j] = static_cast<float>(x[at + j] * scale * gain[j]);
  }
  return y;
}

// Rows of `heads` heads, each turned by its token's angle.
void rotate(Values& x, const Values& cosine, const Values& sine, int64_t heads, int64_t d) {
  const int64_t tokens = static_cast<int64_t>(x.size()) / (heads * d);
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < heads; ++h) {
      float* v = &x[(t * heads + h) * d];
      for (int64_t j = 0; j < d / 2; ++j) {
        const float low = v[j], high = v[j + d / 2];
        v[j] = low * cosine[t * d + j] - high * sine[t * d + j];
        v[j + d / 2] = high * cosine[t * d + j + d / 2] + low * sine[t * d + j + d / 2];
      }
    }
}

// [tokens][heads][d] -> [heads][tokens][d]
Values by_head(const Values& x, int64_t heads, int64_t d) {
  const int64_t tokens = static_cast<int64_t>(x.size()) / (heads * d);
  Values y(x.size());
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < heads; ++h) std::copy_n(&x[(t * heads + h) * d], d, &y[(h * tokens + t) * d]);
  return y;
}

Values attention(const Model& m, const Values& q, const Values& k, const Values& v, int64_t past, int64_t tokens) {
  const int64_t d = m.head_dim, length = past + tokens;
  Values out(q.size());
  std::vector<double> p(static_cast<size_t>(length));
  for (int64_t t = 0; t < tokens; ++t)
    for (int64_t h = 0; h < m.heads; ++h) {
      const int64_t kv = h / m.group(), seen = m.causal ? past + t + 1 : length;
      double most = -1e300, sum = 0;
      for (int64_t s = 0; s < seen; ++s) {
        double dot = 0;
        for (int64_t j = 0; j < d; ++j) dot += double(q[(t * m.heads + h) * d + j]) * k[(kv * length + s) * d + j];
        most = std::max(most, p[s] = dot / std::sqrt(static_cast<double>(d)));
      }
      for (int64_t s = 0; s < seen; ++s) sum += p[s] = std::exp(p[s] - most);
      for (int64_t j = 0; j < d; ++j) {
        double o = 0;
        for (int64_t s = 0; s < seen; ++s) o += p[s] * v[(kv * length + s) * d + j];
        out[(t * m.heads + h) * d + j] = static_cast<float>(o / sum);
      }
    }
  return out;
}

}  // namespace

LayerReference reference_layer(const Program& program, const std::vector<uint8_t>& image, int64_t layer,
                               const Values& input) {
  const auto& m = program.model;
  const auto w = [&](const char* tensor) { return read_weight(program, image, layer, tensor); };
  const int64_t tokens = program.options.tokens, past = program.options.past, d = m.head_dim;
  const auto cosine = read_rotation(program, image, "cosine"), sine = read_rotation(program, image, "sine");

  const auto normed = rms_norm(input, w("norm1"), m.epsilon);
  auto q = product(normed, w("q_proj"), m.hidden, m.heads * d);
  auto k = product(normed, w("k_proj"), m.hidden, m.kv_heads * d);
  const auto v = product(normed, w("v_proj"), m.hidden, m.kv_heads * d);
  rotate(q, cosine, sine, m.heads, d);
  rotate(k, cosine, sine, m.kv_heads, d);
  const auto attended = attention(m, q, read_cache(program, image, layer, "k", past + tokens),
                                  read_cache(program, image, layer, "v", past + tokens), past, tokens);
  auto x = product(attended, w("o_proj"), m.heads * d, m.hidden);
  for (size_t n = 0; n < x.size(); ++n) x[n] += input[n];

  const auto normed2 = rms_norm(x, w("norm2"), m.epsilon);
  auto gate = product(normed2, w("gate_proj"), m.hidden, m.intermediate);
  const auto up = product(normed2, w("up_proj"), m.hidden, m.intermediate);
  for (size_t n = 0; n < gate.size(); ++n) gate[n] = gate[n] / (1 + std::exp(-gate[n])) * up[n];
  const auto down = product(gate, w("down_proj"), m.intermediate, m.hidden);
  for (size_t n = 0; n < x.size(); ++n) x[n] += down[n];
  return {std::move(x), by_head(k, m.kv_heads, d), by_head(v, m.kv_heads, d)};
}

Values reference_logits(const Program& program, const std::vector<uint8_t>& image, const Values& row) {
  const auto& m = program.model;
  const int64_t layers = program.options.layers ? program.options.layers : m.layers;
  const auto normed = rms_norm(row, read_weight(program, image, layers, "final_norm"), m.epsilon);
  return product(normed, read_weight(program, image, layers, "lm_head"), m.hidden, m.vocabulary);
}

double relative_error(const Values& a, const Values& b) {
  double error = 0, size = 0;
  for (size_t n = 0; n < a.size(); ++n) {
    const double difference = static_cast<double>(a[n]) - b[n];
    error += difference * difference;
    size += static_cast<double>(b[n]) * b[n];
  }
  return size > 0 ? std::sqrt(error / size) : std::sqrt(error);
}

}  // namespace tessera::accel
