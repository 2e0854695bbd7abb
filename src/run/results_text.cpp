#include "run/results_text.hpp"

#include <charconv>
#include <cstring>

namespace tessera::run {

namespace {

Error damaged(std::string_view what) {
  return input_error("the program's output cannot be read: {}", what);
}

Result<std::vector<std::byte>> bytes_of(std::string_view hex) {
  std::vector<std::byte> bytes;
  for (size_t i = 0; i + 2 <= hex.size(); i += 2) {
    uint8_t value = 0;
    auto [end, error] = std::from_chars(hex.data() + i, hex.data() + i + 2, value, 16);
    if (error != std::errc() || end != hex.data() + i + 2) return damaged("not hexadecimal");
    bytes.push_back(std::byte{value});
  }
  return bytes;
}

Result<uint64_t> number_after(std::string_view line, std::string_view key) {
  auto at = line.find(key);
  uint64_t value = 0;
  if (at == line.npos) return damaged(key);
  auto first = line.data() + at + key.size();
  if (std::from_chars(first, line.data() + line.size(), value).ec != std::errc()) return damaged(key);
  return value;
}

Result<onnx::NamedArray> array(const Graph& graph, TensorId id, std::string_view hex) {
  auto& tensor = graph.at(id);
  TRY(auto bytes, bytes_of(hex));
  if (static_cast<int64_t>(bytes.size()) != tensor.type.bytes().count) return damaged(tensor.name);
  return onnx::NamedArray{tensor.name, TensorData(tensor.type, std::move(bytes))};
}

class Reader {
 public:
  Reader(const Compiled& compiled, RunResult& result) : program_(compiled.program), result_(result) {}

  Result<void> line(std::string_view text) {
    constexpr std::string_view kLosses = "RESULT losses ", kOutput = "RESULT output ", kParameter = "RESULT parameter ";
    if (text.starts_with("BENCH ")) return bench(text);
    if (text.starts_with(kLosses)) return losses(text.substr(kLosses.size()));
    if (text.starts_with(kOutput)) {
      auto& ids = program_.graph.outputs;
      if (ids.empty()) return damaged("an output");
      return add(result_.outputs, ids[result_.outputs.size() % ids.size()], text.substr(kOutput.size()));
    }
    if (text.starts_with(kParameter)) {
      if (result_.parameters.size() >= program_.parameters.size()) return damaged("a parameter");
      return add(result_.parameters, program_.parameters[result_.parameters.size()].weight,
                 text.substr(kParameter.size()));
    }
    return {};
  }

  bool complete() const { return result_.counters && result_.parameters.size() == program_.parameters.size(); }

 private:
  Result<void> bench(std::string_view text) {
    Counters counters;
    TRY(counters.train_cycles, number_after(text, "train_cycles="));
    TRY(counters.optimizer_cycles, number_after(text, "opt_cycles="));
    result_.counters = counters;
    return {};
  }
  Result<void> losses(std::string_view hex) {
    TRY(auto bytes, bytes_of(hex));
    result_.losses.resize(bytes.size() / sizeof(float));
    std::memcpy(result_.losses.data(), bytes.data(), result_.losses.size() * sizeof(float));
    return {};
  }
  Result<void> add(std::vector<onnx::NamedArray>& to, TensorId id, std::string_view hex) {
    TRY(auto value, array(program_.graph, id, hex));
    to.push_back(std::move(value));
    return {};
  }

  const train::Program& program_;
  RunResult& result_;
};

}  // namespace

Result<void> read_results_text(std::string_view text, const Compiled& compiled, RunResult& result) {
  Reader reader(compiled, result);
  while (!text.empty()) {
    auto line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    CHECK_OK(reader.line(line));
  }
  return reader.complete() ? Result<void>() : damaged("it ends too early");
}

}  // namespace tessera::run
