// images.S and the binary files that it takes in: the L2 arena with the initial values where they live, samples,
// reference losses. What stands in place costs no second copy on the device.
#include "emit/names.hpp"
#include "emit/source.hpp"

namespace tessera::emit {

namespace {

std::string bytes_of(const TensorData& data) {
  auto bytes = data.bytes();
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string labelled(const std::string& symbol, const std::string& path) {
  return fmt::format("  .balign {}\n  .global {}\n{}:\n  .incbin \"{}\"\n", kRamFileAlignment, symbol, symbol, path);
}

// What goes into the flash of a board, in the words of the SDKs' makefiles.
std::string flash_text(const std::vector<RamFile>& files) {
  std::string text =
      "# What a board's read-only file system in flash must hold; harness/flash.c loads it into the RAM.\n";
  for (const auto& file : files) text += fmt::format("READFS_FILES += {}\n", file.path);
  return text;
}

// An arena from its first byte to its last, values at their offsets and zeros between.
Result<std::string> arena(const Source& source, const std::vector<Image>& images, plan::LevelId level) {
  std::string text;
  int64_t at = 0;
  for (const auto& image : images) {
    if (image.home->level != level) continue;
    int64_t offset = image.home->offset.count;
    const auto& tensor = source.graph().at(image.tensor);
    if (offset < at) return internal_error("the initial value of '{}' overlaps another", tensor.name);
    if (offset > at) text += fmt::format("  .zero {}\n", offset - at);
    text += fmt::format("  .incbin \"{}\" /* {} at {} */\n", image.path, comment_text(tensor.name), offset);
    at = offset + tensor.type.bytes().count;
  }
  const int64_t size = source.arena_bytes(level);
  if (at > size) return internal_error("initial values end {} bytes beyond the L{} arena", at - size, level + 1);
  if (at < size) text += fmt::format("  .zero {}\n", size - at);
  return text;
}

std::string labels(const std::vector<RamFile>& files) {
  std::string text;
  for (const auto& file : files) text += labelled(file.symbol, file.path);
  return text;
}

// What stands beside the program: linked by name, or, on the virtual chip, all of the external RAM as it begins.
Result<std::string> data(const Source& source, const std::vector<Image>& images, const std::vector<RamFile>& files) {
  if (!data_in_ram(source))
    return "#ifdef __riscv\n  .section .ts_data, \"a\", %progbits\n#else\n  .section .rodata\n#endif\n" + labels(files);
  TRY(auto ram, arena(source, images, 2));
  TRY(auto samples, samples_of(source));
  for (const auto& s : samples) ram += fmt::format("  .balign {}\n  .incbin \"{}\"\n", kRamFileAlignment, s.path);
  return fmt::format(
      "#ifdef TS_CHIP /* the external RAM: its arena, then samples */\n  .section .ts_data, \"a\", %progbits\n{}"
      "#elif !defined TS_BOARD /* which has them in its flash: flash.mk */\n  .section .rodata\n{}#endif\n",
      ram, labels(files));
}

}  // namespace

Result<std::vector<File>> image_files(const Source& source) {
  TRY(auto images, images_of(source));
  TRY(auto samples, samples_of(source));
  std::vector<File> files;
  for (const auto& image : images) files.push_back({image.path, bytes_of(source.graph().at(image.tensor).value)});
  for (const auto& s : samples) files.push_back({s.path, bytes_of(*s.data)});
  TRY(auto outside, ram_files(source));
  if (data_in_ram(source)) files.push_back({"flash.mk", flash_text(outside)});
  const auto& reference = source.options.reference_losses;
  std::string compared;
  if (!reference.empty()) {
    files.push_back({"images/reference.bin",
                     std::string(reinterpret_cast<const char*>(reference.data()), reference.size() * sizeof(float))});
    compared = "\n#ifdef TS_CHIP\n  .section .ts_reference, \"a\", %progbits\n#else\n  .section .rodata\n#endif\n" +
               labelled("ts_reference", "images/reference.bin");
  }
  TRY(auto l2, arena(source, images, 1));
  TRY(auto beside, data(source, images, outside));
  auto text = fmt::format(
      "/* The L2 arena with the initial values where they live; then samples and references. */\n"
      "#ifdef __riscv\n"
      "  .section .l2_data, \"aw\", %progbits\n"
      "#else\n"
      "  .section .data\n"
      "#endif\n"
      "#ifdef TS_SANITIZE /* forbidden bytes on both sides */\n"
      "  .balign 64\n  .global ts_l2_before\nts_l2_before:\n  .zero 64\n"
      "#endif\n"
      "  .balign 16\n  .global ts_l2\nts_l2:\n{}"
      "#ifdef TS_SANITIZE\n"
      "  .balign 8\n  .global ts_l2_after\nts_l2_after:\n  .zero 64\n"
      "#endif\n\n"
      "{}{}\n"
      "  .section .note.GNU-stack, \"\", %progbits\n",
      l2.empty() ? "  .zero 1\n" : l2, beside, compared);
  files.push_back({"images.S", text});
  return files;
}

}  // namespace tessera::emit
