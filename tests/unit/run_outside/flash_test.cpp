// What starts in the external RAM: a board's loader reads it from the files of the project, through a stand-in of the
// SDK's read-only file system, in bounded parts; and the run gives the bits of one that had them linked.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/file.hpp"
#include "run/chip.hpp"
#include "run/host.hpp"
#include "run/process.hpp"
#include "support/compiled.hpp"
#include "support/onnx_text.hpp"

namespace tessera::run {
namespace {

namespace fs = std::filesystem;
using test::TemporaryDirectory;

// The declarations of the SDKs' headers that the loader needs.
constexpr auto kHeaders = R"(
#ifndef STAND_IN_H
#define STAND_IN_H
#include "pmsis.h"
struct pi_hyperflash_conf { int opened; };
void pi_hyperflash_conf_init(struct pi_hyperflash_conf* conf);
int pi_flash_open(struct pi_device* device);
void pi_flash_close(struct pi_device* device);
struct pi_fs_conf { struct pi_device* flash; };
struct pi_readfs_conf { struct pi_fs_conf fs; };
typedef struct pi_fs_file pi_fs_file_t;
void pi_readfs_conf_init(struct pi_readfs_conf* conf);
int32_t pi_fs_mount(struct pi_device* device);
void pi_fs_unmount(struct pi_device* device);
pi_fs_file_t* pi_fs_open(struct pi_device* device, const char* file, int flags);
void pi_fs_close(pi_fs_file_t* file);
int32_t pi_fs_read(pi_fs_file_t* file, void* buffer, uint32_t size);
#endif
)";

// Files of the folder that FLASH names; never more than 700 bytes at a time, and complaints about misuse.
constexpr auto kFlash = R"(
#include <stdio.h>
#include <stdlib.h>
#include "stand_in.h"
static struct pi_device* flash;
static int mounted, parts;
static void want(int good, const char* what) { if (!good) { fprintf(stderr, "flash: %s\n", what); exit(9); } }
void pi_hyperflash_conf_init(struct pi_hyperflash_conf* conf) { conf->opened = 0; }
int pi_flash_open(struct pi_device* device) { flash = device; return getenv("FLASH") == NULL; }
void pi_flash_close(struct pi_device* device) {
  want(device == flash && !mounted, "closed while mounted");
  fprintf(stderr, "flash: %d parts\n", parts);
}
void pi_readfs_conf_init(struct pi_readfs_conf* conf) { conf->fs.flash = NULL; }
int32_t pi_fs_mount(struct pi_device* device) {
  want(((struct pi_readfs_conf*)device->config)->fs.flash == flash, "mounted without its flash");
  mounted = 1;
  return 0;
}
void pi_fs_unmount(struct pi_device* device) { want(device && mounted, "not mounted"); mounted = 0; }
pi_fs_file_t* pi_fs_open(struct pi_device* device, const char* file, int flags) {
  char path[4096];
  want(device && mounted && flags == 0, "opened for writing, or not mounted");
  snprintf(path, sizeof path, "%s/%s", getenv("FLASH"), file);
  return (pi_fs_file_t*)fopen(path, "rb");
}
void pi_fs_close(pi_fs_file_t* file) { fclose((FILE*)file); }
int32_t pi_fs_read(pi_fs_file_t* file, void* buffer, uint32_t size) {
  want(size > 0 && size <= 4096, "a part that is not bounded");
  ++parts;
  return (int32_t)fread(buffer, 1, size < 700 ? size : 700, (FILE*)file);
}
)";

struct Board {
  TemporaryDirectory place;
  fs::path project = place.path / "p", program = place.path / "board";

  // The project as a board's SDK would build it, with this machine's cores and memories.
  void build() {
    const auto stand_in = place.path / "sdk";
    fs::create_directories(stand_in / "bsp/flash");
    fs::create_directories(stand_in / "bsp/fs");
    ASSERT_TRUE(write_file(stand_in / "stand_in.h", test::raw_bytes(kHeaders)));
    for (auto* header : {"bsp/flash.h", "bsp/flash/hyperflash.h", "bsp/fs.h", "bsp/fs/readfs.h"})
      ASSERT_TRUE(write_file(stand_in / header, test::raw_bytes("#include \"stand_in.h\"\n")));
    ASSERT_TRUE(write_file(place.path / "flash.c", test::raw_bytes(kFlash)));
    const auto command = fmt::format(
        "cd {} && gcc -std=c11 -O1 -ffp-contract=off -fno-pie -pthread -DTS_BOARD -I. -Iinclude -Iharness -I{} "
        "$(grep -qsw fma /proc/cpuinfo && echo -mfma) -Wall -Wextra -Wconversion -Werror -o {} network.c config.c "
        "images.S harness/harness.c harness/flash.c kernels/*.c host/*.c {} -no-pie -lm",
        project.string(), stand_in.string(), program.string(), (place.path / "flash.c").string());
    auto built = run_process({"/bin/sh", "-c", command}, {});
    ASSERT_TRUE(built && built->ok()) << (built ? describe(*built) : built.error().text());
  }
  Result<Finished> run(const fs::path& flash) {
    return run_process(
        {"/bin/sh", "-c",
         fmt::format("FLASH={} {} --out {}", flash.string(), program.string(), (place.path / "results.bin").string())},
        {});
  }
};

