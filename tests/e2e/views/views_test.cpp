// What the program shows of runs and plans: profile, compare, fit, diff, --plot, and check by budgets.
#include <fstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Profile = Session;
using Compare = Session;
using Fit = Session;
using Diff = Session;
using Plot = Session;
using Check = Session;

const Json& find(const Json& list, const std::string& key, const std::string& value) {
  static const Json none;
  for (auto& item : list)
    if (item[key] == value) return item;
  ADD_FAILURE() << "no " << key << " " << value;
  return none;
}

TEST_F(Profile, CountsEveryOperatorAndEveryByte) {
  const auto run = json({"train", "simplemlp", "--steps", "2", "--l1", "32k"});
  const auto profile = json({"profile", "simplemlp", "--l1", "32k"});
  EXPECT_EQ(profile["bits"], run["bits"]);
  EXPECT_EQ(profile["train_cycles"], run["train_cycles"]);
  ASSERT_EQ(profile["operators"].size(), run["operators"].size());
  double last = 1e18, cycles = 0, l2_l1 = 0;
  for (auto& op : profile["operators"]) {
    EXPECT_LE(op["cycles"].get<double>(), last);
    last = op["cycles"];
    if (op["phase"] == "training") cycles += last, l2_l1 += op["dma_bytes"]["L2_L1"].get<double>();
    EXPECT_GE(op["dma_cycles"]["any"], op["dma_cycles"]["L2_L1"]);
    EXPECT_LE(op["dma_cycles"]["any"].get<double>(), op["cycles"].get<double>() + 1) << op["name"];
    EXPECT_LE(op["excess_wait_cycles"], op["dma_wait_cycles"]);
    EXPECT_NE(op["why"], "");
    EXPECT_FALSE(op["operands"].empty());
  }
  // Between the operators lies nothing but their calls.
  EXPECT_NEAR(cycles, profile["train_cycles"].get<double>(), 0.02 * cycles);
  EXPECT_EQ(l2_l1, profile["dma_bytes"]["L2_L1"].get<double>());
  EXPECT_EQ(profile["sum_by_phase"]["training"]["dma_bytes"]["L2_L1"], profile["dma_bytes"]["L2_L1"]);
}

// Without overlap, all of the DMA's time is waited for, but for what the neighbours cover.
TEST_F(Profile, SingleBuffersHideLessThanDoubleOnes) {
  const auto hidden = [&](const char* buffering) {
    return json({"profile", "simplemlp", "--l1", "32k", "--steps", "1", "--buffering", buffering})["sum"];
  };
  const auto single = hidden("single"), twice = hidden("double");
  EXPECT_LT(single["dma_hidden"].get<double>(), twice["dma_hidden"].get<double>());
  EXPECT_GT(single["excess_wait_cycles"].get<double>(), twice["excess_wait_cycles"].get<double>());
}

// From L3 too: the tile after the next is on its way, and what was made leaves under the next kernel.
TEST_F(Profile, TransfersFromFarAwayRunUnderTheKernels) {
  const auto profile = json({"profile", "dscnn", "--mode", "infer", "--home", "L3", "--l1", "64k"});
  const auto& convolution = find(profile["operators"], "name", "blocks.1.pw.conv");
  EXPECT_GT(convolution["tiles"], 4);
  EXPECT_GT(convolution["dma_hidden"].get<double>(), 0.6);
  EXPECT_GT(profile["sum"]["dma_hidden"].get<double>(), 0.6);
}

// (How much comes is in e2e/traffic.)
TEST_F(Profile, TellsWhoKeepsWhatTilesShareAndTheBitsAreTheSame) {
  for (auto* target : {"siracusa", "gap9"})
    for (auto* buffering : {"single", "double"}) {
      const auto profile = [&](const char* halos) {
        return json({"profile", "resnet8", "--target", target, "--mode", "infer", "--l1", "32k", "--buffering",
                     buffering, "--halos", halos, "--sanitize"});
      };
      const auto fetched = profile("fetch"), kept = profile("keep");
      EXPECT_EQ(kept["bits"], fetched["bits"]);
      const auto keeps = [](const nlohmann::json& profile) {
        int n = 0;
        for (auto& op : profile["operators"])
          for (auto& operand : op["operands"])
            for (auto& hop : operand["hops"]) n += hop["keeps"].get<bool>();
        return n;
      };
      EXPECT_GT(keeps(kept), 0) << target << " " << buffering;
      EXPECT_EQ(keeps(fetched), 0);
    }
}

