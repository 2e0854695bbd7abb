// What the user asked for, as plain values: the command line fills them, the pipeline reads them.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "onnx/dims.hpp"
#include "plan/make_plan.hpp"
#include "train/options.hpp"

namespace tessera::run {

struct ModelSource {
  std::string model;  // a name of the zoo, or an ONNX file
  std::optional<std::string> optimizer_graph;
  std::optional<std::string> weights;  // .npz that replaces initial values by name
  onnx::DimOptions dims;
};

enum class Mode : uint8_t {
  Auto,  // a training step where a loss is known (the model's own or the user's), else inference
  Train,
  Infer,
};

struct CompileOptions {
  Mode mode = Mode::Auto;
  std::string target = "siracusa";
  std::optional<int64_t> cores;  // default: all that the chip lets work
  bool roomy = false;            // the chip's memories without their limits: for a reference that need not fit
  train::Options train;
  plan::Options plan;  // its cores are taken from the above
};

enum class Engine : uint8_t {
  Sim,    // the virtual chip
  Host,   // this machine's compiler and threads
  Gvsoc,  // the chip as GVSoC simulates it
};

constexpr std::string_view name_of(Engine engine) {
  return engine == Engine::Sim ? "sim" : engine == Engine::Host ? "host" : "gvsoc";
}

struct RunOptions {
  Engine engine = Engine::Sim;
  int64_t steps = 8;
  int64_t accumulate = 1;
  std::optional<std::string> data;       // .npz; default: synthetic samples
  std::optional<std::string> reference;  // .npz with `losses`, and final parameters
  double tolerance = 1e-3;
  bool sanitize = false;
  bool record = false;              // a digest of every operator's outputs, run by run, beside what is kept
  std::optional<std::string> plot;  // where the memory map goes, as SVG
  uint64_t seed = 1;                // of synthetic samples, and of the moments that --sanitize chooses
  std::function<void(std::string_view)> progress = {};  // told what begins, where it may take a while
};

}  // namespace tessera::run
