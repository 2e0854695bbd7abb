#include "accel/project.hpp"

#include <nlohmann/json.hpp>

#include "accel/asm.hpp"
#include "accel/manifest.hpp"
#include "base/file.hpp"

namespace tessera::accel {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kLatencies[] = {
    "systolic_overhead", "add",         "multiply",          "exp",    "reciprocal", "max", "sum", "scalar_basic",
    "scalar_exp",        "scalar_sqrt", "scalar_reciprocal", "integer"};

std::vector<int*> fields(Latency& l) {
  return {&l.systolic_overhead,
          &l.add,
          &l.multiply,
          &l.exp,
          &l.reciprocal,
          &l.max,
          &l.sum,
          &l.scalar_basic,
          &l.scalar_exp,
          &l.scalar_sqrt,
          &l.scalar_reciprocal,
          &l.integer};
}

Json to_json(const Model& m) {
  return {{"name", m.name},
          {"hidden", m.hidden},
          {"intermediate", m.intermediate},
          {"heads", m.heads},
          {"kv_heads", m.kv_heads},
          {"head_dim", m.head_dim},
          {"layers", m.layers},
          {"rope_theta", m.rope_theta},
          {"epsilon", m.epsilon},
          {"vocabulary", m.vocabulary},
          {"tied", m.tied},
          {"causal", m.causal}};
}

Json to_json(MachineConfig c) {
  Json latency = Json::object();
  const auto values = fields(c.latency);
  for (size_t n = 0; n < values.size(); ++n) latency[kLatencies[n]] = *values[n];
  return {{"mlen", c.mlen},
          {"blen", c.blen},
          {"hlen", c.hlen},
          {"clock_hz", c.clock_hz},
          {"sram_bytes", c.sram_bytes},
          {"matrix_tiles", c.matrix_tiles},
          {"vector_rows", c.vector_rows},
          {"format", std::string(c.weights.name)},
          {"kv_format", std::string(c.kv.name)},
          {"latency", latency}};
}

Json describe(const Job& job, const Program& program) {
  const auto& o = program.options;
  return {{"model", to_json(program.model)},
          {"machine", to_json(program.machine)},
          {"options",
           {{"layers", o.layers},
            {"past", o.past},
            {"tokens", o.tokens},
            {"context", o.context},
            {"head", o.head},
            {"layout", o.layout == Layout::Own ? "own" : "plena"}}},
          {"board", job.options.board ? Json(job.options.board->name) : Json()},
          {"seed", job.seeded() ? Json(job.options.seed) : Json()},
          {"instructions", program.words.size()}};
}

Json regions_json(const Program& program) {
  constexpr const char* kinds[] = {"weight", "kv", "activation"};
  Json all = Json::array();
  for (const auto& p : program.placements)
    all.push_back({{"name", p.region.name},
                   {"layer", p.region.layer},
                   {"kind", kinds[static_cast<size_t>(p.region.kind)]},
                   {"offset", p.region.offset},
                   {"size", p.region.size},
                   {"rows", p.rows},
                   {"columns", p.columns},
                   {"type", p.bf16 ? "bf16" : "mxfp8"},
                   {"tile", p.tile}});
  return {{"memory_bytes", program.memory_bytes}, {"regions", all}};
}

Result<void> write_text(const std::filesystem::path& file, const std::string& text) {
  return write_file(file, std::as_bytes(std::span(text)));
}

Result<std::string> read_text(const std::filesystem::path& file) {
  TRY(const auto bytes, read_file(file));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

std::string fp_text(const Program& program) {
  std::string text;
  for (size_t n = 0; n < program.fp_sram.size(); ++n)
    text += fmt::format("{:04x} ; {} = {}\n", bf16_bits(program.fp_sram[n]), n, bf16(program.fp_sram[n]));
  return text;
}

void read_description(const nlohmann::json& j, Job& job, std::pair<std::string, std::string>& formats) {
  const auto& m = j.at("model");
  job.model = {m.at("name"),     m.at("hidden"),     m.at("intermediate"), m.at("heads"),
               m.at("kv_heads"), m.at("head_dim"),   m.at("layers"),       m.at("rope_theta"),
               m.at("epsilon"),  m.at("vocabulary"), m.at("tied"),         m.at("causal")};
  const auto& c = j.at("machine");
  auto& machine = job.machine;
  machine.mlen = c.at("mlen"), machine.blen = c.at("blen"), machine.hlen = c.at("hlen");
  machine.clock_hz = c.at("clock_hz"), machine.sram_bytes = c.at("sram_bytes");
  const auto values = fields(machine.latency);
  for (size_t n = 0; n < values.size(); ++n) *values[n] = c.at("latency").at(kLatencies[n]);
  formats = {c.at("format").get<std::string>(), c.at("kv_format").get<std::string>()};
  if (const auto& seed = j.at("seed"); !seed.is_null()) job.weights = synthetic_weights(job.options.seed = seed);
  const auto& o = j.at("options");
  job.decoder = {.layers = o.at("layers"),
                 .past = o.at("past"),
                 .tokens = o.at("tokens"),
                 .context = o.at("context"),
                 .head = o.at("head"),
                 .layout = o.at("layout") == "plena" ? Layout::Plena : Layout::Own};
}

}  // namespace

Result<std::string> program_text(const Program& program) {
  TRY(const auto plain, disassemble(program.words));
  std::string text;
  size_t at = 0;
  auto section = program.sections.begin();
  for (uint32_t n = 0; n < program.words.size(); ++n) {
    if (section != program.sections.end() && section->begin == n) {
      text += fmt::format("; layer {}: {}\n", section->layer, section->op);
      ++section;
    }
    const auto end = plain.find('\n', at) + 1;
    text += plain.substr(at, end - at);
    at = end;
  }
  return text;
}

Result<void> write_project(const Job& job, const Program& program, const std::vector<uint8_t>& image,
                           const std::filesystem::path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return input_error("{}: cannot be made: {}", folder.string(), failed.message());
  TRY(const auto text, program_text(program));
  CHECK_OK(write_text(folder / "program.asm", text));
  CHECK_OK(write_text(folder / "program.hex", to_hex(program.words)));
  CHECK_OK(write_text(folder / "fp_sram.txt", fp_text(program)));
  CHECK_OK(write_text(folder / "regions.json", regions_json(program).dump(1) + "\n"));
  CHECK_OK(write_text(folder / "manifest.json", manifest_text(make_manifest(program.regions()))));
  CHECK_OK(write_text(folder / "machine.json", describe(job, program).dump(1) + "\n"));
  if (image.empty()) {
    std::filesystem::remove(folder / "memory.bin", failed);
    return {};
  }
  return write_file(folder / "memory.bin", std::as_bytes(std::span(image)));
}

Result<Project> read_project(const std::filesystem::path& folder) {
  Project project;
  auto& job = project.job;
  TRY(const auto text, read_text(folder / "machine.json"));
  const auto json = nlohmann::json::parse(text, nullptr, false);
  std::pair<std::string, std::string> formats;
  try {
    read_description(json, job, formats);
  } catch (const nlohmann::json::exception& error) {
    return input_error("{}: {}", (folder / "machine.json").string(), error.what()).hint("compile the folder again");
  }
  job.options.model = job.model.name;
  job.options.tokens = job.decoder.past ? job.decoder.past : job.decoder.tokens;
  job.options.layout = job.decoder.layout;
  TRY(job.machine.weights, find_format(formats.first));
  TRY(job.machine.kv, find_format(formats.second));
  TRY(project.program, compile_decoder(job.model, job.machine, job.decoder));
  TRY(const auto hex, read_text(folder / "program.hex"));
  auto words = parse_hex(hex);
  if (!words) return std::move(words).error().within((folder / "program.hex").string());
  for (size_t n = 0; n < words->size(); ++n)
    if (auto sound = decode((*words)[n]); !sound)
      return std::move(sound).error().within(fmt::format("{}: word {}", (folder / "program.hex").string(), n));
  if (*words != project.program.words) {  // someone's own program: its operators are not ours to name
    project.program.words = std::move(*words);
    project.program.sections.clear();
    project.program.probes.clear();
  }
  std::error_code none;
  job.numerics = std::filesystem::exists(folder / "memory.bin", none);
  if (!job.numerics) return project;
  TRY(const auto bytes, read_file(folder / "memory.bin"));
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  project.image.assign(begin, begin + bytes.size());
  if (static_cast<int64_t>(project.image.size()) != project.program.memory_bytes)
    return input_error("{}: {} bytes; regions.json has {}", (folder / "memory.bin").string(), project.image.size(),
                       project.program.memory_bytes);
  return project;
}

}  // namespace tessera::accel
