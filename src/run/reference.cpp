#include "run/reference.hpp"

#include <algorithm>

#include "onnx/arrays.hpp"
#include "run/compare.hpp"

namespace tessera::run {
namespace {

Result<void> add_array(const train::Program& program, const onnx::NamedArray& array, const std::string& file,
                       int64_t micro_batches, Reference& reference) {
  auto& [name, data] = array;
  if (name == "losses") {
    if (data.type().elements() != micro_batches)
      return input_error("{}: array 'losses' has {} values, but the run has {} micro-batches", file,
                         data.type().elements(), micro_batches)
          .hint("one loss for each of --steps times --accumulate micro-batches");
    reference.losses = data;
    return {};
  }
  auto id = program.graph.find_tensor(name);
  auto at = std::ranges::find(program.parameters, id, &train::Parameter::weight);
  if (!id || at == program.parameters.end()) {
    reference.notes.push_back(fmt::format("{}: array '{}' is not a parameter of the model; ignored", file, name));
    return {};
  }
  auto& type = program.graph.at(id).type;
  if (data.shape() != type.shape)
    return input_error("{}: array '{}' is {}, but the parameter is {}", file, name, to_string(data.shape()),
                       to_string(type.shape));
  reference.parameters.emplace_back(static_cast<size_t>(at - program.parameters.begin()), data);
  return {};
}

}  // namespace

Result<Reference> read_reference(const train::Program& program, const std::string& file, int64_t micro_batches) {
  TRY(auto arrays, onnx::read_arrays(file));
  Reference reference;
  for (auto& array : arrays) CHECK_OK(add_array(program, array, file, micro_batches, reference));
  if (reference.losses.empty() && reference.parameters.empty())
    return input_error("{}: no 'losses' and no parameter of the model", file)
        .hint("a reference has the losses, one a micro-batch, and may have final parameters by their names");
  return reference;
}

void compare(const train::Program& program, const Reference& reference, const std::vector<TensorData>& parameters,
             double tolerance, report::RunReport& report) {
  Comparison comparison(tolerance);
  if (!reference.losses.empty()) {
    auto losses = TensorData::f32({static_cast<int64_t>(report.losses.size())}, report.losses);
    comparison.add("losses", losses, reference.losses);
    report.reference_losses.emplace();
    for (size_t i = 0; i < report.losses.size(); ++i)
      report.reference_losses->push_back(reference.losses.at(static_cast<int64_t>(i)));
  }
  for (auto& [index, value] : reference.parameters)
    comparison.add(program.graph.at(program.parameters[index].weight).name, parameters[index], value);
  report.max_error = comparison.worst;
  report.mismatch = comparison.first;
}

}  // namespace tessera::run
