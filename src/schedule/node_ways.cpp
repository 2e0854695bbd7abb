// The ways of a node: what travels between which memories, through which slots, and with which handles of the engines.
#include <algorithm>

#include "schedule/node_steps.hpp"

namespace tessera::schedule {

Result<std::unique_ptr<NodeSteps>> NodeSteps::make(const Graph& graph, NodeId id, const plan::NodePlan& plan,
                                                   NodeBuffers buffers, const target::Target& target) {
  std::unique_ptr<NodeSteps> steps(new NodeSteps(graph, id, plan, std::move(buffers), target));
  CHECK_OK(steps->collect());
  return steps;
}

Result<void> NodeSteps::collect() {
  TRY(op_, ops::definition(graph_, node_));
  TRY(map_, op_->tile_map(ops::NodeContext{graph_, node_}));
  section_.node = id_;
  steps_.emplace(map_, plan_, section_.variables);
  for (size_t i = 0; i < plan_.inputs.size(); ++i)
    if (plan_.inputs[i].present)
      CHECK_OK(
          add_operand(Transfer::Direction::In, map_.inputs[i], node_.inputs[i], plan_.inputs[i], buffers_.inputs[i]));
  for (size_t o = 0; o < plan_.outputs.size(); ++o)
    if (plan_.outputs[o].present)
      CHECK_OK(add_operand(Transfer::Direction::Out, map_.outputs[o], node_.outputs[o], plan_.outputs[o],
                           buffers_.outputs[o]));
  for (size_t i = 0; i < ways_.size(); ++i)
    for (size_t o = i + 1; o < ways_.size(); ++o)
      if (ways_[i].in() && !ways_[o].in() && ways_[i].slots == ways_[o].slots) {
        ways_[i].partner = static_cast<int>(o);
        ways_[o].partner = static_cast<int>(i);
      }
  for (auto& way : ways_) way.deep = way.level < innermost() && way.doubled() && !way.resident() && way.partner < 0;
  return {};
}

Result<void> NodeSteps::add_operand(Transfer::Direction direction, const ops::OperandMap& map, TensorId tensor,
                                    const plan::OperandPlan& operand, const OperandBuffers& buffers) {
  for (size_t h = 0; h < operand.hops.size(); ++h) {
    auto& hop = operand.hops[h];
    Way way{.direction = direction, .map = &map, .tensor = tensor};
    way.element_size = size_of(graph_.at(tensor).type.dtype);
    for (size_t level = 0; level < plan_.nest.size(); ++level)
      if (plan_.nest[level].level == hop.to) way.level = static_cast<int>(level);
    TRY(way.engine, engine_between(hop.from, hop.to));
    way.far = h == 0 ? buffers.home : buffers.slots[h - 1];
    way.slots = buffers.slots[h];
    way.slot_count = hop.slots;
    way.period = steps_->period(map, way.level);
    way.times = total() / way.period;
    way.outer = h == 0 ? -1 : static_cast<int>(ways_.size()) - 1;
    way.early = hop.early && way.in();
    way.at_last = hop.at_last;
    way.late = hop.late && !way.in();
    way.far_away = hop.to > 0;
    if (hop.keeps && hop.to > 0) way.sliding = plan::sliding(map_, map, steps_->loops());
    if (hop.keeps && hop.to == 0) way.shares = plan::sliding_within(map_, map, steps_->loops());
    way.dense = hop.dense;
    ways_.push_back(way);
  }
  return {};
}

Result<int> NodeSteps::engine_between(plan::LevelId far, plan::LevelId near) const {
  auto name = [&](plan::LevelId level) -> auto& {
    return target_.memories[static_cast<size_t>(level)].level;
  };
  for (size_t e = 0; e < target_.engines.size(); ++e)
    if (target_.engines[e].near == name(near) && target_.engines[e].far == name(far)) return static_cast<int>(e);
  return internal_error("{}: no DMA engine between {} and {}", target_.name, name(far), name(near));
}

// ---- handles

int NodeSteps::needs(int engine) const {
  int n = 0;
  for (auto& way : ways_)
    if (way.engine == engine) n += way.slot_count;
  return n;
}

int NodeSteps::early(int engine) const {
  int n = 0;
  for (auto& way : ways_)
    if (way.engine == engine && way.early) n += 1;
  return n;
}

int NodeSteps::late(int engine) const {
  int n = 0;
  for (auto& way : ways_)
    if (way.engine == engine) n += static_cast<int>(way.times - way.first_late());
  return n;
}

int64_t NodeSteps::most_pieces(const Way& way) const {
  Block names;  // pieces depend on lengths only, which a tile at the start has too
  std::vector<std::string> variables;
  auto steps = TileSteps(map_, plan_, variables);
  auto tiles = steps.at(Expr::var(steps.new_variable("t")), "", names);
  auto most = most_pieces(way, tiles, whole(way, tiles));
  if (way.shares) most = std::max(most, most_pieces(way, tiles, rest(way, tiles)));
  return most;
}

int64_t NodeSteps::most_pieces(const Way& way, const TileBoxes& tiles, const Load& load) const {
  const auto most = command(way, load, held(way, tiles)).most_pieces();
  if (!in_two_slots(way, load)) return most;
  auto from = parts(way, tiles, load, held(way, tiles), held(way, tiles));
  return std::max(most, from.before.most_pieces() + from.own.most_pieces());
}

std::vector<int> NodeSteps::number_handles(const std::vector<int>& first, const std::vector<int>& spare) {
  std::vector<int> hungry(target_.engines.size()), next = first;
  std::vector<int64_t> pieces;
  for (auto& way : ways_) {
    pieces.push_back(most_pieces(way));
    if (pieces.back() > 1) hungry[static_cast<size_t>(way.engine)] += way.slot_count;
  }
  for (size_t w = 0; w < ways_.size(); ++w) {
    auto& way = ways_[w];
    auto e = static_cast<size_t>(way.engine);
    constexpr int64_t kDeepEnough = 4;  // in flight for one operand
    if (pieces[w] > 1)
      way.pool = static_cast<int>(std::min<int64_t>({pieces[w], kDeepEnough, 1 + std::max(0, spare[e]) / hungry[e]}));
    way.first_handle = next[e];
    next[e] += way.slot_count * way.pool;
  }
  for (size_t e = 0; e < next.size(); ++e) next[e] -= first[e];
  return next;
}

void NodeSteps::shift_handles(int engine, int by) {
  for (auto& way : ways_)
    if (way.engine == engine) way.first_handle += by;
}

}  // namespace tessera::schedule
