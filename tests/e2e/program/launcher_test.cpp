// ./tessera, the way in: builds where something changed, starts at once where nothing did.
#include <unistd.h>

#include <chrono>
#include <fstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

class Launcher : public Session {
 protected:
  const std::string root = TESSERA_ROOT;
  Ran launch(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), root + "/tessera");
    return run_program(arguments, folder.path());
  }
};

TEST_F(Launcher, StartsAtOnceAndKeepsStandardOutputClean) {
  if (root + "/build/release/tessera" != TESSERA_PROGRAM) GTEST_SKIP() << "only where its own build is the one tested";
  ASSERT_EQ(launch({"targets"}).code, 0);  // may find that something is to be built
  double fastest = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto ran = launch({"zoo", "list", "--json"});
    fastest = std::min(fastest, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
    EXPECT_EQ(ran.code, 0);
    EXPECT_EQ(ran.err, "");
    EXPECT_TRUE(nlohmann::json::accept(ran.out)) << ran.out;
  }
  EXPECT_LT(fastest, 0.25);
  EXPECT_EQ(launch({"nonsense"}).code, 2) << "the program's exit code is the launcher's";
}

TEST_F(Launcher, WithoutRootItSaysTheOneLineToRun) {
  // A list with a package that cannot be installed, and a user that is not root.
  std::filesystem::copy(root + "/tools/setup.sh", folder.path() / "setup.sh");
  std::ofstream(folder.path() / "packages.txt") << "[run] no-such-package-at-all\n[test] nor-this-one\n";
  std::filesystem::permissions(folder.path(), std::filesystem::perms::all);
  std::vector<std::string> command{"/bin/bash", (folder.path() / "setup.sh").string(), "run"};
  if (geteuid() == 0) command.insert(command.begin(), {"/usr/bin/setpriv", "--reuid=65534", "--clear-groups"});
  const auto ran = run_program(command, folder.path());
  EXPECT_EQ(ran.code, 2);
  EXPECT_NE(ran.err.find("  apt-get install -y --no-install-recommends no-such-package-at-all\n"), std::string::npos)
      << ran.err;
  EXPECT_EQ(ran.out, "");
}

}  // namespace
}  // namespace tessera::test
