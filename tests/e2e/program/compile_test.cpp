// `tessera compile`, `check`, `infer`, and the lists.
#include <fstream>
#include <set>

#include <fmt/ranges.h>

#include "support/session.hpp"

namespace tessera::test {
namespace {

namespace fs = std::filesystem;
using Compile = Session;
using Infer = Session;
using Lists = Session;

// Every file below a folder with its bytes.
std::vector<std::pair<std::string, std::string>> contents(const fs::path& folder) {
  std::vector<std::pair<std::string, std::string>> all;
  for (auto& entry : fs::recursive_directory_iterator(folder))
    if (entry.is_regular_file()) all.emplace_back(fs::relative(entry.path(), folder).string(), read_text(entry.path()));
  std::sort(all.begin(), all.end());
  return all;
}

TEST_F(Compile, TheSameBytesInTwoFolders) {
  for (auto* model : {"simplemlp", "mlp:17-13-7-5"}) {
    fs::create_directories(folder.path() / "somewhere/else");
    tessera({"compile", model, "--batch", "3", "-o", "a"});
    tessera({"compile", model, "--batch", "3", "-o", "somewhere/else/b"});
    const auto a = contents(folder.path() / "a"), b = contents(folder.path() / "somewhere/else/b");
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].first, b[i].first);
      EXPECT_TRUE(a[i].second == b[i].second) << a[i].first;
    }
    fs::remove_all(folder.path() / "a");
    fs::remove_all(folder.path() / "somewhere");
  }
}

TEST_F(Compile, AGoodDirectoryPassesTheCheck) {
  tessera({"compile", "simplemlp", "-o", "out"});
  const auto verdict = json({"check", "out"});
  EXPECT_GT(verdict["kernels"], 5);
  EXPECT_GT(verdict["transfers"], 5);
}

TEST_F(Compile, DamageAnywhereInADirectoryIsCaught) {
  tessera({"compile", "mlp:20-10-4", "-o", "out"});
  size_t damaged = 0;
  for (auto& [name, bytes] : contents(folder.path() / "out")) {
    const auto path = folder.path() / "out" / name;
    for (size_t at : {size_t{0}, bytes.size() / 2, bytes.size() - 1}) {
      auto broken = bytes;
      broken[at] = static_cast<char>(broken[at] ^ 1);
      std::ofstream(path, std::ios::binary) << broken;
      const auto ran = run_program({TESSERA_PROGRAM, "check", "out"}, folder.path());
      EXPECT_TRUE(ran.code == 1 || ran.code == 2) << name << " at " << at << ": " << ran.code << " " << ran.err;
      EXPECT_TRUE(ran.err.starts_with("error: ")) << ran.err;
      ++damaged;
    }
    fs::remove(path);
    const auto missing = run_program({TESSERA_PROGRAM, "check", "out"}, folder.path());
    EXPECT_TRUE(missing.code == 1 || missing.code == 2) << name << ": " << missing.err;
    std::ofstream(path, std::ios::binary) << bytes;
  }
  EXPECT_GT(damaged, 30u);
  tessera({"check", "out"});
}

TEST_F(Compile, TheProjectBuildsAndRunsOnItsOwn) {
  tessera({"compile", "mlp:20-10-4", "--steps", "2", "-o", "out"});
  const auto make = run_program({"/usr/bin/make", "-C", "out"}, folder.path());
  EXPECT_EQ(make.code, 0) << make.err;
}

// A copy of a project in which the second transfer that run_fc1 asks an engine for takes the request of the first.
void share_request(const fs::path& from, const fs::path& to, const std::string& fetch) {
  fs::copy(from, to, fs::copy_options::recursive);
  fs::remove_all(to / "build");  // as old as the sources, to the clock of the file system
  auto text = read_text(to / "network.c");
  // The request is a call's last argument.
  auto request = [&](size_t after) {
    const auto call = text.find(" " + fetch + "(", after), end = text.find(')', call);
    const auto begin = text.rfind(' ', end) + 1;
    return std::pair(begin, end - begin);
  };
  const auto first = request(text.find("run_fc1(void)")), second = request(first.first);
  const auto number = text.substr(first.first, first.second);
  ASSERT_LT(second.first, text.find("}\n", first.first));
  ASSERT_NE(text.substr(second.first, second.second), number);
  text.replace(second.first, second.second, number);
  std::ofstream(to / "network.c", std::ios::binary) << text;
}

