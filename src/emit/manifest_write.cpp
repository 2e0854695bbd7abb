// Program, Plan and Schedule as JSON. manifest_read.cpp reads every key that is written here.
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "emit/manifest.hpp"
#include "emit/manifest_text.hpp"

namespace tessera::emit {

namespace {

using Json = nlohmann::json;

// JSON has no infinities and no NaN.
Json real(float value) {
  if (std::isfinite(value)) return value;
  return std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
}
Json text(const Expr& e) {
  return expression_text(e);
}
Json text(const std::vector<Expr>& list) {
  Json all = Json::array();
  for (const auto& e : list) all.push_back(text(e));
  return all;
}
Json text(const ops::SymbolicBox& box) {
  return Json::array({text(box.lo), text(box.len)});  // braces alone would make an object of two pairs
}
Json type(const TensorType& t) {
  return Json::array({name_of(t.dtype), t.shape});
}
Json ids(const std::vector<TensorId>& list) {
  Json all = Json::array();
  for (auto id : list) all.push_back(id.index);
  return all;
}

Json attribute(const AttributeValue& value) {
  struct {
    Json operator()(int64_t v) const { return {{"int", v}}; }
    Json operator()(float v) const { return {{"float", real(v)}}; }
    Json operator()(const std::string& v) const { return {{"text", v}}; }
    Json operator()(const std::vector<int64_t>& v) const { return {{"ints", v}}; }
    Json operator()(const std::vector<float>& v) const {
      Json list = Json::array();
      for (float f : v) list.push_back(real(f));
      return {{"floats", list}};
    }
    Json operator()(const std::vector<std::string>& v) const { return {{"texts", v}}; }
    Json operator()(const TensorData& v) const {
      return {{"tensor", {{"type", type(v.type())}, {"bytes", bytes_text(v.bytes())}}}};
    }
  } write;
  return std::visit(write, value);
}

// Where a tensor's value is: in a file, all zero, or here (what has no home is known to the code alone, and small).
Json value_of(const Source& source, TensorId id, const std::map<int32_t, std::string>& images) {
  const auto& value = source.graph().at(id).value;
  if (auto image = images.find(id.index); image != images.end()) return {{"image", image->second}};
  if (source.storage(id)) return "zeros";
  return {{"bytes", bytes_text(value.bytes())}};
}

Result<Json> graph(const Source& source) {
  TRY(auto images, images_of(source));
  std::map<int32_t, std::string> paths;
  for (const auto& image : images) paths[image.tensor.index] = image.path;
  Json tensors = Json::array(), nodes = Json::array();
  const Graph& g = source.graph();
  for (size_t i = 0; i < g.tensors().size(); ++i) {
    const auto& t = g.tensors()[i];
    Json entry = {{"name", t.name}, {"type", type(t.type)}, {"role", static_cast<int>(t.role)}};
    if (!t.value.empty()) entry["value"] = value_of(source, {static_cast<int32_t>(i)}, paths);
    tensors.push_back(std::move(entry));
  }
  for (const auto& n : g.nodes()) {
    Json attributes = Json::object();
    for (const auto& [name, value] : n.attributes.entries()) attributes[name] = attribute(value);
    nodes.push_back({{"name", n.name},
                     {"op", {n.op.domain, n.op.type, n.version}},
                     {"attributes", attributes},
                     {"inputs", ids(n.inputs)},
                     {"outputs", ids(n.outputs)},
                     {"phase", static_cast<int>(n.phase)}});
  }
  return Json{
      {"name", g.name}, {"inputs", ids(g.inputs)}, {"outputs", ids(g.outputs)}, {"tensors", tensors}, {"nodes", nodes}};
}

Result<Json> program(const Source& source) {
  const auto& p = source.program;
  TRY(auto g, graph(source));
  Json parameters = Json::array();
  for (const auto& q : p.parameters) parameters.push_back({q.weight.index, q.accumulator.index, q.updated.index});
  return Json{{"graph", g},           {"data", ids(p.data)},     {"label", p.label.index}, {"reset", p.reset.index},
              {"loss", p.loss.index}, {"parameters", parameters}};
}

Json operands(const std::vector<plan::OperandPlan>& plans) {
  Json all = Json::array();
  for (const auto& operand : plans) {
    Json hops = Json::array();
    for (const auto& h : operand.hops) hops.push_back({h.from, h.to, h.slots, h.slot_size.count, h.offset.count});
    all.push_back({operand.present, hops});
  }
  return all;
}

Json plan(const plan::Plan& p) {
  Json storages = Json::array(), storage_of = Json::array(), nodes = Json::array(), arenas = Json::array();
  for (const auto& s : p.storages)
    storages.push_back({{"name", s.name},
                        {"members", ids(s.members)},
                        {"level", s.level},
                        {"offset", s.offset.count},
                        {"size", s.size.count},
                        {"life", {s.life.first, s.life.last}},
                        {"persistent", s.persistent}});
  for (auto id : p.storage_of) storage_of.push_back(id.index);
  for (const auto& n : p.nodes) {
    Json nest = Json::array();
    for (const auto& level : n.nest) nest.push_back({level.level, level.tile, level.order});
    nodes.push_back({{"nest", nest},
                     {"inputs", operands(n.inputs)},
                     {"outputs", operands(n.outputs)},
                     {"scratch", operands(n.scratch)},
                     {"estimate", n.estimate.count},
                     {"tiles", n.tiles}});
  }
  for (const auto& a : p.arenas) arenas.push_back({a.level, a.size.count, a.lower_bound.count});
  return {{"storages", storages}, {"storage_of", storage_of}, {"nodes", nodes}, {"arenas", arenas}, {"cores", p.cores}};
}

Json place(const schedule::Place& p) {
  return {p.buffer.index, text(p.slot), text(p.byte)};
}
Json places(const std::vector<schedule::Place>& list) {
  Json all = Json::array();
  for (const auto& p : list) all.push_back(place(p));
  return all;
}

Json call(const ops::KernelCall& c) {
  Json fields = Json::array();
  for (const auto& field : c.fields) {
    struct {
      Json operator()(const ops::OperandRef& v) const { return {{"operand", {static_cast<int>(v.kind), v.index}}}; }
      Json operator()(const Expr& v) const { return {{"number", text(v)}}; }
      Json operator()(const std::vector<Expr>& v) const { return {{"numbers", text(v)}}; }
      Json operator()(float v) const { return {{"float", real(v)}}; }
    } write;
    fields.push_back({field.name, std::visit(write, field.value)});
  }
  return {{"function", c.function}, {"header", c.header}, {"fields", fields}};
}

Json block(const schedule::Block& steps);

struct WriteStep {
  Json operator()(const schedule::Loop& s) const { return {"loop", s.variable, text(s.count), block(s.body)}; }
  Json operator()(const schedule::Let& s) const { return {"let", s.variable, text(s.value)}; }
  Json operator()(const schedule::If& s) const { return {"if", text(s.condition), block(s.then)}; }
  Json operator()(const schedule::Wait& s) const { return {"wait", text(s.handle)}; }
  Json operator()(const schedule::Transfer& s) const {
    bool in = s.direction == schedule::Transfer::Direction::In;
    return {in ? "in" : "out", s.engine,     s.tensor.index, text(s.region),     place(s.far),
            place(s.near),     text(s.line), text(s.lines),  text(s.far_stride), text(s.handle)};
  }
  Json operator()(const schedule::Kernel& s) const {
    return {"kernel", s.node.index, text(s.tile), places(s.inputs), places(s.outputs), places(s.scratch), call(s.call)};
  }
};

Json block(const schedule::Block& steps) {
  Json all = Json::array();
  for (const auto& step : steps) all.push_back(std::visit(WriteStep{}, step.v));
  return all;
}

Json sections(const std::vector<schedule::Section>& list) {
  Json all = Json::array();
  for (const auto& s : list)
    all.push_back({{"node", s.node.index}, {"variables", s.variables}, {"body", block(s.body)}});
  return all;
}

Json schedule_json(const schedule::Schedule& s) {
  Json buffers = Json::array();
  for (const auto& b : s.buffers)
    buffers.push_back({{"name", b.name},
                       {"level", b.level},
                       {"offset", b.offset.count},
                       {"slot_size", b.slot_size.count},
                       {"slots", b.slots},
                       {"life", {b.life.first, b.life.last}},
                       {"storage", b.storage.index}});
  return {{"buffers", buffers},
          {"handles", s.handles},
          {"training", sections(s.training)},
          {"optimizer", sections(s.optimizer)}};
}

Result<Json> harness(const Source& source) {
  TRY(auto all, samples_of(source));
  Json samples = Json::array();
  for (const auto& s : all) samples.push_back({{"image", s.path}, {"type", type(s.data->type())}});
  return Json{{"steps", source.options.steps},
              {"accumulate", source.options.accumulate},
              {"tolerance", real(source.options.tolerance)},
              {"samples", samples},
              {"reference", source.options.reference_losses.size()}};
}

}  // namespace

Result<std::vector<File>> manifest_files(const Source& source) {
  TRY(auto p, program(source));
  TRY(auto h, harness(source));
  Json manifest = {{"format", "tessera project 1"},
                   {"target", source.target.name},
                   {"harness", h},
                   {"program", p},
                   {"plan", plan(source.plan)},
                   {"schedule", schedule_json(source.schedule)}};
  return std::vector<File>{{"schedule.json", manifest.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"}};
}

}  // namespace tessera::emit
