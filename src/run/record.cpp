#include "run/record.hpp"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>

#include "run/digest.hpp"

namespace tessera::run {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr auto kFile = "record.json";

}  // namespace

Recorder::Recorder(const Compiled& compiled) {
  add_entry(compiled, compiled.schedule.training);
  add_entry(compiled, compiled.schedule.optimizer);
  for (auto& arena : compiled.plan.arenas)
    if (arena.level == 1) l2_bytes_ = arena.size.count;
}

std::string Recorder::plan_text() const {
  auto text = fmt::format("{}\n", l2_bytes_);
  for (auto& [stamp, level, offset, size] : in_place_)
    text += fmt::format("{} {} {} {}\n", stamp, level + 1, offset.count, size.count);
  return text;
}

// A stamp for every section that does something, in order, and one for the end.
void Recorder::add_entry(const Compiled& compiled, const std::vector<schedule::Section>& sections) {
  auto& graph = compiled.program.graph;
  for (auto* section : emit::emitted_sections(sections)) {
    auto& node = graph.at(section->node);
    auto& plan = compiled.plan.nodes[static_cast<size_t>(section->node.index)];
    RecordedOperator op{node.name, to_string(node.op), node.phase == Phase::Training ? "training" : "optimizer", {}};
    Stamp stamp{.index = static_cast<int32_t>(record_.operators.size())};
    for (size_t o = 0; o < plan.outputs.size(); ++o) {
      const auto tensor = node.outputs[o];
      if (!plan.outputs[o].present || !tensor) continue;
      const auto home = compiled.plan.storage_of[static_cast<size_t>(tensor.index)];
      if (home.index < 0) continue;
      auto& storage = compiled.plan.storages[static_cast<size_t>(home.index)];
      Output output{tensor, storage.level, storage.offset, plan.outputs[o].hops.empty(),
                    std::vector<uint8_t>(static_cast<size_t>(graph.at(tensor).type.bytes().count))};
      if (output.in_place)
        in_place_.push_back(
            {static_cast<uint32_t>(stamps_.size()), output.level, output.offset, graph.at(tensor).type.bytes()});
      stamp.outputs.push_back(std::move(output));
      op.outputs.push_back({graph.at(tensor).name, {}});
    }
    stamps_.push_back(std::move(stamp));
    record_.operators.push_back(std::move(op));
  }
  stamps_.push_back({});
}

void Recorder::node(uint32_t stamp, const Read& read) {
  if (started_ && running_ < stamps_.size())
    for (auto& output : stamps_[running_].outputs)
      if (output.in_place && read(output.level, static_cast<uint32_t>(output.offset.count), output.bytes))
        output.seen = output.bytes.size();
  started_ = true;
  running_ = stamp;
  if (stamp < stamps_.size() && stamps_[stamp].index < 0) finish(stamp);
}

bool Recorder::take_in(Stamp& stamp, plan::LevelId level, uint32_t offset, std::span<const uint8_t> bytes) {
  for (auto& output : stamp.outputs) {
    const int64_t at = int64_t{offset} - output.offset.count;
    if (output.in_place || output.level != level || output.complete() || at < 0 ||
        at + static_cast<int64_t>(bytes.size()) > static_cast<int64_t>(output.bytes.size()))
      continue;
    std::memcpy(output.bytes.data() + at, bytes.data(), bytes.size());
    output.seen += bytes.size();
    return true;
  }
  return false;
}

// What a node leaves in flight comes home while the next ones run, and before anything of theirs for the same place.
// Between the entry points, what moves is the harness's.
void Recorder::stored(plan::LevelId level, uint32_t offset, std::span<const uint8_t> bytes) {
  constexpr uint32_t kReach = 2;
  if (!started_ || running_ >= stamps_.size() || stamps_[running_].index < 0) return;
  uint32_t first = running_;
  while (first > 0 && running_ - first < kReach && stamps_[first - 1].index >= 0) --first;
  for (uint32_t s = first; s <= running_; ++s)
    if (take_in(stamps_[s], level, offset, bytes)) return;
}

void Recorder::finish(uint32_t end) {
  for (uint32_t s = end; s-- > 0 && stamps_[s].index >= 0;) {
    auto& outputs = record_.operators[static_cast<size_t>(stamps_[s].index)].outputs;
    for (size_t o = 0; o < outputs.size(); ++o) {
      auto& output = stamps_[s].outputs[o];
      outputs[o].digests.push_back(output.complete() ? Digest().add(std::as_bytes(std::span(output.bytes))).hex() : "");
      output.seen = 0;
    }
  }
}

Result<void> write_record(const Record& record, const fs::path& directory) {
  Json list = Json::array();
  for (auto& op : record.operators) {
    Json outputs = Json::array();
    for (auto& output : op.outputs) outputs.push_back({{"tensor", output.tensor}, {"digests", output.digests}});
    list.push_back({{"name", op.name}, {"op", op.op}, {"phase", op.phase}, {"outputs", outputs}});
  }
  const Json json = {{"format", "tessera record 1"}, {"operators", list}};
  const auto text = json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
  return write_file(directory / kFile, std::as_bytes(std::span(text)));
}

Result<std::optional<Record>> read_record(const fs::path& directory) {
  const auto path = directory / kFile;
  std::error_code error;
  if (!fs::exists(path, error)) return std::nullopt;
  TRY(auto bytes, read_file(path));
  try {
    const auto json = Json::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    Record record;
    for (auto& op : json.at("operators")) {
      RecordedOperator one{op.at("name"), op.at("op"), op.at("phase"), {}};
      for (auto& output : op.at("outputs"))
        one.outputs.push_back({output.at("tensor"), output.at("digests").get<std::vector<std::string>>()});
      record.operators.push_back(std::move(one));
    }
    return record;
  } catch (const Json::exception& broken) {
    return input_error("{}: damaged: {}", path.string(), broken.what()).hint("run the model again with --record");
  }
}

}  // namespace tessera::run