TEST_F(Compile, ARequestThatIsUsedAgainInFlightIsNamed) {
  tessera({"compile", "mlp:20-10-4", "--steps", "1", "--home", "L3", "-o", "out"});
  const std::string said = "a request is used again while its transfer is in flight";
  auto make = [&](const std::string& where, const std::string& what) {
    const auto ran = run_program({"/usr/bin/make", "-C", where, what, "SANITIZE=1"}, folder.path());
    EXPECT_EQ(ran.code, 0) << ran.err;
  };
  make("out", "chip");
  tessera({"sim", "out/build/network.elf", "--sanitize"});
  make("out", "build/network");
  EXPECT_EQ(run_program({"out/build/network"}, folder.path()).code, 0);
  for (const std::string engine : {"fetch", "ram_fetch"}) {
    share_request(folder.path() / "out", folder.path() / engine, engine);
    make(engine, "chip");
    const auto chip = tessera({"sim", engine + "/build/network.elf", "--sanitize"}, 1);
    EXPECT_NE(chip.err.find(said), std::string::npos) << chip.err;
    EXPECT_NE(chip.err.find("(network.c:"), std::string::npos) << chip.err;
    make(engine, "build/network");
    const auto host = run_program({engine + "/build/network"}, folder.path());
    EXPECT_NE(host.code, 0);
    EXPECT_NE(host.err.find(said), std::string::npos) << host.err;
  }
}

TEST_F(Compile, AnotherSetOfFlagsBuildsAgain) {
  tessera({"compile", "mlp:20-10-4", "--steps", "1", "-o", "out"});
  auto made = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"/usr/bin/make", "-C", "out"});
    const auto ran = run_program(more, folder.path());
    EXPECT_EQ(ran.code, 0) << ran.err;
    return ran.out.find("-o build/network") != std::string::npos;
  };
  EXPECT_TRUE(made({}));
  EXPECT_FALSE(made({}));
  EXPECT_TRUE(made({"CORES=3"}));
  EXPECT_TRUE(made({"CORES=3", "SANITIZE=1"}));
  EXPECT_FALSE(made({"CORES=3", "SANITIZE=1"}));
}

// Checklist 41: 47 542 lines of C for one small network.
TEST_F(Compile, SimplemlpTrainingIsShortEnoughToRead) {
  tessera({"compile", "simplemlp", "-o", "out"});
  const auto text = read_text(folder.path() / "out/network.c");
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 600);
  EXPECT_GT(std::count(text.begin(), text.end(), '\n'), 50);
}

// Every network under 6 000 lines, dscnn under 3 000: those that were longest, with small memories and far ones.
TEST_F(Compile, EveryNetworkIsShortEnoughToRead) {
  struct Case {
    std::vector<std::string> options;
    long most;
  };
  const std::vector<Case> cases = {
      {{"mobilenetv1", "--target", "gap9", "--home", "L3", "--l1", "32k", "--buffering", "double"}, 6000},
      {{"mobilenetv1", "--target", "siracusa", "--home", "L3", "--l1", "32k"}, 6000},
      {{"mobilenetv1", "--target", "gap9", "--home", "L3", "--l1", "32k"}, 6000},
      {{"mobilenetv1", "--target", "siracusa", "--home", "L3", "--l1", "64k", "--buffering", "double"}, 6000},
      {{"mobilenetv1", "--target", "gap9", "--l1", "32k", "--buffering", "double"}, 6000},
      {{"cct_lora", "--target", "siracusa", "--home", "L3", "--l1", "32k", "--buffering", "double"}, 6000},
      {{"cct", "--target", "gap9", "--home", "L3", "--l1", "32k"}, 6000},
      {{"resnet8", "--target", "siracusa", "--home", "L3", "--l1", "32k", "--buffering", "double"}, 6000},
      {{"dscnn", "--target", "gap9", "--home", "L3", "--l1", "32k"}, 3000},
      {{"dscnn", "--target", "siracusa", "--l1", "32k", "--buffering", "double"}, 3000}};
  for (size_t i = 0; i < cases.size(); ++i) {
    const auto out = fmt::format("out{}", i);
    std::vector<std::string> command{"compile"};
    command.insert(command.end(), cases[i].options.begin(), cases[i].options.end());
    command.insert(command.end(), {"-o", out});
    tessera(command);
    const auto text = read_text(folder.path() / out / "network.c");
    EXPECT_LT(std::count(text.begin(), text.end(), '\n'), cases[i].most) << fmt::format("{}", fmt::join(command, " "));
  }
}

TEST_F(Infer, AgreesWithTheExpectedOutputs) {
  NEEDS_PYTHON();
  tessera({"zoo", "export", "mlp:20-10-4", "--batch", "2", "-o", "m.onnx"});
  std::ofstream(folder.path() / "expect.py") << R"(
import numpy as np, onnx
from onnx import numpy_helper
w = {t.name: numpy_helper.to_array(t) for t in onnx.load("m.onnx").graph.initializer}
x = np.random.default_rng(3).standard_normal((2, 20)).astype(np.float32)
h = np.maximum(x @ w["fc1.weight"].T + w["fc1.bias"], 0)
y = h @ w["fc2.weight"].T + w["fc2.bias"]
np.savez("x.npz", input=x); np.savez("y.npz", fc2=y); np.savez("wrong.npz", fc2=y + 0.01)
)";
  ASSERT_EQ(run_program({"/usr/bin/python3", "expect.py"}, folder.path()).code, 0);
  const auto run = json({"infer", "m.onnx", "--inputs", "x.npz", "--expect", "y.npz", "--tolerance", "1e-5"});
  EXPECT_LT(run["max_error"], 1e-5);
  EXPECT_EQ(run["outputs"]["fc2"]["shape"], nlohmann::json({2, 4}));
  EXPECT_EQ(run["outputs"]["fc2"]["values"].size(), 8u);
  const auto wrong = tessera({"infer", "m.onnx", "--inputs", "x.npz", "--expect", "wrong.npz"}, 1);
  EXPECT_NE(wrong.err.find("error: fc2[0]"), std::string::npos) << wrong.err;
  // Tiles, buffers, cores and random moments change no bit.
  for (auto& more :
       std::vector<std::vector<std::string>>{{"--l1", "2k"}, {"--tiling", "off"}, {"--cores", "3"}, {"--sanitize"}}) {
    std::vector<std::string> command{"infer", "m.onnx", "--inputs", "x.npz"};
    command.insert(command.end(), more.begin(), more.end());
    EXPECT_EQ(json(command)["bits"], run["bits"]) << more[0];
  }
}