TEST_F(Profile, TellsOfL3AndOfInference) {
  const auto profile = json({"profile", "simplemlp", "--mode", "infer", "--home", "L3"});
  EXPECT_GT(profile["sum"]["dma_bytes"]["L3_L2"], 0);
  bool busy = false;
  for (auto& op : profile["operators"]) busy = busy || op["dma_cycles"]["L3_L2"] > 0;
  EXPECT_TRUE(busy);
  const auto text = tessera({"profile", "simplemlp", "--steps", "1", "--top", "3"});
  EXPECT_NE(text.out.find(" others"), std::string::npos);
  EXPECT_NE(text.err, "") << "progress";
}

TEST_F(Compare, HasARowForEveryCellWithTheSameBits) {
  const auto all = json({"compare", "mlp:40-30-10", "--targets", "siracusa", "--l1", "16k,own", "--steps", "1"});
  ASSERT_EQ(all["rows"].size(), 8u);
  EXPECT_EQ(all["bad"], 0);
  for (auto& row : all["rows"]) {
    EXPECT_EQ(row["status"], "ok") << row["reason"];
    EXPECT_EQ(row["same_bits"], true);
    EXPECT_EQ(row["bits"], all["reference_bits"][row["model"].get<std::string>()]);
    EXPECT_GT(row["train_cycles"], 0);
    EXPECT_GT(row["speedup_over_untiled"], 0);
    EXPECT_FALSE(row["tiles_by_operator"].empty());
  }
  EXPECT_EQ(find(all["rows"], "mode", "single")["speedup_over_single"], 1);
  EXPECT_EQ(find(all["rows"], "mode", "untiled")["speedup_over_untiled"], 1);
}

