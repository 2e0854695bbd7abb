#include <algorithm>

#include "schedule/schedule.hpp"

namespace tessera::schedule {

namespace {

class Printer {
 public:
  Printer(const Schedule& schedule, const Graph& graph) : schedule_(schedule), graph_(graph) {}

  std::string run() {
    for (auto& b : schedule_.buffers) {
      text_ += fmt::format("buffer {}: L{} @ {}, {} x {} B, nodes {}..{}\n", b.name, b.level + 1, b.offset.count,
                           b.slots, b.slot_size.count, b.life.first, b.life.last);
      if (b.second)
        text_ += fmt::format("  its second slot @ {}, nodes {}..{}\n", b.second->offset.count, b.second->life.first,
                             b.second->life.last);
    }
    text_ += fmt::format("handles {}\n", schedule_.handles);
    sections("training", schedule_.training);
    sections("optimizer", schedule_.optimizer);
    return std::move(text_);
  }

 private:
  void sections(std::string_view title, const std::vector<Section>& sections) {
    text_ += fmt::format("{}:\n", title);
    for (auto& s : sections) {
      names_ = &s.variables;
      text_ += fmt::format("  node {} ({}):\n", graph_.at(s.node).name, to_string(graph_.at(s.node).op));
      block(s.body, 2);
    }
  }

  void block(const Block& steps, int depth) {
    for (auto& step : steps) std::visit([&](auto& s) { line(s, depth); }, step.v);
  }

  std::string c(const Expr& e) const { return e.c(*names_); }
  std::string list(const std::vector<Expr>& es) const {
    std::string out;
    for (auto& e : es) out += (out.empty() ? "" : ", ") + c(e);
    return out;
  }
  std::string place(const Place& p) const {
    if (p.buffer.index < 0) return "-";
    auto text = schedule_.buffers[static_cast<size_t>(p.buffer.index)].name;
    if (p.slot.constant() != 0) text += fmt::format("[{}]", c(p.slot));
    if (p.byte.constant() != 0) text += fmt::format("+({})", c(p.byte));
    return text;
  }
  void put(int depth, const std::string& text) {
    text_ += std::string(static_cast<size_t>(2 * depth), ' ') + text + "\n";
  }

  void line(const Loop& l, int depth) {
    put(depth, fmt::format("loop {} < {}:", (*names_)[static_cast<size_t>(l.variable)], c(l.count)));
    block(l.body, depth + 1);
  }
  void line(const Let& l, int depth) {
    put(depth, fmt::format("{} = {}", (*names_)[static_cast<size_t>(l.variable)], c(l.value)));
  }
  void line(const If& i, int depth) {
    put(depth, fmt::format("if {}:", c(i.condition)));
    block(i.then, depth + 1);
  }
  void line(const Transfer& t, int depth) {
    bool in = t.direction == Transfer::Direction::In;
    put(depth, fmt::format("{} {}[{}; {}]: {} {} {}, {} x {} B every {}, handle {}", in ? "fetch" : "write",
                           graph_.at(t.tensor).name, list(t.region.lo), list(t.region.len), place(in ? t.far : t.near),
                           "->", place(in ? t.near : t.far), c(t.lines), c(t.line), c(t.far_stride), c(t.handle)));
  }
  void line(const Wait& w, int depth) { put(depth, fmt::format("wait {}", c(w.handle))); }
  void line(const Keep& k, int depth) {
    put(depth, fmt::format("keep {}[{}; {}]: {} -> {}, {} x {} x {} B, {} apart -> {}", graph_.at(k.tensor).name,
                           list(k.region.lo), list(k.region.len), place(k.from), place(k.to), c(k.lines), c(k.rows),
                           c(k.row), c(k.from_stride), c(k.to_stride)));
  }
  void line(const PutTogether& p, int depth) {
    put(depth, "put together");
    line(p.kept, depth + 1);
    line(p.rest, depth + 1);
  }
  void line(const Kernel& k, int depth) {
    std::string operands;
    for (auto* places : {&k.inputs, &k.outputs, &k.scratch})
      for (auto& p : *places) operands += (operands.empty() ? "" : ", ") + place(p);
    auto what = k.call.function.empty() ? "pass" : "kernel " + k.call.function;
    put(depth, fmt::format("{}({}) on [{}; {}]", what, operands, list(k.tile.lo), list(k.tile.len)));
  }

  const Schedule& schedule_;
  const Graph& graph_;
  const std::vector<std::string>* names_ = nullptr;
  std::string text_;
};

}  // namespace

std::string to_string(const Schedule& schedule, const Graph& graph) {
  return Printer(schedule, graph).run();
}

}  // namespace tessera::schedule
