// ts_config.h and config.c: what the kernels and the harness need to know of this network.
#include "emit/names.hpp"
#include "emit/source.hpp"
#include "emit/statements.hpp"

namespace tessera::emit {

namespace {

std::string shape_text(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape, ","));
}

class Config {
 public:
  explicit Config(const Source& source) : source_(source) {}

  Result<std::string> text() {
    TRY(samples_, samples_of(source_));
    TRY(images_, images_of(source_));
    std::erase_if(images_, [](const Image& image) { return image.home->level < 2; });
    CHECK_OK(check_reference());
    add("/* How the network is run: what the harness copies, runs, records and compares. */");
    add("#include \"harness/harness.h\"");
    add("#include \"network.h\"\n");
    CHECK_OK(data_symbols());
    if (has_reference()) add("extern const float ts_reference[];");
    add("");
    CHECK_OK(initial_table());
    CHECK_OK(input_table());
    CHECK_OK(tensor_table("parameters", parameter_ids()));
    CHECK_OK(tensor_table("outputs", output_ids()));
    CHECK_OK(single("reset", source_.program.reset));
    CHECK_OK(single("loss", source_.program.loss));
    results();
    run_config();
    return text_;
  }

 private:
  void add(const std::string& line) { text_ += line + "\n"; }
  void add(const Statement& statement) {
    for (const auto& line : wrapped(statement)) add(line);
  }
  bool training() const { return source_.program.training(); }
  bool has_reference() const { return !source_.options.reference_losses.empty(); }
  int64_t runs() const { return results_of(source_).runs; }

  // Where samples and initial values are: linked, or in the external RAM of a device, which a board fills from files.
  Result<void> data_symbols() {
    TRY(auto files, ram_files(source_));
    const bool in_ram = data_in_ram(source_);
    if (in_ram) {
      add("#if defined TS_CHIP || defined TS_BOARD /* bytes from the first of the arena in the external RAM */");
      std::vector<std::string> rows, offsets;
      for (const auto& f : files) {
        rows.push_back(
            fmt::format("{{{}, {}, {}}}", c_string(f.path.substr(f.path.rfind('/') + 1)), f.offset, f.bytes));
      }
      for (size_t i = files.size() - samples_.size(); i < files.size(); ++i)
        offsets.push_back(fmt::format("{} = {}", files[i].symbol, files[i].offset));
      add({0, "static const struct ts_file files[] = { ", rows, " };"});
      if (!offsets.empty()) add({0, "enum { ", offsets, " };"});
      add("#define TS_DATA(symbol) ((const uint8_t*)(uintptr_t)symbol)");
      add("#else");
    }
    std::vector<std::string> arrays;
    for (const auto& f : files) arrays.push_back(f.symbol + "[]");
    if (!arrays.empty()) add({0, "extern const uint8_t ", arrays, ";"});
    add("#define TS_DATA(symbol) symbol");
    if (in_ram) add("#endif");
    return {};
  }

  Result<void> check_reference() const {
    if (source_.options.steps < 1 || source_.options.accumulate < 1)
      return input_error("{} steps of {} micro-batches", source_.options.steps, source_.options.accumulate);
    auto given = static_cast<int64_t>(source_.options.reference_losses.size());
    if (has_reference() && given != runs())
      return input_error("the reference has {} losses; the run makes {}", given, runs())
          .hint(
              fmt::format("one loss a micro-batch: {} steps of {}", source_.options.steps, source_.options.accumulate));
    return {};
  }

  std::vector<TensorId> parameter_ids() const {
    std::vector<TensorId> ids;
    for (const auto& p : source_.program.parameters) ids.push_back(p.weight);
    return ids;
  }
  std::vector<TensorId> output_ids() const { return training() ? std::vector<TensorId>{} : source_.graph().outputs; }

  // {.name = "fc1.weight", .type = "f32", .shape = "128,784", .level = 2, .offset = 0, .bytes = 401408}
  Result<std::string> tensor(TensorId id) const {
    const Tensor& t = source_.graph().at(id);
    const auto* home = source_.storage(id);
    if (!home) return internal_error("'{}' has no home, but the harness needs it", t.name);
    if (home->level == 0) return internal_error("'{}' lives in L1, where the harness cannot reach it", t.name);
    return fmt::format("{{{}, {}, {}, {}, {}, {}}}", c_string(t.name), c_string(name_of(t.type.dtype)),
                       c_string(shape_text(t.type.shape)), home->level + 1, home->offset.count, t.type.bytes().count);
  }

  Result<void> tensor_table(const std::string& name, const std::vector<TensorId>& ids) {
    counts_ += fmt::format("    .{}_count = {},\n", name.substr(0, name.size() - 1), ids.size());
    if (ids.empty()) return {};
    add(fmt::format("static const struct ts_tensor {}[] = {{", name));
    for (TensorId id : ids) {
      TRY(auto text, tensor(id));
      add(fmt::format("    {},", text));
    }
    add("};");
    pointers_ += fmt::format("    .{} = {},\n", name, name);
    return {};
  }