TEST_F(Compare, GoesOnWhereACellDoesNotFitOrIsRefused) {
  const auto ran = tessera(
      {"compare", "simplemlp", "--targets", "siracusa", "--l1", "64,64k,4G", "--modes", "auto", "--steps", "1"});
  EXPECT_EQ(std::count(ran.out.begin(), ran.out.end(), '\n'), 5) << ran.out;
  EXPECT_NE(ran.out.find("does not fit: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("refused: "), std::string::npos) << ran.out;
  EXPECT_NE(ran.out.find("| same |"), std::string::npos) << ran.out;
  EXPECT_NE(ran.err.find("[3/3]"), std::string::npos) << "progress";
}

// A small part of bench/matrix.py: all ways on both chips, with every access looked at.
TEST_F(Compare, AllWaysOnBothChipsHaveTheBitsOfTheHost) {
  for (auto& [home, modes] : {std::pair{"auto", "untiled,single,double,auto"}, std::pair{"L3", "auto"}}) {
    const auto all = json({"compare", "mlp:96-64-10", "--l1", "32k", "--home", home, "--modes", modes, "--sanitize"});
    EXPECT_GE(all["rows"].size(), 2u);
    for (auto& row : all["rows"]) EXPECT_EQ(row["status"], "ok") << row["target"] << row["mode"] << row["reason"];
  }
}

TEST_F(Plot, DrawsTheMemoriesOfATrainingStep) {
  tessera({"compile", "simplemlp", "--plot", "map.svg", "-o", "out"});
  const auto svg = read_text(folder.path() / "map.svg");
  for (auto* part : {"<svg ", "L1: ", "L2: ", "peak ", "fc1.weight", "<title>"})
    EXPECT_NE(svg.find(part), std::string::npos) << part;
  tessera({"train", "simplemlp", "--engine", "host", "--steps", "1", "--plot", "other.svg"});
  EXPECT_EQ(svg, read_text(folder.path() / "other.svg"));
}

TEST_F(Fit, FindsTheSmallestMemoriesAndTheyWork) {
  const auto fit = json({"fit", "simplemlp", "--l3", "0", "--points", "3"});
  EXPECT_EQ(fit["fits"], true);
  for (auto* level : {"L1", "L2"}) {
    const auto option = std::string(level) == "L1" ? "--l1" : "--l2";
    const int64_t smallest = fit[level]["smallest"];
    tessera({"compile", "simplemlp", "--l3", "0", option, std::to_string(smallest), "-o", std::string("ok") + level});
    const int64_t less = std::string(level) == "L1" ? smallest - 1 : smallest - 1024;  // L2 is known to some hundreds
    tessera({"compile", "simplemlp", "--l3", "0", option, std::to_string(less), "-o", "no"}, 3);
    const auto& curve = fit[level]["curve"];
    ASSERT_EQ(curve.size(), 3u);
    EXPECT_EQ(curve[0]["budget"], smallest);
    EXPECT_GE(curve[0]["estimate_cycles"], curve[2]["estimate_cycles"]);
    EXPECT_GE(fit[level]["arena"]["bytes"], fit[level]["arena"]["lower_bound"]);
    int64_t alive = 0;
    for (auto& one : fit[level]["peak"]["alive"]) alive += one["bytes"].get<int64_t>();
    EXPECT_LE(alive, fit[level]["arena"]["bytes"].get<int64_t>());
    EXPECT_GT(alive, 0);
  }
}

TEST_F(Fit, SaysHowMuchIsMissing) {
  const auto fit = json({"fit", "mlp:1000-300-10", "--l3", "0", "--points", "1"}, 3);
  EXPECT_EQ(fit["fits"], false);
  EXPECT_NE(fit["blocked"], "");
  const int64_t missing = fit["L2"]["missing"];
  EXPECT_GT(missing, 0);
  // Code and stacks stand beside the budget.
  EXPECT_EQ(missing, fit["L2"]["smallest"].get<int64_t>() + fit["L2"]["reserved"].get<int64_t>() -
                         fit["L2"]["memory"].get<int64_t>());
}

TEST_F(Diff, BetweenEnginesTilingsAndHomesTheSameOperatorsMakeTheSameBits) {
  tessera({"train", "simplemlp", "--steps", "2", "--record", "-o", "sim", "--l1", "16k"});
  tessera({"train", "simplemlp", "--steps", "2", "--record", "-o", "host", "--engine", "host", "--tiling", "off"});
  tessera({"train", "simplemlp", "--steps", "2", "--record", "-o", "far", "--home", "L3", "--buffering", "double"});
  for (auto* other : {"host", "far"}) {
    const auto d = json({"diff", "sim", other});
    EXPECT_EQ(d["same_bits"], true) << d["first_difference"];
    EXPECT_EQ(d["same_results"], true);
    EXPECT_EQ(d["outputs_unseen"], 0);
    EXPECT_GT(d["outputs_compared"], 30);
    bool changed = false;
    for (auto& op : d["operators"]) changed = changed || op["same_plan"] == false;
    EXPECT_TRUE(changed);
  }
}

TEST_F(Diff, NamesTheFirstOperatorThatDiffers) {
  tessera({"train", "simplemlp", "--steps", "2", "--record", "-o", "a", "--engine", "host"});
  // Other samples: the first operator that reads them.
  tessera({"train", "simplemlp", "--steps", "2", "--record", "-o", "b", "--engine", "host", "--seed", "9"});
  const auto first = json({"diff", "a", "b"}, 1)["first_difference"];
  EXPECT_EQ(first["phase"], "training");
  EXPECT_EQ(first["run"], 0);
  // Another learning rate: the first update, and all of the first micro-batch is the same.
  tessera({"train", "simplemlp", "--steps", "2", "--record", "-o", "c", "--engine", "host", "--lr", "0.02"});
  const auto update = json({"diff", "a", "c"}, 1)["first_difference"];
  EXPECT_EQ(update["phase"], "optimizer");
  EXPECT_EQ(update["run"], 0);
  EXPECT_NE(tessera({"diff", "a", "c"}, 1).out.find("first difference: "), std::string::npos);
}

TEST_F(Diff, ComparesPlansWithoutARun) {
  tessera({"compile", "simplemlp", "--l1", "16k", "-o", "small"});
  tessera({"compile", "simplemlp", "-o", "large"});
  const auto ran = tessera({"diff", "small", "large"});
  EXPECT_NE(ran.out.find("differ in plan or cycles"), std::string::npos);
  EXPECT_NE(ran.err.find("--record"), std::string::npos);
  EXPECT_NE(tessera({"diff", "small", "small"}).out.find("plans and cycles are the same"), std::string::npos);
}

// The budgets of a directory are part of it: what no longer keeps within them is refused, though the chip has more.
TEST_F(Check, JudgesByTheBudgetsThatItWasCompiledFor) {
  tessera({"compile", "simplemlp", "--l1", "32k", "-o", "out"});
  tessera({"check", "out"});
  const auto path = folder.path() / "out/schedule.json";
  auto manifest = Json::parse(read_text(path));
  EXPECT_EQ(manifest["harness"]["budget"][0], 32 * 1024);
  manifest["harness"]["budget"][0] = 1024;
  std::ofstream(path) << manifest.dump() << "\n";
  const auto ran = tessera({"check", "out"}, 1);
  EXPECT_NE(ran.err.find("1024"), std::string::npos) << ran.err;
}

}  // namespace
}  // namespace tessera::test
