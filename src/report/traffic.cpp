#include "report/traffic.hpp"

namespace tessera::report {
namespace {

using namespace schedule;

class Walker {
 public:
  Walker(std::vector<LevelBytes>& moved, size_t variables) : moved_(moved), values_(variables) {}

  void block(const Block& steps) {
    for (auto& step : steps) std::visit([this](auto& s) { visit(s); }, step.v);
  }

 private:
  void visit(const Loop& loop) {
    const int64_t count = loop.count.eval(values_);
    for (int64_t i = 0; i < count; ++i) {
      values_[static_cast<size_t>(loop.variable)] = i;
      block(loop.body);
    }
  }
  void visit(const Let& let) { values_[static_cast<size_t>(let.variable)] = let.value.eval(values_); }
  void visit(const If& choice) {
    if (choice.condition.eval(values_)) block(choice.then);
  }
  void visit(const Transfer& transfer) {
    moved_[static_cast<size_t>(transfer.engine)].bytes += transfer.line.eval(values_) * transfer.lines.eval(values_);
  }
  void visit(const Wait&) {}
  void visit(const Kernel&) {}

  std::vector<LevelBytes>& moved_;
  std::vector<int64_t> values_;
};

}  // namespace

std::vector<LevelBytes> traffic(const std::vector<Section>& sections, const target::Target& target) {
  std::vector<LevelBytes> moved;
  for (auto& engine : target.engines) moved.push_back({engine.far + "_" + engine.near, 0});
  for (auto& section : sections) Walker(moved, section.variables.size()).block(section.body);
  return moved;
}

}  // namespace tessera::report
