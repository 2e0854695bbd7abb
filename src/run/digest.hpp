// A short name for bytes: equal bytes, equal digest. FNV-1a, 64 bits; guards against accidents, not against malice.
//
//   Digest d; d.add(bytes); d.hex() -> "af63bd4c8601b7df"
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tessera::run {

class Digest {
 public:
  Digest& add(std::span<const std::byte> bytes) {
    for (auto byte : bytes) state_ = (state_ ^ static_cast<uint64_t>(byte)) * 0x100000001b3ull;
    return *this;
  }
  Digest& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
  std::string hex() const { return fmt::format("{:016x}", state_); }

 private:
  uint64_t state_ = 0xcbf29ce484222325ull;
};

}  // namespace tessera::run
