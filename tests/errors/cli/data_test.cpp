// Data that cannot be used.
#include <limits>

#include "refusal.hpp"

namespace tessera::test {
namespace {

// mlp:4-3-2: inputs `input` f32[1,4] and `label` i64[1] of 2 classes.
class Data : public Refusal {
 protected:
  std::string data_refused(const std::vector<onnx::NamedArray>& arrays, const std::vector<std::string>& parts) {
    write_arrays("d.npz", arrays);
    return refused({"train", "mlp:4-3-2", "--data", "d.npz"}, parts);
  }
};

TEST_F(Data, TheDataOfTheseTestsIsGood) {
  write_arrays("d.npz", {{"input", floats({3, 4})}, {"label", labels({0, 1, 1})}});
  const auto ran = tessera({"compile", "mlp:4-3-2", "--data", "d.npz", "-o", "out"});
  EXPECT_EQ(ran.code, 0) << ran.err;
}

TEST_F(Data, NoSuchFile) {
  refused({"train", "mlp:4-3-2", "--data", "none.npz"}, {"none.npz", "no such file"});
}
TEST_F(Data, NotAnArchive) {
  write("d.npz", raw_bytes("not a zip file, nor an array"));
  refused({"train", "mlp:4-3-2", "--data", "d.npz"}, {"d.npz"});
}
TEST_F(Data, MissingArray) {
  data_refused({{"input", floats({3, 4})}}, {"d.npz", "label"});
}
TEST_F(Data, NothingInIt) {
  data_refused({}, {"d.npz", "input"});
}
TEST_F(Data, WrongWidth) {
  data_refused({{"input", floats({3, 5})}, {"label", labels({0, 1, 1})}}, {"d.npz", "'input'", "[3,5]"});
}
TEST_F(Data, WrongRank) {
  data_refused({{"input", floats({3, 2, 2})}, {"label", labels({0, 1, 1})}}, {"d.npz", "'input'", "[3,2,2]"});
}
TEST_F(Data, NoSamples) {
  data_refused({{"input", floats({0, 4})}, {"label", labels({})}}, {"d.npz", "'input'", "[0,4]"});
}
TEST_F(Data, FewerLabelsThanSamples) {
  data_refused({{"input", floats({3, 4})}, {"label", labels({0, 1})}}, {"d.npz", "3 samples", "2 for"});
}
TEST_F(Data, NanInData) {
  std::vector<float> values(12, 0.5f);
  values[6] = std::numeric_limits<float>::quiet_NaN();
  data_refused({{"input", TensorData::f32({3, 4}, values)}, {"label", labels({0, 1, 1})}},
               {"d.npz", "'input'", "NaN", "[1,2]"});
}
TEST_F(Data, LabelOutOfRange) {
  data_refused({{"input", floats({3, 4})}, {"label", labels({0, 2, 1})}},
               {"d.npz", "label 2", "sample 1", "2 classes"});
}
TEST_F(Data, NegativeLabel) {
  data_refused({{"input", floats({3, 4})}, {"label", labels({0, -1, 1})}}, {"d.npz", "label -1"});
}
TEST_F(Data, LabelThatIsNoWholeNumber) {
  data_refused({{"input", floats({3, 4})}, {"label", floats({3}, 0.5f)}}, {"d.npz", "'label'", "0.5"});
}
TEST_F(Data, ReferenceWithTheWrongNumberOfLosses) {
  write_arrays("r.npz", {{"losses", floats({3})}});
  refused({"train", "mlp:4-3-2", "--steps", "2", "--reference", "r.npz"}, {"r.npz", "losses", "3", "2"});
}
TEST_F(Data, ReferenceWithNothingToCompare) {
  write_arrays("r.npz", {{"accuracy", floats({3})}});
  refused({"train", "mlp:4-3-2", "--steps", "2", "--reference", "r.npz"}, {"r.npz", "losses"});
}
TEST_F(Data, ReferenceParameterOfAnotherShape) {
  write_arrays("r.npz", {{"fc1.weight", floats({4, 3})}});
  refused({"train", "mlp:4-3-2", "--reference", "r.npz"}, {"r.npz", "'fc1.weight'", "[4,3]", "[3,4]"});
}
TEST_F(Data, WeightsOfAnotherShape) {
  write_arrays("w.npz", {{"fc1.weight", floats({4, 3})}});
  refused({"train", "mlp:4-3-2", "--weights", "w.npz"}, {"w.npz", "fc1.weight", "[4,3]"});
}
TEST_F(Data, InferenceInputOfAnotherBatch) {
  write_arrays("x.npz", {{"input", floats({2, 4})}});
  refused({"infer", "mlp:4-3-2", "--inputs", "x.npz"}, {"x.npz", "'input'", "[2,4]", "[1,4]"});
}
TEST_F(Data, ExpectedOutputOfAnotherShape) {
  write_arrays("x.npz", {{"input", floats({1, 4})}});
  write_arrays("y.npz", {{"fc2", floats({1, 3})}});
  refused({"infer", "mlp:4-3-2", "--inputs", "x.npz", "--expect", "y.npz"}, {"y.npz", "[1,3]", "[1,2]"});
}

}  // namespace
}  // namespace tessera::test
