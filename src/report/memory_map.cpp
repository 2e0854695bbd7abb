#include "report/memory_map.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/svg.hpp"
#include "emit/statements.hpp"

namespace tessera::report {
namespace {

constexpr double kLeft = 90, kRight = 30, kTop = 66, kPanel = 460, kGap = 64, kNames = 190;
constexpr double kNarrowest = 1680, kNode = 18;  // of all nodes together, and of each: its name must be read

// Nodes that run stand at equal distances; a view takes no time.
class TimeAxis {
 public:
  explicit TimeAxis(const schedule::Schedule& schedule) {
    for (auto* entry : {&schedule.training, &schedule.optimizer})
      for (auto& section : *entry) positions_.push_back(section.node.index);
    std::ranges::sort(positions_);
    if (positions_.empty()) positions_.push_back(0);
  }
  double x_at(size_t step) const {
    const auto nodes = static_cast<double>(positions_.size());
    return kLeft + static_cast<double>(step) * std::max(kNode, kNarrowest / nodes);
  }
  double right() const { return x_at(positions_.size()); }
  double begin(const plan::Lifetime& life) const { return x_at(step(life.first)); }
  // A life that holds no node that runs still shows as a line.
  double end(const plan::Lifetime& life) const {
    const auto at = std::ranges::upper_bound(positions_, life.last) - positions_.begin();
    return x_at(std::max(static_cast<size_t>(at), step(life.first)));
  }
  size_t step(int32_t position) const {
    return static_cast<size_t>(std::ranges::lower_bound(positions_, position) - positions_.begin());
  }
  const std::vector<int32_t>& positions() const { return positions_; }

 private:
  std::vector<int32_t> positions_;
};

// One arena: where its bytes stand on the page.
struct Panel {
  plan::LevelId level = 0;
  double top = 0;
  int64_t bytes = 1;
  double y(int64_t byte) const {
    return top + kPanel - static_cast<double>(byte) / static_cast<double>(std::max<int64_t>(1, bytes)) * kPanel;
  }
};

class Picture {
 public:
  explicit Picture(const MapSubject& subject)
      : subject_(subject), axis_(subject.schedule), blocks_(map_blocks(subject)) {
    for (auto& arena : subject.plan.arenas)
      if (arena.size.count > 0)
        panels_.push_back(
            {arena.level, kTop + static_cast<double>(panels_.size()) * (kPanel + kGap), arena.size.count});
  }

  std::string draw() {
    const double bottom = kTop + static_cast<double>(panels_.size()) * (kPanel + kGap);
    out_ = svg::opening(axis_.right() + kRight, bottom + kNames);
    out_ += fmt::format(
        "<text x=\"{:.0f}\" y=\"28\" font-size=\"20\">{} on {}: where everything lies, node by node<tspan "
        "font-size=\"13\" "
        "fill=\"#444\" dx=\"24\">solid: a tensor at home; dashed: slots that its tiles pass; red: the "
        "peak</tspan></text>\n",
        kLeft, svg::escaped(subject_.model), svg::escaped(subject_.target.name));
    for (auto& panel : panels_) draw(panel);
    draw_nodes(bottom);
    out_ += svg::kClosing;
    return std::move(out_);
  }

 private:
  const std::string& level_name(plan::LevelId level) const {
    return subject_.target.memories[static_cast<size_t>(level)].level;
  }
  const std::string& node_name(int32_t position) const { return subject_.graph.at(NodeId{position}).name; }

  void draw(const Panel& panel) {
    draw_scale(panel);
    draw_blocks(panel);
    draw_peak(panel);
  }

