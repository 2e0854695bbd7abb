#include "accel/model.hpp"

#include <nlohmann/json.hpp>

#include "base/file.hpp"

namespace tessera::accel {
namespace {

const Model kPresets[] = {
    {"clm-60m", 384, 1408, 6, 2, 64, 8, 1e4, 1e-5, 0, false, true},
    {"SmolLM2-135M", 576, 1536, 9, 3, 64, 30, 1e5, 1e-5, 49152, true, true},
    {"llada-8b", 4096, 12288, 32, 32, 128, 32, 5e5, 1e-5, 126464, false, false},
};

}  // namespace

std::span<const Model> presets() {
  return kPresets;
}

Result<Model> find_model(std::string_view name) {
  std::string known;
  for (const auto& model : kPresets) {
    if (model.name == name) return model;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", model.name);
  }
  return input_error("{}: no such model", name)
      .hint(fmt::format("one of: {}; or a folder with config.json and model.safetensors", known));
}

Result<void> check(const Model& m) {
  for (const auto& [what, value] : {std::pair{"hidden_size", m.hidden},
                                    {"intermediate_size", m.intermediate},
                                    {"num_attention_heads", m.heads},
                                    {"num_key_value_heads", m.kv_heads},
                                    {"head_dim", m.head_dim},
                                    {"num_hidden_layers", m.layers}})
    if (value <= 0 || value > (int64_t{1} << 24)) return input_error("{}: {} is {}", m.name, what, value);
  if (m.heads % m.kv_heads)
    return input_error("{}: {} heads do not divide among {} KV heads", m.name, m.heads, m.kv_heads);
  if (m.head_dim % 2) return input_error("{}: a head of {} has no halves to rotate", m.name, m.head_dim);
  if (m.vocabulary < 0 || m.epsilon <= 0 || m.rope_theta <= 0)
    return input_error("{}: vocabulary, epsilon and rope theta must be positive", m.name);
  return {};
}

Result<Model> read_model_config(const std::filesystem::path& file) {
  TRY(const auto bytes, read_file(file));
  const auto* text = reinterpret_cast<const char*>(bytes.data());
  const auto json = nlohmann::json::parse(text, text + bytes.size(), nullptr, false);
  if (!json.is_object()) return input_error("{}: not a JSON object", file.string());
  std::string missing;
  const auto number = [&](const char* key, double otherwise) {
    if (json.contains(key) && json[key].is_number()) return json[key].get<double>();
    if (otherwise < 0) missing += fmt::format("{}{}", missing.empty() ? "" : ", ", key);
    return otherwise;
  };
  Model m;
  m.name = json.value("_name_or_path", std::string());
  if (m.name.empty()) m.name = file.parent_path().filename().string();
  m.hidden = static_cast<int64_t>(number("hidden_size", -1));
  m.intermediate = static_cast<int64_t>(number("intermediate_size", -1));
  m.heads = static_cast<int64_t>(number("num_attention_heads", -1));
  m.layers = static_cast<int64_t>(number("num_hidden_layers", -1));
  if (!missing.empty()) return input_error("{}: has no {}", file.string(), missing);
  m.kv_heads = static_cast<int64_t>(number("num_key_value_heads", static_cast<double>(m.heads)));
  m.head_dim = static_cast<int64_t>(number("head_dim", m.heads > 0 ? double(m.hidden / m.heads) : 0));
  m.rope_theta = number("rope_theta", 1e4);
  m.epsilon = number("rms_norm_eps", 1e-5);
  m.vocabulary = static_cast<int64_t>(number("vocab_size", 0));
  m.tied = json.value("tie_word_embeddings", false);
  m.causal = json.value("is_causal", true);
  const auto activation = json.value("hidden_act", std::string("silu"));
  if (activation != "silu") return input_error("{}: hidden_act {} is not silu", file.string(), activation);
  if (json.contains("rope_scaling") && !json["rope_scaling"].is_null())
    return input_error("{}: rope_scaling is not supported", file.string());
  auto sound = check(m);
  if (!sound) return std::move(sound).error().within(file.string());
  return m;
}

}  // namespace tessera::accel
