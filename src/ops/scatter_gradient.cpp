#include "ops/scatter_gradient.hpp"

#include "ops/builder.hpp"
#include "ops/movement.hpp"

namespace tessera::ops {
namespace {

class Scatter {
 public:
  Scatter(GradientContext& g, std::string scatter, std::string gather, Attributes attributes)
      : g_(g),
        scatter_(std::move(scatter)),
        gather_(std::move(gather)),
        attributes_(std::move(attributes)),
        dy_(g.d_outputs[0]),
        data_(g.node.inputs[0]),
        updates_(g.node.inputs[2]),
        y_(g.node.outputs[0]) {}

  // What was overwritten has no gradient.
  void replaced() {
    if (g_.wanted[0]) d_data_ = scattered(dy_, zeros_like(updates_, of_data(".zeros")), "none", of_data());
    if (g_.wanted[2]) d_updates_ = gathered(dy_, of_updates());
  }

  void added() {
    if (g_.wanted[0]) d_data_ = dy_;
    if (g_.wanted[2]) d_updates_ = gathered(dy_, of_updates());
  }

  // A factor's gradient is the product of the others. Zeros are counted instead of multiplied: an update has one where
  // no other factor is zero.
  void multiplied() {
    if (g_.wanted[0]) {
      auto ones = op("Add", {zeros_like(data_, of_data(".none")), one()}, of_data(".ones"));
      d_data_ = op("Mul", {dy_, scattered(ones, updates_, "mul", of_data(".factors"))}, of_data());
    }
    if (!g_.wanted[2]) return;
    auto none = equal(updates_, zero(), of_updates(".none"));
    auto factors = op("Add", {updates_, none}, of_updates(".factors"));
    auto product = scattered(data_, factors, "mul", of_updates(".product"));
    auto zeros = scattered(zeros_like(data_, of_updates(".no_zeros")), none, "add", of_updates(".zeros"));
    auto others = op("Sub", {gathered(zeros, of_updates(".zeros_here")), none}, of_updates(".other_zeros"));
    auto slopes = gathered(op("Mul", {dy_, product}, of_updates(".slope")), of_updates(".slopes"));
    auto share = op("Mul", {slopes, equal(others, zero(), of_updates(".alone"))}, of_updates(".share"));
    d_updates_ = op("Div", {share, factors}, of_updates());
  }

  void extreme() {
    auto own = equal(data_, y_, of_data(".own"));
    if (g_.wanted[0]) d_data_ = op("Mul", {dy_, own}, of_data());
    if (!g_.wanted[2]) return;
    auto won = equal(updates_, gathered(y_, of_updates(".extreme")), of_updates(".won"));
    auto winners = scattered(zeros_like(data_, of_updates(".nobody")), won, "add", of_updates(".winners"));
    auto left = op("Mul", {dy_, op("Sub", {one(), own}, of_updates(".not_own"))}, of_updates(".left"));
    auto each = op("Div", {left, op("Max", {winners, one()}, of_updates(".shares"))}, of_updates(".each"));
    d_updates_ = op("Mul", {gathered(each, of_updates(".each_here")), won}, of_updates());
  }

  Result<std::vector<TensorId>> gradients() {
    CHECK_OK(g_.build.status());
    return std::vector{d_data_, TensorId{}, d_updates_};
  }

 private:
  std::string of_data(const char* part = "") const { return g_.build.name(data_) + "_grad" + part; }
  std::string of_updates(const char* part = "") const { return g_.build.name(updates_) + "_grad" + part; }
  TensorId op(const char* type, std::vector<TensorId> inputs, std::string name, Attributes attributes = {}) {
    return g_.build.node({"", type}, std::move(inputs), std::move(attributes), std::move(name));
  }
  TensorId one() { return g_.build.scalar(1, of_updates(".one")); }
  TensorId zero() { return g_.build.scalar(0, of_updates(".zero")); }
  TensorId zeros_like(TensorId t, const std::string& name) {
    TensorType type = g_.build.type(t);
    return zeros(g_.build, type, name);
  }
  // 1 where they are equal, else 0.
  TensorId equal(TensorId a, TensorId b, const std::string& name) {
    return op("Cast", {op("Equal", {a, b}, name + ".equal")}, name, {{"to", int64_t{1}}});
  }
  TensorId gathered(TensorId from, std::string name) {
    return op(gather_.c_str(), {from, g_.node.inputs[1]}, std::move(name), attributes_);
  }
  TensorId scattered(TensorId base, TensorId updates, const char* reduction, std::string name) {
    auto attributes = attributes_;
    attributes.set("reduction", reduction);
    return op(scatter_.c_str(), {base, g_.node.inputs[1], updates}, std::move(name), std::move(attributes));
  }

  GradientContext& g_;
  std::string scatter_, gather_;
  Attributes attributes_;
  TensorId dy_, data_, updates_, y_, d_data_, d_updates_;
};

}  // namespace

Result<std::vector<TensorId>> scatter_gradient(GradientContext& g, std::string scatter, std::string gather,
                                               Attributes attributes, int64_t reduction) {
  Scatter s(g, std::move(scatter), std::move(gather), std::move(attributes));
  if (reduction == 0) s.replaced();
  if (reduction == 1) s.added();
  if (reduction == 2) s.multiplied();
  if (reduction > 2) s.extreme();
  return s.gradients();
}

}  // namespace tessera::ops