  void draw_scale(const Panel& panel) {
    const int64_t step = svg::byte_step(panel.bytes);
    out_ += "<g stroke=\"#ddd\" fill=\"#444\" font-size=\"12\" text-anchor=\"end\">";
    for (int64_t byte = 0; byte <= panel.bytes; byte += step)
      out_ +=
          fmt::format("<path d=\"M{:.0f} {:.1f}H{:.0f}\"/><text stroke=\"none\" x=\"{:.0f}\" y=\"{:.1f}\">{}</text>",
                      kLeft, panel.y(byte), axis_.right(), kLeft - 6, panel.y(byte) + 4, format_bytes(Bytes(byte)));
    out_ += "</g>\n";
  }

  void draw_blocks(const Panel& panel) {
    int64_t largest = 1;
    for (auto& block : blocks_)
      if (block.level == panel.level) largest = std::max(largest, block.size.count);
    std::string labels;
    out_ += "<g stroke=\"#333\" stroke-width=\"0.4\">\n";
    for (size_t b = 0; b < blocks_.size(); ++b) {
      auto& block = blocks_[b];
      if (block.level != panel.level || block.size.count == 0) continue;
      const double x = axis_.begin(block.life), y = panel.y((block.offset + block.size).count);
      const svg::Box box{x, y, std::max(0.3, axis_.end(block.life) - x), panel.y(block.offset.count) - y};
      const double share = std::sqrt(static_cast<double>(block.size.count) / static_cast<double>(largest));
      out_ += fmt::format(
          "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"{}><title>{}</title></rect>\n",
          box.x, box.y, box.w, box.h, svg::colour(b, share), block.slots ? " stroke-dasharray=\"3 2\"" : "",
          svg::escaped(block.what));
      labels += svg::label(box, block.name);
    }
    out_ += "</g>\n<g text-anchor=\"middle\" fill=\"#111\" pointer-events=\"none\">" + labels + "</g>\n";
  }

  void draw_peak(const Panel& panel) {
    const auto peak = peak_of(blocks_, panel.level);
    const auto& arena = *std::ranges::find(subject_.plan.arenas, panel.level, &plan::Arena::level);
    const double x = (axis_.x_at(axis_.step(peak.position)) + axis_.x_at(axis_.step(peak.position) + 1)) / 2;
    const auto text =
        fmt::format("{}: {} bytes, lower bound {}; the peak is at {}, where {} are in use", level_name(panel.level),
                    arena.size.count, arena.lower_bound.count, node_name(peak.position), peak.live.count);
    out_ += fmt::format(
        "<g fill=\"none\" stroke=\"#c00\" stroke-width=\"1.5\"><path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" "
        "stroke-dasharray=\"6 3\"/><path d=\"M{3:.0f} {1:.1f}H{4:.0f}\"/><title>{5}</title></g>\n",
        x, panel.top, panel.top + kPanel, kLeft, axis_.right(), svg::escaped(text));
    out_ += fmt::format("<text x=\"{:.0f}\" y=\"{:.1f}\" font-size=\"15\" fill=\"#c00\">{}</text>\n", kLeft,
                        panel.top - 7, svg::escaped(text));
  }

  // Names of nodes under the panels, as many as can be read, and where the optimizer's begin.
  void draw_nodes(double y) {
    constexpr double kFont = 10, kLine = 12;
    const auto& positions = axis_.positions();
    const double step = axis_.x_at(1) - axis_.x_at(0);
    const auto every = static_cast<size_t>(std::max(1.0, std::ceil(kLine / step)));
    out_ += fmt::format("<g fill=\"#444\" font-size=\"{:.0f}\" text-anchor=\"end\">", kFont);
    for (size_t i = 0; i < positions.size(); i += every) {
      const double x = (axis_.x_at(i) + axis_.x_at(i + 1)) / 2 + 3, top = y - kGap + 22;
      auto name = node_name(positions[i]);
      if (name.size() > 34) name = name.substr(0, 31) + "...";
      out_ += fmt::format("<text x=\"{0:.1f}\" y=\"{1:.1f}\" transform=\"rotate(-90 {0:.1f} {1:.1f})\">{2}</text>", x,
                          top, svg::escaped(name));
    }
    out_ += "</g>\n";
    const auto first = std::ranges::find_if(
        positions, [&](int32_t p) { return subject_.graph.at(NodeId{p}).phase == Phase::Optimizer; });
    if (first == positions.end() || first == positions.begin()) return;
    const double x = axis_.x_at(static_cast<size_t>(first - positions.begin()));
    out_ += fmt::format(
        "<path d=\"M{0:.1f} {1:.0f}V{2:.1f}\" stroke=\"#06c\" stroke-width=\"1.5\" stroke-dasharray=\"2 3\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.1f}\" font-size=\"15\" fill=\"#06c\">update</text>\n",
        x, kTop, y - kGap, x + 4, kTop - 7);
  }

