// Runs a schedule over shadow memories: loops are unrolled, formulas evaluated, and every transfer, wait and kernel is
// held against what each byte is known to hold at that moment.
//
//   start(Training): parameters, state and inputs stand at home, everything else is unknown
//   run(sections)  : the first step that breaks a rule ends it
//   finish(Training): outputs, accumulators and parameters are home, whole, written once
//
// A transfer's bytes count as moved when it is issued; until its wait, nobody may write what it reads nor touch what it
// writes. So the order in which the engine really moves them makes no difference.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "check/shadow.hpp"
#include "check/subject.hpp"

namespace tessera::check {

class Machine {
 public:
  Machine(const Subject& subject, int64_t granule);

  void start(Phase phase);
  Result<void> run(const std::vector<schedule::Section>& sections);
  Result<void> finish(Phase phase);

  const Verdict& verdict() const { return verdict_; }
  // Something was not word-aligned: the verdict counts for nothing, ask again with a granule of one byte.
  bool needs_bytes() const { return needs_bytes_; }

 private:
  // A place with its formulas evaluated, checked to lie in its buffer.
  struct Spot {
    const schedule::Buffer* buffer = nullptr;
    schedule::Stand stand;  // of the slot
    int64_t at = 0;         // in the level's arena
  };
  struct Flight {
    bool busy = false;
    int engine = 0;
    schedule::Transfer::Direction direction{};
    TensorId tensor;
    Stretch far, near;
    int64_t skip = 0;  // bytes of the named region before the first that it moves
    Spot far_spot, near_spot;

    const Stretch& reads() const { return direction == schedule::Transfer::Direction::In ? far : near; }
    const Stretch& writes() const { return direction == schedule::Transfer::Direction::In ? near : far; }
  };
  // An operand of a kernel call: what it holds or will hold, and where.
  struct Operand {
    std::string_view kind;
    size_t index = 0;
    const ops::OperandMap* map = nullptr;
    DType dtype = DType::F32;
    int32_t content = -1;
    int64_t total = 0;  // bytes of the whole content
    ops::Box box;
    Stretch where;
    const schedule::Buffer* buffer = nullptr;
    // Of a result: how much of its reduction stands before and after this tile, and the whole of it.
    int64_t before = 0, after = 1, steps = 1;
  };
  // What a tile does to each element of a result: how far its reduction goes, once a node.
  struct Covered {
    std::vector<uint8_t> done;
    int64_t count = 0;
  };

  // machine.cpp: steps
  Result<void> block(const schedule::Block& steps);
  Result<void> step(const schedule::Loop& loop);
  Result<void> step(const schedule::Let& let);
  Result<void> step(const schedule::If& condition);
  Result<void> step(const schedule::Wait& wait);
  Result<void> step(const schedule::Transfer& transfer);
  Result<void> step(const schedule::Keep& keep);
  Result<void> step(const schedule::PutTogether& put);
  Result<void> step(const schedule::Kernel& kernel);
  Result<void> section(const schedule::Section& section);
  Result<void> keep_around(TensorId before, TensorId after, const ops::TileMap& map, size_t output);

  // transfer.cpp
  Result<Flight> judge_command(const schedule::Transfer& t);
  Result<void> judge_engine(const schedule::Transfer& t, const Flight& f);
  Result<void> judge_traffic(const Flight& f);
  Result<void> judge_region(const schedule::Transfer& t, Flight& f);
  bool source_holds(const Flight& f, const Shape& view, const ops::Box& box, std::string* problem);
  bool arrive(const Flight& f, const Shape& view, const ops::Box& box, std::string* problem);

  // keep.cpp
  Result<void> judge_kept(const schedule::Keep& keep, const Stretch& from, const Stretch& to);
  Result<void> move_kept(const schedule::Keep& keep, const Stretch& from, const Stretch& to);

  // kernel.cpp
  Result<std::vector<Operand>> operands(const schedule::Kernel& kernel, const ops::Box& tile);
  Result<Operand> operand(Operand base, const schedule::Place& place, const ops::Box& tile);
  Result<void> progress(Operand& result, const ops::TileMap& map, const ops::Box& tile);
  static bool replaced_already(const Operand& input, const std::vector<Operand>& all, const NodeFacts& facts);
  Result<void> judge_separate(const std::vector<Operand>& all, const NodeFacts& facts);
  Result<void> judge_passed(const std::vector<Operand>& all, const NodeFacts& facts, const ops::Box& tile);
  Result<void> judge_holds(const Operand& o, uint32_t id);
  Result<void> make(const Operand& result);
  Result<void> judge_call(const schedule::Kernel& kernel, const ops::Box& tile, const std::vector<Operand>& all);
  Result<void> judge_covered(const Node& node, const NodeFacts& facts);

  // shared
  int64_t value(const Expr& e) const { return e.eval(variables_); }
  ops::Box box_of(const ops::SymbolicBox& box) const;
  Result<Spot> spot(const schedule::Place& place, int64_t bytes, std::string_view what);
  // A stretch of bytes of a content as granules; false where it is not aligned to them.
  struct Granules {
    int64_t at, first, n;
  };
  bool granules(int64_t at, int64_t offset, int64_t bytes, int64_t total, Granules& g);
  Shadow& shadow(int level) { return shadows_[static_cast<size_t>(level)]; }
  uint32_t number_of(int32_t content, int64_t reduced);  // a content, or (reduced >= 0) a part of its reduction
  std::string describe(Tag tag) const;
  std::string describe_content(int32_t content) const;
  std::string range(int level, int64_t at, int64_t bytes) const;
  int64_t bytes_of(int32_t content) const;
  bool at_home(int32_t content, int32_t expected, std::string* problem);
  void put_home(int32_t content);
  void wipe(int level, Bytes offset, Bytes size);
  void begin_lives(int32_t after, int32_t until);
  Result<void> second_half();
  template <class... A>
  Error refuse(std::string_view rule, fmt::format_string<A...> format, A&&... args) const {
    return s_.refuse(rule, "{}: {}", where(), fmt::format(format, std::forward<A>(args)...));
  }
  std::string where() const;

  const Subject& s_;
  int64_t granule_;
  bool needs_bytes_ = false;
  Verdict verdict_;
  std::vector<Shadow> shadows_;  // by level
  std::vector<int> engine_far_, engine_near_;
  struct Birth {
    int level = 0;
    schedule::Buffer::Part part;
  };
  std::vector<Birth> by_birth_;  // parts of buffers in the order in which their lives begin

  // Contents beyond the tensors: scratch memories of nodes, then parts of reductions as they appear.
  struct Part {
    int32_t content = -1;
    int64_t reduced = 0;
  };
  std::vector<std::pair<int32_t, size_t>> scratch_;  // by content - number of tensors: node, index
  std::map<std::pair<int32_t, size_t>, int32_t> scratch_content_;
  std::vector<Part> parts_;
  std::map<std::pair<int32_t, int64_t>, uint32_t> part_number_;

  // Where the walk stands.
  const schedule::Section* section_ = nullptr;
  int32_t position_ = 0;
  int32_t half_ = 0;  // of a node's time: the second one begins where something is used that lives from there on
  std::vector<int64_t> variables_;
  std::vector<int> named_;  // variables in scope, for messages
  std::vector<Flight> flights_;
  std::vector<int> busy_;              // handles in flight
  std::vector<int> on_engine_;         // how many of them on each engine
  std::vector<Covered> covered_;       // by output of the running node
  int64_t volume_ = 0;                 // iterations of the running node so far
  std::vector<int64_t> written_home_;  // by content, bytes in this run
};

}  // namespace tessera::check
