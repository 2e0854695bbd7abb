// The way back from JSON. Whatever another part uses as an index is checked here, because a manifest is a file that
// anyone may have edited.
#include <limits>
#include <nlohmann/json.hpp>

#include "base/file.hpp"
#include "emit/manifest.hpp"
#include "emit/manifest_text.hpp"

namespace tessera::emit {

namespace {

using Json = nlohmann::json;
namespace fs = std::filesystem;

// Json's own exceptions (a missing key, a wrong type) are caught once, in read_manifest.
class Reader {
 public:
  Reader(fs::path directory, const Json& json) : directory_(std::move(directory)), json_(json) {}

  Result<Manifest> read() {
    if (json_.at("format") != "tessera project 1") return input_error("not a manifest of a project, or of a newer one");
    out_.target = json_.at("target").get<std::string>();
    CHECK_OK(program(json_.at("program")));
    CHECK_OK(plan(json_.at("plan")));
    CHECK_OK(schedule(json_.at("schedule")));
    CHECK_OK(harness(json_.at("harness")));
    return std::move(out_);
  }

 private:
  static float real(const Json& j) {
    if (!j.is_string()) return j.get<float>();
    auto infinity = std::numeric_limits<float>::infinity();
    return j == "inf" ? infinity : j == "-inf" ? -infinity : std::numeric_limits<float>::quiet_NaN();
  }

  // An index below `limit`; -1 stands for nothing where that is allowed.
  static Result<int32_t> index(const Json& j, size_t limit, bool optional = false) {
    auto value = j.get<int64_t>();
    if (optional && value == -1) return -1;
    if (value < 0 || static_cast<uint64_t>(value) >= limit)
      return input_error("{} is not the number of any of {} entries", value, limit);
    return static_cast<int32_t>(value);
  }
  Result<TensorId> tensor(const Json& j) const {
    TRY(auto i, index(j, out_.program.graph.tensors().size(), true));
    return TensorId{i};
  }
  Result<std::vector<TensorId>> tensors(const Json& j) const {
    std::vector<TensorId> ids;
    for (const auto& item : j) {
      TRY(auto id, tensor(item));
      ids.push_back(id);
    }
    return ids;
  }
  static Result<TensorType> type(const Json& j) {
    TRY(auto dtype, read_dtype(j.at(0).get<std::string>()));
    auto shape = j.at(1).get<Shape>();
    int64_t elements = 1;
    for (auto extent : shape)
      if (extent < 0 || __builtin_mul_overflow(elements, std::max<int64_t>(extent, 1), &elements) ||
          elements > int64_t{1} << 40)
        return input_error("a shape of {}", to_string(shape));
    return TensorType{dtype, std::move(shape)};
  }

  Result<TensorData> data(const TensorType& type, std::vector<std::byte> bytes, const std::string& where) const {
    if (static_cast<int64_t>(bytes.size()) != type.bytes().count)
      return input_error("{}: {} bytes for {}", where, bytes.size(), to_string(type));
    return TensorData(type, std::move(bytes));
  }
  // A file of the project, and nothing outside of it.
  Result<TensorData> image(const TensorType& type, const std::string& path) const {
    if (!path.starts_with("images/") || path.find("..") != std::string::npos)
      return input_error("'{}' is not an image of the project", path);
    TRY(auto bytes, read_file(directory_ / path));
    return data(type, std::move(bytes), (directory_ / path).string());
  }
  Result<TensorData> value(const TensorType& type, const Json& j) const {
    if (j == "zeros") return TensorData::zeros(type);
    if (j.contains("image")) return image(type, j.at("image").get<std::string>());
    TRY(auto bytes, read_bytes(j.at("bytes").get<std::string>()));
    return data(type, std::move(bytes), "a value");
  }

