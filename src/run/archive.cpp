#include "run/archive.hpp"

#include "run/json_archive.hpp"

namespace tessera {

template <class A>
void fields(A& a, TensorType& v) {
  a("dtype", v.dtype)("shape", v.shape);
}
template <class A>
void fields(A& a, OpName& v) {
  a("domain", v.domain)("type", v.type);
}
template <class A>
void fields(A& a, Tensor& v) {
  a("name", v.name)("type", v.type)("role", v.role)("value", v.value);
}
template <class A>
void fields(A& a, Node& v) {
  a("name", v.name)("op", v.op)("version", v.version)("attributes", v.attributes)("inputs", v.inputs)(
      "outputs", v.outputs)("phase", v.phase);
}

namespace train {
template <class A>
void fields(A& a, Parameter& v) {
  a("weight", v.weight)("accumulator", v.accumulator)("updated", v.updated);
}
template <class A>
void fields(A& a, Program& v) {
  a("graph", v.graph)("data", v.data)("label", v.label)("reset", v.reset)("loss", v.loss)("parameters", v.parameters);
}
}  // namespace train

namespace plan {
template <class A>
void fields(A& a, Lifetime& v) {
  a("first", v.first)("last", v.last);
}
template <class A>
void fields(A& a, Storage& v) {
  a("name", v.name)("members", v.members)("level", v.level)("offset", v.offset)("size", v.size)("life", v.life)(
      "persistent", v.persistent);
}
template <class A>
void fields(A& a, Hop& v) {
  a("from", v.from)("to", v.to)("slots", v.slots)("slot_size", v.slot_size)("offset", v.offset);
}
template <class A>
void fields(A& a, OperandPlan& v) {
  a("present", v.present)("hops", v.hops);
}
template <class A>
void fields(A& a, TileLevel& v) {
  a("level", v.level)("tile", v.tile)("order", v.order);
}
template <class A>
void fields(A& a, NodePlan& v) {
  a("nest", v.nest)("inputs", v.inputs)("outputs", v.outputs)("scratch", v.scratch)("estimate", v.estimate)("tiles",
                                                                                                            v.tiles);
}
template <class A>
void fields(A& a, Arena& v) {
  a("level", v.level)("size", v.size)("lower_bound", v.lower_bound);
}
template <class A>
void fields(A& a, Plan& v) {
  a("storages", v.storages)("storage_of", v.storage_of)("nodes", v.nodes)("arenas", v.arenas)("cores", v.cores);
}
}  // namespace plan

namespace ops {
template <class A>
void fields(A& a, SymbolicBox& v) {
  a("lo", v.lo)("len", v.len);
}
template <class A>
void fields(A& a, OperandRef& v) {
  a("kind", v.kind)("index", v.index);
}
template <class A>
void fields(A& a, KernelCall::Field& v) {
  a("name", v.name)("value", v.value);
}
template <class A>
void fields(A& a, KernelCall& v) {
  a("function", v.function)("header", v.header)("fields", v.fields);
}
}  // namespace ops

namespace schedule {
template <class A>
void fields(A& a, Buffer& v) {
  a("name", v.name)("level", v.level)("offset", v.offset)("slot_size", v.slot_size)("slots", v.slots)("life", v.life)(
      "storage", v.storage);
}
template <class A>
void fields(A& a, Place& v) {
  a("buffer", v.buffer)("slot", v.slot)("byte", v.byte);
}
template <class A>
void fields(A& a, Transfer& v) {
  a("direction", v.direction)("engine", v.engine)("tensor", v.tensor)("region", v.region)("far", v.far)("near", v.near)(
      "line", v.line)("lines", v.lines)("far_stride", v.far_stride)("handle", v.handle);
}
template <class A>
void fields(A& a, Wait& v) {
  a("handle", v.handle);
}
template <class A>
void fields(A& a, Kernel& v) {
  a("node", v.node)("tile", v.tile)("inputs", v.inputs)("outputs", v.outputs)("scratch", v.scratch)("call", v.call);
}
template <class A>
void fields(A& a, Loop& v) {
  a("variable", v.variable)("count", v.count)("body", v.body);
}
template <class A>
void fields(A& a, Let& v) {
  a("variable", v.variable)("value", v.value);
}
template <class A>
void fields(A& a, If& v) {
  a("condition", v.condition)("then", v.then);
}
template <class A>
void fields(A& a, Step& v) {
  a("step", v.v);
}
template <class A>
void fields(A& a, Section& v) {
  a("node", v.node)("variables", v.variables)("body", v.body);
}
template <class A>
void fields(A& a, Schedule& v) {
  a("buffers", v.buffers)("handles", v.handles)("training", v.training)("optimizer", v.optimizer);
}
}  // namespace schedule

namespace run {

template <>
struct Special<TensorData> : std::true_type {
  static Json write(const TensorData& v) {
    if (v.empty()) return nullptr;
    std::string hex;
    for (auto byte : v.bytes()) hex += fmt::format("{:02x}", static_cast<unsigned>(byte));
    return {{"type", to_json(v.type())}, {"bytes", hex}};
  }
  static TensorData read(const Json& json) {
    if (json.is_null()) return {};
    auto type = from_json<TensorType>(json.at("type"));
    auto hex = json.at("bytes").get<std::string>();
    std::vector<std::byte> bytes;
    for (size_t i = 0; i + 1 < hex.size(); i += 2)
      bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
    if (static_cast<int64_t>(bytes.size()) != type.bytes().count) throw Malformed("a value of the wrong size");
    return {type, std::move(bytes)};
  }
};

template <>
struct Special<Attributes> : std::true_type {
  static Json write(const Attributes& v) {
    Json json = Json::object();
    for (auto& [name, value] : v.entries()) json[name] = to_json(value);
    return json;
  }
  static Attributes read(const Json& json) {
    Attributes attributes;
    for (auto& [name, value] : json.items()) attributes.set(name, from_json<AttributeValue>(value));
    return attributes;
  }
};

template <>
struct Special<Graph> : std::true_type {
  static Json write(const Graph& v) {
    Json json = {{"name", v.name}, {"inputs", to_json(v.inputs)}, {"outputs", to_json(v.outputs)}};
    json["tensors"] = Json::array();
    for (auto tensor : v.tensors()) {
      if (tensor.role != Role::Constant) tensor.value = {};
      json["tensors"].push_back(to_json(tensor));
    }
    json["nodes"] = to_json(v.nodes());
    return json;
  }
  static Graph read(const Json& json) {
    Graph graph;
    graph.name = json.at("name");
    for (auto& tensor : json.at("tensors")) graph.add_tensor(from_json<Tensor>(tensor));
    for (auto& node : json.at("nodes")) graph.add_node(from_json<Node>(node));
    graph.inputs = from_json<std::vector<TensorId>>(json.at("inputs"));
    graph.outputs = from_json<std::vector<TensorId>>(json.at("outputs"));
    return graph;
  }
};

template <class A>
void fields(A& a, FileDigest& v) {
  a("path", v.path)("digest", v.digest);
}
template <class A>
void fields(A& a, Archive& v) {
  a("model", v.model)("target", v.target)("budget", v.budget)("program", v.program)("plan", v.plan)(
      "schedule", v.schedule)("files", v.files);
}

std::string write_archive(const Archive& archive) {
  return to_json(archive).dump() + "\n";
}

Result<Archive> read_archive(std::string_view text) {
  try {
    return from_json<Archive>(Json::parse(text));
  } catch (const std::exception& error) {  // the library's, Malformed, std::stoi's
    return mismatch("damaged: {}", error.what());
  }
}

}  // namespace run
}  // namespace tessera
