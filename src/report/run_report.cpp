#include "report/run_report.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "report/json.hpp"

namespace tessera::report {
namespace {

Json by_name(const std::vector<LevelBytes>& levels) {
  Json object = Json::object();
  for (auto& level : levels) object[level.name] = level.bytes;
  return object;
}

// JSON has no NaN and no infinity: they are null, and `mismatch` or the exit code says more.
Json numbers(const TensorData& data) {
  Json list = Json::array();
  for (int64_t i = 0; i < data.type().elements(); ++i) {
    if (data.type().dtype == DType::F32)
      list.push_back(data.as<float>()[static_cast<size_t>(i)]);
    else
      list.push_back(static_cast<int64_t>(data.at(i)));
  }
  return list;
}

Json outputs(const std::vector<Output>& values) {
  Json object = Json::object();
  for (auto& [name, value] : values)
    object[name] = {{"type", name_of(value.type().dtype)}, {"shape", value.shape()}, {"values", numbers(value)}};
  return object;
}

Json operators(const std::vector<OperatorCost>& costs) {
  Json list = Json::array();
  for (auto& c : costs)
    list.push_back({{"name", c.name},
                    {"op", c.op},
                    {"phase", c.phase},
                    {"cycles", c.cycles},
                    {"compute_cycles", c.compute},
                    {"dma_wait_cycles", c.dma_wait},
                    {"dma_cycles", {{"L2_L1", c.dma.l2_l1}, {"L3_L2", c.dma.l3_l2}, {"any", c.dma.any}}},
                    {"excess_wait_cycles", c.excess_wait()},
                    {"overhead_cycles", c.overhead()},
                    {"estimate_cycles", c.estimate},
                    {"macs", c.macs},
                    {"tiles", c.tiles}});
  return list;
}

// A line for each of the dearest operators, and one for the rest.
std::string operator_lines(const std::vector<OperatorCost>& costs) {
  constexpr size_t kShown = 16, kWidest = 40;
  if (costs.empty()) return "";
  size_t width = 8;
  for (auto& c : costs) width = std::max(width, std::min(kWidest, c.name.size()));
  std::vector<const OperatorCost*> dearest;
  for (auto& c : costs) dearest.push_back(&c);
  std::ranges::stable_sort(dearest, std::greater(), &OperatorCost::cycles);
  const auto line = [&](std::string_view name, double all, double compute, double wait, double estimate) {
    return fmt::format("  {:<{}.{}} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f} {:>10.0f}\n", name, width, width, all,
                       compute, wait, all - compute - wait, estimate);
  };
  auto text = fmt::format("  {:<{}} {:>10} {:>10} {:>10} {:>10} {:>10}\n", "operator", width, "cycles", "compute",
                          "DMA wait", "overhead", "estimate");
  OperatorCost rest;
  for (size_t i = 0; i < dearest.size(); ++i) {
    auto& c = *dearest[i];
    if (i < kShown) {
      text += line(c.name, c.cycles, c.compute, c.dma_wait, c.estimate);
      continue;
    }
    rest.cycles += c.cycles, rest.compute += c.compute, rest.dma_wait += c.dma_wait, rest.estimate += c.estimate;
  }
  if (dearest.size() > kShown)
    text += line(fmt::format("{} others", dearest.size() - kShown), rest.cycles, rest.compute, rest.dma_wait,
                 rest.estimate);
  return text;
}

std::string join(const std::vector<LevelBytes>& levels) {
  std::string text;
  for (auto& level : levels) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", level.name, level.bytes);
  return text;
}

// "L2 1219248 (gap 0.0 %)": how far the packing may be from the best possible.
std::string arenas(const RunReport& r) {
  std::string text;
  for (size_t i = 0; i < r.arena.size(); ++i) {
    auto bytes = static_cast<double>(r.arena[i].bytes), bound = static_cast<double>(r.arena_lower_bound[i].bytes);
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", r.arena[i].name, r.arena[i].bytes);
    if (bound > 0) text += fmt::format(" (gap {:.1f} %)", 100 * (bytes - bound) / bound);
  }
  return text;
}

std::string loss_lines(const RunReport& r) {
  constexpr int64_t kShown = 12;
  std::string text;
  const int64_t shown = std::min(r.steps, kShown);
  for (int64_t step = 0; step < r.steps; ++step) {
    if (r.steps > kShown && step >= shown / 2 && step < r.steps - shown / 2) {
      if (step == shown / 2) text += "  ...\n";
      continue;
    }
    double mean = 0;
    for (int64_t i = 0; i < r.accumulate; ++i) mean += r.losses[static_cast<size_t>(step * r.accumulate + i)];
    text += fmt::format("  step {:>3}  loss {:.6f}\n", step + 1, mean / static_cast<double>(r.accumulate));
  }
  return text;
}

std::string output_lines(const RunReport& r) {
  std::string text;
  for (auto& [name, value] : r.outputs) {
    text += fmt::format("  {} {}:", name, to_string(value.type()));
    const int64_t n = value.type().elements();
    for (int64_t i = 0; i < std::min<int64_t>(n, 8); ++i) text += fmt::format(" {:.6g}", value.at(i));
    text += n > 8 ? " ...\n" : "\n";
  }
  return text;
}

}  // namespace

double share_hidden(double dma, double wait) {
  return dma > 0 ? std::clamp(1 - wait / dma, 0.0, 1.0) : 1;
}

std::optional<double> RunReport::macs_per_cycle() const {
  if (!train_cycles || *train_cycles <= 0) return std::nullopt;
  return static_cast<double>(macs) / *train_cycles;
}

std::string to_json(const RunReport& r) {
  Json json = {{"model", r.model}, {"target", r.target}};
  if (!r.engine.empty()) json["engine"] = r.engine;
  if (r.training()) {
    json["steps"] = r.steps;
    json["accumulate"] = r.accumulate;
  }
  json["batch"] = r.batch;
  json["parameters"] = r.parameters;
  json["trainable_parameters"] = r.trainable;
  if (r.training())
    json["losses"] = r.losses;
  else if (!r.outputs.empty())
    json["outputs"] = outputs(r.outputs);
  json["reference_losses"] = or_null(r.reference_losses);
  json["max_error"] = or_null(r.max_error);
  json["train_cycles"] = or_null(r.train_cycles);
  json["optimizer_cycles"] = or_null(r.optimizer_cycles);
  json["macs"] = r.macs;
  json["macs_per_cycle"] = or_null(r.macs_per_cycle());
  json["arena"] = by_name(r.arena);
  json["arena_lower_bound"] = by_name(r.arena_lower_bound);
  json["dma_bytes"] = by_name(r.dma_bytes);
  json["tiles"] = r.tiles;
  json["estimate_cycles"] = r.estimate_cycles;
  json["instructions"] = or_null(r.instructions);
  if (!r.operators.empty()) json["operators"] = operators(r.operators);
  if (!r.assumed.empty()) json["assumed"] = r.assumed;
  json["compile_seconds"] = r.compile_seconds;
  json["run_seconds"] = r.run_seconds;
  if (!r.bits.empty()) json["bits"] = r.bits;
  if (!r.directory.empty()) json["directory"] = r.directory;
  if (!r.notes.empty()) json["notes"] = r.notes;
  if (r.mismatch) json["mismatch"] = *r.mismatch;
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

std::string to_text(const RunReport& r) {
  std::string text = fmt::format("{} on {}{}: {} parameters", r.model, r.target,
                                 r.engine.empty() ? "" : " (" + r.engine + " engine)", r.parameters);
  if (r.training())
    text += fmt::format(", {} trainable; batch {}, {} micro-batches a step", r.trainable, r.batch, r.accumulate);
  text += "\n";
  text += r.training() ? loss_lines(r) : output_lines(r);
  if (r.max_error) text += fmt::format("  largest error against the reference {:.3g}\n", *r.max_error);
  text += fmt::format("  micro-batch: {} multiply-adds, {} tiles, estimate {:.0f} cycles\n", r.macs, r.tiles,
                      r.estimate_cycles);
  if (r.train_cycles)
    text += fmt::format("  measured: {:.0f} cycles a micro-batch ({:.2f} MAC/cycle), {:.0f} cycles an update\n",
                        *r.train_cycles, r.macs_per_cycle().value_or(0), r.optimizer_cycles.value_or(0));
  text += operator_lines(r.operators);
  if (!r.assumed.empty())
    text += fmt::format("  not published for {}, so assumed: {}\n", r.target, fmt::join(r.assumed, ", "));
  text += fmt::format("  arenas in bytes: {}; moved: {}\n", arenas(r), join(r.dma_bytes));
  text += fmt::format("  compiled in {:.3f} s", r.compile_seconds);
  text += r.bits.empty() ? "\n" : fmt::format(", ran in {:.3f} s; bits {}\n", r.run_seconds, r.bits);
  if (!r.directory.empty()) text += fmt::format("  project: {}\n", r.directory);
  return text;
}

}  // namespace tessera::report
