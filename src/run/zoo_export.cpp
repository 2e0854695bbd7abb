#include "run/zoo_export.hpp"

#include <filesystem>

#include "onnx/export.hpp"
#include "onnx/npz.hpp"
#include "run/model.hpp"
#include "run/samples.hpp"
#include "train/build.hpp"
#include "train/zoo.hpp"

namespace tessera::run {

Result<std::vector<std::string>> export_zoo(const ModelSource& source, const train::Options& options,
                                            const ZooExport& what) {
  if (!train::find_in_zoo(source.model))
    return input_error("'{}' is not a model of the zoo", source.model).hint("`tessera zoo list` shows them");
  TRY(auto model, load_model(source));
  const auto training = with_usual(options, model);
  std::vector<std::string> files;
  if (!what.training) {
    CHECK_OK(onnx::export_onnx(model.graph, Phase::Training, what.file));
    files = {what.file};
    if (!what.data) return files;
  }
  TRY(auto program, train::training_program(std::move(model.graph), {}, training));
  if (what.training) {
    std::filesystem::path beside(what.file);
    beside.replace_extension(".optimizer.onnx");
    CHECK_OK(
        onnx::export_onnx(program.graph, Phase::Training, what.file, {.weights = onnx::Weights::InputsWithValues}));
    CHECK_OK(onnx::export_onnx(program.graph, Phase::Optimizer, beside, {.weights = onnx::Weights::Inputs}));
    files = {what.file, beside.string()};
  }
  if (!what.data) return files;
  auto samples = synthetic(program, what.seed);
  std::vector<onnx::NamedArray> arrays;
  for (size_t i = 0; i < samples.data.size(); ++i)
    arrays.push_back({program.graph.at(program.data[i]).name, samples.data[i]});
  if (program.label) arrays.push_back({program.graph.at(program.label).name, samples.label});
  CHECK_OK(onnx::write_npz(*what.data, arrays));
  files.push_back(*what.data);
  return files;
}

}  // namespace tessera::run
