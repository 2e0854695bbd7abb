// Where regimes change, exactly; compositions against whole runs; what the sweep says.
#include "accel/regimes.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "accel/regime_sizes.hpp"
#include "support/expect_error.hpp"
#include "target/target.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;
using Json = nlohmann::json;

target::Board board(const std::string& name) {
  return target::load_board(name, std::string(TESSERA_ROOT) + "/targets").value();
}

MachineConfig machine_on(const target::Board& b, const Model& model) {
  auto m = machine_for(b, model, {}).value();
  m.weights = *find_format(b.weight_type), m.kv = *find_format(b.kv_type);
  return m;
}

// What `auto` takes for the program that the compiler makes for one more token.
MemoryModelKind regime_of_program(const Model& model, const MachineConfig& machine, int64_t context,
                                  uint64_t capacity) {
  const auto program = compile_decoder(model, machine, {.past = context - 1, .tokens = 1, .context = context}).value();
  return set_up_memory(
             {.kind = Auto, .regions = program.regions(), .ddr_capacity = capacity, .host_bandwidth = 1'000'000'000})
      ->kind;
}

TEST(Boundary, SmolLmIn192MChangesNear3800Tokens) {
  const auto model = *find_model("SmolLM2-135M");
  const auto machine = machine_on(board("custom_a7"), model);
  const auto capacity = uint64_t{192} << 20;
  const auto last = longest_context(model, machine, capacity);
  ASSERT_TRUE(last && *last);
  EXPECT_NEAR(static_cast<double>(**last), 3800, 120);
  EXPECT_EQ(regime_of_program(model, machine, **last, capacity), Resident);
  EXPECT_EQ(regime_of_program(model, machine, **last + 1, capacity), KvSwap);
}

TEST(Boundary, IsExactForAnyCapacity) {
  const auto model = *find_model("clm-60m");
  const auto machine = machine_on(board("nexys_video"), model);
  for (uint64_t capacity : {uint64_t{24'000'000}, uint64_t{24'000'001}, uint64_t{31'415'926}, uint64_t{50} << 20}) {
    const auto last = longest_context(model, machine, capacity);
    ASSERT_TRUE(last && *last) << capacity;
    EXPECT_EQ(regime_of_program(model, machine, **last, capacity), Resident) << capacity;
    EXPECT_EQ(regime_of_program(model, machine, **last + 1, capacity), KvSwap) << capacity;
    // At exact equality everything still fits; a byte less, and it does not.
    const auto need = bytes_at(model, machine, **last)->total();
    EXPECT_EQ(**longest_context(model, machine, need), **last);
    EXPECT_LT(**longest_context(model, machine, need - 1), **last);
  }
  EXPECT_FALSE(*longest_context(model, machine, 1000));  // not even one token
}

TEST(Boundary, SizesOfThePresets) {
  const auto model = *find_model("SmolLM2-135M");
  const auto bytes = bytes_at(model, machine_on(board("custom_a7"), model), 64);
  ASSERT_TRUE(bytes);
  // 30 layers and the head at 1.125 bytes an element, and the gains.
  const double elements = 30.0 * static_cast<double>(model.layer_parameters()) + 49152.0 * 576;
  EXPECT_NEAR(static_cast<double>(bytes->weight), elements * 1.125, 1e5);
  EXPECT_EQ(bytes->kv, 64u * 12'960);
}

// A board, a model, and a link that is so many times as fast as the board's.
class Composition : public testing::TestWithParam<std::tuple<const char*, const char*, int>> {};

TEST_P(Composition, IsWithinTwoPercentOfWholeRuns) {
  const auto [on, name, faster] = GetParam();
  const auto b = board(on);
  const auto model = *find_model(name);
  MemoryOptions link{.kind = WeightStream, .board = b};
  link.host_bandwidth = faster * (b.link ? b.link->bytes_per_second : 2'000'000'000);
  const auto checks = check_composition(model, machine_on(b, model), b, set_up_memory(link)->link);
  ASSERT_TRUE(checks) << checks.error().text();
  EXPECT_EQ(checks->size(),
            model.causal ? 15u : 10u);  // each regime, with room for the cache and without; prompts, blocks, tokens
  for (auto& c : *checks)
    EXPECT_LT(std::abs(c.error()), 0.02) << c.what << ": " << c.composed << " for " << c.simulated;
}

INSTANTIATE_TEST_SUITE_P(Boards, Composition,
                         testing::Combine(testing::Values("nexys_video", "custom_a7", "v80"),
                                          testing::Values("clm-60m", "SmolLM2-135M", "llada-8b"), testing::Values(1)));
// Where link and compute are about the same, and where latency is most of what a link costs.
INSTANTIATE_TEST_SUITE_P(Links, Composition,
                         testing::Combine(testing::Values("nexys_video"), testing::Values("SmolLM2-135M"),
                                          testing::Values(4, 10, 20, 60, 120, 800)));

// What goes back when the wire has nothing else to do is waited for at the end alone; in the way of weights, at once.
TEST(WriteBacks, WaitForTheWire) {
  PromptTimes prompt{.layers = std::vector<PromptTimes::Layer>(4, {10, 5}), .link_rate = 1, .host_waits = true};
  EXPECT_DOUBLE_EQ(prompt.end({}), 40);
  EXPECT_DOUBLE_EQ(prompt.end(std::vector<WriteBack>{{0, 30}}), 40);           // asked for at 5, through at 35
  EXPECT_DOUBLE_EQ(prompt.end(std::vector<WriteBack>{{2, 10}, {3, 10}}), 45);  // the second one at 35
  EXPECT_DOUBLE_EQ(prompt.end(std::vector<WriteBack>{{2, 15}, {3, 10}}), 50);  // it waits for the first
  EXPECT_DOUBLE_EQ(prompt.end(std::vector<WriteBack>{{4, 7}}), 47);            // for the results' sake
  prompt.host_waits = false;
  EXPECT_DOUBLE_EQ(prompt.end(std::vector<WriteBack>{{3, 100}}), 40);
  prompt.weights = 10;  // as long as a layer: no time is left on the wire
  EXPECT_DOUBLE_EQ(prompt.end({}), 40);
  EXPECT_DOUBLE_EQ(prompt.end(std::vector<WriteBack>{{0, 3}, {2, 4}}), 47);
  prompt.weights = 5;
  EXPECT_DOUBLE_EQ(prompt.end(std::vector<WriteBack>{{0, 3}, {2, 4}}), 40);
}

// Few layers, so that a sweep takes no time.
RegimesOptions small_sweep() {
  auto model = *find_model("clm-60m");
  model.layers = 2, model.vocabulary = 512;
  return {.model = model, .boards = {board("custom_a7")}, .contexts = {128, 256}, .check = false};
}

TEST(Sweep, EveryRegimeAtEveryContext) {
  auto options = small_sweep();
  const auto sweep = sweep_regimes(options);
  ASSERT_TRUE(sweep) << sweep.error().text();
  const auto& b = sweep->boards.at(0);
  ASSERT_EQ(b.points.size(), 6u);
  for (size_t k = 0; k < 2; ++k) {
    const auto *resident = &b.points[3 * k], *swap = resident + 1, *stream = resident + 2;
    EXPECT_TRUE(resident->chosen);
    EXPECT_LE(resident->token->seconds, swap->token->seconds);
    EXPECT_LE(swap->token->seconds, stream->token->seconds * 1.0001);
    EXPECT_LE(resident->first_token.seconds, stream->first_token.seconds);
    EXPECT_FALSE(resident->joules);  // the board's file gives no power
  }
  EXPECT_GT(b.points[3].first_token.seconds, b.points[0].first_token.seconds);
  // On one thread it is the same.
  options.threads = 1;
  EXPECT_EQ(regimes_json(*sweep), regimes_json(*sweep_regimes(options)));
}

TEST(Sweep, ALinkTwiceAsFastHelpsWhereTheLinkBounds) {
  auto options = small_sweep();
  options.links = {{"slow", {.bytes_per_second = 10'000'000}}, {"twice", {.bytes_per_second = 20'000'000}}};
  const auto sweep = sweep_regimes(options);
  ASSERT_TRUE(sweep) << sweep.error().text();
  ASSERT_EQ(sweep->boards.size(), 2u);
  const auto &slow = sweep->boards[0].points[2], &twice = sweep->boards[1].points[2];
  EXPECT_EQ(slow.regime, WeightStream);
  EXPECT_EQ(slow.bound, "link");
  EXPECT_NEAR(slow.token->seconds / twice.token->seconds, 2, 0.1);
  // With as much link as it says is enough, the machine bounds.
  options.links = {{"enough", {.bytes_per_second = static_cast<int64_t>(*slow.enough_link * 1.5)}}};
  const auto better = sweep_regimes(options);
  EXPECT_EQ(better->boards[0].points[2].bound, "compute");
}

TEST(Sweep, CapacitiesChooseTheRegime) {
  auto options = small_sweep();
  const auto need = bytes_at(options.model, machine_on(board("custom_a7"), options.model), 128);
  for (auto [capacity, first] : std::vector<std::pair<uint64_t, MemoryModelKind>>{{need->total(), Resident},
                                                                                  {need->total() - 1, KvSwap},
                                                                                  {need->weight, KvSwap},
                                                                                  {need->weight - 1, WeightStream}}) {
    options.ddr_capacity = capacity;
    const auto sweep = sweep_regimes(options);
    ASSERT_TRUE(sweep);
    EXPECT_EQ(sweep->boards[0].needs[0].regime, first);
    EXPECT_EQ(sweep->boards[0].capacity_source, "--ddr-capacity");
    EXPECT_EQ(sweep->boards[0].weights_fit, first != WeightStream);
  }
}

TEST(Sweep, ABoardWithoutALinkHasTheResidentRegimeAndItsEnergy) {
  auto options = small_sweep();
  options.boards = {board("v80")};
  const auto sweep = sweep_regimes(options);
  ASSERT_TRUE(sweep) << sweep.error().text();
  ASSERT_EQ(sweep->boards[0].points.size(), 2u);
  const auto& p = sweep->boards[0].points[0];
  EXPECT_NEAR(*p.joules, 190 * p.token->seconds, 1e-9);
}

TEST(Sweep, ABidirectionalModelHasStepsAndNoTokens) {
  auto options = small_sweep();
  options.model.causal = false;
  const auto sweep = sweep_regimes(options);
  ASSERT_TRUE(sweep) << sweep.error().text();
  EXPECT_FALSE(sweep->boards[0].points[0].token);
  EXPECT_NE(regimes_table(*sweep).find(" - "), std::string::npos);
}

TEST(Sweep, JsonTableAndPicture) {
  auto options = small_sweep();
  options.check = true;
  const auto sweep = sweep_regimes(options);
  ASSERT_TRUE(sweep);
  const auto json = Json::parse(regimes_json(*sweep));
  const auto& b = json["boards"][0];
  EXPECT_EQ(b["points"].size(), 6u);
  EXPECT_EQ(b["changes"][0]["context"], b["resident_up_to"].get<int64_t>() + 1);
  EXPECT_LT(b["composition"]["largest_error"].get<double>(), 0.02);
  const auto table = regimes_table(*sweep);
  for (auto* part : {"resident up to ", "kv-swap", "weight-stream", "tokens/s", "% off at most"})
    EXPECT_NE(table.find(part), std::string::npos) << part;
  const auto svg = regimes_svg(*sweep);
  EXPECT_TRUE(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  for (auto* part : {"tokens a second", "seconds to the first token", "tokens of context", "what auto takes"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
}

// Every entry of the legend ends before the picture does, and contexts that lie side by side have one number.
TEST(Sweep, NothingInThePictureIsCutOffOrOverlaps) {
  auto options = small_sweep();
  options.contexts = {128, 129, 256};
  options.links = {{"a_link_with_a_long_name", {.bytes_per_second = 10'000'000}}};
  const auto svg = regimes_svg(*sweep_regimes(options));
  const double width = std::stod(svg.substr(svg.find("width=\"") + 7));
  const auto entry = svg.find(">custom_a7 a_link_with_a_long_name, weight-stream<");
  ASSERT_NE(entry, std::string::npos);
  const double x = std::stod(svg.substr(svg.rfind("x=\"", entry) + 3));
  EXPECT_LT(x + 6.5 * 48, width);
  EXPECT_NE(svg.find(">128<"), std::string::npos);
  EXPECT_EQ(svg.find(">129<"), std::string::npos);
}

TEST(Contexts, AsTyped) {
  EXPECT_EQ(*parse_contexts("128:8192"), (std::vector<int64_t>{128, 256, 512, 1024, 2048, 4096, 8192}));
  EXPECT_EQ(*parse_contexts("100:300"), (std::vector<int64_t>{100, 200, 300}));
  EXPECT_EQ(*parse_contexts("300,100,100"), (std::vector<int64_t>{100, 300}));
  EXPECT_EQ(*parse_contexts("7"), std::vector<int64_t>{7});
  for (auto* text : {"", "0", "8:4", "x", "1:", "-3", "99999999999999999999"})
    test::expect_error(parse_contexts(text), {"--context"});
}

}  // namespace
}  // namespace tessera::accel
