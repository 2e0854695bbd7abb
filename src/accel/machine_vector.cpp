#include "accel/machine_vector.hpp"

#include <algorithm>

namespace tessera::accel {

// Over doubles, so that the one rounding that counts is the one to bf16.
float exponential(float x) {
  return static_cast<float>(std::exp(static_cast<double>(std::clamp(x, -88.0f, 88.0f))));
}

float* Machine::rows_to_read(uint32_t address, int64_t count) {
  const int64_t row = address / config_.mlen;
  if (address % config_.mlen) {
    fault("vector address {} is not the beginning of a row of {}", address, config_.mlen);
    return nullptr;
  }
  if (row + count > config_.vector_rows) {
    fault("rows {} to {} of a vector SRAM of {}", row, row + count - 1, config_.vector_rows);
    return nullptr;
  }
  wait_for_rows(row, count, false);
  return image_ ? &vectors_[row * config_.mlen] : nullptr;
}

float* Machine::rows_to_write(uint32_t address, int64_t count, int64_t stride) {
  const int64_t row = address / config_.mlen;
  if (row + (count - 1) * stride >= config_.vector_rows) {
    fault("rows {} to {} of a vector SRAM of {}", row, row + (count - 1) * stride, config_.vector_rows);
    return nullptr;
  }
  if (stride == 1) {
    wait_for_rows(row, count, true);
  } else {
    for (int64_t n = 0; n < count; ++n) wait_for_rows(row + n * stride, 1, true);
  }
  return image_ ? &vectors_[row * config_.mlen] + address % config_.mlen : nullptr;
}

void Machine::vector_difference(const Instruction& i) {
  if (i.funct) return vector_scalar(i, [](float a, float f) { return f - a; });
  vector_scalar(i, [](float a, float f) { return a - f; });
}

void Machine::vector_exp(const Instruction& i) {
  vector_scalar(i, [](float a, float) { return exponential(a); });
}

void Machine::reduce_sum(const Instruction& i) {
  const float* a = rows_to_read(g(i.rs1), 1);
  if (!a) return;
  float sum = 0;
  for (int slot = 0; slot < config_.broadcast(); ++slot)
    if (enabled(i, slot))
      for (int n = 0; n < config_.hlen; ++n) sum += a[slot * config_.hlen + n];
  set_f(i.rd, f(i.rd) + sum);
}

void Machine::reduce_max(const Instruction& i) {
  const float* a = rows_to_read(g(i.rs1), 1);
  if (!a) return;
  float most = f(i.rd);
  for (int slot = 0; slot < config_.broadcast(); ++slot)
    if (enabled(i, slot))
      for (int n = 0; n < config_.hlen; ++n) most = larger(a[slot * config_.hlen + n], most);
  set_f(i.rd, most);
}

void Machine::shift(const Instruction& i) {
  const float* a = rows_to_read(g(i.rs1), 1);
  float* out = rows_to_write(g(i.rd), 1);
  if (!out || !a) return;
  const auto by = std::min<int64_t>(g(i.rs2), config_.mlen);
  std::copy_backward(a, a + config_.mlen - by, out + config_.mlen);
  std::fill(out, out + by, 0.0f);
}

void Machine::map_fp(const Instruction& i) {
  const uint32_t at = g(i.rs1) + i.imm;
  if (int64_t{at} + config_.mlen > fp_sram_words) return fault("FP SRAM has no words {} to {}", at, at + config_.mlen);
  float* out = rows_to_write(g(i.rd), 1);
  if (out) std::copy_n(fp_sram_.begin() + at, config_.mlen, out);
}

}  // namespace tessera::accel
