// Choices about the training that cannot be meant.
#include "refusal.hpp"

namespace tessera::test {
namespace {

class Choices : public Refusal {
 protected:
  void train_refused(std::vector<std::string> more, const std::vector<std::string>& parts) {
    more.insert(more.begin(), {"train", "mlp:6-5-3"});
    refused(more, parts);
  }
};

TEST_F(Choices, NumbersThatTheOptimizerDoesNotHave) {
  train_refused({"--optimizer", "adam", "--momentum", "0.9"}, {"--momentum", "adam"});
  train_refused({"--optimizer", "adagrad", "--nesterov"}, {"--nesterov", "adagrad"});
  train_refused({"--beta1", "0.9"}, {"--beta1", "sgd"});
  train_refused({"--optimizer", "momentum", "--epsilon", "1e-8"}, {"--epsilon", "momentum"});
  train_refused({"--nesterov"}, {"--nesterov", "momentum"});
}
TEST_F(Choices, NumbersOutOfRange) {
  train_refused({"--optimizer", "adam", "--beta2", "1"}, {"--beta2 1"});
  train_refused({"--momentum", "-1"}, {"--momentum -1"});
  train_refused({"--weight-decay", "much"}, {"--weight-decay much"});
}
TEST_F(Choices, UnknownWords) {
  train_refused({"--optimizer", "lbfgs"}, {"lbfgs", "adamw"});
  train_refused({"--bn", "off"}, {"--bn off", "frozen"});
  train_refused({"--loss", "hinge"}, {"hinge", "huber"});
}
TEST_F(Choices, Adapters) {
  train_refused({"--trainable", "lora:0"}, {"lora:0", "rank"});
  train_refused({"--trainable", "lora:2", "--lora-layers", "conv*"}, {"conv*", "fc1, fc2"});
  train_refused({"--lora-alpha", "8"}, {"--lora-alpha", "lora:RANK"});
}
// Training an optimizer graph's sequences needs the weights that the training graph names.
TEST_F(Choices, AnOptimizerGraphOnItsOwn) {
  const std::string sequence = " type { sequence_type { elem_type { tensor_type { elem_type: 1 } } } } } ";
  write("o.onnx",
        onnx_bytes("ir_version: 8 opset_import { version: 14 } opset_import { domain: 'com.microsoft' version: 1 } "
                   "graph { node { name: 'sgd' op_type: 'SGDOptimizerV2' domain: 'com.microsoft' input: 'lr' input: "
                   "'w' input: 'g' output: 'flag' } " +
                   value_info("input", "lr", {"1"}) + "input { name: 'w'" + sequence + "input { name: 'g'" + sequence +
                   "output { name: 'flag' } }"));
  refused({"train", "o.onnx"}, {"o.onnx", "sgd", "'w'", "--optimizer-graph"});
}

}  // namespace
}  // namespace tessera::test