  Result<AttributeValue> attribute(const Json& j) const {
    if (j.contains("int")) return j.at("int").get<int64_t>();
    if (j.contains("float")) return real(j.at("float"));
    if (j.contains("text")) return j.at("text").get<std::string>();
    if (j.contains("ints")) return j.at("ints").get<std::vector<int64_t>>();
    if (j.contains("texts")) return j.at("texts").get<std::vector<std::string>>();
    if (j.contains("floats")) {
      std::vector<float> list;
      for (const auto& item : j.at("floats")) list.push_back(real(item));
      return list;
    }
    TRY(auto t, type(j.at("tensor").at("type")));
    TRY(auto v, value(t, j.at("tensor")));
    return v;
  }

  Result<void> graph(const Json& j) {
    Graph& g = out_.program.graph;
    g.name = j.at("name").get<std::string>();
    for (const auto& item : j.at("tensors")) {
      Tensor t{item.at("name").get<std::string>(), {}, {}, {}};
      TRY(t.type, type(item.at("type")));
      TRY(auto role, index(item.at("role"), 5));
      t.role = static_cast<Role>(role);
      if (item.contains("value")) {
        TRY(t.value, value(t.type, item.at("value")));
      }
      g.add_tensor(std::move(t));
    }
    for (const auto& item : j.at("nodes")) {
      const auto& op = item.at("op");
      Node n{.name = item.at("name").get<std::string>(),
             .op = {op.at(0).get<std::string>(), op.at(1).get<std::string>()},
             .version = op.at(2).get<int>()};
      for (const auto& [name, json] : item.at("attributes").items()) {
        TRY(auto v, attribute(json));
        n.attributes.set(name, std::move(v));
      }
      TRY(n.inputs, tensors(item.at("inputs")));
      TRY(n.outputs, tensors(item.at("outputs")));
      TRY(auto phase, index(item.at("phase"), 2));
      n.phase = static_cast<Phase>(phase);
      g.add_node(std::move(n));
    }
    TRY(g.inputs, tensors(j.at("inputs")));
    TRY(g.outputs, tensors(j.at("outputs")));
    return verify(g);
  }

  Result<void> program(const Json& j) {
    CHECK_OK(graph(j.at("graph")));
    auto& p = out_.program;
    TRY(p.data, tensors(j.at("data")));
    TRY(p.label, tensor(j.at("label")));
    TRY(p.reset, tensor(j.at("reset")));
    TRY(p.loss, tensor(j.at("loss")));
    for (const auto& item : j.at("parameters")) {
      train::Parameter q;
      TRY(q.weight, tensor(item.at(0)));
      TRY(q.accumulator, tensor(item.at(1)));
      TRY(q.updated, tensor(item.at(2)));
      if (!q.weight) return input_error("a parameter without a tensor");
      p.parameters.push_back(q);
    }
    for (auto id : p.data)
      if (!id) return input_error("an input without a tensor");
    return {};
  }

  static Result<plan::LevelId> level(const Json& j) { return index(j, 16); }
  static plan::Lifetime life(const Json& j) {
    const auto begin = j.at(0).get<int32_t>(), last = j.at(1).get<int32_t>() - 1;  // halves of nodes
    return {begin / 2, last / 2, begin % 2 != 0, last % 2 == 0};
  }

  Result<std::vector<plan::OperandPlan>> operands(const Json& j) const {
    std::vector<plan::OperandPlan> all;
    for (const auto& item : j) {
      plan::OperandPlan operand{.present = item.at(0).get<bool>()};
      TRY(operand.home.index, index(item.at(2), out_.plan.storages.size(), true));
      for (const auto& h : item.at(1)) {
        plan::Hop hop;
        TRY(hop.from, level(h.at(0)));
        TRY(hop.to, level(h.at(1)));
        hop.slots = h.at(2).get<int>();
        hop.slot_size = Bytes(h.at(3).get<int64_t>());
        hop.offset = Bytes(h.at(4).get<int64_t>());
        hop.second = Bytes(h.at(5).get<int64_t>());
        hop.last = h.at(6).get<int>();
        hop.early = h.at(7).get<bool>();
        hop.at_last = h.at(8).get<bool>();
        hop.late = h.at(9).get<bool>();
        hop.keeps = h.at(10).get<bool>();
        hop.dense = h.at(11).get<bool>();
        operand.hops.push_back(hop);
      }
      all.push_back(std::move(operand));
    }
    return all;
  }

