// Every model of ONNX's own test data is imported, or refused with a reason; and so is every tensor of it.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "onnx/export.hpp"
#include "onnx/import.hpp"
#include "onnx/pb.hpp"

namespace tessera::onnx {
namespace {

const std::filesystem::path root = "/usr/share/libonnx-testdata/data";

std::vector<std::filesystem::path> files(std::string_view extension) {
  std::vector<std::filesystem::path> found;
  for (auto& entry : std::filesystem::recursive_directory_iterator(root))
    if (entry.path().extension() == extension) found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

// The reason without the names and numbers in it, to count by.
std::string kind_of(const Error& error, const std::filesystem::path& path) {
  auto text = error.message();
  if (text.starts_with(path.string())) text.erase(0, path.string().size() + 2);
  std::string kind;
  bool quoted = false;
  for (char c : text) {
    if (c == '\'') quoted = !quoted;
    if (!quoted && (c < '0' || c > '9')) kind += c;
  }
  return kind;
}

void print(const char* what, size_t accepted, const std::map<std::string, int>& refused) {
  std::printf("%s: %zu read\n", what, accepted);
  for (auto& [reason, times] : refused) std::printf("  %4d refused: %s\n", times, reason.c_str());
}

TEST(TestData, EveryModel) {
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<std::string, int> refused;
  size_t accepted = 0, written = 0;
  auto models = files(".onnx");
  for (auto& path : models) {
    auto model = import_onnx(path, {});
    if (!model) {
      EXPECT_EQ(model.error().exit_code(), 2) << model.error().text();
      ++refused[kind_of(model.error(), path)];
      continue;
    }
    ++accepted;
    EXPECT_TRUE(verify(model->graph)) << path;
    auto bytes = to_onnx(model->graph, Phase::Training);
    if (!bytes) continue;  // no nodes but constants, or an old form that newer sets cannot express
    auto again = import_onnx(*bytes, {});
    ASSERT_TRUE(again) << path << ": " << again.error().text();
    EXPECT_EQ(again->graph.nodes().size(), model->graph.nodes().size()) << path;
    EXPECT_EQ(again->graph.inputs.size(), model->graph.inputs.size()) << path;
    ++written;
  }
  print("models", accepted, refused);
  std::printf("  %zu of them written and read again\n", written);
  EXPECT_GT(models.size(), 1000u);
  EXPECT_GT(accepted, models.size() * 3 / 4);
  EXPECT_GT(written, accepted * 9 / 10);
}

TEST(TestData, EveryTensor) {
  if (!std::filesystem::exists(root)) GTEST_SKIP() << "libonnx-testdata is not installed";
  std::map<std::string, int> refused;
  size_t accepted = 0;
  for (auto& path : files(".pb")) {
    auto array = read_pb(path);
    if (array)
      ++accepted;
    else
      ++refused[kind_of(array.error(), path)];
  }
  print("tensors", accepted, refused);
  EXPECT_GT(accepted, 3000u);
}

}  // namespace
}  // namespace tessera::onnx
