#include "accel/weights.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <numeric>

#include "accel/numerics.hpp"
#include "base/file.hpp"
#include "train/random.hpp"

namespace tessera::accel {
namespace {

int64_t count_of(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

class Synthetic : public Weights {
 public:
  explicit Synthetic(uint64_t seed) : seed_(seed) {}

  Result<std::vector<float>> rows(const std::string& name, const std::vector<int64_t>& shape, int64_t first,
                                  int64_t count) const override {
    uint64_t state = seed_ ^ 0xcbf29ce484222325ull;  // FNV-1a of the name: tensors do not depend on each other
    for (const unsigned char c : name) state = (state ^ c) * 0x100000001b3ull;
    const int64_t width = shape.back();
    std::vector<float> values(static_cast<size_t>(count * width));
    const bool gain = shape.size() == 1, embedding = name == hugging_face_name("embedding", 0);
    const float size = embedding ? 1.0f : 1.0f / std::sqrt(static_cast<float>(width));
    for (int64_t r = 0; r < count; ++r) {  // nor do rows: one can be had alone
      train::Random random(train::Random(state + static_cast<uint64_t>(first + r)).next());
      for (int64_t j = 0; j < width; ++j)
        values[r * width + j] = gain ? 1 + 0.3f * random.uniform() : size * random.normal();
    }
    return values;
  }

 private:
  uint64_t seed_;
};

float from_half(uint16_t bits) {
  const uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  const int exponent = bits >> 10 & 31;
  const uint32_t mantissa = bits & 0x3ff;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7f800000u | mantissa << 13);
  if (exponent) return std::bit_cast<float>(sign | static_cast<uint32_t>(exponent + 112) << 23 | mantissa << 13);
  const float value = std::ldexp(static_cast<float>(mantissa), -24);
  return sign ? -value : value;
}

class Safetensors : public Weights {
 public:
  struct Entry {
    std::filesystem::path file;
    std::string type;
    std::vector<int64_t> shape;
    uint64_t offset = 0, bytes = 0;
  };
  std::map<std::string, Entry> entries;
  std::string folder;

  Result<void> add(const std::filesystem::path& file);