// More samples than L2 has room for, weights at home in L3.
Compiled large(const std::string& target) {
  auto c =
      compile_model({.model = "simplemlp"}, {.mode = Mode::Train, .target = target, .plan = {.home = plan::Home::L3}});
  EXPECT_TRUE(c) << c.error().text();
  return *c;
}
emit::HarnessOptions harness(const Compiled& c) {
  return {.steps = 2, .accumulate = 2, .data = train::synthetic_samples(c.program, 700, 1)};
}

TEST(Outside, ABoardLoadsItsFilesAndGivesTheSameResults) {
  auto c = large("siracusa");
  auto project = make_project(c, harness(c));
  ASSERT_TRUE(project) << project.error().text();
  Board board;
  ASSERT_TRUE(emit::write_project(*project, board.project));
  ASSERT_NO_FATAL_FAILURE(board.build());
  const auto flash = board.place.path / "flash";
  // Exactly what flash.mk lists.
  const auto listed = read_file(board.project / "flash.mk").value();
  std::string_view text(reinterpret_cast<const char*>(listed.data()), listed.size());
  fs::create_directories(flash);
  constexpr std::string_view kLine = "READFS_FILES += ";
  int files = 0;
  for (auto at = text.find(kLine); at != text.npos; at = text.find(kLine, at + 1), ++files) {
    const std::string path(text.substr(at + kLine.size(), text.find('\n', at) - at - kLine.size()));
    fs::copy(board.project / path, flash / fs::path(path).filename());
  }
  EXPECT_GE(files, 4) << "weights and samples";
  auto ran = board.run(flash);
  ASSERT_TRUE(ran && ran->ok()) << (ran ? describe(*ran) : ran.error().text());
  auto linked = run_process({"/bin/sh", "-c",
                             fmt::format("make -s -C {} && {}/build/network --out {}", board.project.string(),
                                         board.project.string(), (board.place.path / "linked.bin").string())},
                            {});
  ASSERT_TRUE(linked && linked->ok()) << (linked ? describe(*linked) : linked.error().text());
  EXPECT_EQ(read_file(board.place.path / "results.bin").value(), read_file(board.place.path / "linked.bin").value());
  // A file that is shorter than it was written, one that is missing, and no flash at all.
  fs::resize_file(flash / "samples_0.bin", 100);
  EXPECT_FALSE(board.run(flash)->ok());
  fs::remove(flash / "samples_0.bin");
  EXPECT_FALSE(board.run(flash)->ok());
}

class Preloaded : public testing::TestWithParam<const char*> {};

TEST_P(Preloaded, TheVirtualChipBeginsWithTheSameFiles) {
  auto c = large(GetParam());
  auto project = make_project(c, harness(c));
  ASSERT_TRUE(project) << project.error().text();
  TemporaryDirectory place;
  ASSERT_TRUE(emit::write_project(*project, place.path / "p"));
  auto program = build_chip(place.path / "p", c.target, {});
  ASSERT_TRUE(program) << program.error().text();
  const auto samples = read_file(place.path / "p/images/samples_0.bin").value();
  ASSERT_GT(program->ram.size(), samples.size());
  auto same = [](uint8_t a, std::byte b) { return std::byte{a} == b; };
  EXPECT_NE(std::search(program->ram.begin(), program->ram.end(), samples.begin(), samples.end(), same),
            program->ram.end());
  auto chip = run_chip(place.path / "p", c, {.sanitize = true});
  ASSERT_TRUE(chip) << chip.error().text();
  auto host = run_host(place.path / "p", {});
  ASSERT_TRUE(host) << host.error().text();
  EXPECT_EQ(chip->bits, host->bits);
}

INSTANTIATE_TEST_SUITE_P(Chips, Preloaded, testing::Values("siracusa", "gap9"),
                         [](auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace tessera::run
