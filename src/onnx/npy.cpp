#include "onnx/npy.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>

#include "onnx/element.hpp"

namespace tessera::onnx {

namespace {

constexpr std::string_view magic = "\x93NUMPY";

struct Header {
  std::string descr;
  bool fortran = false;
  Shape shape;
};

// Reads the header's Python literal: a dictionary of a string, a bool and a tuple of integers.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view text) : rest_(text) {}

  Result<Header> run() {
    Header header;
    bool descr = false, fortran = false, shape = false;
    if (!eat("{")) return broken();
    while (!eat("}")) {
      auto key = quoted();
      if (!key || !eat(":")) return broken();
      if (*key == "descr") {
        if (starts("[")) return input_error("a structured type is not supported");
        auto value = quoted();
        if (!value) return broken();
        header.descr = *value;
        descr = true;
      } else if (*key == "fortran_order") {
        if (eat("True"))
          header.fortran = true;
        else if (!eat("False"))
          return broken();
        fortran = true;
      } else if (*key == "shape") {
        if (!tuple(header.shape)) return broken();
        shape = true;
      } else {
        return broken();
      }
      eat(",");
    }
    if (!descr || !fortran || !shape) return broken();
    return header;
  }

 private:
  static Error broken() { return input_error("its header is damaged"); }
  void skip_space() {
    while (!rest_.empty() && (rest_[0] == ' ' || rest_[0] == '\n' || rest_[0] == '\t')) rest_.remove_prefix(1);
  }
  bool starts(std::string_view text) {
    skip_space();
    return rest_.starts_with(text);
  }
  bool eat(std::string_view text) {
    if (!starts(text)) return false;
    rest_.remove_prefix(text.size());
    return true;
  }
  std::optional<std::string> quoted() {
    for (auto quote : {"'", "\""}) {
      if (!eat(quote)) continue;
      auto end = rest_.find(quote);
      if (end == std::string_view::npos) return std::nullopt;
      std::string text(rest_.substr(0, end));
      rest_.remove_prefix(end + 1);
      return text;
    }
    return std::nullopt;
  }
  bool tuple(Shape& shape) {
    if (!eat("(")) return false;
    while (!eat(")")) {
      int64_t n = 0;
      skip_space();
      auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), n);
      if (error != std::errc{} || n < 0) return false;
      rest_.remove_prefix(static_cast<size_t>(end - rest_.data()));
      eat("L");  // Python 2 wrote long integers so
      shape.push_back(n);
      if (!eat(",") && !starts(")")) return false;
    }
    return true;
  }

  std::string_view rest_;
};

struct ElementFormat {
  Element element;
  Endian endian;
};

Result<ElementFormat> format_of(const std::string& descr) {
  struct Known {
    std::string_view code;
    Element element;
  };
  static constexpr auto known = std::to_array<Known>({
      {"f2", Element::F16},
      {"f4", Element::F32},
      {"f8", Element::F64},
      {"i1", Element::I8},
      {"i2", Element::I16},
      {"i4", Element::I32},
      {"i8", Element::I64},
      {"u1", Element::U8},
      {"u2", Element::U16},
      {"u4", Element::U32},
      {"u8", Element::U64},
      {"b1", Element::Bool},
  });
  bool marked = !descr.empty() && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  auto code = std::string_view(descr).substr(marked ? 1 : 0);
  auto at = std::ranges::find(known, code, &Known::code);
  if (at == known.end())
    return input_error("the type '{}' is not supported", descr)
        .hint("supported: float16 to float64, int8 to int64, uint8 to uint64, bool");
  return ElementFormat{at->element, descr[0] == '>' ? Endian::Big : Endian::Little};
}

// Column-major order, as the file has it, to row-major.
std::vector<std::byte> row_major(std::span<const std::byte> bytes, const Shape& shape, size_t size) {
  std::vector<std::byte> out(bytes.size());
  std::vector<int64_t> index(shape.size()), stride(shape.size());
  int64_t step = 1;
  for (size_t a = 0; a < shape.size(); ++a) {
    stride[a] = step;
    step *= shape[a];
  }
  for (size_t to = 0; to < out.size(); to += size) {
    int64_t from = 0;
    for (size_t a = 0; a < shape.size(); ++a) from += index[a] * stride[a];
    std::memcpy(out.data() + to, bytes.data() + static_cast<size_t>(from) * size, size);
    for (size_t a = shape.size(); a-- > 0;) {
      if (++index[a] < shape[a]) break;
      index[a] = 0;
    }
  }
  return out;
}

}  // namespace

bool looks_like_npy(std::span<const std::byte> bytes) {
  return bytes.size() >= magic.size() && std::memcmp(bytes.data(), magic.data(), magic.size()) == 0;
}

Result<TensorData> read_npy(std::span<const std::byte> bytes) {
  if (!looks_like_npy(bytes)) return input_error("not a NumPy array");
  if (bytes.size() < 12) return input_error("ends within its header");
  auto byte = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  auto version = byte(6);
  if (version < 1 || version > 3) return input_error("NumPy format {} is not known (1 to 3 are)", version);
  size_t start = version == 1 ? 10 : 12;
  size_t length = byte(8) | byte(9) << 8;
  if (version > 1) length |= byte(10) << 16 | byte(11) << 24;
  if (length > bytes.size() - start) return input_error("ends within its header");
  TRY(auto header, HeaderReader({reinterpret_cast<const char*>(bytes.data()) + start, length}).run());
  TRY(auto format, format_of(header.descr));
  auto body = bytes.subspan(start + length);
  auto n = checked_count(header.shape);
  auto size = facts(format.element).size;
  if (!n) return input_error("the shape {} is not one of a tensor", to_string(header.shape));
  if (static_cast<uint64_t>(*n) * size != body.size())
    return input_error("truncated or damaged: {} of {} take {} bytes, but there are {}", to_string(header.shape),
                       facts(format.element).name, static_cast<uint64_t>(*n) * size, body.size());
  if (header.fortran && header.shape.size() > 1)
    return decode(format.element, header.shape, row_major(body, header.shape, size), format.endian);
  return decode(format.element, header.shape, body, format.endian);
}

std::vector<std::byte> npy_bytes(const TensorData& data) {
  auto code = [&] {
    switch (data.type().dtype) {
      case DType::F32:
        return "<f4";
      case DType::I64:
        return "<i8";
      case DType::I32:
        return "<i4";
      case DType::U8:
        return "|u1";
      case DType::Bool:
        return "|b1";
    }
    return "?";
  }();
  auto& shape = data.shape();
  auto header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", code,
                            fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  // The values start at a multiple of 64 bytes, after a newline.
  size_t fixed = magic.size() + 4;
  header.append((64 - (fixed + header.size() + 1) % 64) % 64, ' ');
  header += '\n';
  std::string start(magic);
  start += {'\x01', '\x00', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
  start += header;
  auto head = std::as_bytes(std::span(start));
  std::vector<std::byte> bytes(head.begin(), head.end());
  bytes.insert(bytes.end(), data.bytes().begin(), data.bytes().end());
  return bytes;
}

}  // namespace tessera::onnx