  Result<std::vector<float>> rows(const std::string& name, const std::vector<int64_t>& shape, int64_t first,
                                  int64_t count) const override {
    const auto found = entries.find(name);
    if (found == entries.end()) return input_error("{}: has no tensor {}", folder, name);
    const auto& e = found->second;
    if (e.shape != shape)
      return input_error("{}: {} is [{}], not [{}] as config.json says", e.file.string(), name,
                         fmt::join(e.shape, ", "), fmt::join(shape, ", "));
    const uint64_t row = static_cast<uint64_t>(shape.back()) * (e.type == "F32" ? 4 : 2);
    TRY(const auto bytes,
        read_file_part(e.file, e.offset + static_cast<uint64_t>(first) * row, static_cast<uint64_t>(count) * row));
    std::vector<float> values(static_cast<size_t>(count * shape.back()));
    if (e.type == "F32") {
      std::memcpy(values.data(), bytes.data(), bytes.size());
      return values;
    }
    for (size_t n = 0; n < values.size(); ++n) {
      uint16_t bits;
      std::memcpy(&bits, bytes.data() + 2 * n, 2);
      values[n] = e.type == "BF16" ? from_bf16(bits) : from_half(bits);
    }
    return values;
  }
};

Result<void> Safetensors::add(const std::filesystem::path& file) {
  const auto bad = [&](std::string why) {
    return input_error("{}: {}", file.string(), why).hint("is it a safetensors file?");
  };
  TRY(const auto size, size_of_file(file));
  if (size < 8) return bad("too short");
  TRY(const auto head, read_file_part(file, 0, 8));
  uint64_t length = 0;
  std::memcpy(&length, head.data(), 8);
  if (length > size - 8 || length > (uint64_t{100} << 20)) return bad(fmt::format("a header of {} bytes", length));
  TRY(const auto text, read_file_part(file, 8, length));
  const auto* begin = reinterpret_cast<const char*>(text.data());
  const auto json = nlohmann::json::parse(begin, begin + text.size(), nullptr, false);
  if (!json.is_object()) return bad("its header is not a JSON object");
  for (const auto& [name, value] : json.items()) {
    if (name == "__metadata__") continue;
    Entry e{.file = file};
    std::vector<uint64_t> offsets;
    try {
      e.type = value.at("dtype").get<std::string>();
      e.shape = value.at("shape").get<std::vector<int64_t>>();
      offsets = value.at("data_offsets").get<std::vector<uint64_t>>();
    } catch (const nlohmann::json::exception&) {
      return bad(fmt::format("the entry of {} lacks dtype, shape or data_offsets", name));
    }
    if (e.type != "F32" && e.type != "F16" && e.type != "BF16")
      return input_error("{}: {} is {}", file.string(), name, e.type).hint("F32, F16 and BF16 can be read");
    if (std::any_of(e.shape.begin(), e.shape.end(), [](int64_t n) { return n < 0 || n > (int64_t{1} << 32); }))
      return bad(fmt::format("the shape of {}", name));
    if (offsets.size() != 2 || offsets[0] > offsets[1] || offsets[1] > size - 8 - length)
      return bad(fmt::format("{} lies outside of the file", name));
    e.offset = 8 + length + offsets[0];
    e.bytes = offsets[1] - offsets[0];
    if (e.bytes != static_cast<uint64_t>(count_of(e.shape)) * (e.type == "F32" ? 4 : 2))
      return bad(fmt::format("{} has {} bytes, which is not its shape", name, e.bytes));
    entries[name] = std::move(e);
  }
  return {};
}

}  // namespace

std::unique_ptr<Weights> synthetic_weights(uint64_t seed) {
  return std::make_unique<Synthetic>(seed);
}

Result<std::unique_ptr<Weights>> read_weights(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code none;
  if (std::filesystem::exists(folder / "model.safetensors", none)) {
    files.push_back(folder / "model.safetensors");
  } else {
    for (const auto& entry : std::filesystem::directory_iterator(folder, none))
      if (entry.path().extension() == ".safetensors") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
  }
  if (files.empty())
    return input_error("{}: has no model.safetensors", folder.string())
        .hint("--weights takes a folder with config.json and safetensors; without it weights are seeded");
  auto weights = std::make_unique<Safetensors>();
  weights->folder = folder.string();
  for (const auto& file : files) CHECK_OK(weights->add(file));
  return weights;
}

Result<void> write_safetensors(const std::filesystem::path& file, std::span<const NamedTensor> tensors) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  uint64_t offset = 0;
  for (const auto& t : tensors) {
    const uint64_t end = offset + t.values.size() * 4;
    header[t.name] = {{"dtype", "F32"}, {"shape", t.shape}, {"data_offsets", {offset, end}}};
    offset = end;
  }
  auto text = header.dump();
  while (text.size() % 8) text += ' ';
  std::vector<std::byte> bytes(8 + text.size() + offset);
  const uint64_t length = text.size();
  std::memcpy(bytes.data(), &length, 8);
  std::memcpy(bytes.data() + 8, text.data(), text.size());
  auto* at = bytes.data() + 8 + text.size();
  for (const auto& t : tensors) {
    std::memcpy(at, t.values.data(), t.values.size() * 4);
    at += t.values.size() * 4;
  }
  return write_file(file, bytes);
}

std::string hugging_face_name(const std::string& tensor, int64_t layer) {
  if (tensor == "embedding") return "model.embed_tokens.weight";
  if (tensor == "final_norm") return "model.norm.weight";
  if (tensor == "lm_head") return "lm_head.weight";
  const bool mlp = tensor == "gate_proj" || tensor == "up_proj" || tensor == "down_proj";
  const auto part = tensor == "norm1"   ? "input_layernorm"
                    : tensor == "norm2" ? "post_attention_layernorm"
                    : mlp               ? "mlp." + tensor
                                        : "self_attn." + tensor;
  return fmt::format("model.layers.{}.{}.weight", layer, part);
}

}  // namespace tessera::accel
