// PLENA's layout to the byte, goldens of hbm, and what no option may change.
#include <fstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

using Accel = Session;

const std::vector<std::string> kPlena = {"clm-60m",   "--layers", "1",   "--no-head", "--layout", "plena",  "--sram",
                                         "unlimited", "--mlen",   "256", "--blen",    "64",       "--hlen", "64"};

std::vector<std::string> with(std::vector<std::string> a, std::vector<std::string> b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
std::vector<std::string> run_plena(std::vector<std::string> more) {
  return with(with({"accel", "run"}, kPlena), std::move(more));
}

TEST_F(Accel, PlenasRegionsLieWherePlenaPutsThem) {
  tessera(with(with({"accel", "compile"}, kPlena), {"-o", "out"}));
  const auto file = nlohmann::json::parse(read_text(folder.path() / "out/regions.json"));
  const std::vector<std::tuple<std::string, int64_t, int64_t>> expected = {{"X", 0, 147456},
                                                                           {"POS", 196608, 147456},
                                                                           {"R_rope", 393216, 73728},
                                                                           {"COS", 524288, 73728},
                                                                           {"SIN", 655360, 73728},
                                                                           {"mask", 786432, 73728},
                                                                           {"W_q", 917504, 294912},
                                                                           {"W_o", 1245184, 294912},
                                                                           {"W_k_h0", 1572864, 147456},
                                                                           {"W_v_h0", 1769472, 147456},
                                                                           {"W_k_h1", 1966080, 147456},
                                                                           {"W_v_h1", 2162688, 147456},
                                                                           {"W_gate", 2359296, 884736},
                                                                           {"W_up", 3276800, 884736},
                                                                           {"W_down", 4194304, 884736},
                                                                           {"K_h0", 5111808, 73728},
                                                                           {"V_h0", 5242880, 73728},
                                                                           {"K_h1", 5373952, 73728},
                                                                           {"V_h1", 5505024, 73728}};
  ASSERT_EQ(file["regions"].size(), expected.size());
  for (size_t n = 0; n < expected.size(); ++n) {
    const auto& r = file["regions"][n];
    EXPECT_EQ(std::make_tuple(r["name"].get<std::string>(), r["offset"].get<int64_t>(), r["size"].get<int64_t>()),
              expected[n]);
  }
  const auto manifest = nlohmann::json::parse(read_text(folder.path() / "out/manifest.json"));
  EXPECT_EQ(manifest["activation_ceiling"], 917504);
  EXPECT_EQ(manifest["regions"].size(), 19);
}

TEST_F(Accel, PlenasTrafficInEveryRegime) {
  std::vector<int64_t> warm;
  for (const char* model : {"hbm", "resident", "kv-swap", "weight-stream", "host-stream", "layer-swap"}) {
    const auto r = json(run_plena({"--memory-model", model, "--numerics", "off"}));
    EXPECT_EQ(r["regime"], model);
    EXPECT_EQ(r["bytes_read"], 6'144'000) << model;
    EXPECT_EQ(r["by_kind"]["weight"], 4'259'840) << model;
    EXPECT_EQ(r["bytes_written"], 327'680);
    EXPECT_EQ(r["regions"], nlohmann::json({{"weight", 9}, {"kv", 4}, {"activation", 6}}));
    EXPECT_EQ(
        r["resident_bytes"].get<int64_t>() + r["after_swap_bytes"].get<int64_t>() + r["streamed_bytes"].get<int64_t>(),
        6'144'000);
    if (std::string(model) != "hbm") warm.push_back(r["total_ns"]);
  }
  EXPECT_LE(warm[0], warm[1]);  // resident <= kv-swap <= weight-stream
  EXPECT_LE(warm[1], warm[2]);
  const auto plena = json(run_plena({"--memory-model", "kv-swap", "--accounting", "plena", "--numerics", "off"}));
  EXPECT_EQ(plena["swapped_bytes"], 884'736);
  EXPECT_EQ(plena["swaps"], 10);
}

TEST_F(Accel, KvMadeOnChipIsNotCharged) {
  const auto r = json(run_plena({"--memory-model", "kv-swap", "--numerics", "off"}));
  EXPECT_EQ(r["bytes_read"], 6'144'000);
  EXPECT_EQ(r["swapped_bytes"], 589'824);
  EXPECT_EQ(r["swaps"], 6);
}

TEST_F(Accel, NumericsAreWithinTheBound) {
  const auto r = json(run_plena({}));
  EXPECT_LT(r["max_error"], 0.015);
  EXPECT_GT(r["max_error"], 0.0005) << "bf16 cannot be this exact";
  EXPECT_NEAR(r["quantisation"]["weights"], 0.027, 0.003);
}

// The programs of the golden files: small ones, so that a difference can be read.
struct Golden {
  const char* name;
  std::vector<std::string> arguments;
};
const Golden kGoldens[] = {
    {"plena", with(kPlena, {"--numerics", "off"})},
    {"prefill",
     {"SmolLM2-135M", "--layers", "2", "--tokens", "48", "--mlen", "64", "--blen", "16", "--numerics", "off"}},
    {"decode",
     {"clm-60m", "--layers", "1", "--tokens", "100", "--decode", "--mlen", "64", "--blen", "16", "--numerics", "off"}},
};

TEST_F(Accel, HbmIsPinnedAndNothingElseMovesIt) {
  const std::filesystem::path goldens = std::filesystem::path(TESSERA_ROOT) / "tests/data/accel";
  std::ofstream(folder.path() / "manifest.json")
      << R"({"activation_ceiling": 64, "ddr_capacity_bytes": 4096, "regions": [{"layer_id": 0, "offset": 64, "size": 64}]})";
  for (const auto& [name, arguments] : kGoldens) {
    const auto command = with(with({"accel", "run"}, arguments), {"--json"});
    const auto plain = tessera(command).out;
    EXPECT_EQ(plain, read_text(goldens / (std::string("hbm_") + name + ".json"))) << name;
    EXPECT_EQ(plain, tessera(command).out) << "two runs";
    for (const std::vector<std::string>& more :
         std::vector<std::vector<std::string>>{{"--memory-model", "hbm", "--manifest", "manifest.json"},
                                               {"--memory-model", "hbm", "--host-bandwidth", "1e6"},
                                               {"--memory-model", "hbm", "--ddr-capacity", "1M"},
                                               {"--memory-model", "hbm", "--start", "cold"},
                                               {"--memory-model", "hbm", "--prefetch", "off", "--accounting", "plena"}})
      EXPECT_EQ(plain, tessera(with(command, more)).out) << name << " " << more[2];
  }
}

TEST_F(Accel, ACompiledFolderRunsAsTheModelDoes) {
  for (const std::vector<std::string>& extra : std::vector<std::vector<std::string>>{{}, {"--decode"}}) {
    const auto model = with({"clm-60m", "--layers", "1", "--tokens", "40", "--mlen", "64", "--blen", "16"}, extra);
    tessera(with(with({"accel", "compile"}, model), {"-o", "out"}));
    auto a = json(with({"accel", "run"}, model)), b = json({"accel", "run", "out"});
    EXPECT_EQ(a["notes"].size(), 1);  // no vocabulary
    a.erase("notes"), b.erase("notes");
    EXPECT_EQ(a, b);
  }
}

TEST_F(Accel, EveryModelDumpsTheSameDataAndAddsWhatItsMemoryCounted) {
  std::string first;
  for (const char* model : {"hbm", "layer-swap", "host-stream", "auto", "resident", "kv-swap", "weight-stream"}) {
    const auto run = json({"accel", "run", "clm-60m", "--layers", "1", "--tokens", "16", "--board", "custom_a7",
                           "--memory-model", model, "--dump", "d.safetensors"});
    const auto dumped = read_text(folder.path() / "d.safetensors");
    if (first.empty()) first = dumped;
    EXPECT_GT(dumped.size(), 4u * 384 * 1408) << model;
    EXPECT_TRUE(dumped == first) << model;
    for (const char* counted : {"reads", "writes", "row_hits", "row_misses", "row_conflicts", "activates", "refreshes"})
      EXPECT_TRUE(run["memory"].contains(counted)) << model << " " << counted;
    EXPECT_GE(run["memory"]["reads"].get<int64_t>() * 64, run["bytes_read"].get<int64_t>()) << model;
  }
}

TEST_F(Accel, ARunSaysWhoseCapacityAndLinkItTook) {
  const std::vector<std::string> model = {"accel", "run",        "clm-60m", "--layers", "1",        "--tokens",
                                          "16",    "--numerics", "off",     "--board",  "custom_a7"};
  const auto own = tessera(model).out;
  EXPECT_NE(own.find("536870912 (board custom_a7)"), std::string::npos) << own;
  EXPECT_NE(own.find("1500 MB/s, board custom_a7 (pcie_gen2_x4)"), std::string::npos) << own;
  const auto other = tessera(with(model, {"--ddr-capacity", "8M", "--host-bandwidth", "2e9"})).out;
  EXPECT_NE(other.find("8388608 (--ddr-capacity)"), std::string::npos) << other;
  EXPECT_NE(other.find("2000 MB/s, --host-bandwidth"), std::string::npos) << other;
}

// No layer is faster than what its profile says bounds it.
TEST_F(Accel, ABoundIsABound) {
  for (const char* board : {"nexys_video", "v80"})
    for (const std::vector<std::string>& phase : std::vector<std::vector<std::string>>{{}, {"--decode"}}) {
      const auto p = json(with({"accel", "profile", "clm-60m", "--layers", "3", "--board", board}, phase));
      double bound = 0;
      for (const auto& l : p["roofline"])
        bound += std::max({l["compute_ns"].get<double>(), l["ddr_ns"].get<double>(), l["link_ns"].get<double>()});
      // Without the host before and after.
      const auto& m = p["measured"];
      const double measured =
          (m["busy_cycles"].get<double>() + m["stall_cycles"].get<double>()) * (board[0] == 'v' ? 2.5 : 10);
      EXPECT_LE(bound, measured) << board;
      EXPECT_GE(bound, 0.8 * measured) << board;
    }
}

// Whatever a run of several steps counts, it counts for all of them.
TEST_F(Accel, StepsAddUp) {
  const std::vector<std::string> model = {"accel",    "run", "SmolLM2-135M", "--layers", "1",
                                          "--tokens", "8",   "--board",      "custom_a7"};
  const auto one = json(model), three = json(with(model, {"--generate", "3"}));
  double sum = 0;
  for (const auto& step : three["steps_ns"]) sum += step.get<double>();
  EXPECT_NEAR(sum, three["total_ns"].get<double>(), 3);
  EXPECT_NEAR(three["cycles"].get<double>() * 10, sum, 100);
  EXPECT_EQ(three["cycles"].get<int64_t>(), three["busy_cycles"].get<int64_t>() + three["stall_cycles"].get<int64_t>() +
                                                three["host_cycles"].get<int64_t>());
  EXPECT_EQ(three["host_bytes"]["in"], (8 + 2) * 576 * 2);
  EXPECT_EQ(three["host_bytes"]["out"], 3 * 49152 * 2);
  EXPECT_GT(three["instructions"], one["instructions"]);
}

TEST_F(Accel, AssemblyOfAProgramIsTheProgram) {
  tessera({"accel", "compile", "clm-60m", "--layers", "1", "--mlen", "64", "--blen", "16", "-o", "out"});
  tessera({"accel", "asm", "out/program.asm", "-o", "again.hex"});
  EXPECT_EQ(read_text(folder.path() / "again.hex"), read_text(folder.path() / "out/program.hex"));
  tessera({"accel", "disasm", "again.hex", "-o", "plain.asm"});
  tessera({"accel", "asm", "plain.asm", "-o", "third.hex"});
  EXPECT_EQ(read_text(folder.path() / "third.hex"), read_text(folder.path() / "out/program.hex"));
}

TEST_F(Accel, ProfileAndRunCountTheSameCycles) {
  const std::vector<std::string> model = {"SmolLM2-135M", "--layers", "2", "--tokens", "48", "--board", "nexys_video"};
  const auto profile = json(with({"accel", "profile"}, model));
  const auto run = json(with(with({"accel", "run"}, model), {"--numerics", "off"}));
  EXPECT_EQ(profile["cycles"], run["busy_cycles"]);
  EXPECT_EQ(profile["classes"], run["classes"]);
  EXPECT_EQ(profile["instructions"], run["instructions"]);
  int64_t sum = 0;
  for (const auto& o : profile["operators"]) sum += o["cycles"].get<int64_t>();
  EXPECT_EQ(sum, profile["cycles"]);
  EXPECT_EQ(profile["roofline"].size(), 3);  // two layers and the head
}

// The time of a layer in the steady state: three layers less two. So few are not composed.
struct PerLayer {
  double total, compute, link;
};
class AccelStreaming : public Session {
 protected:
  nlohmann::json run(const char* layers, const std::vector<std::string>& more) {
    const auto r =
        json(with({"accel", "run", "SmolLM2-135M", "--no-head", "--layers", layers, "--numerics", "off"}, more));
    EXPECT_FALSE(r["composed"].get<bool>());
    return r;
  }
  PerLayer measure(const std::string& bandwidth, const std::vector<std::string>& more) {
    const auto all =
        with({"--board", "custom_a7", "--memory-model", "weight-stream", "--host-bandwidth", bandwidth}, more);
    const auto two = run("2", all), three = run("3", all);
    const auto of = [&](const char* key) { return three[key].get<double>() - two[key].get<double>(); };
    return {of("total_ns"), of("busy_cycles") * 10, of("link_ns")};
  }
  static void expect_the_slower(const PerLayer& t, const std::string& what) {
    const double most = std::max(t.compute, t.link), least = std::min(t.compute, t.link);
    EXPECT_LT(t.total, most * (most >= 2 * least ? 1.05 : 1.15)) << what << ": " << t.compute << ", " << t.link;
    EXPECT_GE(t.total, 0.999 * most) << what;
  }
};

TEST_F(AccelStreaming, WithPrefetchTheSlowerOfLinkAndComputeDecides) {
  for (const char* bandwidth : {"1.5e9", "3e8", "2.5e8", "1e8"}) expect_the_slower(measure(bandwidth, {}), bandwidth);
}

TEST_F(AccelStreaming, AlsoForADecodeStepAfterALongContext) {
  for (const char* tokens : {"1024", "4096"})
    for (const char* bandwidth : {"1.5e9", "5e8"})
      expect_the_slower(measure(bandwidth, {"--decode", "--tokens", tokens}), tokens);
  // One layer with its start: tables and the cache's first layer come beside the weights.
  const auto one =
      run("1", {"--board", "custom_a7", "--memory-model", "weight-stream", "--decode", "--tokens", "1024"});
  EXPECT_LT(one["total_ns"].get<double>(),
            1.15 * std::max(one["busy_cycles"].get<double>() * 10, one["link_ns"].get<double>()));
}

// What a run says of itself, on each board over its own link and over others, a layer and the whole.
TEST_F(AccelStreaming, WithoutAnyOverlapTheyAddUp) {
  const std::vector<std::string> off = {"--dma", "blocking", "--prefetch", "off"};
  for (const auto& [board, bandwidth] : std::vector<std::pair<std::string, std::string>>{
           {"nexys_video", "4.75e6"}, {"nexys_video", "3e8"}, {"custom_a7", "1.5e9"}, {"v80", "2e9"}, {"v80", "2e10"}})
    for (const std::vector<std::string>& phase :
         std::vector<std::vector<std::string>>{{"--tokens", "64"}, {"--decode", "--tokens", "1024"}}) {
      const auto where = with({"--board", board, "--host-bandwidth", bandwidth}, phase);
      const auto stream = with(with({"--memory-model", "weight-stream"}, where), off);
      const auto two = run("2", stream), three = run("3", stream);
      const auto of = [&](const char* key) { return three[key].get<double>() - two[key].get<double>(); };
      EXPECT_NEAR(of("total_ns") / (of("link_ns") + of("compute_ns")), 1, 0.01) << board << bandwidth;
      const auto whole = [&](const char* key) { return three[key].get<double>(); };
      EXPECT_NEAR(whole("total_ns") / (whole("link_ns") + whole("compute_ns")), 1, 0.01) << board << bandwidth;
      // Compute is what the machine needs by itself: all its instructions, and no more than with everything in memory.
      const auto there = run("3", with(with({"--memory-model", "resident"}, where), off));
      EXPECT_GT(whole("compute_ns"), whole("busy_cycles") * 1e9 / whole("clock_hz"));
      EXPECT_LT(whole("compute_ns"), 1.02 * there["compute_ns"].get<double>());
      // The link has every byte on its wire, and what it is late with.
      EXPECT_GT(whole("link_ns"), whole("link_bytes") / std::stod(bandwidth) * 1e9);
      EXPECT_GT(whole("link_bytes"), whole("streamed_bytes"));
    }
}

// A whole run of a small model against two and three of its layers.
TEST_F(Accel, ACompositionIsWithinTwoPercentOfAFullRun) {
  for (const std::vector<std::string>& regime : std::vector<std::vector<std::string>>{
           {}, {"--memory-model", "weight-stream"}, {"--memory-model", "kv-swap", "--ddr-capacity", "21M"}})
    for (const std::vector<std::string>& phase : std::vector<std::vector<std::string>>{{}, {"--decode"}}) {
      auto model = with(with({"clm-60m", "--tokens", "64", "--board", "custom_a7"}, regime), phase);
      tessera(with(with({"accel", "compile"}, with({"clm-60m", "--tokens", "64", "--board", "custom_a7"}, phase)),
                   {"-o", "whole"}));
      const auto whole =
          json(with(with({"accel", "run", "whole", "--board", "custom_a7", "--numerics", "off"}, regime), {}));
      const auto composed = json(with(with({"accel", "run"}, model), {"--numerics", "off"}));
      EXPECT_TRUE(composed["composed"].get<bool>());
      EXPECT_FALSE(whole["composed"].get<bool>());
      EXPECT_EQ(composed["regime"], whole["regime"]);
      EXPECT_NEAR(composed["total_ns"].get<double>() / whole["total_ns"].get<double>(), 1, 0.02) << composed["regime"];
      EXPECT_EQ(composed["bytes_read"], whole["bytes_read"]);
      EXPECT_EQ(composed["busy_cycles"], whole["busy_cycles"]);
    }
}

}  // namespace
}  // namespace tessera::test
