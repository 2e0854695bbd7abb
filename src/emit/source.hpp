// What the writers of a project's files share: everything that they may ask about, and the names that they agree on.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "emit/emit.hpp"

namespace tessera::emit {

struct Source {
  const train::Program& program;
  const plan::Plan& plan;
  const schedule::Schedule& schedule;
  const target::Target& target;
  const HarnessOptions& options;
  std::vector<std::string> buffer_names;  // by buffer: "L2_fc1_weight", the constant that holds its offset

  const Graph& graph() const { return program.graph; }
  const plan::Storage* storage(TensorId tensor) const;  // null where it has none
  int64_t arena_bytes(plan::LevelId level) const;
};

// "L2_fc1_weight" for each buffer, each once.
std::vector<std::string> name_buffers(const schedule::Schedule& schedule);

// The kernel families that a schedule calls.
std::set<std::string> headers_of(const schedule::Schedule& schedule);

// A tensor that has a value when the program starts, and the file that holds it. What is zero needs none.
struct Image {
  TensorId tensor;
  const plan::Storage* home = nullptr;
  std::string path;    // "images/fc1_weight.bin"
  std::string symbol;  // "ts_image_fc1_weight"; of what lives in L3
};
Result<std::vector<Image>> images_of(const Source& source);  // by level and offset

// An input that the harness fills before every run, and the file that holds its samples.
struct Samples {
  TensorId input;
  const TensorData* data = nullptr;
  std::string path;    // "images/samples_0.bin"
  std::string symbol;  // "ts_samples_0"
};
Result<std::vector<Samples>> samples_of(const Source& source);

// Samples, and initial values of what lives in L3, stand in L2, beside all that is planned there; where it has no room
// for them, in the external RAM: the arena with the values at their homes, then the samples.
bool data_in_ram(const Source& source);

// What the run leaves, in bytes: losses, one a micro-batch, and what every inference gives. They stand in L2 as well;
// outputs that are too large for it, in the external RAM.
struct Results {
  int64_t runs = 1;
  int64_t losses = 0, reference = 0, outputs = 0;
};
Results results_of(const Source& source);
bool outputs_in_ram(const Source& source);

// What the DMA's commands and the queues of the external RAM take of L1, off the stack of the core that uses them; 0
// where they stand in L2. Every transfer and every wait touches them, and L2 is far.
int64_t near_bytes(const Source& source);

// A file that the external RAM holds when the network starts, by its place there.
struct RamFile {
  std::string path;    // "images/samples_0.bin"
  std::string symbol;  // "ts_samples_0"
  int64_t offset = 0, bytes = 0;
};
constexpr int64_t kRamFileAlignment = 16;
Result<std::vector<RamFile>> ram_files(const Source& source);

// The files, each by its writer.
Result<std::vector<File>> network_files(const Source& source);  // network.h, network.c
Result<std::vector<File>> config_files(const Source& source);   // ts_config.h, config.c
Result<std::vector<File>> image_files(const Source& source);    // images.S, images/
Result<std::vector<File>> chip_files(const Source& source);     // chip/ts_chip.h, chip/memory.ld
Result<std::vector<File>> copied_files(const Source& source);   // runtime, kernels, Makefile, README.txt

}  // namespace tessera::emit
