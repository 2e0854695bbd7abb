#include "base/units.hpp"

#include <charconv>
#include <limits>

namespace tessera {

Result<Bytes> parse_bytes(std::string_view text) {
  int64_t value = 0;
  auto [rest, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  std::string_view suffix(rest, static_cast<size_t>(text.data() + text.size() - rest));
  int shift = suffix.empty() ? 0 : suffix == "k" || suffix == "K" ? 10 : suffix == "M" ? 20 : suffix == "G" ? 30 : -1;
  if (code != std::errc() || shift < 0 || value < 0)
    return input_error("'{}' is not a size", text).hint("write bytes, or a number with k, M or G: 65536, 64k, 2M");
  if (value > (std::numeric_limits<int64_t>::max() >> shift)) return input_error("size '{}' is too large", text);
  return Bytes(value << shift);
}

std::string format_bytes(Bytes bytes) {
  constexpr struct {
    int shift;
    const char* suffix;
  } units[] = {{30, "G"}, {20, "M"}, {10, "k"}};
  for (auto [shift, suffix] : units)
    if (bytes.count > 0 && bytes.count % (int64_t{1} << shift) == 0)
      return fmt::format("{}{}", bytes.count >> shift, suffix);
  return fmt::format("{}", bytes.count);
}

}  // namespace tessera