// What is recorded of a run is not code: it stands beside the plan in L2, or in the external RAM.
TEST_F(Infer, OutputsAsLargeAsTheMemories) {
  NEEDS_PYTHON();
  std::ofstream(folder.path() / "make.py") << R"(
import numpy as np, onnx
from onnx import TensorProto, helper
for name, channels in (("beside", 4), ("outside", 16)):
    shape = [1, channels, 120, 160]
    x, y, z = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xyz")
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"]), helper.make_node("Neg", ["y"], ["z"])], name, [x], [y, z])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, name + ".onnx")
    values = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    np.savez(name + ".npz", x=values)
    np.savez(name + "_expected.npz", y=np.maximum(values, 0), z=-np.maximum(values, 0))
)";
  ASSERT_EQ(run_program({"/usr/bin/python3", "make.py"}, folder.path()).code, 0);
  for (std::string model : {"beside", "outside"}) {
    for (auto& more : std::vector<std::vector<std::string>>{{"--target", "siracusa"},
                                                            {"--target", "gap9"},
                                                            {"--target", "siracusa", "--home", "L3", "--sanitize"},
                                                            {"--engine", "host"}}) {
      const auto out = fmt::format("{}{}{}", model, more[1], more.size());
      std::vector<std::string> command{"infer",       model + ".onnx",
                                       "--inputs",    model + ".npz",
                                       "--expect",    model + "_expected.npz",
                                       "--tolerance", "0",
                                       "-o",          out};
      command.insert(command.end(), more.begin(), more.end());
      tessera(command);
      const auto config = read_text(folder.path() / out / "config.c");
      EXPECT_EQ(config.find(".outputs_in_ram") != std::string::npos, model == "outside") << out;
    }
  }
}

// Values that live in L3 start there: no second copy of them takes room.
TEST_F(Infer, WeightsThatTakeMostOfTheExternalRam) {
  NEEDS_PYTHON();
  std::ofstream(folder.path() / "make.py") << R"(
import numpy as np, onnx
from onnx import TensorProto, helper, numpy_helper
r = np.random.default_rng(3)
w = (r.standard_normal((1250, 1250)) / 35).astype(np.float32)
x = r.standard_normal((1, 1250)).astype(np.float32)
info = lambda name: helper.make_tensor_value_info(name, TensorProto.FLOAT, [1, 1250])
graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "wide", [info("x")], [info("y")], [numpy_helper.from_array(w, "w")])
onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), "m.onnx")
np.savez("x.npz", x=x); np.savez("y.npz", y=x @ w)
)";
  ASSERT_EQ(run_program({"/usr/bin/python3", "make.py"}, folder.path()).code, 0);
  std::set<std::string> bits;
  for (auto& more : std::vector<std::vector<std::string>>{
           {"--target", "siracusa"}, {"--target", "gap9"}, {"--target", "gap9", "--sanitize"}, {"--engine", "host"}}) {
    std::vector<std::string> command{"infer", "m.onnx", "--inputs", "x.npz", "--expect", "y.npz"};
    command.insert(command.end(), more.begin(), more.end());
    const auto run = json(command);
    EXPECT_GT(run["arena"]["L3"], 6'000'000) << more[1];
    bits.insert(run["bits"].get<std::string>());
  }
  EXPECT_EQ(bits.size(), 1u);
}

TEST_F(Lists, OperatorsTargetsAndModels) {
  EXPECT_GT(json({"ops"})["operators"].size(), 25u);
  EXPECT_NE(tessera({"ops"}).out.find("Gemm"), std::string::npos);
  EXPECT_NE(tessera({"targets"}).out.find("siracusa"), std::string::npos);
  EXPECT_GE(json({"targets"})["targets"].size(), 1u);
  EXPECT_NE(tessera({"zoo", "list"}).out.find("simplemlp"), std::string::npos);
  EXPECT_EQ(json({"zoo", "list"})["models"][0]["name"], "simplemlp");
}

}  // namespace
}  // namespace tessera::test
