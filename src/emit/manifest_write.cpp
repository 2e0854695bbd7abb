// Program, Plan and Schedule as JSON. manifest_read.cpp reads every key that is written here. Values are taken apart by
// structured bindings, so that a member that is added and not written does not compile.
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
// The last kernel of a node is the second half of its time.
Json halves(const plan::Lifetime& life) {
  return Json::array({life.begin(), life.end()});
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
    const auto& [name, tensor_type, role, value] = g.tensors()[i];
    Json entry = {{"name", name}, {"type", type(tensor_type)}, {"role", static_cast<int>(role)}};
    if (!value.empty()) entry["value"] = value_of(source, {static_cast<int32_t>(i)}, paths);
    tensors.push_back(std::move(entry));
  }
  for (const auto& [name, op, version, attributes, inputs, outputs, phase] : g.nodes()) {
    Json values = Json::object();
    for (const auto& [key, value] : attributes.entries()) values[key] = attribute(value);
    nodes.push_back({{"name", name},
                     {"op", {op.domain, op.type, version}},
                     {"attributes", values},
                     {"inputs", ids(inputs)},
                     {"outputs", ids(outputs)},
                     {"phase", static_cast<int>(phase)}});
  }
  return Json{
      {"name", g.name}, {"inputs", ids(g.inputs)}, {"outputs", ids(g.outputs)}, {"tensors", tensors}, {"nodes", nodes}};
}

Result<Json> program(const Source& source) {
  const auto& [of_program, data, label, reset, loss, parameters] = source.program;
  TRY(auto g, graph(source));
  Json list = Json::array();
  for (const auto& [weight, accumulator, updated] : parameters)
    list.push_back({weight.index, accumulator.index, updated.index});
  return Json{{"graph", g},           {"data", ids(data)},  {"label", label.index},
              {"reset", reset.index}, {"loss", loss.index}, {"parameters", list}};
}

Json operands(const std::vector<plan::OperandPlan>& plans) {
  Json all = Json::array();
  for (const auto& [present, hops, home] : plans) {
    Json list = Json::array();
    for (const auto& [from, to, slots, slot_size, offset, second, last, early, at_last, late, keeps, dense] : hops)
      list.push_back(
          {from, to, slots, slot_size.count, offset.count, second.count, last, early, at_last, late, keeps, dense});
    all.push_back({present, list, home.index});
  }
  return all;
}

Json node_plan(const plan::NodePlan& plan) {
  const auto& [nest, inputs, outputs, scratch, estimate, tiles, at_once] = plan;
  Json levels = Json::array();
  for (const auto& [level, tile, order] : nest) levels.push_back({level, tile, order});
  return {{"nest", levels},
          {"inputs", operands(inputs)},
          {"outputs", operands(outputs)},
          {"scratch", operands(scratch)},
          {"estimate", estimate.count},
          {"tiles", tiles},
          {"at_once", at_once}};
}

Json storage_json(const plan::Storage& storage) {
  const auto& [name, members, level, offset, size, life, persistent, in_turn] = storage;
  return {{"name", name},       {"members", ids(members)}, {"level", level},           {"offset", offset.count},
          {"size", size.count}, {"life", halves(life)},    {"persistent", persistent}, {"in_turn", in_turn}};
}

Json plan_json(const plan::Plan& plan) {
  const auto& [storages, storage_of, nodes, arenas, stack_level, reserved, cores, code, controller_stack] = plan;
  Json homes = Json::array(), home_of = Json::array(), node_plans = Json::array(), arena_list = Json::array(),
       reserves = Json::array();
  for (const auto& storage : storages) homes.push_back(storage_json(storage));
  for (auto id : storage_of) home_of.push_back(id.index);
  for (const auto& node : nodes) node_plans.push_back(node_plan(node));
  for (const auto& [level, size, lower_bound] : arenas) arena_list.push_back({level, size.count, lower_bound.count});
  for (auto bytes : reserved) reserves.push_back(bytes.count);
  return {{"storages", homes},    {"storage_of", home_of}, {"nodes", node_plans},
          {"arenas", arena_list}, {"reserved", reserves},  {"stack_level", stack_level},
          {"cores", cores},       {"code", code.count},    {"controller_stack", controller_stack.count}};
}

