#include "run/model.hpp"

#include <algorithm>
#include <filesystem>

#include "onnx/bind.hpp"
#include "onnx/import.hpp"
#include "train/build.hpp"
#include "train/copies.hpp"
#include "train/zoo.hpp"

namespace tessera::run {
namespace {

Result<Model> from_zoo(const train::ZooEntry& entry, const ModelSource& source) {
  if (!source.dims.dims.empty())
    return input_error("--dim {}=... does not apply to '{}', a model of the zoo: it has no named dimensions",
                       source.dims.dims.begin()->first, source.model)
        .hint("--batch N sets its batch");
  if (source.optimizer_graph)
    return input_error("--optimizer-graph {} does not apply to '{}', a model of the zoo", *source.optimizer_graph,
                       source.model)
        .hint("choose with --optimizer");
  Model model;
  TRY(model.graph, train::zoo_model(source.model, source.dims.batch));
  TRY(model.usual_loss, train::parse_loss(entry.loss));
  model.usual_trainable = entry.trainable;
  return model;
}

Result<Model> from_file(const ModelSource& source) {
  std::error_code error;
  if (!std::filesystem::exists(source.model, error))
    return input_error("{}: no such file, and no model of the zoo has this name", source.model)
        .hint("give an ONNX file, or a name that `tessera zoo list` shows");
  Model model;
  TRY(auto imported, onnx::import_onnx(source.model, source.dims));
  model.graph = std::move(imported.graph);
  model.notes = std::move(imported.notes);
  if (train::kind_of(model.graph) == train::GraphKind::Inference) {
    auto tell = [&](std::vector<std::string> notes) { std::ranges::move(notes, std::back_inserter(model.notes)); };
    tell(train::part_copies(model.graph));
    tell(train::transposed_twins(model.graph));
  }
  if (!source.optimizer_graph) return model;
  TRY(auto optimizer, onnx::import_optimizer(*source.optimizer_graph, train::accumulated_weights(model.graph)));
  model.optimizer_graph = std::move(optimizer.graph);
  model.notes.insert(model.notes.end(), optimizer.notes.begin(), optimizer.notes.end());
  return model;
}

// Values by name; a weight that the file takes as an input becomes a parameter.
Result<void> replace_weights(Model& model, const std::string& file) {
  TRY(auto arrays, onnx::read_arrays(file));
  auto& graph = model.graph;
  for (auto& array : arrays) {
    auto id = graph.find_tensor(array.name);
    if (!id || (graph.at(id).role != Role::Input && graph.at(id).role != Role::Parameter)) {
      model.notes.push_back(fmt::format("{}: array '{}' is not a weight of the model; ignored", file, array.name));
      continue;
    }
    auto slot = onnx::slot(graph, id);
    TRY(auto bound, onnx::bind_arrays(std::span(&slot, 1), std::span(&array, 1), onnx::Rows::Exact, file));
    graph.at(id).value = std::move(bound.values[0]);
    graph.at(id).role = Role::Parameter;
    std::erase(graph.inputs, id);
  }
  return {};
}

}  // namespace

Result<Model> load_model(const ModelSource& source) {
  auto* entry = train::find_in_zoo(source.model);
  TRY(auto model, entry ? from_zoo(*entry, source) : from_file(source));
  if (source.weights) CHECK_OK(replace_weights(model, *source.weights));
  return model;
}

train::Options with_usual(train::Options options, const Model& model) {
  if (!options.loss && train::kind_of(model.graph) == train::GraphKind::Inference) options.loss = model.usual_loss;
  if (!options.trainable) options.trainable = model.usual_trainable;
  return options;
}

}  // namespace tessera::run
