#include "run/rules.hpp"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <vector>

#include "sim/debug_line.hpp"

namespace tessera::run {

namespace {

std::string c_string(const sim::Machine& machine, uint32_t address) {
  std::string text;
  for (std::vector<uint8_t> byte(1); text.size() < 200 && machine.read(address, byte) && byte[0]; ++address)
    text += static_cast<char>(byte[0]);
  return text;
}

}  // namespace

std::optional<BrokenRule> broken_rule(const sim::Machine& machine, const sim::Elf& elf, int controller) {
  std::array<uint32_t, 3> words{};  // struct ts_broken_rule
  std::vector<uint8_t> bytes(sizeof words);
  const auto* symbol = elf.find("ts_broken_rule");
  if (!symbol || symbol->size < bytes.size() || !machine.read(symbol->address, bytes)) return std::nullopt;
  std::memcpy(words.data(), bytes.data(), bytes.size());
  const auto [rule, caller, address] = words;
  if (rule == 0) return std::nullopt;
  auto text = c_string(machine, rule);
  const auto* function = elf.at(caller, true);
  const auto line = sim::find_line(elf.lines, caller - 1);
  if (function && line)
    text = fmt::format("core {}, in {} ({}:{}): {}", controller, function->name, line->file, line->number, text);
  return BrokenRule{std::move(text), address};
}

}  // namespace tessera::run
