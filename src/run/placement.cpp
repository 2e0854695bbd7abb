#include "run/placement.hpp"

#include "emit/statements.hpp"

namespace tessera::run {

Placement::Placement(const Compiled& compiled, ArenaBases bases) : compiled_(compiled), bases_(std::move(bases)) {
  bases_.resize(compiled.target.memories.size());
  for (const auto* entry : {&compiled.schedule.training, &compiled.schedule.optimizer})
    for (const auto& section : *entry)
      for (const auto& use : emit::buffers_of(section, compiled.program.graph)) {
        const auto& buffer = compiled.schedule.buffers[static_cast<size_t>(use.buffer.index)];
        if (buffer.storage.index >= 0) continue;
        for (const auto& part : buffer.parts())
          slots_.push_back({section.node, buffer.level, part.stand.offset, part.size, use.holds});
      }
}

std::string Placement::text(const std::string& tensor, NodeId node, int64_t byte) const {
  if (node.index < 0) return fmt::format("'{}' + {}", tensor, byte);
  const auto& n = compiled_.program.graph.at(node);
  return fmt::format("'{}' of {} {} + {}", tensor, to_string(n.op), n.name, byte);
}

std::optional<std::string> Placement::name(uint32_t address, bool l3, NodeId node) const {
  const auto byte_in = [&](plan::LevelId level, Bytes offset, Bytes size) -> std::optional<int64_t> {
    if ((level == 2) != l3) return std::nullopt;
    const int64_t byte = int64_t{address} - bases_[static_cast<size_t>(level)] - offset.count;
    return byte >= 0 && byte < size.count ? std::optional(byte) : std::nullopt;
  };
  for (const auto& slot : slots_)
    if (slot.node == node)
      if (auto byte = byte_in(slot.level, slot.offset, slot.size)) return text(slot.holds, node, *byte);
  for (const auto& storage : compiled_.plan.storages) {
    const bool lives = storage.life.first <= node.index && node.index <= storage.life.last;
    if (!lives && !storage.persistent) continue;
    if (auto byte = byte_in(storage.level, storage.offset, storage.size)) return text(storage.name, node, *byte);
  }
  for (const auto& arena : compiled_.plan.arenas)
    if (auto byte = byte_in(arena.level, Bytes(0), arena.size); byte && node.index >= 0)
      return fmt::format("no tensor of {} {}: {} arena + {}", to_string(compiled_.program.graph.at(node).op),
                         compiled_.program.graph.at(node).name,
                         compiled_.target.memories[static_cast<size_t>(arena.level)].level, *byte);
  return std::nullopt;
}

std::vector<sim::Region> Placement::regions() const {
  std::vector<sim::Region> regions;
  const auto add = [&](const std::string& name, plan::LevelId level, Bytes offset, Bytes size) {
    regions.push_back({.name = name,
                       .address = bases_[static_cast<size_t>(level)] + static_cast<uint32_t>(offset.count),
                       .size = static_cast<uint32_t>(size.count),
                       .l3 = level == 2,
                       .fresh = true});
  };
  for (const auto& arena : compiled_.plan.arenas)
    if (arena.level == 0 && arena.size.count > 0) add("the L1 arena", 0, Bytes(0), arena.size);
  for (const auto& storage : compiled_.plan.storages)
    if (storage.level > 0 && !storage.persistent) add(storage.name, storage.level, storage.offset, storage.size);
  return regions;
}

}  // namespace tessera::run
