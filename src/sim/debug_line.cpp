#include "sim/debug_line.hpp"

#include <fmt/format.h>

#include <cstring>
#include <string_view>
#include <vector>

namespace tessera::sim {
namespace {

// Reads forward; beyond the end everything is zero and ok() is false.
class Cursor {
 public:
  Cursor(const std::vector<uint8_t>& data, size_t at, size_t end)
      : data_(data), at_(at), end_(std::min(end, data.size())) {
    if (at_ > end_) fail();
  }

  bool ok() const { return ok_; }
  bool done() const { return at_ >= end_ || !ok_; }
  size_t at() const { return at_; }
  size_t left() const { return end_ - at_; }
  void fail() { ok_ = false, at_ = end_; }
  void skip(uint64_t n) { n <= left() ? at_ += n : (fail(), at_); }
  uint64_t fixed(size_t bytes) {
    uint64_t v = 0;
    if (bytes > 8 || bytes > left()) return fail(), 0;
    std::memcpy(&v, data_.data() + at_, bytes);
    at_ += bytes;
    return v;
  }
  uint8_t byte() { return static_cast<uint8_t>(fixed(1)); }
  uint64_t uleb() {
    uint64_t v = 0;
    for (int shift = 0; shift < 70 && ok_; shift += 7) {
      const uint8_t b = byte();
      if (shift < 64) v |= uint64_t{b & 0x7fu} << shift;
      if (!(b & 0x80)) break;
    }
    return v;
  }
  int64_t sleb() {
    uint64_t v = 0;
    int shift = 0;
    uint8_t b = 0x80;
    while ((b & 0x80) && shift < 63 && ok_) b = byte(), v |= uint64_t{b & 0x7fu} << shift, shift += 7;
    if (shift < 64 && (b & 0x40)) v |= ~uint64_t{0} << shift;
    return static_cast<int64_t>(v);
  }
  std::string_view text() {
    if (left() == 0) return fail(), std::string_view();
    const auto* begin = reinterpret_cast<const char*>(data_.data() + at_);
    const size_t length = strnlen(begin, end_ - at_);
    at_ += std::min(length + 1, left());
    return {begin, length};
  }

 private:
  const std::vector<uint8_t>& data_;
  size_t at_, end_;
  bool ok_ = true;
};

std::string_view text_in(const std::vector<uint8_t>& strings, uint64_t offset) {
  if (offset >= strings.size()) return {};
  const auto* begin = reinterpret_cast<const char*>(strings.data() + offset);
  return {begin, strnlen(begin, strings.size() - offset)};
}

struct Header {
  uint16_t version = 0;
  uint8_t min_length = 1, line_range = 1, opcode_base = 1;
  int8_t line_base = 0;
  std::vector<uint8_t> lengths;
  std::vector<std::string> files;  // as the program counts them
  size_t program = 0, end = 0;
};

// One entry of a version 5 table: the path, whatever else the producer put there is passed over.
std::string read_entry(Cursor& c, const LineSections& s, const std::vector<std::pair<uint64_t, uint64_t>>& format) {
  std::string path;
  for (auto [content, form] : format) {
    std::string_view text;
    switch (form) {
      case 0x08:
        text = c.text();
        break;  // string
      case 0x1f:
        text = text_in(s.line_str, c.fixed(4));
        break;  // line_strp
      case 0x0e:
        text = text_in(s.str, c.fixed(4));
        break;  // strp
      case 0x0b:
        c.skip(1);
        break;  // data1
      case 0x05:
        c.skip(2);
        break;  // data2
      case 0x06:
        c.skip(4);
        break;  // data4
      case 0x07:
        c.skip(8);
        break;  // data8
      case 0x1e:
        c.skip(16);
        break;  // data16
      case 0x0f:
        c.uleb();
        break;  // udata
      case 0x09:
        c.skip(c.uleb());
        break;  // block
      default:
        c.fail();
        break;
    }
    if (content == 1) path = text;
  }
  return path;
}

std::vector<std::string> read_table(Cursor& c, const LineSections& s) {
  std::vector<std::pair<uint64_t, uint64_t>> format(c.byte());
  for (auto& [content, form] : format) content = c.uleb(), form = c.uleb();
  std::vector<std::string> entries;
  const uint64_t count = c.uleb();
  for (uint64_t i = 0; i < count && c.ok() && !format.empty(); ++i) entries.push_back(read_entry(c, s, format));
  return entries;
}

// Version 2 to 4: names one after the other, ended by an empty one; files count from 1.
void read_old_tables(Cursor& c, Header& h) {
  while (c.ok() && !c.text().empty()) {
  }
  h.files.emplace_back();
  while (c.ok()) {
    const std::string_view name = c.text();
    if (name.empty()) return;
    h.files.emplace_back(name);
    c.uleb(), c.uleb(), c.uleb();
  }
}

std::optional<Header> read_header(Cursor& c, const LineSections& s) {
  Header h;
  const uint64_t length = c.fixed(4);
  if (!c.ok() || length >= 0xfffffff0) return std::nullopt;
  h.end = c.at() + length;
  h.version = static_cast<uint16_t>(c.fixed(2));
  if (h.version < 2 || h.version > 5) return std::nullopt;
  if (h.version == 5) c.skip(2);  // sizes of an address and of a segment selector
  const uint64_t header_length = c.fixed(4);
  h.program = c.at() + header_length;
  h.min_length = c.byte();
  if (h.version >= 4) c.skip(1);
  c.skip(1);  // whether lines start as statements
  h.line_base = static_cast<int8_t>(c.byte());
  h.line_range = c.byte();
  h.opcode_base = c.byte();
  for (int i = 1; i < h.opcode_base; ++i) h.lengths.push_back(c.byte());
  if (h.version == 5) {
    read_table(c, s);  // directories
    h.files = read_table(c, s);
  } else {
    read_old_tables(c, h);
  }
  if (!c.ok() || h.line_range == 0) return std::nullopt;
  return h;
}

// Runs one line program, and looks for the row that covers the address.
class Program {
 public:
  Program(const Header& h, const std::vector<uint8_t>& data, uint32_t wanted)
      : h_(h), c_(data, h.program, h.end), wanted_(wanted) {}

