// Against an independent decoder in PyTorch: the same dequantised weights, KV and layer inputs.
#include "support/session.hpp"

namespace tessera::test {
namespace {

class AccelNumerics : public Session {
 protected:
  nlohmann::json judged(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(),
                     {"/usr/bin/python3", std::string(TESSERA_ROOT) + "/tests/e2e/accel_reference.py"});
    const auto ran = run_program(arguments, folder.path());
    EXPECT_EQ(ran.code, 0) << ran.err;
    return nlohmann::json::parse(ran.out, nullptr, false);
  }
  // The prompt and the tokens after it, the same for every seed's model.
  static std::vector<std::string> words(int count, int seed) {
    std::vector<std::string> list;
    for (int n = 0; n < count; ++n) list.push_back(std::to_string((n * 37 + seed * 101 + n * n) % 500));
    return list;
  }
  static std::string joined(const std::vector<std::string>& list, size_t from, size_t to) {
    std::string text;
    for (size_t n = from; n < to; ++n) text += (n > from ? "," : "") + list[n];
    return text;
  }
};

TEST_F(AccelNumerics, EveryLayerOfPrefillAndDecodeAndNoMutationPasses) {
  NEEDS_PYTHON();
  python("e2e/accel_reference.py", {"make", "model", "7"});
  for (const std::vector<std::string>& tile :
       std::vector<std::vector<std::string>>{{"--mlen", "64", "--blen", "16"},
                                             {"--mlen", "128", "--blen", "32", "--format", "plena"},
                                             {"--board", "nexys_video"}}) {
    std::vector<std::string> command = {"accel",      "run", "model",  "--tokens",     "90",
                                        "--generate", "4",   "--dump", "d.safetensors"};
    command.insert(command.end(), tile.begin(), tile.end());
    const auto own = json(command);
    const auto sound = judged({"layers", "model", "d.safetensors", "gamma", "silu", "scale", "mask"});
    EXPECT_EQ(sound["count"], 3 * 4);
    EXPECT_LT(sound["layers"], 0.015);
    EXPECT_LT(sound["cache"], 0.06);  // the quantisation itself, on its own
    EXPECT_NEAR(own["max_error"].get<double>(), sound["layers"].get<double>(), 0.002);
    EXPECT_EQ(sound["mutated"].size(), 4);
    for (const auto& [mutation, error] : sound["mutated"].items()) EXPECT_GT(error, 0.045) << mutation;
  }
}

TEST_F(AccelNumerics, GreedyTokensAreTheReferences) {
  NEEDS_PYTHON();
  int64_t steps = 0, same = 0;
  for (int seed = 1; seed <= 5; ++seed) {
    const auto model = "model" + std::to_string(seed);
    python("e2e/accel_reference.py", {"make", model, std::to_string(seed)});
    const auto all = words(8 + 31, seed);
    const auto run = json({"accel", "run", model, "--prompt", joined(all, 0, 8), "--forced", joined(all, 8, 39),
                           "--generate", "32", "--mlen", "64", "--blen", "16", "--dump", "d.safetensors"});
    EXPECT_EQ(run["tokens"].size(), 32);
    EXPECT_EQ(run["steps_ns"].size(), 32);
    std::vector<std::string> command = {"greedy", model, "d.safetensors"};
    command.insert(command.end(), all.begin(), all.end());
    const auto r = judged(command);
    EXPECT_EQ(r["steps"], 32);
    EXPECT_EQ(r["wrong"], 0) << "a token differs where the margin is twice the error";
    EXPECT_GE(r["decided"], 16) << "margins are too small to tell anything";
    EXPECT_LT(r["error"], 0.03);
    steps += r["steps"].get<int64_t>();
    same += r["same"].get<int64_t>();
  }
  EXPECT_GE(static_cast<double>(same), 0.9 * static_cast<double>(steps)) << same << " of " << steps;
}

}  // namespace
}  // namespace tessera::test
