#include <iostream>
#include <memory>

#include "accel/asm.hpp"
#include "base/file.hpp"
#include "cli/accel.hpp"
#include "cli/options.hpp"

namespace tessera::cli {
namespace {

struct Flags {
  std::string file;
  Text output;
};

Result<int> translate(const Flags& flags, Result<std::string> (*work)(std::string_view)) {
  TRY(const auto bytes, read_file(flags.file));
  auto text = work({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!text) return std::move(text).error().within(flags.file);
  if (flags.output) {
    CHECK_OK(write_file(*flags.output, std::as_bytes(std::span(*text))));
  } else {
    std::cout << *text;
  }
  return 0;
}

Result<std::string> to_words(std::string_view text) {
  TRY(const auto words, accel::assemble(text));
  return accel::to_hex(words);
}

Result<std::string> to_assembly(std::string_view text) {
  TRY(const auto words, accel::parse_hex(text));
  return accel::disassemble(words);
}

void add(CLI::App& group, Chosen& chosen, const char* name, const char* what, const char* example,
         Result<std::string> (*work)(std::string_view)) {
  auto* command = group.add_subcommand(name, what);
  command->footer(fmt::format("Examples:\n  tessera accel {}", example));
  auto flags = std::make_shared<Flags>();
  command->add_option("file", flags->file, "the program")->type_name("F")->required();
  command->add_option("-o,--output", flags->output, "instead of standard output")->type_name("F");
  command->callback([&chosen, flags, work] { chosen = [flags, work] { return translate(*flags, work); }; });
}

}  // namespace

void add_accel_asm(CLI::App& group, Chosen& chosen) {
  add(group, chosen, "asm", "Assembly text into hex words", "asm program.asm -o program.hex", to_words);
  add(group, chosen, "disasm", "Hex words into assembly text", "disasm program.hex", to_assembly);
}

}  // namespace tessera::cli
