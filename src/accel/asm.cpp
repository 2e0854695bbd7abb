#include "accel/asm.hpp"

#include <algorithm>
#include <charconv>

namespace tessera::accel {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r";
  const auto begin = text.find_first_not_of(kBlank);
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlank) - begin + 1);
}

std::string_view without_comment(std::string_view line) {
  return trimmed(line.substr(0, std::min(line.find(';'), line.find("//"))));
}

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(at, begin), text.size());
    parts.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return parts;
}

Result<uint32_t> parse_number(std::string_view text) {
  const bool hex = text.starts_with("0x") || text.starts_with("0X");
  const auto digits = hex ? text.substr(2) : text;
  uint32_t value = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, hex ? 16 : 10);
  if (code == std::errc::result_out_of_range) return input_error("{} does not fit 32 bits", text);
  if (code != std::errc() || end != digits.data() + digits.size()) return input_error("'{}' is not a number", text);
  return value;
}

Result<uint32_t> parse_operand(const Operand& operand, std::string_view text) {
  if (!operand.file) {
    TRY(const auto value, parse_number(text));
    const uint32_t most = (uint32_t{1} << operand.bits) - 1;
    if (value > most) return input_error("{} {} is more than {}", operand.name, value, most);
    return value;
  }
  const std::string_view prefix = operand.file == 'g' ? "gp" : operand.file == 'f' ? "f" : "a";
  const uint32_t count = operand.file == 'g' ? 16 : 8;
  if (!text.starts_with(prefix))
    return input_error("'{}' is not a register {}0..{}{}", text, prefix, prefix, count - 1);
  TRY(const auto number, parse_number(text.substr(prefix.size())));
  if (number >= count) return input_error("there is no register {}", text);
  return number;
}

Result<Instruction> parse_line(std::string_view line) {
  const auto space = std::min(line.find_first_of(" \t"), line.size());
  const auto name = line.substr(0, space);
  const auto* info = find_op(name);
  if (!info) return input_error("there is no instruction '{}'", name);
  const auto rest = trimmed(line.substr(space));
  const auto words = rest.empty() ? std::vector<std::string_view>() : split(rest, ',');
  const auto least = static_cast<size_t>(info->required), most = info->operands.size();
  if (words.size() < least || words.size() > most)
    return input_error("{} takes {} operands, not {}", name,
                       least == most ? fmt::format("{}", least) : fmt::format("{} to {}", least, most), words.size());
  Instruction i{.op = info->op};
  for (size_t n = 0; n < words.size(); ++n) {
    const auto& operand = operand_of(info->operands[n]);
    auto value = parse_operand(operand, words[n]);
    if (!value) return std::move(value).error().within(fmt::format("operand {} of {}", n + 1, name));
    set(i, operand, *value);
  }
  return i;
}

}  // namespace

Result<std::vector<uint32_t>> assemble(std::string_view text) {
  std::vector<uint32_t> words;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = without_comment(raw);
    if (line.empty()) continue;
    auto instruction = parse_line(line);
    if (!instruction) return std::move(instruction).error().within(fmt::format("line {}", number));
    words.push_back(encode(*instruction));
  }
  return words;
}

std::string to_text(const Instruction& i) {
  const auto& info = info_of(i.op);
  size_t shown = info.operands.size();
  while (shown > static_cast<size_t>(info.required) && get(i, operand_of(info.operands[shown - 1])) == 0) --shown;
  std::string text(info.name);
  for (size_t n = 0; n < shown; ++n) {
    const auto& operand = operand_of(info.operands[n]);
    const char* prefix = operand.file == 'g' ? "gp" : operand.file == 'f' ? "f" : operand.file == 'a' ? "a" : "";
    text += fmt::format("{}{}{}", n ? ", " : " ", prefix, get(i, operand));
  }
  return text;
}

Result<std::string> disassemble(std::span<const uint32_t> words) {
  std::string text;
  int depth = 0;
  for (size_t n = 0; n < words.size(); ++n) {
    auto i = decode(words[n]);
    if (!i) return std::move(i).error().within(fmt::format("word {}", n));
    if (i->op == Op::C_LOOP_END) depth = std::max(0, depth - 1);
    text += fmt::format("{:{}}{}\n", "", depth * 2, to_text(*i));
    if (i->op == Op::C_LOOP_START) ++depth;
  }
  return text;
}

Result<std::vector<uint32_t>> parse_hex(std::string_view text) {
  std::vector<uint32_t> words;
  int number = 0;
  for (auto line : split(text, '\n')) {
    ++number;
    while (!line.empty()) {
      const auto end = std::min(line.find_first_of(" \t\r"), line.size());
      auto digits = line.substr(0, end);
      if (digits.starts_with("0x") || digits.starts_with("0X")) digits.remove_prefix(2);
      uint32_t word = 0;
      const auto [last, code] = std::from_chars(digits.data(), digits.data() + digits.size(), word, 16);
      if (code != std::errc() || last != digits.data() + digits.size() || digits.empty())
        return input_error("line {}: '{}' is not a hex word of 32 bits", number, line.substr(0, end));
      words.push_back(word);
      line = trimmed(line.substr(end));
    }
  }
  return words;
}

std::string to_hex(std::span<const uint32_t> words) {
  std::string text;
  for (auto word : words) text += fmt::format("{:08x}\n", word);
  return text;
}

}  // namespace tessera::accel
