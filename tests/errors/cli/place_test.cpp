// Budgets that are too small, and places that cannot be written.
#include <filesystem>

#include "refusal.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;
using Budget = Refusal;
using Place = Refusal;

// The size that a refusal names, as it was printed: "the smallest that works is --l1 1520".
std::string smallest(const std::string& text, const std::string& option) {
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, std::regex("smallest that works is " + option + " ([0-9]+[kMG]?)")))
      << text;
  return found.empty() ? "" : found[1].str();
}

TEST_F(Budget, TheSmallestL1ThatIsNamedDoesWork) {
  for (std::string model : {"simplemlp", "mlp:1000-7-3", "mlp:13-11-7-5"}) {
    const auto text = refused({"compile", model, "--l1", "8", "-o", "out"}, {model, "L1", "of 8"}, 3);
    const auto size = smallest(text, "--l1");
    ASSERT_FALSE(size.empty());
    const auto ran = tessera({"compile", model, "--l1", size, "-o", "small-" + std::to_string(model.size())});
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}
TEST_F(Budget, OneByteLessThanTheSmallestL1DoesNotWork) {
  const auto size = smallest(refused({"compile", "simplemlp", "--l1", "8", "-o", "out"}, {}, 3), "--l1");
  auto bytes = parse_bytes(size);
  ASSERT_TRUE(bytes);
  refused({"compile", "simplemlp", "--l1", std::to_string(bytes->count - 1), "-o", "out"}, {"simplemlp"}, 3);
}
TEST_F(Budget, TheSmallestL2ThatIsNamedDoesWork) {
  for (std::string home : {"L2", "auto"}) {
    const auto text =
        refused({"compile", "simplemlp", "--home", home, "--l3", "0", "--l2", "100", "-o", "out"}, {"simplemlp"}, 3);
    const auto ran = tessera(
        {"compile", "simplemlp", "--home", home, "--l3", "0", "--l2", smallest(text, "--l2"), "-o", "out" + home});
    EXPECT_EQ(ran.code, 0) << ran.err;
  }
}
TEST_F(Budget, MoreThanTheChipHas) {
  refused({"compile", "simplemlp", "--l1", "64M", "-o", "out"}, {"--l1 64M", "siracusa"});
}

TEST_F(Place, OutputDirectoryThatExists) {
  fs::create_directory(folder.path() / "out");
  write("out/mine.txt", raw_bytes("precious"));
  refused({"compile", "simplemlp", "-o", "out"}, {"out", "not empty", "-o"});
}
TEST_F(Place, OutputThatIsAFile) {
  write("out", raw_bytes("precious"));
  refused({"compile", "simplemlp", "-o", "out"}, {"out", "not a directory"});
}
TEST_F(Place, OutputBelowAFile) {
  write("file", raw_bytes("precious"));
  refused({"compile", "simplemlp", "-o", "file/out"}, {"file/out"});
}
TEST_F(Place, OutputWithoutPermission) {
  if (geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  fs::create_directory(folder.path() / "locked");
  fs::permissions(folder.path() / "locked", fs::perms::owner_read | fs::perms::owner_exec);
  refused({"compile", "simplemlp", "-o", "locked/out"}, {"locked/out"});
  fs::permissions(folder.path() / "locked", fs::perms::owner_all);
}
TEST_F(Place, ExportBelowAFile) {
  write("file", raw_bytes("precious"));
  refused({"zoo", "export", "simplemlp", "-o", "file/m.onnx"}, {"file/m.onnx"});
}
TEST_F(Place, CheckOfWhatIsNoProject) {
  refused({"check", "."}, {"."});
}
TEST_F(Place, CheckOfWhatDoesNotExist) {
  refused({"check", "none"}, {"none"});
}

}  // namespace
}  // namespace tessera::test
