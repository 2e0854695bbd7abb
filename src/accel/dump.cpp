#include "accel/dump.hpp"

#include "accel/images.hpp"

namespace tessera::accel {

void StepDump::add(int64_t step, const Program& program, const std::vector<uint8_t>& image,
                   const std::vector<std::vector<float>>& inputs, const std::vector<std::vector<float>>& outputs) {
  const auto& m = program.model;
  const auto layers = static_cast<int64_t>(inputs.size());
  const int64_t tokens = program.options.tokens, length = program.options.past + tokens;
  const auto keep = [&](std::string name, std::vector<int64_t> shape, std::vector<float> values) {
    tensors_.push_back({std::move(name), std::move(shape), std::move(values)});
  };
  const auto weight = [&](int64_t layer, const std::string& name, const char* tensor) {
    auto values = read_weight(program, image, layer, tensor);
    const int64_t rows = std::string_view(tensor).find("norm") != std::string_view::npos ? 1
                         : std::string_view(tensor) == "down_proj"                       ? m.intermediate
                         : std::string_view(tensor) == "o_proj"                          ? m.heads * m.head_dim
                                                                                         : m.hidden;
    const auto columns = static_cast<int64_t>(values.size()) / rows;
    keep(name, {rows, columns}, std::move(values));
  };
  if (step == 0) {
    for (int64_t l = 0; l < layers; ++l)
      for (const char* tensor :
           {"norm1", "q_proj", "k_proj", "v_proj", "o_proj", "norm2", "gate_proj", "up_proj", "down_proj"})
        weight(l, fmt::format("layer{}.{}", l, tensor), tensor);
    if (!read_logits(program, image).empty()) {
      weight(layers, "final_norm", "final_norm");
      weight(layers, "lm_head", "lm_head");
    }
  }
  for (int64_t l = 0; l < layers; ++l) {
    const auto name = [&](const char* what) { return fmt::format("step{}.layer{}.{}", step, l, what); };
    keep(name("input"), {tokens, m.hidden}, inputs[l]);
    keep(name("output"), {tokens, m.hidden}, outputs[l]);
    for (const char* which : {"k", "v"})
      keep(name(which), {m.kv_heads, length, m.head_dim}, read_cache(program, image, l, which, length));
  }
  if (auto logits = read_logits(program, image); !logits.empty())
    keep(fmt::format("step{}.logits", step), {m.vocabulary}, std::move(logits));
}

}  // namespace tessera::accel
