// What a user reads when data files or the arrays in them are wrong. Always exit code 2, with file and array.
#include <gtest/gtest.h>

#include <limits>

#include "base/file.hpp"
#include "onnx/bind.hpp"
#include "onnx/export.hpp"
#include "onnx/npz.hpp"
#include "onnx/pb.hpp"
#include "support/expect_error.hpp"
#include "support/onnx_text.hpp"

namespace tessera::onnx {
namespace {

using test::expect_error;
using test::raw_bytes;

TEST(NpzErrors, Files) {
  test::TemporaryFolder folder;
  expect_error(read_npz(folder.path() / "none.npz"), {"none.npz: no such file"});
  expect_error(read_arrays(folder.path()), {"without input_0.pb"});
  expect_error(read_npz(raw_bytes(""), "d.npz"), {"d.npz: the file is empty"});
  expect_error(read_npz(raw_bytes("no zip at all"), "d.npz"), {"d.npz: not a .npz file"});
}

TEST(NpzErrors, TypesThatWeDoNotHave) {
  test::TemporaryFolder folder;
  test::run_python(R"(
import numpy as np
for name, a in {'c': np.zeros(2, np.complex64), 's': np.array(['ab']), 'o': np.array([{}], dtype=object),
                'g': np.zeros(2, np.longdouble), 't': np.zeros(2, [('a', 'f4')]),
                'big': np.array([2**64 - 1], np.uint64)}.items():
    np.savez(name + '.npz', good=np.zeros(1), **{name: a})
)",
                   folder.path());
  for (auto [name, says] : std::initializer_list<std::pair<const char*, const char*>>{{"c", "'<c8'"},
                                                                                      {"s", "'<U2'"},
                                                                                      {"o", "'|O'"},
                                                                                      {"g", "'<f16'"},
                                                                                      {"t", "structured"},
                                                                                      {"big", "18446744073709551615"}})
    expect_error(read_npz(folder.path() / (std::string(name) + ".npz")),
                 {std::string(name) + ".npz: array '" + name + "'", says});
}

TEST(NpzErrors, TruncatedOrDamagedAnywhere) {
  test::TemporaryFolder folder;
  std::vector<float> values(32, 1.0f);
  ASSERT_TRUE(write_npz(folder.path() / "d.npz", std::vector<NamedArray>{{"x", TensorData::f32({32}, values)}}));
  auto whole = *read_file(folder.path() / "d.npz");
  for (size_t n = 0; n < whole.size(); ++n) {
    auto cut = read_npz(std::span(whole).first(n), "d.npz");
    ASSERT_FALSE(cut) << n;
    EXPECT_EQ(cut.error().exit_code(), 2);
  }
}

TEST(NpzErrors, DamagedArrays) {
  expect_error(read_npz(raw_bytes("\x93NUMPY\x01"), "a.npy"), {"a.npy", "ends within its header"});
  auto npy = [](std::string header, size_t body) {
    std::string s = "\x93NUMPY";
    s += {'\x01', '\x00', static_cast<char>(header.size()), '\x00'};
    return raw_bytes(s + header + std::string(body, '\0'));
  };
  EXPECT_TRUE(read_npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 8), "a.npy"));
  expect_error(read_npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n", 7), "a.npy"),
               {"a.npy", "8 bytes", "7"});
  expect_error(read_npz(npy("{'descr': '<f4', 'shape': (2,), }\n", 8), "a.npy"), {"header is damaged"});
  expect_error(read_npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2", 8), "a.npy"),
               {"header is damaged"});
  expect_error(read_npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", 8), "a.npy"), {"damaged"});
  expect_error(read_npz(npy("{'descr': '', 'fortran_order': False, 'shape': (2,), }", 8), "a.npy"), {"type ''"});
  expect_error(
      read_npz(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 8), "a.npy"),
      {"not one of a tensor"});
}

TEST(NpzErrors, PlacesThatCannotBeWritten) {
  test::TemporaryFolder folder;
  std::vector<NamedArray> arrays{{"x", TensorData::scalar(1)}};
  expect_error(write_npz(folder.path() / "no" / "such.npz", arrays), {"such.npz: cannot be written"});
  expect_error(write_npz(folder.path(), arrays), {"is a directory"});
  expect_error(export_onnx({}, Phase::Optimizer, folder.path() / "o.onnx"), {"no optimizer nodes"});
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));  // nothing half-written stays behind
}

TEST(PbErrors, NotATensor) {
  expect_error(read_pb(raw_bytes(""), "input_0.pb"), {"input_0.pb", "not an ONNX tensor"});
  expect_error(read_pb(raw_bytes("abc"), "input_0.pb"), {"input_0.pb", "not an ONNX tensor"});
  expect_error(read_pb(test::tensor_bytes("name: 'x' dims: 3 data_type: 1 float_data: 1"), "input_0.pb"),
               {"input_0.pb: tensor 'x'", "3 elements"});
  expect_error(read_pb(test::tensor_bytes("name: 'x' data_type: 8 string_data: 'a'"), "input_0.pb"), {"string"});
}

const std::vector<Slot> slots{{"x", {DType::F32, {2, 2}}, {}}, {"y", {DType::I64, {2}}, {"label"}}};

NamedArray floats(std::string name, Shape shape, std::vector<float> v) {
  return {std::move(name), TensorData::f32(std::move(shape), v)};
}
Result<Binding> bound(std::vector<NamedArray> arrays, Rows rows = Rows::Exact) {
  return bind_arrays(slots, arrays, rows, "d.npz");
}

TEST(BindErrors, MissingArray) {
  expect_error(bound({floats("x", {2, 2}, {1, 2, 3, 4})}),
               {"d.npz: no array for input 'y' (i64[2])", "the file has x", "'y' or 'label'"});
  expect_error(bound({}), {"input 'x'", "no arrays at all"});
}
TEST(BindErrors, WrongShape) {
  expect_error(bound({floats("x", {4}, {1, 2, 3, 4}), floats("y", {2}, {0, 1})}),
               {"d.npz: array 'x' is [4], but input 'x' takes [2,2]"});
  expect_error(bound({floats("x", {2, 3}, std::vector<float>(6)), floats("y", {2}, {0, 1})}, Rows::Samples),
               {"array 'x' is [2,3]", "[samples,2]"});
  expect_error(bound({floats("x", {0, 2}, {}), floats("y", {2}, {0, 1})}, Rows::Samples), {"'x'", "no values"});
}
TEST(BindErrors, NanInData) {
  auto nan = std::numeric_limits<float>::quiet_NaN();
  expect_error(bound({floats("x", {2, 2}, {1, 2, nan, 4}), floats("y", {2}, {0, 1})}),
               {"d.npz: array 'x': NaN at [1,0]"});
  expect_error(bound({floats("x", {2, 2}, {1, 2, 3, 4}), floats("y", {2}, {0, nan})}), {"array 'y': NaN at [1]"});
}
TEST(BindErrors, NumbersThatTheTypeCannotHold) {
  expect_error(bound({floats("x", {2, 2}, {1, 2, 3, 4}), floats("y", {2}, {0, 1.5f})}),
               {"array 'y': 1.5 at [1] does not fit i64", "i64"});
}

}  // namespace
}  // namespace tessera::onnx