  Result<plan::NodePlan> node_plan(const Json& j) const {
    plan::NodePlan n;
    for (const auto& item : j.at("nest")) {
      plan::TileLevel tile;
      TRY(tile.level, level(item.at(0)));
      tile.tile = item.at(1).get<std::vector<int64_t>>();
      tile.order = item.at(2).get<std::vector<int>>();
      n.nest.push_back(std::move(tile));
    }
    TRY(n.inputs, operands(j.at("inputs")));
    TRY(n.outputs, operands(j.at("outputs")));
    TRY(n.scratch, operands(j.at("scratch")));
    n.estimate = Cycles(j.at("estimate").get<int64_t>());
    n.tiles = j.at("tiles").get<int64_t>();
    n.at_once = j.at("at_once").get<bool>();
    return n;
  }

  Result<void> plan(const Json& j) {
    auto& p = out_.plan;
    for (const auto& item : j.at("storages")) {
      plan::Storage s;
      s.name = item.at("name").get<std::string>();
      TRY(s.members, tensors(item.at("members")));
      for (auto id : s.members)
        if (!id) return input_error("storage '{}' holds no tensor", s.name);
      TRY(s.level, level(item.at("level")));
      s.offset = Bytes(item.at("offset").get<int64_t>());
      s.size = Bytes(item.at("size").get<int64_t>());
      s.life = life(item.at("life"));
      s.persistent = item.at("persistent").get<bool>();
      s.in_turn = item.value("in_turn", false);
      p.storages.push_back(std::move(s));
    }
    for (const auto& item : j.at("storage_of")) {
      TRY(auto i, index(item, p.storages.size(), true));
      p.storage_of.push_back({i});
    }
    for (const auto& item : j.at("nodes")) {
      TRY(auto n, node_plan(item));
      p.nodes.push_back(std::move(n));
    }
    const Graph& g = out_.program.graph;
    if (p.storage_of.size() != g.tensors().size() || p.nodes.size() != g.nodes().size())
      return input_error("the plan is of another graph");
    for (const auto& item : j.at("arenas")) {
      plan::Arena arena;
      TRY(arena.level, level(item.at(0)));
      arena.size = Bytes(item.at(1).get<int64_t>());
      arena.lower_bound = Bytes(item.at(2).get<int64_t>());
      p.arenas.push_back(arena);
    }
    for (const auto& item : j.at("reserved")) p.reserved.emplace_back(item.get<int64_t>());
    p.code = Bytes(j.at("code").get<int64_t>());
    p.controller_stack = Bytes(j.at("controller_stack").get<int64_t>());
    TRY(p.stack_level, level(j.at("stack_level")));
    p.cores = j.at("cores").get<int>();
    return {};
  }

  // Expressions speak of the variables of the section that is being read.
  Result<Expr> expression(const Json& j) const { return read_expression(j.get<std::string>(), variables_); }
  Result<std::vector<Expr>> expressions(const Json& j) const {
    std::vector<Expr> list;
    for (const auto& item : j) {
      TRY(auto e, expression(item));
      list.push_back(std::move(e));
    }
    return list;
  }
  Result<ops::SymbolicBox> box(const Json& j) const {
    ops::SymbolicBox b;
    TRY(b.lo, expressions(j.at(0)));
    TRY(b.len, expressions(j.at(1)));
    return b;
  }
  Result<schedule::Place> place(const Json& j, bool optional) const {
    schedule::Place p;
    TRY(p.buffer.index, index(j.at(0), out_.schedule.buffers.size(), optional));
    TRY(p.slot, expression(j.at(1)));
    TRY(p.byte, expression(j.at(2)));
    return p;
  }
  Result<std::vector<schedule::Place>> places(const Json& j) const {
    std::vector<schedule::Place> list;
    for (const auto& item : j) {
      TRY(auto p, place(item, true));
      list.push_back(std::move(p));
    }
    return list;
  }