  Result<void> single(const std::string& name, TensorId id) {
    if (!id) return {};
    TRY(auto text, tensor(id));
    add(fmt::format("static const struct ts_tensor {} = {};", name, text));
    pointers_ += fmt::format("    .{} = &{},\n", name, name);
    return {};
  }

  Result<void> input_table() {
    counts_ += fmt::format("    .input_count = {},\n", samples_.size());
    if (samples_.empty()) return {};
    add("static const struct ts_input inputs[] = {");
    for (const auto& s : samples_) {
      TRY(auto home, tensor(s.input));
      const auto& type = source_.graph().at(s.input).type;
      int64_t batch = type.shape.empty() ? 1 : type.shape[0];
      int64_t sample_bytes = type.bytes().count / batch;
      auto count = static_cast<int64_t>(s.data->bytes().size()) / sample_bytes;
      add(fmt::format("    {{.home = {},\n     .samples = TS_DATA({}), .batch = {}, .sample_bytes = {}, .count = {}}},",
                      home, s.symbol, batch, sample_bytes, count));
    }
    add("};");
    pointers_ += "    .inputs = inputs,\n";
    return {};
  }

  Result<void> initial_table() {
    if (images_.empty()) return {};
    const bool at_home = data_in_ram(source_);  // on a device, where nobody has to write them
    if (at_home) add("#if !defined TS_CHIP && !defined TS_BOARD");
    add("static const struct ts_initial initial[] = {");
    for (const auto& i : images_)
      add(fmt::format("    {{{}, {}, TS_DATA({})}},", i.home->offset.count,
                      source_.graph().at(i.tensor).type.bytes().count, i.symbol));
    add("};");
    auto use = fmt::format("    .initial = initial,\n    .initial_count = {},\n", images_.size());
    if (at_home) add("#endif");
    pointers_ += at_home ? "#if !defined TS_CHIP && !defined TS_BOARD\n" + use + "#endif\n" : use;
    return {};
  }

  void results() {
    const auto results = results_of(source_);
    add("\n#ifdef TS_CHIP /* beside what is planned in L2 */");
    add("#define RESULT __attribute__((section(\".ts_results\")))\n#else\n#define RESULT\n#endif");
    add(fmt::format("RESULT float ts_losses[{}];", training() ? runs() : 1));
    auto outputs = fmt::format("RESULT uint8_t ts_outputs[{}];", std::max<int64_t>(1, results.outputs));
    if (outputs_in_ram(source_))
      outputs =
          "#if defined TS_CHIP || defined TS_BOARD\nRESULT uint8_t ts_outputs[1];\n#else\n" + outputs + "\n#endif";
    add(outputs);
  }

  void run_config() {
    int64_t weight_sram = 0;
    for (TensorId id : parameter_ids())
      if (const auto* home = source_.storage(id); home && home->level < 2)
        weight_sram += source_.graph().at(id).type.bytes().count;
    add("\nconst struct ts_run_config ts_run_config = {");
    add(fmt::format("    .steps = {},\n    .accumulate = {},\n    .l2 = ts_l2,", source_.options.steps,
                    source_.options.accumulate));
    if (source_.arena_bytes(2) > 0) add("    .ram = &ts_ram,\n    .l3 = &ts_l3,\n    .l3_bytes = TS_L3_BYTES,");
    text_ += pointers_ + counts_;
    if (has_reference())
      add(fmt::format("    .reference = ts_reference,\n    .tolerance = {},", c_float(source_.options.tolerance)));
    add(fmt::format("    .weight_sram = {},", weight_sram));
    if (data_in_ram(source_))
      add("#if defined TS_CHIP || defined TS_BOARD\n    .files = files,\n"
          "    .file_count = sizeof files / sizeof files[0],\n    .data_in_ram = 1,\n#endif");
    if (outputs_in_ram(source_))
      add(fmt::format("#if defined TS_CHIP || defined TS_BOARD\n    .outputs_in_ram = {},\n#endif",
                      results_of(source_).outputs));
    add("};");
  }

  const Source& source_;
  std::vector<Samples> samples_;
  std::vector<Image> images_;  // of what lives in L3
  std::string text_, pointers_, counts_;
};

}  // namespace

Result<std::vector<File>> config_files(const Source& source) {
  TRY(auto config, Config(source).text());
  auto cores = fmt::format(
      "/* What the kernels are compiled for. */\n#ifndef TS_CONFIG_H\n#define TS_CONFIG_H\n\n"
      "#ifndef TS_CORES\n#define TS_CORES {} /* of the cluster that work on a kernel */\n#endif\n\n#endif\n",
      source.plan.cores);
  return std::vector<File>{{"config.c", config}, {"ts_config.h", cores}};
}

}  // namespace tessera::emit
