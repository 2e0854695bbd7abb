// Correct schedules are accepted; each rule is broken once, and the message says where.
#include "check/check.hpp"

#include "check/shadow.hpp"
#include "unit/check/handmade.hpp"

namespace tessera {
namespace {

using namespace schedule;
using handmade::Case;
using testing::Test;

// The step at a path of indices: into sections, then into nested blocks.
Step& at(Case& c, std::vector<size_t> path) {
  auto& section = c.schedule.training[path[0]];
  Block* block = &section.body;
  for (size_t i = 1; i + 1 < path.size(); ++i) {
    auto& step = (*block)[path[i]];
    block = std::holds_alternative<Loop>(step.v) ? &std::get<Loop>(step.v).body : &std::get<If>(step.v).then;
  }
  return (*block)[path.back()];
}
template <class T>
T& get(Case& c, std::vector<size_t> path) {
  return std::get<T>(at(c, std::move(path)).v);
}

void expect_refused(const Case& c, std::string_view rule, std::vector<std::string_view> words = {}) {
  auto verdict = c.judge();
  ASSERT_FALSE(verdict) << "accepted";
  EXPECT_EQ(verdict.error().kind(), ErrorKind::Internal);
  EXPECT_TRUE(verdict.error().message().starts_with(rule)) << verdict.error().message();
  for (auto word : words)
    EXPECT_NE(verdict.error().message().find(word), std::string::npos) << verdict.error().message();
}

void expect_accepted(const Case& c) {
  auto verdict = c.judge();
  EXPECT_TRUE(verdict) << verdict.error().text();
}

TEST(Check, AcceptsADoubleBufferedRelu) {
  auto c = handmade::relu_in_tiles();
  auto verdict = c.judge();
  ASSERT_TRUE(verdict) << verdict.error().text();
  EXPECT_EQ(verdict->kernels, 3);
  EXPECT_EQ(verdict->transfers, 6);
  EXPECT_EQ(verdict->waits, 6);
  EXPECT_EQ(verdict->bytes, 80);
}

TEST(Check, AcceptsTwoHops) {
  expect_accepted(handmade::relu_from_l3());
}

TEST(Check, AcceptsAReductionInHalves) {
  expect_accepted(handmade::matmul_in_halves());
}

TEST(Check, AcceptsUpdatesInPlace) {
  expect_accepted(handmade::accumulate_and_update());
}

TEST(Check, AcceptsTensorsThatAreNotWordAligned) {
  auto c = handmade::relu_in_tiles();
  c.target.memories[1].alignment = 1;
  for (auto* offset : {&c.plan.storages[1].offset, &c.schedule.buffers[1].offset}) *offset = Bytes(42);
  c.plan.arenas[1].size = Bytes(82);
  expect_accepted(c);
}

TEST(Check, RefusalIsAFailedCheckWhenAskedFor) {
  auto c = handmade::relu_in_tiles();
  c.schedule.handles = 0;
  c.options.refusal = ErrorKind::Mismatch;
  EXPECT_EQ(c.judge().error().exit_code(), 1);
}

TEST(Check, NamesNodeOperandStepAndRange) {
  auto c = handmade::relu_in_tiles();
  get<Transfer>(c, {0, 1, 0, 0}).line = 20;
  expect_refused(c, "place", {"node 'y' (Relu)", "t=0", "'x'", "20 bytes from 0", "slot of 16"});
  c = handmade::relu_in_tiles();
  get<Transfer>(c, {0, 1, 0, 0}).near.byte = 4;
  get<Transfer>(c, {0, 1, 0, 0}).line = 8;
  expect_refused(c, "source", {"node 'y' (Relu)", "t=0", "'x'", "L2 [16, 20)", "'x' byte 16, not 'x' byte 20"});
  c = handmade::relu_in_tiles();
  get<Kernel>(c, {0, 1, 3}).inputs[0].slot = 0;
  expect_refused(c, "arrived", {"node 'y' (Relu)", "t=1", "input 0 'x'", "L1 [0, 16)", "handle 0"});
}

// Rule by rule.

TEST(CheckArrived, AWaitIsMissing) {
  auto c = handmade::relu_in_tiles();
  at(c, {0, 1, 1}) = {If{0, {}}};
  expect_refused(c, "arrived", {"t=0", "input 0 'x'"});
}

TEST(CheckReads, TheWrongTensorStandsThere) {
  auto c = handmade::matmul_in_halves();
  std::swap(get<Kernel>(c, {0, 0, 0, 4}).inputs[0], get<Kernel>(c, {0, 0, 0, 4}).inputs[1]);
  expect_refused(c, "place");
  c.schedule.buffers[4].slot_size = Bytes(48);
  c.schedule.buffers[5].offset = Bytes(96);
  c.plan.arenas[0].size = Bytes(120);
  expect_refused(c, "reads", {"input 0 'a'", "holds 'b'"});
}

TEST(CheckReads, AnOldTileStandsThere) {
  auto c = handmade::matmul_in_halves();
  get<Transfer>(c, {0, 0, 0, 0}).region.lo.back() = 0;
  get<Transfer>(c, {0, 0, 0, 0}).far.byte = 0;
  expect_refused(c, "reads", {"k=1", "input 0 'a'"});
}

TEST(CheckReduction, APartIsLeftOut) {
  auto c = handmade::matmul_in_halves();
  auto& reduction = get<Loop>(c, {0, 0, 0});
  reduction.body.insert(reduction.body.begin(), {Let{2, Expr::var(1) + 1}});
  c.schedule.training[0].variables.push_back("j");
  for (auto* lo : {&std::get<Kernel>(reduction.body[5].v).tile.lo}) lo->back() = Expr::var(2) % 2 * 4;
  for (auto i : {1u, 2u}) {
    auto& t = std::get<Transfer>(reduction.body[i].v);
    auto k = i == 1 ? 1u : 0u;
    t.region.lo[k] = Expr::var(2) % 2 * 4;
    t.far.byte = i == 1 ? t.region.lo[1] * 4 : t.region.lo[0] * 20 + t.region.lo[1] * 4;
  }
  expect_refused(c, "reduction", {"output 0 'y'"});
}

TEST(CheckCoverage, ATileIsLeftOut) {
  auto c = handmade::matmul_in_halves();
  get<Loop>(c, {0, 0}).count = 2;
  expect_refused(c, "coverage", {"12 of 15 elements"});
}

TEST(CheckCoverage, ATileIsMadeTwice) {
  auto c = handmade::relu_in_tiles();
  auto& body = get<Loop>(c, {0, 1}).body;
  body.insert(body.begin() + 3, body[3]);
  expect_refused(c, "coverage", {"element 0 is made twice"});
}

TEST(CheckInFlight, ASlotIsOverwrittenWhileItIsRead) {
  auto c = handmade::relu_in_tiles();
  for (auto* expr : {&get<Transfer>(c, {0, 1, 4}).near.slot, &get<Kernel>(c, {0, 1, 3}).outputs[0].slot}) *expr = 0;
  expect_refused(c, "in flight", {"t=1", "output 0 'y'", "handle 2"});
}

TEST(CheckInFlight, TwoTransfersMeet) {
  auto c = handmade::relu_in_tiles();
  get<Transfer>(c, {0, 1, 0, 0}).near.slot = 0;
  expect_refused(c, "in flight", {"t=0", "'x'"});
}

TEST(CheckHandle, IsUsedTwice) {
  auto c = handmade::relu_in_tiles();
  get<Transfer>(c, {0, 1, 0, 0}).handle = 0;
  expect_refused(c, "handle", {"handle 0, which still moves 'x'"});
}
TEST(CheckHandle, DoesNotExist) {
  auto c = handmade::relu_in_tiles();
  c.schedule.handles = 2;
  expect_refused(c, "handle", {"handle 2 of 2"});
}
TEST(CheckHandle, IsIdle) {
  auto c = handmade::relu_in_tiles();
  get<Wait>(c, {0, 2}).handle = 0;
  expect_refused(c, "handle", {"handle 0, which has nothing in flight"});
}
TEST(CheckHandle, IsInFlightAtTheEnd) {
  auto c = handmade::relu_in_tiles();
  c.schedule.training[0].body.pop_back();
  expect_refused(c, "handle", {"TrainingNetwork ends with handle 2"});
}

TEST(CheckEngine, Limits) {
  auto c = handmade::matmul_in_halves();
  c.target.engines[0].max_rank = 1;
  expect_refused(c, "engine", {"one line", "'a'"});
  c = handmade::matmul_in_halves();
  c.target.engines[0].max_bytes = Bytes(47);
  expect_refused(c, "engine", {"moves 47 bytes", "has 48"});
  c = handmade::matmul_in_halves();
  c.target.engines[0].max_bytes = Bytes(48);
  expect_accepted(c);
  c.target.engines[0].alignment = 8;
  expect_refused(c, "engine", {"aligned to 8"});
  c = handmade::matmul_in_halves();
  c.target.engines[0].length_alignment = 16;
  expect_refused(c, "engine", {"lengths aligned to 16"});
  c = handmade::matmul_in_halves();
  c.target.engines[0].in_flight = 1;
  expect_refused(c, "engine", {"room for 1"});
  c = handmade::matmul_in_halves();
  get<Transfer>(c, {0, 0, 0, 0}).engine = 1;
  expect_refused(c, "engine", {"L3 and L2"});
  c = handmade::matmul_in_halves();
  get<Transfer>(c, {0, 0, 0, 0}).lines = 0;
  expect_refused(c, "engine", {"0 lines"});
  c = handmade::matmul_in_halves();
  get<Transfer>(c, {0, 0, 0, 0}).far_stride = 8;
  expect_refused(c, "engine", {"8 apart"});
}

TEST(CheckRegion, TheCommandMovesSomethingElse) {
  auto c = handmade::matmul_in_halves();
  auto& fetch = get<Transfer>(c, {0, 0, 0, 1});
  fetch.far_stride = 24;
  expect_refused(c, "source", {"i=0, k=0", "'b' byte 24, not 'b' byte 20"});
  c = handmade::matmul_in_halves();
  get<Transfer>(c, {0, 0, 0, 0}).far.byte = 0;
  expect_refused(c, "source", {"k=1", "'a'", "not 'a' byte 16"});
  c = handmade::matmul_in_halves();
  get<Transfer>(c, {0, 0, 0, 0}).lines = 2;
  get<Transfer>(c, {0, 0, 0, 0}).near.byte = 32;
  expect_refused(c, "place", {"32 bytes from 32"});
}

TEST(CheckWriteBack, IsMissing) {
  auto c = handmade::matmul_in_halves();
  auto& body = get<Loop>(c, {0, 0}).body;
  body.resize(1);
  expect_refused(c, "write-back", {"'y'", "0 of 60 bytes"});
}
TEST(CheckWriteBack, HappensTwice) {
  auto c = handmade::matmul_in_halves();
  auto& body = get<Loop>(c, {0, 0}).body;
  body.push_back(body[1]);
  body.push_back(body[2]);
  expect_refused(c, "write-back", {"'y'", "twice"});
}
TEST(CheckWriteBack, GoesToTheWrongPlace) {
  auto c = handmade::matmul_in_halves();
  get<Transfer>(c, {0, 0, 1}).far.byte = 0;
  expect_refused(c, "write-back", {"i=1", "byte 8 goes home to byte 0"});
}

TEST(CheckPlace, OutsideOfItsBuffer) {
  auto c = handmade::relu_in_tiles();
  get<Kernel>(c, {0, 1, 3}).inputs[0].slot = Expr::var(0);
  expect_refused(c, "place", {"t=2", "slot 2 of 2"});
  c = handmade::relu_in_tiles();
  c.schedule.buffers[2].slot_size = Bytes(12);
  expect_refused(c, "place", {"near end", "16 bytes from 0", "slot of 12"});
  c = handmade::relu_in_tiles();
  get<Kernel>(c, {0, 1, 3}).inputs[0].buffer = {};
  expect_refused(c, "place", {"input 0 names buffer -1"});
}

TEST(CheckLifetime, OfSlots) {
  auto c = handmade::accumulate_and_update();
  c.schedule.buffers[6].life = {1, 1};
  expect_refused(c, "lifetime", {"'x_slot' lives [1, 1]", "used at 0"});
  c = handmade::accumulate_and_update();
  auto& body = c.schedule.training[0].body;
  c.schedule.training[1].body.insert(c.schedule.training[1].body.begin(), body.back());
  body.pop_back();
  expect_refused(c, "lifetime", {"handle 1 is still moving 'g'", "lives [0, 0]"});
}

TEST(CheckLifetime, OfStorages) {
  auto c = handmade::accumulate_and_update();
  c.plan.storages[5].life = c.schedule.buffers[5].life = {0, 0};
  expect_refused(c, "lifetime", {"node 'sum' at 1 touches 'g'"});
  c = handmade::accumulate_and_update();
  c.plan.storages[3].life = c.schedule.buffers[3].life = {0, 1};
  expect_refused(c, "lifetime", {"'w' is there until 2"});
  c = handmade::accumulate_and_update();
  c.plan.storages[3].persistent = false;
  expect_refused(c, "persistent", {"'w'"});
}

TEST(CheckOverlap, ThingsAliveTogether) {
  auto c = handmade::accumulate_and_update();
  c.plan.storages[5].offset = c.schedule.buffers[5].offset = c.plan.storages[3].offset;
  expect_refused(c, "overlap", {"'home_3'", "'home_5'"});
  c = handmade::accumulate_and_update();
  c.schedule.buffers[7].offset = Bytes(4);
  expect_refused(c, "overlap", {"'x_slot'", "'g_slot'"});
}

TEST(CheckAlias, SplitOrInvented) {
  auto c = handmade::accumulate_and_update();
  c.plan.storages[3].members = {c.graph.find_tensor("w")};
  c.plan.storages[5].members.push_back(c.graph.find_tensor("updated"));
  c.plan.storage_of[static_cast<size_t>(c.graph.find_tensor("updated").index)] = {5};
  expect_refused(c, "alias", {"'w' and 'updated' are the same bytes"});
  c = handmade::accumulate_and_update();
  c.plan.storages[0].members.push_back(c.graph.find_tensor("g"));
  c.plan.storages[5].members = {};
  c.plan.storage_of[static_cast<size_t>(c.graph.find_tensor("g").index)] = {0};
  c.plan.storages.pop_back();
  expect_refused(c, "home");
}

TEST(CheckAlias, SlotsOfAnInPlaceOperandDiffer) {
  auto c = handmade::accumulate_and_update();
  auto& kernel = std::get<Kernel>(std::get<Loop>(c.schedule.optimizer[0].body[2].v).body[4].v);
  kernel.outputs[0] = {{6}};
  c.schedule.buffers[6].life = {0, 2};
  expect_refused(c, "alias", {"output 0 replaces input 1"});
}

TEST(CheckKernel, ResultsLieOverOtherOperands) {
  auto c = handmade::relu_in_tiles();
  get<Kernel>(c, {0, 1, 3}).outputs[0] = get<Kernel>(c, {0, 1, 3}).inputs[0];
  expect_refused(c, "kernel", {"output 0", "lies over input 0"});
}

TEST(CheckKernel, TileLeavesTheSpace) {
  auto c = handmade::relu_in_tiles();
  get<Kernel>(c, {0, 1, 3}).tile.len[0] = 4;
  expect_refused(c, "kernel", {"t=2", "leaves the iteration space"});
  c = handmade::relu_in_tiles();
  get<Kernel>(c, {0, 1, 3}).tile.lo[0] = Expr::var(0) * 4 + 8;
  expect_refused(c, "kernel", {"leaves the iteration space"});
}

TEST(CheckCall, NumbersAreNotTheTiles) {
  auto c = handmade::matmul_in_halves();
  for (auto& field : get<Kernel>(c, {0, 0, 0, 4}).call.fields)
    if (field.name == "first") field.value = Expr(1);
  expect_refused(c, "call", {"field 'first'", "k=1"});
}

TEST(CheckArena, Budgets) {
  auto c = handmade::relu_in_tiles();
  c.plan.arenas[0].size = Bytes(4096 - 512);
  expect_accepted(c);
  c.plan.arenas[0].size = Bytes(4096 - 511);
  expect_refused(c, "arena", {"L1"});
  c = handmade::relu_in_tiles();
  c.options.budget = {Bytes(512 + 64)};
  expect_accepted(c);
  c.options.budget = {Bytes(512 + 63)};
  expect_refused(c, "arena", {"L1"});
  c = handmade::relu_in_tiles();
  c.plan.arenas[0].size = Bytes(63);
  expect_refused(c, "buffer", {"'y_slots'", "leaves its arena"});
  c = handmade::relu_in_tiles();
  c.plan.reserved[0] = Bytes(511);
  expect_refused(c, "arena", {"511 bytes reserved"});
  c = handmade::relu_in_tiles();
  c.plan.controller_stack = Bytes(240);
  expect_refused(c, "arena", {"240 bytes for the stack"});
  c = handmade::relu_in_tiles();
  c.plan.controller_stack = Bytes(272);  // more is fine where it is reserved
  expect_refused(c, "arena", {"512 bytes reserved"});
  c = handmade::relu_in_tiles();
  c.plan.stack_level = 2;
  expect_refused(c, "arena", {"no core can reach"});
}

TEST(CheckPlace, NoCoreCanReachL3) {
  auto c = handmade::relu_in_tiles();
  c.target.memories[0].addressable = false;
  c.plan.stack_level = 1;
  c.plan.reserved[1] += Bytes(512);
  expect_refused(c, "place", {"no core can reach"});
}

TEST(CheckHome, DoesNotAgreeWithThePlan) {
  auto c = handmade::relu_in_tiles();
  c.schedule.buffers[1].offset = Bytes(80);
  c.plan.arenas[1].size = Bytes(160);
  expect_refused(c, "home", {"'home_1'"});
}

TEST(CheckOrder, ASectionIsMissing) {
  auto c = handmade::accumulate_and_update();
  c.schedule.training.pop_back();
  expect_refused(c, "order", {"'sum'"});
  c = handmade::accumulate_and_update();
  std::swap(c.schedule.training[0], c.schedule.training[1]);
  expect_refused(c, "order");
}

TEST(CheckVariables, AFormulaUsesWhatHasNoValue) {
  auto c = handmade::relu_in_tiles();
  get<Wait>(c, {0, 2}).handle = Expr::var(0) + 3;
  expect_refused(c, "variables");
}

// The pieces that the walk is made of.

TEST(Stretches, OverlapLineByLine) {
  using check::overlap;
  check::Stretch left{0, 0, 4, 3, 16}, right{0, 4, 12, 3, 16}, other{1, 0, 4, 3, 16};
  EXPECT_FALSE(overlap(left, right));
  EXPECT_FALSE(overlap(right, left));
  EXPECT_FALSE(overlap(left, other));
  EXPECT_TRUE(overlap({0, 0, 5, 3, 16}, right));
  EXPECT_TRUE(overlap(right, {0, 0, 5, 3, 16}));
  EXPECT_TRUE(overlap(left, {0, 35, 1, 1, 0}));
  EXPECT_FALSE(overlap(left, {0, 36, 100, 1, 0}));
  EXPECT_FALSE(overlap({0, 20, 12, 1, 0}, left));
}

TEST(Runs, OfABox) {
  std::vector<std::pair<int64_t, int64_t>> seen;
  auto note = [&](int64_t at, int64_t n) { return seen.emplace_back(at, n), true; };
  check::for_each_run({2, 3, 4}, {{0, 1, 0}, {2, 2, 4}}, note);
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{{4, 8}, {16, 8}}));
  seen.clear();
  check::for_each_run({2, 3, 4}, {{0, 1, 1}, {2, 2, 2}}, note, 5);
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{{18, 1}, {21, 2}}));
  seen.clear();
  check::for_each_run({}, {}, note);
  EXPECT_EQ(seen, (std::vector<std::pair<int64_t, int64_t>>{{0, 1}}));
}

}  // namespace
}  // namespace tessera
