// Damaged files of every kind: whatever the bytes are, reading them gives a value or an error, never a crash. The
// mutations are the same every time; a failure names its number.
#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/file.hpp"
#include "onnx/export.hpp"
#include "onnx/import.hpp"
#include "onnx/npz.hpp"
#include "onnx/pb.hpp"
#include "support/onnx_text.hpp"

namespace tessera::onnx {
namespace {

using Bytes = std::vector<std::byte>;
using Random = std::mt19937;  // its sequence is part of the standard, those of the distributions are not

size_t below(Random& random, size_t n) {
  return n ? random() % n : 0;
}

void damage_once(Bytes& bytes, Random& random) {
  auto at = below(random, bytes.size() + 1);
  auto here = bytes.begin() + static_cast<std::ptrdiff_t>(at);
  auto left = bytes.size() - at;
  auto length = static_cast<std::ptrdiff_t>(below(random, std::min<size_t>(left, 16) + 1));
  switch (random() % 7) {
    case 0:  // one bit
      if (left) *here ^= std::byte(1u << random() % 8);
      break;
    case 1:  // one byte
      if (left) *here = std::byte(random() % 256);
      break;
    case 2:  // the extremes that numbers and lengths have
      if (left) *here = random() % 2 ? std::byte{0xff} : std::byte{0x00};
      break;
    case 3:  // a run goes missing
      bytes.erase(here, here + length);
      break;
    case 4: {  // a run comes twice
      Bytes run(here, here + length);
      bytes.insert(here, run.begin(), run.end());
      break;
    }
    case 5: {  // a run from elsewhere
      Bytes run(here, here + length);
      auto to = below(random, bytes.size() + 1);
      bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(to), run.begin(), run.end());
      break;
    }
    case 6:  // the rest is cut off, now and then
      if (random() % 8 == 0) bytes.erase(here, bytes.end());
      break;
  }
}

// Reads `count` damaged copies; `read` says whether it found a value. Both must happen: else the damage is too mild or
// too hard to test anything.
void replay(const Bytes& valid, int count, const std::function<bool(const Bytes&)>& read) {
  ASSERT_TRUE(read(valid));
  int accepted = 0;
  for (int i = 0; i < count; ++i) {
    Random random(static_cast<unsigned>(i));
    auto bytes = valid;
    for (auto n = 1 + random() % 4; n > 0; --n) damage_once(bytes, random);
    SCOPED_TRACE(i);
    accepted += read(bytes);
    if (testing::Test::HasFailure()) return;
  }
  std::printf("%d of %d damaged copies were still readable\n", accepted, count);
  EXPECT_GT(accepted, 0);
  EXPECT_LT(accepted, count);
}

template <class T>
bool is_value(const Result<T>& result) {
  if (result) return true;
  EXPECT_EQ(result.error().kind(), ErrorKind::Input) << result.error().text();
  EXPECT_FALSE(result.error().message().empty());
  return false;
}

Bytes model() {
  using test::value_info;
  return test::onnx_bytes(
      "ir_version: 8 producer_name: 'p' opset_import { version: 11 } opset_import { domain: 'com.microsoft' version: 1 "
      "} graph { name: 'g' "
      "node { op_type: 'Constant' output: 'c' attribute { name: 'value' type: TENSOR t { dims: 2 data_type: 7 "
      "int64_data: [1, 2] } } } "
      "node { name: 'gemm' op_type: 'Gemm' input: 'x' input: 'w' input: 'b' output: 'h' attribute { name: 'alpha' "
      "type: "
      "FLOAT f: 0.5 } attribute { name: 'transB' type: INT i: 1 } } "
      "node { op_type: 'Squeeze' input: 'h' output: 's' attribute { name: 'axes' type: INTS ints: [1, 2] } } "
      "node { op_type: 'Softmax' input: 's' output: 'p' } "
      "node { op_type: 'InPlaceAccumulatorV2' domain: 'com.microsoft' input: 'a' input: 'p' input: 'r' output: '' "
      "output: 'y' } "
      "initializer { name: 'w' dims: 2 dims: 3 data_type: 1 float_data: [1, 2, 3, 4, 5, 6] } "
      "initializer { name: 'b' dims: 2 data_type: 10 raw_data: 'abcd' } "
      "initializer { name: 'a' dims: 1 data_type: 1 data_location: EXTERNAL external_data { key: 'location' value: "
      "'a.bin' } external_data { key: 'offset' value: '4' } } " +
      value_info("input", "x", {"N", "3", "H"}) + value_info("input", "r", {"1"}, 9) +
      value_info("value_info", "h", {"N", "2"}) + value_info("output", "y", {"N", "2"}) + "}");
}

TEST(DamagedBytes, Models) {
  test::TemporaryFolder folder;
  ASSERT_TRUE(write_file(folder.path() / "a.bin", Bytes(8)));
  replay(model(), 12000, [&](const Bytes& bytes) {
    auto imported = import_onnx(bytes, {.dims = {{"H", 5}}}, folder.path());
    if (!is_value(imported)) return false;
    // What was accepted is sound: it passes the verifier, prints, and can be written or is refused again.
    EXPECT_TRUE(verify(imported->graph));
    EXPECT_FALSE(to_string(imported->graph).empty());
    for (auto phase : {Phase::Training, Phase::Optimizer}) is_value(to_onnx(imported->graph, phase));
    return true;
  });
}

TEST(DamagedBytes, Archives) {
  test::TemporaryFolder folder;
  std::vector<float> values{1, 2, 3, 4, 5, 6};
  std::vector<int64_t> labels{1, 2};
  std::vector<NamedArray> arrays{{"x", TensorData::f32({2, 3}, values)}, {"label", TensorData::i64({2}, labels)}};
  ASSERT_TRUE(write_npz(folder.path() / "d.npz", arrays));
  replay(*read_file(folder.path() / "d.npz"), 6000,
         [](const Bytes& bytes) { return is_value(read_npz(bytes, "d.npz")); });
}

TEST(DamagedBytes, DeflatedArchives) {
  test::TemporaryFolder folder;
  test::run_python(
      "import numpy as np\nnp.savez_compressed('d.npz', x=np.asfortranarray(np.ones((3, 5))), y=np.arange(9))",
      folder.path());
  replay(*read_file(folder.path() / "d.npz"), 6000,
         [](const Bytes& bytes) { return is_value(read_npz(bytes, "d.npz")); });
}

TEST(DamagedBytes, SingleArrays) {
  std::string npy = "\x93NUMPY";
  npy += {'\x01', '\x00', '\x40', '\x00'};
  npy += "{'descr': '>f8', 'fortran_order': True, 'shape': (2, 1, 3), }   \n";
  npy.resize(10 + 0x40, ' ');
  npy += std::string(48, '\x3f');
  replay(test::raw_bytes(npy), 12000, [](const Bytes& bytes) { return is_value(read_npz(bytes, "a.npy")); });
}

TEST(DamagedBytes, Tensors) {
  replay(test::tensor_bytes("name: 'x' dims: 2 dims: 2 data_type: 11 double_data: [1, 2, 3, 4]"), 12000,
         [](const Bytes& bytes) { return is_value(read_pb(bytes, "input_0.pb")); });
}

TEST(DamagedBytes, Noise) {
  for (unsigned seed = 0; seed < 4000; ++seed) {
    Random random(seed);
    Bytes bytes(below(random, 200));
    for (auto& b : bytes) b = std::byte(random() % 256);
    EXPECT_FALSE(is_value(import_onnx(bytes, {}))) << seed;
    is_value(read_npz(bytes, "d.npz"));
    is_value(read_pb(bytes, "input_0.pb"));
  }
}

}  // namespace
}  // namespace tessera::onnx
