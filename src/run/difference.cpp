#include "run/difference.hpp"

#include <map>
#include <nlohmann/json.hpp>

#include "emit/describe.hpp"
#include "emit/manifest.hpp"
#include "ops/operator.hpp"
#include "run/execute.hpp"
#include "run/record.hpp"

namespace tessera::run {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

struct PlannedOperator {
  std::string op, phase, plan;
  double estimate = 0;
  std::optional<double> cycles;
};

// All that a directory tells of its operators, in the order in which they run.
struct Side {
  std::string directory;
  std::vector<std::string> order;
  std::map<std::string, PlannedOperator> operators;  // by name
  std::optional<std::string> bits;
  std::optional<Record> record;
};

Result<void> read_plan(const emit::Manifest& manifest, Side& side) {
  auto& graph = manifest.program.graph;
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    auto& node = graph.nodes()[n];
    auto& plan = manifest.plan.nodes[n];
    TRY(auto* op, ops::definition(graph, node));
    if (ops::is_view(*op)) continue;
    PlannedOperator one{to_string(node.op), node.phase == Phase::Training ? "training" : "optimizer", {}, 0, {}};
    TRY(one.plan, emit::tiling(graph, node, plan));
    one.estimate = static_cast<double>(plan.estimate.count);
    side.order.push_back(node.name);
    side.operators.emplace(node.name, std::move(one));
  }
  return {};
}

Result<void> read_report(Side& side) {
  const auto path = fs::path(side.directory) / kReportFile;
  std::error_code error;
  if (!fs::exists(path, error)) return {};
  TRY(auto bytes, read_file(path));
  try {
    auto json = Json::parse(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
    if (json.contains("bits")) side.bits = json.at("bits").get<std::string>();
    if (!json.contains("operators")) return {};
    for (auto& op : json.at("operators"))
      if (auto at = side.operators.find(op.at("name").get<std::string>()); at != side.operators.end())
        at->second.cycles = op.at("cycles").get<double>();
  } catch (const Json::exception& broken) {
    return input_error("{}: damaged: {}", path.string(), broken.what()).hint("run the model again");
  }
  return {};
}

Result<Side> read_side(const std::string& directory) {
  Side side{.directory = directory};
  TRY(auto manifest, emit::read_manifest(directory));
  CHECK_OK(read_plan(manifest, side));
  CHECK_OK(read_report(side));
  TRY(side.record, read_record(directory));
  return side;
}

report::OperatorDifference pair_of(const std::string& name, const Side& a, const Side& b) {
  report::OperatorDifference pair{.name = name};
  if (auto at = a.operators.find(name); at != a.operators.end()) {
    auto& one = at->second;
    pair.op = one.op, pair.phase = one.phase, pair.in_a = one.plan, pair.estimate_a = one.estimate;
    pair.cycles_a = one.cycles;
  }
  if (auto at = b.operators.find(name); at != b.operators.end()) {
    auto& one = at->second;
    pair.op = one.op, pair.phase = one.phase, pair.in_b = one.plan, pair.estimate_b = one.estimate;
    pair.cycles_b = one.cycles;
  }
  return pair;
}

// The outputs of both records in the order in which a made them: run by run, and the training's before the update's of
// the same number.
class RecordComparison {
 public:
  RecordComparison(const Record& a, const Record& b, report::Difference& out) : a_(a), out_(out) {
    for (auto& op : b.operators)
      for (auto& output : op.outputs) theirs_[{op.name, output.tensor}] = &output;
    size_t runs = 0, updates = 0;
    for (auto& op : a.operators)
      for (auto& output : op.outputs)
        (op.phase == "training" ? runs : updates) =
            std::max(op.phase == "training" ? runs : updates, output.digests.size());
    // An update follows the micro-batches that it sums.
    const size_t every = updates > 0 ? std::max<size_t>(1, runs / updates) : runs + 1;
    for (size_t run = 0; run < runs && !out_.first; ++run) {
      compare("training", run);
      if ((run + 1) % every == 0 && !out_.first) compare("optimizer", run / every);
    }
  }

 private:
  void compare(std::string_view phase, size_t run) {
    for (auto& op : a_.operators) {
      if (op.phase != phase) continue;
      for (auto& output : op.outputs) {
        const auto other = theirs_.find({op.name, output.tensor});
        if (other == theirs_.end() || run >= output.digests.size() || run >= other->second->digests.size()) continue;
        const auto &mine = output.digests[run], &theirs = other->second->digests[run];
        if (mine.empty() || theirs.empty()) {
          ++out_.outputs_unseen;
          continue;
        }
        ++out_.outputs_compared;
        if (mine == theirs) continue;
        out_.first = report::FirstDifference{op.name, op.op, op.phase, output.tensor, static_cast<int64_t>(run)};
        return;
      }
    }
  }

  const Record& a_;
  report::Difference& out_;
  std::map<std::pair<std::string, std::string>, const RecordedOutput*> theirs_;
};

}  // namespace

Result<report::Difference> difference(const std::string& a, const std::string& b) {
  TRY(auto left, read_side(a));
  TRY(auto right, read_side(b));
  report::Difference out{.a = a, .b = b};
  for (auto& name : left.order) out.operators.push_back(pair_of(name, left, right));
  for (auto& name : right.order)
    if (!left.operators.contains(name)) out.operators.push_back(pair_of(name, left, right));
  if (left.bits && right.bits) out.same_results = *left.bits == *right.bits;
  for (auto* side : {&left, &right}) {
    if (!side->record)
      out.notes.push_back(
          fmt::format("{} has no record of what operators made: run it with --record", side->directory));
    if (!side->bits) out.notes.push_back(fmt::format("{} holds no run", side->directory));
  }
  if (left.record && right.record) RecordComparison(*left.record, *right.record, out);
  if (out.outputs_unseen > 0)
    out.notes.push_back(fmt::format("{} outputs were not seen whole, and not compared", out.outputs_unseen));
  return out;
}

}  // namespace tessera::run
