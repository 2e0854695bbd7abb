#include "report/comparison.hpp"

#include <nlohmann/json.hpp>

#include "report/table.hpp"

namespace tessera::report {
namespace {

using Json = nlohmann::ordered_json;

// Of a training step: the micro-batch and the update.
std::optional<double> step_cycles(const Cell& cell) {
  if (!cell.run || !cell.run->train_cycles) return std::nullopt;
  return *cell.run->train_cycles + cell.run->optimizer_cycles.value_or(0);
}

std::string status(const Cell& cell) {
  if (!cell.failure) return cell.same_bits == false ? "other bits" : "ok";
  switch (cell.failure->kind()) {
    case ErrorKind::DoesNotFit:
      return "does not fit";
    case ErrorKind::Input:
      return "refused";
    default:
      return "failed";
  }
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json tiles_by_operator(const RunReport& run) {
  Json list = Json::object();
  for (auto& op : run.operators) list[op.name] = op.tiles;
  return list;
}

Json to_json(const Comparison& all, const Cell& cell) {
  Json row = {{"model", cell.model}, {"target", cell.target}, {"l1", cell.l1},
              {"home", cell.home},   {"mode", cell.mode},     {"status", status(cell)}};
  if (cell.failure) {
    row["reason"] = cell.failure->message();
    if (!cell.failure->way_out().empty()) row["hint"] = cell.failure->way_out();
  }
  row["same_bits"] = or_null(cell.same_bits);
  if (!cell.run) return row;
  // What the report of a single run says, without its longest lists.
  auto run = Json::parse(report::to_json(*cell.run));
  for (auto* key : {"losses", "outputs", "operators", "model", "target", "reference_losses", "notes"}) run.erase(key);
  row.update(run);
  row["dma_hidden"] = or_null(cell.hidden());
  row["speedup_over_untiled"] = or_null(all.speedup(cell, "untiled"));
  row["speedup_over_single"] = or_null(all.speedup(cell, "single"));
  row["tiles_by_operator"] = tiles_by_operator(*cell.run);
  return row;
}

std::string number(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "-";
}

std::string bytes_of(const std::vector<LevelBytes>& list, std::string_view name) {
  for (auto& entry : list)
    if (entry.name == name) return fmt::format("{}", entry.bytes);
  return "-";
}

std::vector<std::string> measured(const Comparison& all, const Cell& cell) {
  if (!cell.run) return std::vector<std::string>(14, "-");
  auto& r = *cell.run;
  const auto off = r.train_cycles && *r.train_cycles > 0
                       ? fmt::format("{:+.1f} %", 100 * (r.estimate_cycles / *r.train_cycles - 1))
                       : "-";
  const auto training = static_cast<double>(std::ranges::count(r.operators, "training", &OperatorCost::phase));
  const auto hidden = cell.hidden();
  return {number(r.train_cycles, 0),
          number(r.optimizer_cycles, 0),
          number(all.speedup(cell, "untiled"), 2),
          number(all.speedup(cell, "single"), 3),
          number(r.macs_per_cycle(), 2),
          fmt::format("{:.0f}", r.estimate_cycles),
          off,
          bytes_of(r.arena, "L1"),
          bytes_of(r.arena, "L2"),
          bytes_of(r.arena, "L3"),
          training > 0 ? fmt::format("{:.1f}", static_cast<double>(r.tiles) / training) : "-",
          bytes_of(r.dma_bytes, "L2_L1"),
          bytes_of(r.dma_bytes, "L3_L2"),
          hidden ? fmt::format("{:.1f} %", 100 * *hidden) : "-"};
}

}  // namespace

bool Cell::bad() const {
  if (!failure) return same_bits == false;
  return failure->kind() == ErrorKind::Mismatch || failure->kind() == ErrorKind::Internal;
}

std::optional<double> Cell::hidden() const {
  if (!run || run->operators.empty()) return std::nullopt;
  double dma = 0, wait = 0;
  for (auto& op : run->operators) dma += op.dma.any, wait += op.dma_wait;
  if (dma <= 0) return std::nullopt;  // nothing moves: nothing to hide
  return share_hidden(dma, wait);
}

size_t Comparison::bad() const {
  return static_cast<size_t>(std::ranges::count_if(cells, [](auto& cell) { return cell.bad(); }));
}

std::optional<double> Comparison::speedup(const Cell& cell, std::string_view over) const {
  const auto mine = step_cycles(cell);
  if (!mine || *mine <= 0) return std::nullopt;
  for (auto& other : cells)
    if (other.mode == over && other.model == cell.model && other.target == cell.target && other.l1 == cell.l1 &&
        other.home == cell.home)
      if (auto theirs = step_cycles(other)) return *theirs / *mine;
  return std::nullopt;
}

std::string ending(const Cell& cell) {
  if (cell.failure) return status(cell) + ": " + cell.failure->message();
  return !cell.same_bits ? "no reference" : *cell.same_bits ? "same" : "differ";
}

std::string to_markdown(const Comparison& comparison) {
  using T = Table;
  Table table({{"network"},
               {"chip"},
               {"L1"},
               {"home"},
               {"mode"},
               {"training step", T::Right},
               {"optimizer step", T::Right},
               {"over untiled", T::Right},
               {"over single", T::Right},
               {"MAC/cycle", T::Right},
               {"estimate", T::Right},
               {"off", T::Right},
               {"L1 B", T::Right},
               {"L2 B", T::Right},
               {"L3 B", T::Right},
               {"tiles an operator", T::Right},
               {"L2-L1 B", T::Right},
               {"L3-L2 B", T::Right},
               {"DMA hidden", T::Right},
               {"bits"}});
  for (auto& cell : comparison.cells) {
    std::vector<std::string> row{cell.model, cell.target, cell.l1, cell.home, cell.mode};
    auto rest = measured(comparison, cell);
    row.insert(row.end(), rest.begin(), rest.end());
    row.push_back(ending(cell));
    table.add(std::move(row));
  }
  std::string text = table.to_markdown();
  for (auto& reference : comparison.references)
    if (reference.failure)
      text += fmt::format("\n{}: no reference: {}\n", reference.model, reference.failure->message());
  return text;
}

std::string to_json(const Comparison& comparison) {
  Json json = {{"rows", Json::array()}, {"reference_bits", Json::object()}, {"bad", comparison.bad()}};
  for (auto& cell : comparison.cells) json["rows"].push_back(to_json(comparison, cell));
  for (auto& reference : comparison.references)
    json["reference_bits"][reference.model] = reference.failure ? Json(nullptr) : Json(reference.bits);
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tessera::report
