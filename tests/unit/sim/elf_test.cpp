// Files that are no programs: an error with exit code 2 and a reason, never a crash.
#include <cstring>
#include <random>

#include "sim/debug_line.hpp"
#include "support.hpp"

namespace tessera::sim {
namespace {

const std::vector<uint8_t>& good() {
  static const std::vector<uint8_t> bytes = [] {
    const auto path =
        platform::build_elf({"good",
                             {},
                             "#include \"rt.h\"\nvoid fc_pre(void){}\nvoid cl_main(int id){(void)id;while(1);}",
                             "",
                             true,
                             "-march=rv32imfc -mabi=ilp32f -O2 -g"});
    std::ifstream in(path.value(), std::ios::binary);
    return std::vector<uint8_t>{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }();
  return bytes;
}

std::string refusal(const std::vector<uint8_t>& bytes) {
  const auto elf = parse_elf(bytes, "x.elf");
  if (elf) {
    const auto machine = Machine::create(siracusa(), *elf, {});
    if (machine) return "";
    EXPECT_EQ(machine.error().exit_code(), 2);
    return machine.error().text();
  }
  EXPECT_EQ(elf.error().exit_code(), 2);
  return elf.error().text();
}

void patch(std::vector<uint8_t>& bytes, size_t at, uint32_t value, size_t size) {
  std::memcpy(bytes.data() + at, &value, size);
}

TEST(BadElf, SaysWhatIsWrong) {
  const auto with = [](size_t at, uint32_t value, size_t size) {
    auto bytes = good();
    patch(bytes, at, value, size);
    return refusal(bytes);
  };
  EXPECT_EQ(refusal(good()), "");
  EXPECT_NE(refusal({}).find("not an ELF"), std::string::npos);
  EXPECT_NE(refusal({'#', '!', '/', 'b'}).find("not an ELF"), std::string::npos);
  EXPECT_NE(with(4, 2, 1).find("64-bit"), std::string::npos);
  EXPECT_NE(with(5, 2, 1).find("big-endian"), std::string::npos);
  EXPECT_NE(with(18, 62, 2).find("machine 62"), std::string::npos);
  EXPECT_NE(with(16, 1, 2).find("link it first"), std::string::npos);
  EXPECT_NE(with(28, 0xfffffff0, 4).find("outside the file"), std::string::npos);
  EXPECT_NE(with(44, 0, 2).find("no program headers"), std::string::npos);
  EXPECT_NE(with(24, 0x40000000, 4).find("entry 0x40000000"), std::string::npos);
  EXPECT_NE(refusal(std::vector<uint8_t>(good().begin(), good().begin() + 20)).find("truncated"), std::string::npos);
  EXPECT_NE(refusal(std::vector<uint8_t>(good().begin(), good().begin() + 0x1100)).find("truncated"),
            std::string::npos);
}

TEST(BadElf, SegmentOutsideMemory) {
  auto bytes = good();
  uint32_t table;
  std::memcpy(&table, bytes.data() + 28, 4);
  uint16_t count;
  std::memcpy(&count, bytes.data() + 44, 2);
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t type;
    std::memcpy(&type, bytes.data() + table + 32 * i, 4);
    if (type == 1) patch(bytes, table + 32 * i + 12, 0x20000000, 4);
  }
  EXPECT_NE(refusal(bytes).find("not inside a memory"), std::string::npos);
}

TEST(BadElf, MissingFile) {
  const auto elf = load_elf("/nowhere/x.elf");
  ASSERT_FALSE(elf);
  EXPECT_EQ(elf.error().exit_code(), 2);
}

// Damage anywhere: whatever comes, it is a value.
TEST(BadElf, RandomDamageNeverCrashes) {
  std::mt19937 rng(7);
  for (int round = 0; round < 3000; ++round) {
    auto bytes = good();
    for (uint32_t n = 1 + rng() % 8; n != 0; --n)
      bytes[rng() % (rng() % 3 ? std::min<size_t>(bytes.size(), 200) : bytes.size())] = static_cast<uint8_t>(rng());
    if (rng() % 4 == 0) bytes.resize(rng() % bytes.size());
    const auto elf = parse_elf(bytes, "damaged");
    if (elf) find_line(elf->lines, elf->entry), (void)elf->at(elf->entry, true);
  }
}

TEST(DebugLine, FindsTheSourceLine) {
  const auto elf = parse_elf(good(), "good").value();
  const auto line = find_line(elf.lines, elf.find("cl_main")->address);
  ASSERT_TRUE(line);
  EXPECT_NE(line->file.find("good.c"), std::string::npos) << line->file;
  EXPECT_EQ(line->number, 3u);
  EXPECT_FALSE(find_line(elf.lines, 0x50));
}

// Weights stand beside the code in one segment, and some of them look like `csrr a0, fflags`.
TEST(FloatFlags, OnlyCodeReadsThem) {
  const auto reads = [](const std::string& name, const std::string& body) {
    auto elf = compile(name,
                       "#include \"harness.h\"\nconst uint32_t weights[] = {0x00102573, 0x00302573};\n"
                       "void cl_main(int id){ enter(id); if (id == 0) kv(\"w\", ((volatile const "
                       "uint32_t*)weights)[0]); " +
                           body + " bar(); if (id == 0) fin(); while (1) elw(EUD + 0x3C); }");
    EXPECT_TRUE(elf) << elf.error().text();
    return elf.value_or(Elf{});
  };
  Elf weights = reads("weights", "");
  EXPECT_FALSE(reads_float_flags(weights));
  EXPECT_TRUE(
      reads_float_flags(reads("flags", "uint32_t f; asm volatile(\"frflags %0\" : \"=r\"(f)); res[id][0] = f;")));
  EXPECT_FALSE(reads_float_flags(reads("clears", "asm volatile(\"fsflags zero\");")));
  // Without sections nobody knows what is code: then all of an executable segment counts.
  weights.code.clear();
  EXPECT_TRUE(reads_float_flags(weights));
}

}  // namespace
}  // namespace tessera::sim