Json place(const schedule::Place& p) {
  const auto& [buffer, slot, byte] = p;
  return {buffer.index, text(slot), text(byte)};
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
  Json operator()(const schedule::Loop& step) const {
    const auto& [variable, count, body] = step;
    return {"loop", variable, text(count), block(body)};
  }
  Json operator()(const schedule::Let& step) const {
    const auto& [variable, value] = step;
    return {"let", variable, text(value)};
  }
  Json operator()(const schedule::If& step) const {
    const auto& [condition, then] = step;
    return {"if", text(condition), block(then)};
  }
  Json operator()(const schedule::Wait& step) const {
    const auto& [handle] = step;
    return {"wait", text(handle)};
  }
  Json operator()(const schedule::Transfer& step) const {
    const auto& [direction, engine, tensor, region, far, near, line, lines, far_stride, handle] = step;
    bool in = direction == schedule::Transfer::Direction::In;
    return {in ? "in" : "out", engine,     tensor.index, text(region),     place(far),
            place(near),       text(line), text(lines),  text(far_stride), text(handle)};
  }
  Json operator()(const schedule::Keep& step) const {
    const auto& [tensor, region, from, to, row, rows, lines, from_stride, to_stride] = step;
    return {"keep",    tensor.index, text(region), place(from),       place(to),
            text(row), text(rows),   text(lines),  text(from_stride), text(to_stride)};
  }
  Json operator()(const schedule::PutTogether& step) const {
    const auto& [kept, rest] = step;
    return {"put", (*this)(kept), (*this)(rest)};
  }
  Json operator()(const schedule::Kernel& step) const {
    const auto& [node, tile, inputs, outputs, scratch, kernel_call] = step;
    return {"kernel", node.index, text(tile), places(inputs), places(outputs), places(scratch), call(kernel_call)};
  }
};

Json block(const schedule::Block& steps) {
  Json all = Json::array();
  for (const auto& step : steps) all.push_back(std::visit(WriteStep{}, step.v));
  return all;
}

Json sections(const std::vector<schedule::Section>& list) {
  Json all = Json::array();
  for (const auto& [node, variables, body] : list)
    all.push_back({{"node", node.index}, {"variables", variables}, {"body", block(body)}});
  return all;
}

Json schedule_json(const schedule::Schedule& schedule) {
  const auto& [buffers, handles, training, optimizer] = schedule;
  Json list = Json::array();
  for (const auto& [name, level, offset, slot_size, slots, life, storage, second] : buffers) {
    list.push_back({{"name", name},
                    {"level", level},
                    {"offset", offset.count},
                    {"slot_size", slot_size.count},
                    {"slots", slots},
                    {"life", halves(life)},
                    {"storage", storage.index}});
    if (second) list.back()["second"] = {{"offset", second->offset.count}, {"life", halves(second->life)}};
  }
  return {
      {"buffers", list}, {"handles", handles}, {"training", sections(training)}, {"optimizer", sections(optimizer)}};
}

Result<Json> harness(const Source& source) {
  TRY(auto all, samples_of(source));
  Json samples = Json::array();
  for (const auto& s : all) samples.push_back({{"image", s.path}, {"type", type(s.data->type())}});
  Json budget = Json::array();
  for (auto bytes : source.options.budget) budget.push_back(bytes.count);
  return Json{{"steps", source.options.steps},
              {"budget", budget},
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
                   {"plan", plan_json(source.plan)},
                   {"schedule", schedule_json(source.schedule)}};
  return std::vector<File>{{"schedule.json", manifest.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"}};
}

}  // namespace tessera::emit
