// A model of the zoo as files that other tools read.
//
//   export_zoo({"simplemlp"}, {}, {.file = "m.onnx", .training = true}) -> m.onnx, m.optimizer.onnx
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "run/options.hpp"

namespace tessera::run {

struct ZooExport {
  std::string file;
  bool training = false;            // the training graph, and the optimizer graph beside it
  std::optional<std::string> data;  // .npz for the synthetic samples that `train` uses without --data
  uint64_t seed = 1;
};

// The names of the files that were written.
Result<std::vector<std::string>> export_zoo(const ModelSource& source, const train::Options& options,
                                            const ZooExport& what);

}  // namespace tessera::run
