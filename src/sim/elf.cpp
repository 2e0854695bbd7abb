// The ELF is read by hand: a few structures, every offset checked against the file before it is followed.
#include "sim/elf.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

namespace tessera::sim {
namespace {

constexpr uint16_t kExecutable = 2, kRiscv = 243;
constexpr uint32_t kLoad = 1, kSymbolTable = 2, kRelocations = 4, kNoBits = 8, kAllocated = 2, kInstructions = 4;
constexpr uint32_t kHeader = 52, kProgramHeader = 32, kSectionHeader = 40, kSymbolSize = 16, kRelocationSize = 12;
constexpr uint32_t kLargestSegment = 1u << 28;

class Reader {
 public:
  explicit Reader(std::span<const uint8_t> file) : file_(file) {}

  bool has(uint64_t offset, uint64_t size) const { return offset <= file_.size() && size <= file_.size() - offset; }
  // Zero beyond the end: callers check with has() where it matters.
  template <class T>
  T at(uint64_t offset) const {
    T v{};
    if (has(offset, sizeof(T))) std::memcpy(&v, file_.data() + offset, sizeof(T));
    return v;
  }
  uint32_t word(uint64_t offset) const { return at<uint32_t>(offset); }
  uint16_t half(uint64_t offset) const { return at<uint16_t>(offset); }
  std::span<const uint8_t> part(uint64_t offset, uint64_t size) const {
    return has(offset, size) ? file_.subspan(offset, size) : std::span<const uint8_t>();
  }

 private:
  std::span<const uint8_t> file_;
};

struct Section {
  uint32_t name, type, flags, offset, size, link, info;
};

std::string_view text_at(std::span<const uint8_t> strings, uint32_t offset) {
  if (offset >= strings.size()) return {};
  const auto* begin = reinterpret_cast<const char*>(strings.data() + offset);
  return {begin, strnlen(begin, strings.size() - offset)};
}

Result<void> check_header(const Reader& r, std::string_view name) {
  if (!r.has(0, 4) || r.word(0) != 0x464c457f) return input_error("{}: not an ELF file", name);
  if (!r.has(0, kHeader))
    return input_error("{}: truncated: {} B are too few for an ELF header", name, "fewer than 52");
  if (r.at<uint8_t>(4) != 1)
    return input_error("{}: a 64-bit ELF; the chip is 32-bit", name).hint("build with -march=rv32imafc -mabi=ilp32f");
  if (r.at<uint8_t>(5) != 1) return input_error("{}: a big-endian ELF; the chip is little-endian", name);
  if (r.half(18) != kRiscv) return input_error("{}: an ELF for machine {}, not for RISC-V", name, r.half(18));
  if (r.half(16) != kExecutable)
    return input_error("{}: not an executable (ELF type {}): link it first", name, r.half(16));
  return {};
}

Result<std::vector<Segment>> read_segments(const Reader& r, std::string_view name) {
  const uint32_t table = r.word(28);
  const uint16_t size = r.half(42), count = r.half(44);
  if (count == 0) return input_error("{}: no program headers: nothing to load", name);
  if (size < kProgramHeader || !r.has(table, uint64_t{size} * count))
    return input_error("{}: truncated: the program headers are outside the file", name);
  std::vector<Segment> segments;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = table + uint64_t{i} * size;
    if (r.word(at) != kLoad) continue;
    Segment s;
    s.address = r.word(at + 12);  // physical: where the bytes lie when the program starts
    s.size = r.word(at + 20);
    s.executable = r.word(at + 24) & 1;
    const uint32_t offset = r.word(at + 4), bytes = r.word(at + 16);
    if (s.size == 0) continue;
    if (s.size > kLargestSegment || bytes > s.size || uint64_t{s.address} + s.size > (uint64_t{1} << 32))
      return input_error("{}: segment {} has impossible sizes ({} B in the file, {} B at 0x{:x})", name, i, bytes,
                         s.size, s.address);
    if (!r.has(offset, bytes)) return input_error("{}: truncated: segment {} ends beyond the file", name, i);
    const auto part = r.part(offset, bytes);
    s.bytes.assign(part.begin(), part.end());
    segments.push_back(std::move(s));
  }
  if (segments.empty()) return input_error("{}: no segment to load", name);
  return segments;
}

std::vector<Section> read_sections(const Reader& r) {
  const uint32_t table = r.word(32);
  const uint16_t size = r.half(46), count = r.half(48);
  std::vector<Section> sections;
  if (size < kSectionHeader || !r.has(table, uint64_t{size} * count)) return sections;
  for (uint32_t i = 0; i < count; ++i) {
    const uint64_t at = table + uint64_t{i} * size;
    sections.push_back({r.word(at), r.word(at + 4), r.word(at + 8), r.word(at + 16), r.word(at + 20), r.word(at + 24),
                        r.word(at + 28)});
  }
  return sections;
}

void read_symbols(const Reader& r, const Section& table, const Section& names, std::vector<Symbol>& out) {
  const auto bytes = r.part(table.offset, table.size), strings = r.part(names.offset, names.size);
  for (size_t at = 0; at + kSymbolSize <= bytes.size(); at += kSymbolSize) {
    const uint64_t base = table.offset + at;
    const uint8_t type = r.at<uint8_t>(base + 12) & 15;
    const std::string_view name = text_at(strings, r.word(base));
    if (type > 2 || name.empty() || name.starts_with('$') || name.starts_with(".L") || r.half(base + 14) == 0) continue;
    out.push_back({std::string(name), r.word(base + 4), r.word(base + 8), type == 2});
  }
}

// Relocations that say where a jump or a call goes, or that are no address at all.
bool only_leads_there(uint32_t type) {
  constexpr uint32_t none = 0, branch = 16, jump = 17, call = 18, call_plt = 19, align = 43, short_branch = 44,
                     short_jump = 45, relax = 51;
  constexpr uint32_t all[] = {none, branch, jump, call, call_plt, align, short_branch, short_jump, relax};
  return std::ranges::find(all, type) != std::end(all);
}

// Of what is loaded: debug information points to every function.
void read_pointed_to(const Reader& r, const std::vector<Section>& sections, Elf& elf) {
  for (const auto& s : sections) {
    if (s.type != kRelocations || s.link >= sections.size() || s.info >= sections.size()) continue;
    const Section& table = sections[s.link];
    if (!(sections[s.info].flags & kAllocated) || table.link >= sections.size() || !r.has(s.offset, s.size)) continue;
    if (!elf.pointed_to) elf.pointed_to.emplace();
    const Section& names = sections[table.link];
    const auto strings = r.part(names.offset, names.size);
    for (uint64_t at = s.offset; at + kRelocationSize <= uint64_t{s.offset} + s.size; at += kRelocationSize) {
      const uint32_t info = r.word(at + 4), symbol = info >> 8;
      if (only_leads_there(info & 255) || uint64_t{symbol} * kSymbolSize + kSymbolSize > table.size) continue;
      const auto name = text_at(strings, r.word(table.offset + uint64_t{symbol} * kSymbolSize));
      if (!name.empty() && !elf.pointed_to->contains(name)) elf.pointed_to->emplace(name);
    }
  }
}

void keep(const Reader& r, const Section& s, std::vector<uint8_t>& out) {
  const auto part = r.part(s.offset, s.size);
  out.assign(part.begin(), part.end());
}

}  // namespace