  const MapSubject& subject_;
  TimeAxis axis_;
  std::vector<MapBlock> blocks_;
  std::vector<Panel> panels_;
  std::string out_;
};

// What passes through slots, by buffer: the tensor and the first node that uses them.
std::map<int32_t, std::pair<std::string, NodeId>> users_of_slots(const MapSubject& subject) {
  std::map<int32_t, std::pair<std::string, NodeId>> users;
  for (auto* entry : {&subject.schedule.training, &subject.schedule.optimizer})
    for (auto& section : *entry)
      for (auto& use : emit::buffers_of(section, subject.graph))
        users.emplace(use.buffer.index, std::pair{use.holds, section.node});
  return users;
}

}  // namespace

std::vector<MapBlock> map_blocks(const MapSubject& subject) {
  const auto users = users_of_slots(subject);
  const auto last = static_cast<int32_t>(subject.graph.nodes().size()) - 1;
  std::vector<MapBlock> blocks;
  for (size_t b = 0; b < subject.schedule.buffers.size(); ++b) {
    auto& buffer = subject.schedule.buffers[b];
    for (auto& [stand, size] : buffer.parts()) {
      MapBlock block{.level = buffer.level, .offset = stand.offset, .size = size};
      block.life = stand.life;
      block.life.first = std::max(0, stand.life.first), block.life.last = std::min(last, stand.life.last);
      const auto range =
          fmt::format("{} bytes at [{}, {})", block.size.count, block.offset.count, (block.offset + block.size).count);
      if (buffer.storage.index >= 0) {
        auto& storage = subject.plan.storages[static_cast<size_t>(buffer.storage.index)];
        if (storage.persistent) block.life = {0, last};
        block.name = storage.name;
        block.what = fmt::format("{}: {}, {}", storage.name, range, storage.persistent ? "the whole run" : "a while");
      } else {
        const auto user = users.find(static_cast<int32_t>(b));
        block.slots = true;
        block.name = user == users.end() ? buffer.name : user->second.first;
        block.what = fmt::format("{}, tiles{}: {}, {} {}", block.name,
                                 user == users.end() ? "" : " of " + subject.graph.at(user->second.second).name, range,
                                 buffer.second ? "one of" : "in",
                                 buffer.slots == 1 ? "1 slot" : fmt::format("{} slots", buffer.slots));
      }
      const auto node = [&](int32_t position) { return subject.graph.at(NodeId{position}).name; };
      if (last >= 0) block.what += fmt::format(", from {} to {}", node(block.life.first), node(block.life.last));
      blocks.push_back(std::move(block));
    }
  }
  return blocks;
}

Peak peak_of(const std::vector<MapBlock>& blocks, plan::LevelId level) {
  std::map<int32_t, int64_t> change;  // at the beginning of a half
  for (auto& block : blocks) {
    if (block.level != level) continue;
    change[block.life.begin()] += block.size.count;
    change[block.life.end()] -= block.size.count;
  }
  Peak peak;
  int64_t live = 0;
  for (auto& [half, bytes] : change) {
    live += bytes;
    if (live > peak.live.count) peak = {half / 2, Bytes(live)};
  }
  return peak;
}

std::string memory_map(const MapSubject& subject) {
  return Picture(subject).draw();
}

}  // namespace tessera::report
