// Transfers: what they move, the lines they ask for, and who waits for them.
//
//   H_PREFETCH_M gp1, gp2, a0      row i of the tile from a0 + gp2 + i * MLEN, its scales from a0 + scale + gp2 / block
//   + ...
#include <algorithm>

#include "accel/machine.hpp"

namespace tessera::accel {
namespace {

constexpr size_t kQueueDepth = 256;  // descriptors that one queue holds

}  // namespace

Machine::Stretch Machine::stretch_of(const Instruction& i, int64_t rows, int64_t width) {
  Stretch s{.rows = rows, .length = i.funct & narrow_rows ? config_.hlen : width};
  const uint32_t precision = i.funct & precision_mask;
  if (precision > precision_bf16 || i.funct > (narrow_rows | precision_mask))
    fault("there is no precision {}", i.funct);
  s.bf16 = precision == precision_bf16;
  s.format = precision == precision_kv ? config_.kv : config_.weights;
  s.at = a_[i.rs2] + g(i.rs1);
  s.stride = i.rs3 ? stride_ : static_cast<uint64_t>(s.element_bytes());
  if (s.bf16) return s;
  const auto block = static_cast<uint64_t>(s.format.block);
  if (s.length % s.format.block || s.stride % block || g(i.rs1) % block)
    fault("rows of {} at offset {} and stride {} do not begin with a block of {}", s.length, g(i.rs1), s.stride, block);
  s.scales_at = a_[i.rs2] + scale_ + g(i.rs1) / block;
  s.scale_stride = s.stride / block;
  s.scale_length = s.length / s.format.block;
  return s;
}

bool Machine::in_memory(const Stretch& s) {
  if (!fault_.empty()) return false;
  for (const auto& range : {s.elements(), s.scales()})
    if (range.end > static_cast<uint64_t>(memory_bytes_) || range.end < range.begin) {
      fault("bytes {} to {} of a memory of {}", range.begin, range.end, memory_bytes_);
      return false;
    }
  return true;
}

// The lines of a stretch of bytes, in order; neighbours that share a line ask for it once.
void Machine::add_lines(const Range& bytes, bool write) {
  for (uint64_t line = bytes.begin / line_bytes; line * line_bytes < bytes.end; ++line) {
    const LineRequest request{line * line_bytes, write};
    if (config_.coalesce && !lines_.empty() && lines_.back().address == request.address && lines_.back().write == write)
      continue;
    lines_.push_back(request);
  }
}

void Machine::load_lines(const Stretch& s) {
  const auto element_row = [&](uint64_t r) {
    return Range{s.at + r * s.stride, s.at + r * s.stride + s.element_bytes()};
  };
  const auto scale_row = [&](uint64_t r) {
    const uint64_t at = s.scales_at + r * s.scale_stride;
    return Range{at, at + s.scale_length};
  };
  const auto rows = static_cast<uint64_t>(s.rows);
  if (!config_.coalesce) {
    for (uint64_t r = 0; r < rows; ++r) {
      add_lines(element_row(r), false);
      add_lines(scale_row(r), false);
    }
    return;
  }
  for (uint64_t r = 0; r < rows; ++r) add_lines(element_row(r), false);
  for (uint64_t r = 0; r < rows; ++r) add_lines(scale_row(r), false);
}

// A line that is written in part is read first: the memory takes whole lines.
void Machine::store_lines(const Stretch& s) {
  load_lines(s);
  std::vector<LineRequest> touched;
  touched.swap(lines_);
  const auto whole = [&](uint64_t line) {
    const bool dense = s.stride == static_cast<uint64_t>(s.element_bytes());
    const auto within = [&](const Range& r) { return line >= r.begin && line + line_bytes <= r.end; };
    if (within(s.elements())) {
      if (dense) return true;
      const uint64_t into = (line - s.at) % s.stride;
      return into + line_bytes <= static_cast<uint64_t>(s.element_bytes());
    }
    return dense && within(s.scales());
  };
  for (const auto& line : touched)
    if (!config_.coalesce || !whole(line.address)) lines_.push_back({line.address, false});
  for (const auto& line : touched) lines_.push_back({line.address, true});
}

void Machine::wait(const Transfer& transfer) {
  const int64_t done = config_.cycle_at(memory_.finish(transfer.id));
  if (done <= now_) return;
  const auto link = memory_.over_link(transfer.id);
  if (const int64_t there = std::min(config_.cycle_at(link.until), done); there > now_) {
    for_link_ += there - now_;
    latency_ += std::min(link.latency, config_.time_of(there - now_));
  }
  stalled_ += done - now_;
  now_ = done;
}

void Machine::retire(Queue& queue) {
  const auto oldest = queue.transfers.front();
  queue.transfers.pop_front();
  wait(oldest);
  for (int64_t n = 0; n < oldest.rows; ++n) --queue.pending[oldest.first + n];
}

void Machine::settle(Queue& queue, int64_t first, int64_t count) {
  if (queue.transfers.empty()) return;
  for (int64_t n = first; n < first + count; ++n)
    while (queue.pending[n]) retire(queue);
}

void Machine::submit(Queue& queue, Transfer transfer) {
  if (queue.transfers.size() >= kQueueDepth) retire(queue);
  transfer.id = memory_.submit(time(), lines_);
  for (const auto& line : lines_) (line.write ? bytes_written_ : bytes_read_) += static_cast<int64_t>(line_bytes);
  lines_.clear();
  queue.transfers.push_back(transfer);
  for (int64_t n = 0; n < transfer.rows; ++n) ++queue.pending[transfer.first + n];
  if (!config_.dma_overlaps) wait(transfer);
}

// Bytes that a store has not written yet are not read.
void Machine::wait_for_stores(const Stretch& s) {
  auto& stores = row_stores_.transfers;
  const auto touches = [&](const Range& r) { return r.touches(s.elements()) || r.touches(s.scales()); };
  for (size_t n = stores.size(); n-- > 0;)
    if (touches(stores[n].elements) || touches(stores[n].scales)) {
      for (size_t k = 0; k <= n; ++k) retire(row_stores_);
      return;
    }
}

void Machine::wait_for_rows(int64_t first, int64_t count, bool stores_too) {
  settle(row_loads_, first, count);
  if (stores_too) settle(row_stores_, first, count);
}

void Machine::finish_transfers() {
  for (auto* queue : {&tile_loads_, &row_loads_, &row_stores_})
    while (!queue->transfers.empty()) retire(*queue);
}

void Machine::prefetch_tile(const Instruction& i) {
  const int64_t edge = config_.mlen, tile = g(i.rd) / (edge * edge);
  if (g(i.rd) % (edge * edge)) return fault("matrix address {} is not the beginning of a tile", g(i.rd));
  if (tile >= config_.matrix_tiles) return fault("tile {} of a matrix SRAM of {}", tile, config_.matrix_tiles);
  const auto s = stretch_of(i, edge, edge);
  if (s.bf16) return fault("the matrix SRAM holds 8-bit tiles, not bf16");
  if (!in_memory(s)) return;
  wait_for_stores(s);
  settle(tile_loads_, tile, 1);
  load_lines(s);
  submit(tile_loads_, {.first = tile, .rows = 1});
  if (!image_) return;
  auto& t = tiles_[tile];
  t.values.resize(edge * edge);
  t.has_transposed = false;
  for (int64_t r = 0; r < edge; ++r) {
    const auto* elements = image_->data() + s.at + r * s.stride;
    const auto* scales = image_->data() + s.scales_at + r * s.scale_stride;
    const std::span row(&t.values[r * edge], edge);
    s.format.decode({elements, size_t(s.length)}, {scales, size_t(s.scale_length)}, row.first(s.length));
    for (int64_t at = s.length; at < edge; at += s.length) std::copy_n(row.begin(), s.length, row.begin() + at);
  }
}

void Machine::prefetch_rows(const Instruction& i) {
  const int64_t rows = i.imm ? i.imm : config_.blen;
  const auto s = stretch_of(i, rows, config_.mlen);
  if (!in_memory(s)) return;
  wait_for_stores(s);
  float* to = rows_to_write(g(i.rd), rows);
  if (!fault_.empty()) return;
  load_lines(s);
  const int64_t first = g(i.rd) / config_.mlen;
  submit(row_loads_, {.first = first, .rows = rows});
  if (!to) return;
  for (int64_t r = 0; r < rows; ++r, to += config_.mlen) {
    const auto* elements = image_->data() + s.at + r * s.stride;
    if (s.bf16) {
      for (int64_t n = 0; n < s.length; ++n)
        to[n] = from_bf16(static_cast<uint16_t>(elements[2 * n] | elements[2 * n + 1] << 8));
    } else {
      s.format.decode({elements, size_t(s.length)},
                      {image_->data() + s.scales_at + r * s.scale_stride, size_t(s.scale_length)},
                      {to, size_t(s.length)});
      for (int64_t n = 0; n < s.length; ++n) to[n] = bf16(to[n]);
    }
  }
}

void Machine::store_rows(const Instruction& i) {
  const int64_t rows = i.imm ? i.imm : config_.blen, offset = g(i.rd) % config_.mlen;
  const auto s = stretch_of(i, rows, config_.mlen);
  if (offset + s.length > config_.mlen) return fault("{} elements from {} on of a row", s.length, offset);
  if (!in_memory(s)) return;
  wait_for_stores(s);
  const float* from = rows_to_read(g(i.rd) - static_cast<uint32_t>(offset), rows);
  if (!fault_.empty()) return;
  store_lines(s);
  const int64_t first = g(i.rd) / config_.mlen;
  submit(row_stores_, {.elements = s.elements(), .scales = s.scales(), .first = first, .rows = rows});
  if (!from) return;
  for (int64_t r = 0; r < rows; ++r, from += config_.mlen) {
    auto* elements = image_->data() + s.at + r * s.stride;
    if (s.bf16) {
      for (int64_t n = 0; n < s.length; ++n) {
        const auto bits = bf16_bits(from[offset + n]);
        elements[2 * n] = static_cast<uint8_t>(bits);
        elements[2 * n + 1] = static_cast<uint8_t>(bits >> 8);
      }
    } else {
      s.format.encode({from + offset, size_t(s.length)}, {elements, size_t(s.length)},
                      {image_->data() + s.scales_at + r * s.scale_stride, size_t(s.scale_length)});
    }
  }
}

}  // namespace tessera::accel