const Symbol* Elf::find(std::string_view name) const {
  auto it = std::ranges::find(symbols, name, &Symbol::name);
  return it == symbols.end() ? nullptr : &*it;
}

const Symbol* Elf::at(uint32_t address, bool function) const {
  auto it = std::ranges::upper_bound(symbols, address, {}, &Symbol::address);
  // Assembly labels have no size: one of them covers what follows it, unless something with a size says otherwise.
  const Symbol* label = nullptr;
  for (int looked = 0; it != symbols.begin() && looked < 64; ++looked) {
    const Symbol& s = *--it;
    if (address - s.address < s.size && (!function || s.function)) return &s;
    if (s.size == 0 && function && !label) label = &s;
  }
  return label;
}

Result<Elf> parse_elf(std::span<const uint8_t> file, std::string_view name) {
  const Reader r(file);
  CHECK_OK(check_header(r, name));
  Elf elf;
  elf.entry = r.word(24);
  TRY(elf.segments, read_segments(r, name));
  const auto sections = read_sections(r);
  const uint16_t names_at = r.half(50);
  const auto names = names_at < sections.size() ? r.part(sections[names_at].offset, sections[names_at].size)
                                                : std::span<const uint8_t>();
  for (const auto& s : sections) {
    if (s.type == kNoBits) continue;
    if (s.type == kSymbolTable && s.link < sections.size()) read_symbols(r, s, sections[s.link], elf.symbols);
    if (s.flags & kInstructions) keep(r, s, elf.code.emplace_back());
    const std::string_view called = text_at(names, s.name);
    if (called == ".debug_line") keep(r, s, elf.lines.line);
    if (called == ".debug_line_str") keep(r, s, elf.lines.line_str);
    if (called == ".debug_str") keep(r, s, elf.lines.str);
    if (called == ".ts_data" && !(s.flags & kAllocated)) keep(r, s, elf.l3);
  }
  read_pointed_to(r, sections, elf);
  std::ranges::stable_sort(elf.symbols, {}, &Symbol::address);
  return elf;
}

Result<Elf> load_elf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return input_error("{}: cannot be read", path);
  const std::vector<uint8_t> bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  return parse_elf(bytes, path);
}

namespace {

bool reads_flags(std::span<const uint8_t> code) {
  for (size_t i = 0; i + 4 <= code.size(); i += 2) {
    uint32_t word;
    std::memcpy(&word, code.data() + i, 4);
    const uint32_t csr = word >> 20, f3 = word >> 12 & 7, rd = word >> 7 & 31;
    if ((word & 0x7f) == 0x73 && f3 != 0 && f3 != 4 && (csr == 1 || csr == 3) && rd != 0) return true;
  }
  return false;
}

}  // namespace

bool reads_float_flags(const Elf& elf) {
  if (!elf.code.empty()) return std::ranges::any_of(elf.code, [](const auto& c) { return reads_flags(std::span(c)); });
  return std::ranges::any_of(elf.segments,
                             [](const Segment& s) { return s.executable && reads_flags(std::span(s.bytes)); });
}

}  // namespace tessera::sim
