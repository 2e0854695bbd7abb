#include "emit/statements.hpp"

#include <gtest/gtest.h>

#include "emit/names.hpp"

namespace tessera::emit {
namespace {

using schedule::Block;
using schedule::If;
using schedule::Kernel;
using schedule::Let;
using schedule::Loop;
using schedule::Place;
using schedule::Section;
using schedule::Step;
using schedule::Transfer;
using schedule::Wait;

// Two memories and a RAM behind them, with an engine between each two.
target::Target small_target() {
  target::Target target;
  target.memories = {{.level = "L1"}, {.level = "L2"}, {.level = "L3", .addressable = false}};
  target.engines = {{.name = "dma", .far = "L2", .near = "L1"}, {.name = "ram", .far = "L3", .near = "L2"}};
  return target;
}

struct Fixture {
  target::Target target = small_target();
  schedule::Schedule schedule;
  std::vector<std::string> names = {"L2_x", "L1_x", "L3_w"};
  Graph graph;

  Fixture() {
    schedule.buffers = {{.name = "x", .level = 1, .slot_size = Bytes(4096)},
                        {.name = "x_slots", .level = 0, .slot_size = Bytes(512), .slots = 2},
                        {.name = "w", .level = 2, .slot_size = Bytes(4096)}};
    schedule.handles = 4;
  }
  std::string text(Section section) {
    schedule.training = {section};
    auto engines = engines_of_handles(schedule, target);
    if (!engines) return engines.error().text();
    std::string all;
    for (const auto& line : text_of(statements(section, {schedule, target, *engines, names}))) all += line + "\n";
    return all;
  }
};

Transfer fetch(const Expr& slot, const Expr& byte, const Expr& handle) {
  return {.far = {{0}, 0, byte}, .near = {{1}, slot, 0}, .line = 512, .handle = handle};
}

// x and y at one place of the slots, and more.
Kernel relu(const Expr& slot, std::vector<ops::KernelCall::Field> more) {
  Kernel kernel{.inputs = {{{1}, slot, 0}}, .outputs = {{{1}, slot, 0}}};
  kernel.call = {"ts_relu",
                 "unary",
                 {{"x", ops::OperandRef{ops::OperandRef::Kind::Input, 0}},
                  {"y", ops::OperandRef{ops::OperandRef::Kind::Output, 0}}}};
  kernel.call.fields.insert(kernel.call.fields.end(), more.begin(), more.end());
  return kernel;
}

TEST(Statements, NoLineEndsInABlank) {
  const auto lines = wrapped({1, "args.x = ", {std::string(115, 'x')}, ";"});
  EXPECT_EQ(lines, (std::vector<std::string>{"  args.x =", "      " + std::string(115, 'x') + ";"}));
}

TEST(Statements, WhatATileKeepsIsACall) {
  schedule::Keep keep{.from = {{1}, Expr::var(0) % 2, 128}, .to = {{1}, (Expr::var(0) + 1) % 2, 0}};
  keep.row = 64, keep.rows = 2, keep.lines = 3, keep.from_stride = 256, keep.to_stride = 192;
  Section section{.variables = {"t"}};
  section.body = {{Loop{0, 4, {{keep}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  struct ts_keep_args args = {.row = 64, .rows = 2, .lines = 3, .from_stride = 256, .to_stride = 192};\n"
            "  for (int32_t t = 0; t < 4; ++t) {\n"
            "    args.x = l1(L1_x + t % 2 * 512 + 128); args.y = l1(L1_x + (t + 1) % 2 * 512);\n"
            "    pi_cl_team_fork(TS_CORES, ts_keep, &args);\n"
            "  }\n");
}

TEST(Statements, ATileIsPutTogetherByACall) {
  const Expr t = Expr::var(0);
  const schedule::Place tile{{1}, t / 4 % 2, 0}, came{{1}, (t + 3) / 4 % 2, 0};
  schedule::PutTogether put{{.from = tile, .to = tile}, {.from = came, .to = tile}};
  put.kept.from.byte = 128, put.rest.to.byte = 128;
  put.kept.row = put.rest.row = 64, put.kept.lines = put.rest.lines = 3;
  put.kept.rows = 2, put.rest.rows = 4 - t, put.kept.from_stride = 256;
  Section section{.variables = {"t"}};
  section.body = {{Loop{0, 4, {{put}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  struct ts_put_together_args args = {.row = 64, .kept = 2, .lines = 3, .from_stride = 256};\n"
            "  for (int32_t t = 0; t < 4; ++t) {\n"
            "    args.x = l1(L1_x + t / 4 % 2 * 512 + 128); args.y = l1(L1_x + t / 4 % 2 * 512);\n"
            "    args.came = l1(L1_x + (t + 3) / 4 % 2 * 512); args.rest = 4 - t;\n"
            "    pi_cl_team_fork(TS_CORES, ts_put_together, &args);\n"
            "  }\n");
}

TEST(Statements, ADoubleBufferedLoopReadsAsWritten) {
  auto t = Expr::var(0);
  Section section{{},
                  {"t"},
                  {Step{fetch(0, 0, 0)},
                   Step{Loop{0,
                             8,
                             {Step{If{less(t + 1, 8), {Step{fetch((t + 1) % 2, (t + 1) * 512, (t + 1) % 2)}}}},
                              Step{Wait{t % 2}}, Step{relu(t % 2, {{"n", Expr(128)}})}}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  fetch(L2_x, L1_x, 512, 0);\n"
            "  struct ts_relu_args args = {.n = 128};\n"
            "  for (int32_t t = 0; t < 8; ++t) {\n"
            "    if (t + 1 < 8) fetch(L2_x + (t + 1) * 512, L1_x + (t + 1) % 2 * 512, 512, (t + 1) % 2);\n"
            "    args.x = l1(L1_x + t % 2 * 512); args.y = l1(L1_x + t % 2 * 512);\n"
            "    done(t % 2);\n"
            "    pi_cl_team_fork(TS_CORES, ts_relu, &args);\n"
            "  }\n");
}

TEST(Statements, ArgumentsAreToldAheadOfTheWaits) {
  Section section{{}, {}, {Step{fetch(0, 0, 0)}, Step{Wait{0}}, Step{relu(0, {{"n", Expr(128)}})}}};
  EXPECT_EQ(Fixture().text(section),
            "  fetch(L2_x, L1_x, 512, 0);\n"
            "  struct ts_relu_args args = {.x = l1(L1_x), .y = l1(L1_x), .n = 128};\n"
            "  done(0);\n"
            "  pi_cl_team_fork(TS_CORES, ts_relu, &args);\n");
}

TEST(Statements, OfAListWhatVariesIsToldInEachRound) {
  auto t = Expr::var(0), y = Expr::var(1);
  Section section{{},
                  {"t", "y"},
                  {Step{Loop{0,
                             8,
                             {Step{Let{1, t * 4}}, Step{Wait{t % 2}},
                              Step{relu(0, {{"size", std::vector<Expr>{1, min(y, 9), 32}}, {"first", y}})}}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  struct ts_relu_args args = {.x = l1(L1_x), .y = l1(L1_x), .size = {1, 0, 32}};\n"
            "  for (int32_t t = 0; t < 8; ++t) {\n"
            "    const int32_t y = t * 4;\n"
            "    args.size[1] = ts_min(y, 9); args.first = y;\n"
            "    done(t % 2);\n"
            "    pi_cl_team_fork(TS_CORES, ts_relu, &args);\n"
            "  }\n");
}

// What no round changes of one is not what no round changes of the other, and a structure of zeros is one.
TEST(Statements, EachCallHasItsArguments) {
  auto t = Expr::var(0);
  Kernel nothing;
  nothing.call = {"ts_zero", "unary", {{"n", t}}};
  auto loop = Step{Loop{0, 2, {Step{nothing}}}};
  EXPECT_EQ(Fixture().text({{}, {"t"}, {loop, loop}}),
            "  struct ts_zero_args args = {0};\n"
            "  for (int32_t t = 0; t < 2; ++t) {\n"
            "    args.n = t;\n"
            "    pi_cl_team_fork(TS_CORES, ts_zero, &args);\n"
            "  }\n"
            "  struct ts_zero_args args_2 = {0};\n"
            "  for (int32_t t = 0; t < 2; ++t) {\n"
            "    args_2.n = t;\n"
            "    pi_cl_team_fork(TS_CORES, ts_zero, &args_2);\n"
            "  }\n");
}

TEST(Statements, LinesAtAStrideAreATwoDimensionalTransfer) {
  auto transfer = fetch(0, 0, 1);
  transfer.direction = Transfer::Direction::Out;
  transfer.lines = 4;
  transfer.line = 128;
  transfer.far_stride = 1024;
  EXPECT_EQ(Fixture().text({{}, {}, {Step{transfer}, Step{Wait{1}}}}),
            "  send_2d(L2_x, L1_x, 512, 1024, 128, 1);\n"
            "  done(1);\n");
}

TEST(Statements, TheExternalRamHasItsOwnRequests) {
  Transfer transfer{.engine = 1, .far = {{2}, 0, 64}, .near = {{0}, 0, 0}, .line = 256, .handle = 2};
  EXPECT_EQ(Fixture().text({{}, {}, {Step{transfer}, Step{Wait{2}}}}),
            "  ram_fetch(L3_w + 64, L2_x, 256, 2);\n"
            "  ram_done(2);\n");
}

TEST(Statements, ATransferStandsBesideTheWaitsBeforeIt) {
  EXPECT_EQ(Fixture().text({{}, {}, {Step{Wait{0}}, Step{Wait{1}}, Step{fetch(0, 0, 0)}, Step{fetch(1, 512, 1)}}}),
            "  done(0); done(1); fetch(L2_x, L1_x, 512, 0);\n"
            "  fetch(L2_x + 512, L1_x + 512, 512, 1);\n");
}

TEST(Statements, AHandleOfTwoKindsOfEnginesIsRefused) {
  Transfer ram{.engine = 1, .far = {{2}, 0, 0}, .near = {{0}, 0, 0}, .line = 256, .handle = 2};
  EXPECT_EQ(Fixture().text({{}, {}, {Step{ram}, Step{fetch(0, 0, 2)}}}), "handle 2 serves two kinds of engines");
}

TEST(Statements, WhatIsKnownIsNotComputed) {
  auto t = Expr::var(0), m = Expr::var(1);
  Section section{{},
                  {"t", "m"},
                  {Step{Loop{0,
                             1,
                             {Step{Let{1, t / 4}}, Step{If{less(t + 1, 1), {Step{fetch(0, 0, 3)}}}},
                              Step{If{equal(t, 0), {Step{fetch(m, m * 4, 0)}}}}}}}}};
  EXPECT_EQ(Fixture().text(section), "  fetch(L2_x, L1_x, 512, 0);\n");
}

TEST(Statements, WhatCanNeverBeIsNotAsked) {
  auto t = Expr::var(0);
  Section section{{},
                  {"t"},
                  {Step{Loop{0,
                             4,
                             {Step{If{equal(t + 1, 0), {Step{Wait{1}}}}}, Step{If{less(t, 4), {Step{Wait{2}}}}},
                              Step{If{both(less(t, 3), less(t, 9)), {Step{Wait{0}}}}}}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  for (int32_t t = 0; t < 4; ++t) {\n"
            "    done(2);\n"
            "    if (t < 3 && t < 9) done(0);\n"
            "  }\n");
}

TEST(Statements, ANameThatNobodyReadsIsNotDeclared) {
  auto t = Expr::var(0);
  Section section{{},
                  {"t", "a", "b", "c"},
                  {Step{Loop{0,
                             4,
                             {Step{Let{1, t * 2}}, Step{Let{2, Expr::var(1) + 1}}, Step{Let{3, t * 512}},
                              Step{fetch(0, Expr::var(3), 0)}, Step{Wait{0}}}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  for (int32_t t = 0; t < 4; ++t) {\n"
            "    const int32_t c = t * 512;\n"
            "    fetch(L2_x + c, L1_x, 512, 0);\n"
            "    done(0);\n"
            "  }\n");
}

TEST(Statements, NamesThatMeanSomethingElseAreNotShadowed) {
  auto outer = Expr::var(0), inner = Expr::var(1), keyword = Expr::var(2);
  Section section{{},
                  {"t", "t", "for"},
                  {Step{Loop{0, 2, {Step{Loop{1, 3, {Step{fetch(0, outer * 8 + inner * 4, 0)}, Step{Wait{0}}}}}}}},
                   Step{Loop{2, 2, {Step{Wait{keyword}}}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  for (int32_t t = 0; t < 2; ++t) {\n"
            "    for (int32_t t_2 = 0; t_2 < 3; ++t_2) {\n"
            "      fetch(L2_x + t * 8 + t_2 * 4, L1_x, 512, 0);\n"
            "      done(0);\n"
            "    }\n"
            "  }\n"
            "  for (int32_t for_2 = 0; for_2 < 2; ++for_2) done(for_2);\n");
}

TEST(Statements, BranchesUnderOneConditionAreOneAndNameAValueOnce) {
  auto t = Expr::var(0), a = Expr::var(1), b = Expr::var(2);
  Section section{{},
                  {"t", "next", "next"},
                  {Step{Loop{0,
                             4,
                             {Step{If{less(t + 1, 4), {Step{Let{1, (t + 1) * 512}}, Step{fetch(0, a, 0)}}}},
                              Step{If{less(t + 1, 4), {Step{Let{2, (t + 1) * 512}}, Step{fetch(0, b, 1)}}}},
                              Step{Wait{0}}, Step{Wait{1}}}}}}};
  EXPECT_EQ(Fixture().text(section),
            "  for (int32_t t = 0; t < 4; ++t) {\n"
            "    if (t + 1 < 4) {\n"
            "      const int32_t next = (t + 1) * 512;\n"
            "      fetch(L2_x + next, L1_x, 512, 0);\n"
            "      fetch(L2_x + next, L1_x, 512, 1);\n"
            "    }\n"
            "    done(0); done(1);\n"
            "  }\n");
}

TEST(Statements, ARangeCoversEveryValue) {
  std::vector<Range> variables = {{0, 6}, {2, 3}};
  auto t = Expr::var(0), u = Expr::var(1);
  for (const Expr& e : {t * u - 4, t % 4 + 1, min(t, u) / 2, max(t - u, 0), (t + u) / u, less(t, 3) * 5, t % 9}) {
    auto range = range_of(e, variables);
    for (int64_t a = 0; a <= 6; ++a)
      for (int64_t b = 2; b <= 3; ++b) {
        int64_t values[] = {a, b};
        EXPECT_GE(e.eval(values), range.low);
        EXPECT_LE(e.eval(values), range.high);
      }
  }
}

}  // namespace
}  // namespace tessera::emit