  Result<ops::KernelCall> call(const Json& j) const {
    ops::KernelCall c{j.at("function").get<std::string>(), j.at("header").get<std::string>(), {}};
    for (const auto& item : j.at("fields")) {
      ops::KernelCall::Field field{item.at(0).get<std::string>(), 0.0f};
      const auto& v = item.at(1);
      if (v.contains("operand")) {
        TRY(auto kind, index(v.at("operand").at(0), 3));
        TRY(auto number, index(v.at("operand").at(1), 1 << 16));
        field.value = ops::OperandRef{static_cast<ops::OperandRef::Kind>(kind), number};
      } else if (v.contains("number")) {
        TRY(field.value, expression(v.at("number")));
      } else if (v.contains("numbers")) {
        TRY(field.value, expressions(v.at("numbers")));
      } else {
        field.value = real(v.at("float"));
      }
      c.fields.push_back(std::move(field));
    }
    return c;
  }

  Result<schedule::Block> block(const Json& j, int depth) const {
    if (depth > 100) return input_error("steps nested too deeply");
    schedule::Block steps;
    for (const auto& item : j) {
      TRY(auto s, step(item, depth));
      steps.push_back(std::move(s));
    }
    return steps;
  }

  Result<schedule::Step> step(const Json& j, int depth) const {
    auto kind = j.at(0).get<std::string>();
    if (kind == "loop") {
      schedule::Loop s;
      TRY(s.variable, index(j.at(1), variables_));
      TRY(s.count, expression(j.at(2)));
      TRY(s.body, block(j.at(3), depth + 1));
      return schedule::Step{std::move(s)};
    }
    if (kind == "let") {
      schedule::Let s;
      TRY(s.variable, index(j.at(1), variables_));
      TRY(s.value, expression(j.at(2)));
      return schedule::Step{std::move(s)};
    }
    if (kind == "if") {
      schedule::If s;
      TRY(s.condition, expression(j.at(1)));
      TRY(s.then, block(j.at(2), depth + 1));
      return schedule::Step{std::move(s)};
    }
    if (kind == "wait") {
      schedule::Wait s;
      TRY(s.handle, expression(j.at(1)));
      return schedule::Step{std::move(s)};
    }
    if (kind == "kernel") return kernel(j);
    if (kind == "keep") {
      TRY(auto s, keep(j));
      return schedule::Step{std::move(s)};
    }
    if (kind == "put") {
      schedule::PutTogether s;
      TRY(s.kept, keep(j.at(1)));
      TRY(s.rest, keep(j.at(2)));
      return schedule::Step{std::move(s)};
    }
    if (kind == "in" || kind == "out") return transfer(j, kind == "in");
    return input_error("'{}' is no step", kind);
  }

  Result<schedule::Step> transfer(const Json& j, bool in) const {
    schedule::Transfer s;
    s.direction = in ? schedule::Transfer::Direction::In : schedule::Transfer::Direction::Out;
    TRY(s.engine, index(j.at(1), 16));
    TRY(s.tensor, tensor(j.at(2)));
    TRY(s.region, box(j.at(3)));
    TRY(s.far, place(j.at(4), false));
    TRY(s.near, place(j.at(5), false));
    TRY(s.line, expression(j.at(6)));
    TRY(s.lines, expression(j.at(7)));
    TRY(s.far_stride, expression(j.at(8)));
    TRY(s.handle, expression(j.at(9)));
    return schedule::Step{std::move(s)};
  }

  Result<schedule::Keep> keep(const Json& j) const {
    schedule::Keep s;
    TRY(s.tensor, tensor(j.at(1)));
    TRY(s.region, box(j.at(2)));
    TRY(s.from, place(j.at(3), false));
    TRY(s.to, place(j.at(4), false));
    TRY(s.row, expression(j.at(5)));
    TRY(s.rows, expression(j.at(6)));
    TRY(s.lines, expression(j.at(7)));
    TRY(s.from_stride, expression(j.at(8)));
    TRY(s.to_stride, expression(j.at(9)));
    return s;
  }

