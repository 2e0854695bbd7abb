// What every operator made, run by run, as digests: two runs of a program differ first where its record does.
//
// An operator's outputs come home by transfers, or its kernels write them where they live. The recorder is told of
// both, by the virtual chip as it runs and by the host's program in a log, and puts the bytes together whatever the
// tiles were.
//
//   recorder.node(3); recorder.stored(1, 4096, bytes); ... recorder.node(4); ...     recorder.take() -> digests
#pragma once

#include <functional>
#include <span>

#include "base/file.hpp"
#include "run/pipeline.hpp"

namespace tessera::run {

struct RecordedOutput {
  std::string tensor;
  std::vector<std::string> digests;  // one for each run of the entry point; empty text: not all of it was seen
};
struct RecordedOperator {
  std::string name, op, phase;
  std::vector<RecordedOutput> outputs;
};
struct Record {
  std::vector<RecordedOperator> operators;  // in the order in which they run
};

// Where the kernels of a node write an output: it can be read when the node is done.
struct WrittenInPlace {
  uint32_t stamp = 0;  // of the node, as the emitted C calls it
  plan::LevelId level = 0;
  Bytes offset, size;
};

class Recorder {
 public:
  // Reads bytes of an arena as they are now.
  using Read = std::function<bool(plan::LevelId, uint32_t offset, std::span<uint8_t> bytes)>;

  explicit Recorder(const Compiled& compiled);

  // What runtime/host/record.h reads: the size of the L2 arena, and what is written in place.
  std::string plan_text() const;
  // A node begins, or an entry point ends: what was in place is read now.
  void node(uint32_t stamp, const Read& read);
  // A transfer has brought bytes to a place in L2 or L3.
  void stored(plan::LevelId level, uint32_t offset, std::span<const uint8_t> bytes);

  Record take() { return std::move(record_); }

 private:
  struct Output {
    TensorId tensor;
    plan::LevelId level = 0;
    Bytes offset;
    bool in_place = false;
    std::vector<uint8_t> bytes;
    size_t seen = 0;
    bool complete() const { return seen >= bytes.size(); }
  };
  struct Stamp {
    int32_t index = -1;  // of the operator; -1 at the end of an entry point
    std::vector<Output> outputs;
  };

  void add_entry(const Compiled& compiled, const std::vector<schedule::Section>& sections);
  bool take_in(Stamp& stamp, plan::LevelId level, uint32_t offset, std::span<const uint8_t> bytes);
  void finish(uint32_t end);

  std::vector<Stamp> stamps_;
  std::vector<WrittenInPlace> in_place_;
  int64_t l2_bytes_ = 0;
  Record record_;
  uint32_t running_ = 0;
  bool started_ = false;
};

// record.json in a directory.
Result<void> write_record(const Record& record, const std::filesystem::path& directory);
Result<std::optional<Record>> read_record(const std::filesystem::path& directory);  // none where there is no record

}  // namespace tessera::run