  std::optional<SourceLine> run() {
    while (!c_.done() && !found_) {
      const uint8_t op = c_.byte();
      if (op >= h_.opcode_base)
        special(op);
      else if (op == 0)
        extended();
      else
        standard(op);
    }
    return found_;
  }

 private:
  void row(bool end) {
    if (previous_ && wanted_ >= previous_address_ && wanted_ < address_ && previous_file_ < h_.files.size())
      found_ = SourceLine{h_.files[previous_file_], static_cast<uint32_t>(previous_line_)};
    previous_ = !end;
    previous_address_ = address_, previous_file_ = file_, previous_line_ = line_;
  }
  void special(uint8_t op) {
    const int adjusted = op - h_.opcode_base;
    address_ += static_cast<uint32_t>(adjusted / h_.line_range) * h_.min_length;
    line_ += h_.line_base + adjusted % h_.line_range;
    row(false);
  }
  void extended() {
    const uint64_t length = c_.uleb();
    if (length == 0 || length > c_.left()) return c_.fail();
    const size_t next = c_.left() - length;  // bytes that follow it
    const uint8_t op = c_.byte();
    if (op == 1) row(true), address_ = 0, file_ = 1, line_ = 1;
    if (op == 2) address_ = static_cast<uint32_t>(c_.fixed(std::min<size_t>(length - 1, 8)));
    c_.skip(c_.left() - std::min(next, c_.left()));
  }
  void standard(uint8_t op) {
    switch (op) {
      case 1:
        return row(false);
      case 2:
        address_ += static_cast<uint32_t>(c_.uleb()) * h_.min_length;
        return;
      case 3:
        line_ += c_.sleb();
        return;
      case 4:
        file_ = c_.uleb();
        return;
      case 8:
        address_ += static_cast<uint32_t>((255 - h_.opcode_base) / h_.line_range) * h_.min_length;
        return;
      case 9:
        address_ += static_cast<uint32_t>(c_.fixed(2));
        return;
      default:
        for (int i = 0; i < h_.lengths[op - 1u]; ++i) c_.uleb();
    }
  }

  const Header& h_;
  Cursor c_;
  uint32_t wanted_, address_ = 0, previous_address_ = 0;
  uint64_t file_ = 1, previous_file_ = 1;
  int64_t line_ = 1, previous_line_ = 1;
  bool previous_ = false;
  std::optional<SourceLine> found_;
};

}  // namespace

std::optional<SourceLine> find_line(const LineSections& sections, uint32_t address) {
  for (size_t at = 0; at + 4 < sections.line.size();) {
    Cursor c(sections.line, at, sections.line.size());
    const auto header = read_header(c, sections);
    if (!header || header->end <= at) return std::nullopt;
    if (auto line = Program(*header, sections.line, address).run()) return line;
    at = header->end;
  }
  return std::nullopt;
}

std::optional<std::string> describe_line(const LineSections& sections, uint32_t start, uint32_t pc) {
  const auto text = [](const SourceLine& line) { return fmt::format("{}:{}", line.file, line.number); };
  const auto line = find_line(sections, pc), first = find_line(sections, start);
  if (!line) return std::nullopt;
  if (!first || first->file == line->file) return text(*line);
  constexpr uint32_t kLookBack = 256;
  for (uint32_t at = pc; at > start && pc - at < kLookBack; at -= 2)
    if (const auto own = find_line(sections, at); own && own->file == first->file)
      return fmt::format("{} ({})", text(*own), text(*line));
  return text(*line);
}

}  // namespace tessera::sim