  Result<schedule::Step> kernel(const Json& j) const {
    schedule::Kernel s;
    TRY(s.node.index, index(j.at(1), out_.program.graph.nodes().size()));
    TRY(s.tile, box(j.at(2)));
    TRY(s.inputs, places(j.at(3)));
    TRY(s.outputs, places(j.at(4)));
    TRY(s.scratch, places(j.at(5)));
    TRY(s.call, call(j.at(6)));
    return schedule::Step{std::move(s)};
  }

  Result<std::vector<schedule::Section>> sections(const Json& j) {
    std::vector<schedule::Section> all;
    for (const auto& item : j) {
      schedule::Section s;
      TRY(s.node.index, index(item.at("node"), out_.program.graph.nodes().size()));
      s.variables = item.at("variables").get<std::vector<std::string>>();
      variables_ = s.variables.size();
      TRY(s.body, block(item.at("body"), 0));
      all.push_back(std::move(s));
    }
    return all;
  }

  Result<void> schedule(const Json& j) {
    auto& s = out_.schedule;
    for (const auto& item : j.at("buffers")) {
      schedule::Buffer b;
      b.name = item.at("name").get<std::string>();
      TRY(b.level, level(item.at("level")));
      b.offset = Bytes(item.at("offset").get<int64_t>());
      b.slot_size = Bytes(item.at("slot_size").get<int64_t>());
      b.slots = item.at("slots").get<int>();
      b.life = life(item.at("life"));
      if (auto second = item.find("second"); second != item.end())
        b.second = schedule::Stand{Bytes(second->at("offset").get<int64_t>()), life(second->at("life"))};
      TRY(b.storage.index, index(item.at("storage"), out_.plan.storages.size(), true));
      s.buffers.push_back(std::move(b));
    }
    s.handles = j.at("handles").get<int>();
    if (s.handles < 0 || s.handles > 1 << 16) return input_error("{} handles", s.handles);
    TRY(s.training, sections(j.at("training")));
    TRY(s.optimizer, sections(j.at("optimizer")));
    return {};
  }

  Result<void> harness(const Json& j) {
    auto& o = out_.options;
    o.steps = j.at("steps").get<int>();
    o.accumulate = j.at("accumulate").get<int>();
    o.tolerance = real(j.at("tolerance"));
    for (const auto& item : j.at("budget")) o.budget.emplace_back(item.get<int64_t>());
    for (const auto& item : j.at("samples")) {
      TRY(auto t, type(item.at("type")));
      TRY(auto samples, image(t, item.at("image").get<std::string>()));
      o.data.data.push_back(std::move(samples));
    }
    if (out_.program.label && !o.data.data.empty()) {  // written last
      o.data.label = o.data.data.back();
      o.data.data.pop_back();
    }
    auto losses = j.at("reference").get<int64_t>();
    if (losses < 0 || losses > int64_t{1} << 32) return input_error("{} reference losses", losses);
    if (losses > 0) {
      TRY(auto reference, image({DType::F32, {losses}}, "images/reference.bin"));
      auto values = reference.as<float>();
      o.reference_losses.assign(values.begin(), values.end());
    }
    return {};
  }

  fs::path directory_;
  const Json& json_;
  Manifest out_;
  size_t variables_ = 0;
};

}  // namespace

Result<Manifest> read_manifest(const fs::path& directory) {
  auto path = directory / "schedule.json";
  std::error_code error;
  if (!fs::is_directory(directory, error))
    return input_error("{}: no such directory", directory.string()).hint("make one with: tessera compile MODEL -o DIR");
  if (!fs::exists(path, error))
    return input_error("{}: not a project: it has no schedule.json", directory.string())
        .hint("make one with: tessera compile MODEL -o DIR");
  TRY(auto bytes, read_file(path));
  try {
    auto json = Json::parse(reinterpret_cast<const char*>(bytes.data()),
                            reinterpret_cast<const char*>(bytes.data()) + bytes.size());
    auto manifest = Reader(directory, json).read();
    if (!manifest) return std::unexpected(std::move(manifest.error()).within(path.string()));
    return manifest;
  } catch (const Json::exception& broken) {
    return input_error("{}: damaged: {}", path.string(), broken.what());
  }
}

}  // namespace tessera::emit
