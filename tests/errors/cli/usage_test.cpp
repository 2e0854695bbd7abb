// What was typed cannot be meant.
#include "refusal.hpp"

namespace tessera::test {
namespace {

using Usage = Refusal;

TEST_F(Usage, UnknownCommandSuggestsTheNearest) {
  refused({"trian", "simplemlp"}, {"trian", "did you mean train?"});
}
TEST_F(Usage, UnknownOptionSuggestsTheNearest) {
  refused({"train", "simplemlp", "--buffring", "single"}, {"--buffring: unknown option", "did you mean --buffering?"});
}
TEST_F(Usage, OptionThatDoesNotExistYetIsNotIgnored) {
  refused({"train", "simplemlp", "--plots", "loss.svg"}, {"--plots: unknown option"});
}
TEST_F(Usage, UnknownOptionWithoutANeighbourPointsToHelp) {
  refused({"train", "simplemlp", "--quux"}, {"--quux: unknown option", "tessera train --help"});
}
TEST_F(Usage, OptionOfAnotherCommand) {
  refused({"infer", "simplemlp", "--inputs", "x.npz", "--loss", "mse"}, {"--loss"});
}
TEST_F(Usage, MissingModel) {
  refused({"train"}, {"model", "tessera train --help"});
}
TEST_F(Usage, MissingValue) {
  refused({"train", "simplemlp", "--l1"}, {"--l1"});
}
TEST_F(Usage, MissingInputs) {
  refused({"infer", "simplemlp"}, {"--inputs"});
}
TEST_F(Usage, MissingOutputDirectory) {
  refused({"compile", "simplemlp"}, {"--output"});
}
TEST_F(Usage, OneArgumentTooMany) {
  refused({"train", "simplemlp", "again"}, {"again: one argument too many"});
}
TEST_F(Usage, SameOptionTwice) {
  refused({"train", "simplemlp", "--l1", "32k", "--l1", "64k"}, {"--l1"});
}

TEST_F(Usage, ZeroSteps) {
  refused({"train", "simplemlp", "--steps", "0"}, {"--steps 0: must lie between 1 and"});
}
TEST_F(Usage, NegativeAccumulation) {
  refused({"train", "simplemlp", "--accumulate", "-2"}, {"--accumulate -2"});
}
TEST_F(Usage, StepsThatAreNoNumber) {
  refused({"train", "simplemlp", "--steps", "many"}, {"--steps many: not a whole number"});
}
TEST_F(Usage, ZeroBatch) {
  refused({"train", "simplemlp", "--batch", "0"}, {"--batch 0"});
}
TEST_F(Usage, LearningRateThatIsNoNumber) {
  refused({"train", "simplemlp", "--lr", "fast"}, {"--lr fast: not a number"});
}
TEST_F(Usage, LearningRateNaN) {
  refused({"train", "simplemlp", "--lr", "nan"}, {"--lr nan: not a number"});
}
TEST_F(Usage, NegativeLearningRate) {
  refused({"train", "simplemlp", "--lr", "-0.1"}, {"--lr -0.1"});
}
TEST_F(Usage, UnknownLoss) {
  refused({"train", "simplemlp", "--loss", "crossentropy"}, {"crossentropy", "cross_entropy"});
}
TEST_F(Usage, UnknownOptimizer) {
  refused({"train", "simplemlp", "--optimizer", "lion"}, {"lion", "sgd"});
}
TEST_F(Usage, UnknownBuffering) {
  refused({"train", "simplemlp", "--buffering", "triple"}, {"--buffering triple", "auto, single, double"});
}
TEST_F(Usage, UnknownTiling) {
  refused({"train", "simplemlp", "--tiling", "maybe"}, {"--tiling maybe", "on, off"});
}
TEST_F(Usage, UnknownTarget) {
  refused({"train", "simplemlp", "--target", "gap99"}, {"gap99", "siracusa"});
}
TEST_F(Usage, EngineThatCannotRunThisYet) {
  refused({"train", "simplemlp", "--engine", "gvsoc"}, {"--engine gvsoc", "gvsoc", "--engine sim"});
}
TEST_F(Usage, MoreCoresThanTheChipHas) {
  refused({"train", "simplemlp", "--cores", "64"}, {"--cores 64", "siracusa"});
}
TEST_F(Usage, NoCores) {
  refused({"train", "simplemlp", "--cores", "0"}, {"--cores 0"});
}
TEST_F(Usage, SizeWithAStrangeUnit) {
  refused({"train", "simplemlp", "--l1", "64kB"}, {"--l1", "64kB"});
}
TEST_F(Usage, SizeOfNothing) {
  refused({"train", "simplemlp", "--l1", "0"}, {"--l1 0"});
}
TEST_F(Usage, DimensionWithoutASize) {
  refused({"train", "m.onnx", "--dim", "N"}, {"--dim N", "NAME=N"});
}

TEST_F(Usage, ToleranceWithNothingToCompare) {
  refused({"train", "simplemlp", "--tolerance", "1e-5"}, {"--tolerance", "--reference"});
}
TEST_F(Usage, TwoSizesForOneDimension) {
  refused({"train", "m.onnx", "--dim", "N=4", "--dim", "N=5"}, {"--dim N=5 contradicts --dim N=4"});
}
TEST_F(Usage, DimensionOfAZooModel) {
  refused({"train", "simplemlp", "--dim", "N=4"}, {"--dim N", "simplemlp", "--batch"});
}
TEST_F(Usage, OptimizerAndOptimizerGraph) {
  refused({"train", "m.onnx", "--optimizer", "sgd", "--optimizer-graph", "o.onnx"},
          {"--optimizer sgd", "--optimizer-graph o.onnx"});
}
TEST_F(Usage, InferenceWithALoss) {
  refused({"compile", "simplemlp", "--mode", "infer", "--loss", "mse", "-o", "out"},
          {"--mode infer contradicts --loss mse"});
}
TEST_F(Usage, UnknownZooModel) {
  refused({"train", "simplemlq"}, {"simplemlq", "tessera zoo list"});
}
TEST_F(Usage, ZooWidthsThatAreNoNumbers) {
  refused({"train", "mlp:16-x-4"}, {"mlp:16-x-4", "mlp:784-128-10"});
}
TEST_F(Usage, ZooWithOneWidth) {
  refused({"train", "mlp:16"}, {"mlp:16", "at least"});
}
TEST_F(Usage, ZooWithAnEmptyLayer) {
  refused({"train", "mlp:16-0-4"}, {"mlp:16-0-4", "between 1 and"});
}
TEST_F(Usage, ExportOfWhatIsNotInTheZoo) {
  refused({"zoo", "export", "alexnet", "-o", "a.onnx"}, {"alexnet", "zoo list"});
}

TEST_F(Usage, JsonErrorsAreOneObjectOnStandardOutput) {
  const auto ran = tessera({"train", "simplemlp", "--steps", "0", "--json"});
  EXPECT_EQ(ran.code, 2);
  EXPECT_TRUE(ran.out.starts_with("{") && ran.out.ends_with("}\n")) << ran.out;
  for (auto* key : {"\"error\"", "\"exit_code\": 2", "--steps 0"}) EXPECT_NE(ran.out.find(key), std::string::npos);
}
TEST_F(Usage, HelpIsNoErrorAndShowsExamples) {
  for (auto* command : {"train", "infer", "compile", "check", "zoo", "ops", "targets"}) {
    const auto ran = tessera({command, "--help"});
    EXPECT_EQ(ran.code, 0) << command;
    EXPECT_NE(ran.out.find(command), std::string::npos);
  }
  EXPECT_NE(tessera({"train", "--help"}).out.find("tessera train net.onnx --loss"), std::string::npos);
}

}  // namespace
}  // namespace tessera::test
