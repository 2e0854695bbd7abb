#include "onnx/npz.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/file.hpp"
#include "onnx/pb.hpp"
#include "support/onnx_text.hpp"

namespace tessera::onnx {
namespace {

std::map<std::string, TensorData> read(const std::filesystem::path& path) {
  auto arrays = read_npz(path);
  EXPECT_TRUE(arrays) << (arrays ? "" : arrays.error().text());
  std::map<std::string, TensorData> by_name;
  if (arrays)
    for (auto& a : *arrays) by_name.emplace(a.name, a.data);
  return by_name;
}

// Every type in both byte orders and both memory orders, three shapes, stored and deflated.
TEST(Npz, WhatNumPyWrites) {
  test::TemporaryFolder folder;
  test::run_python(R"(
import numpy as np
arrays = {}
for t in ['f2', 'f4', 'f8', 'i1', 'i2', 'i4', 'i8', 'u1', 'u2', 'u4', 'u8', 'b1']:
    for end in '<>':
        for order in 'CF':
            a = np.arange(24).reshape(2, 3, 4) - (0 if t[0] in 'ub' else 12)
            if t == 'b1': a = a % 3 == 0
            arrays[f'{t}{"l" if end == "<" else "b"}{order}'] = np.array(a, dtype=end + t, order=order)
arrays['scalar'] = np.float32(2.5)
arrays['empty'] = np.zeros((0, 3), np.float32)
arrays['vector'] = np.array([1, 2, 3], np.int64)
np.savez('stored.npz', **arrays)
np.savez_compressed('deflated.npz', **arrays)
np.save('single.npy', np.array([[1.5, 2], [3, 4]]))
)",
                   folder.path());
  for (auto* file : {"stored.npz", "deflated.npz"}) {
    auto arrays = read(folder.path() / file);
    ASSERT_EQ(arrays.size(), 12u * 4 + 3);
    for (auto& [name, data] : arrays) {
      if (name.size() != 4) continue;
      SCOPED_TRACE(name);
      ASSERT_EQ(data.shape(), (Shape{2, 3, 4}));
      auto type = name.substr(0, 2);
      auto expected = name[0] == 'f'                                 ? DType::F32
                      : type == "b1"                                 ? DType::Bool
                      : type == "u1"                                 ? DType::U8
                      : type == "i8" || type == "u4" || type == "u8" ? DType::I64
                                                                     : DType::I32;
      EXPECT_EQ(data.type().dtype, expected);
      for (int64_t i = 0; i < 24; ++i)
        EXPECT_EQ(data.at(i), type == "b1" ? (i % 3 == 0) : i - (name[0] == 'u' ? 0 : 12));
    }
    EXPECT_EQ(arrays["scalar"].shape(), Shape{});
    EXPECT_EQ(arrays["scalar"].at(0), 2.5);
    EXPECT_EQ(arrays["empty"].shape(), (Shape{0, 3}));
    EXPECT_EQ(arrays["vector"].integers(), (std::vector<int64_t>{1, 2, 3}));
  }
  auto single = read(folder.path() / "single.npy");
  ASSERT_TRUE(single.contains("single"));
  EXPECT_EQ(single["single"].at(3), 4);
}

std::vector<NamedArray> samples() {
  std::vector<float> f{1.5f, -2, 3};
  std::vector<int64_t> i{1LL << 40, -1};
  std::vector<int32_t> j{7};
  std::vector<uint8_t> u{0, 255, 1, 2}, b{1, 0};
  return {{"a.weight", TensorData::f32({3, 1}, f)},
          {"i", TensorData::i64({2}, i)},
          {"j", TensorData::of<int32_t>({DType::I32, {}}, j)},
          {"u", TensorData::of<uint8_t>({DType::U8, {2, 2}}, u)},
          {"bool/with/slash", TensorData::of<uint8_t>({DType::Bool, {2}}, b)}};
}

TEST(Npz, NumPyReadsWhatWeWrite) {
  test::TemporaryFolder folder;
  ASSERT_TRUE(write_npz(folder.path() / "w.npz", samples()));
  auto said = test::run_python(R"(
import numpy as np
for name, a in np.load('w.npz').items(): print(name, a.dtype, a.shape, a.tolist())
)",
                               folder.path());
  EXPECT_EQ(said,
            "a.weight float32 (3, 1) [[1.5], [-2.0], [3.0]]\n"
            "i int64 (2,) [1099511627776, -1]\n"
            "j int32 () 7\n"
            "u uint8 (2, 2) [[0, 255], [1, 2]]\n"
            "bool/with/slash bool (2,) [True, False]\n");
}

TEST(Npz, WhatWeWriteComesBackAndIsTheSameBytesEveryTime) {
  test::TemporaryFolder folder;
  auto a = folder.path() / "a.npz", b = folder.path() / "b.npz";
  ASSERT_TRUE(write_npz(a, samples()));
  ASSERT_TRUE(write_npz(b, samples()));
  EXPECT_EQ(*read_file(a), *read_file(b));
  auto back = read_npz(a);
  ASSERT_TRUE(back);
  auto expected = samples();
  ASSERT_EQ(back->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ((*back)[i].name, expected[i].name);
    EXPECT_EQ((*back)[i].data.type(), expected[i].data.type());
    EXPECT_TRUE(std::ranges::equal((*back)[i].data.bytes(), expected[i].data.bytes()));
  }
}

TEST(Npz, AnArchiveWithoutArrays) {
  test::TemporaryFolder folder;
  ASSERT_TRUE(write_npz(folder.path() / "none.npz", {}));
  EXPECT_EQ(test::run_python("import numpy as np\nprint(len(np.load('none.npz').files), end='')", folder.path()), "0");
  auto back = read_npz(folder.path() / "none.npz");
  ASSERT_TRUE(back) << back.error().text();
  EXPECT_TRUE(back->empty());
}

TEST(Pb, TensorsOfTestData) {
  auto array = read_pb(test::tensor_bytes("name: 'x' dims: 2 dims: 1 data_type: 1 float_data: [1, 2]"), "input_0.pb");
  ASSERT_TRUE(array) << array.error().text();
  EXPECT_EQ(array->name, "x");
  EXPECT_EQ(array->data.shape(), (Shape{2, 1}));
  auto nameless = read_pb(test::tensor_bytes("data_type: 7 int64_data: 4"), "set/input_3.pb");
  ASSERT_TRUE(nameless);
  EXPECT_EQ(nameless->name, "input_3");
  EXPECT_EQ(nameless->data.at(0), 4);
}

TEST(Arrays, AFolderOfTestData) {
  test::TemporaryFolder folder;
  for (int i : {0, 1})
    ASSERT_TRUE(write_file(folder.path() / fmt::format("input_{}.pb", i),
                           test::tensor_bytes(fmt::format("name: 'in{}' data_type: 1 float_data: {}", i, i))));
  auto arrays = read_arrays(folder.path());
  ASSERT_TRUE(arrays) << arrays.error().text();
  ASSERT_EQ(arrays->size(), 2u);
  EXPECT_EQ((*arrays)[1].name, "in1");
  auto one = read_arrays(folder.path() / "input_1.pb");
  ASSERT_TRUE(one);
  EXPECT_EQ((*one)[0].data.at(0), 1);
}

}  // namespace
}  // namespace tessera::onnx
