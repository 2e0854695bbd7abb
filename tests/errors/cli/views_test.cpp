// Refusals of profile, compare, fit, diff and what belongs to them.
#include <fstream>

#include "refusal.hpp"

namespace tessera::test {
namespace {

using Views = Refusal;

TEST_F(Views, ProfileNeedsAnEngineThatCounts) {
  refused({"profile", "simplemlp", "--engine", "host"}, {"--engine host", "--engine sim"});
  refused({"profile", "simplemlp", "--top", "0"}, {"--top 0"});
  refused({"profile", "simplemlp", "--mode", "infer", "--loss", "mse"}, {"--mode infer contradicts --loss mse"});
}

TEST_F(Views, CompareKnowsItsWords) {
  refused({"compare"}, {"models"});
  refused({"compare", "simplemlp", "--modes", "triple"}, {"--modes triple", "untiled, single, double, auto"});
  refused({"compare", "simplemlp", "--modes", "single,"}, {"--modes", "empty"});
  refused({"compare", "simplemlp", "--home", "L4"}, {"--home L4"});
  refused({"compare", "simplemlp", "--l1", "64q"}, {"--l1", "64q"});
  refused({"compare", "simplemlp", "--targets", "nochip"}, {"nochip"});
  refused({"compare", "nomodel"}, {"nomodel"});
}

TEST_F(Views, FitTakesNoNonsense) {
  refused({"fit", "simplemlp", "--points", "0"}, {"--points 0"});
  refused({"fit", "simplemlp", "--target", "nochip"}, {"nochip"});
}

TEST_F(Views, RecordNeedsAPlace) {
  refused({"train", "simplemlp", "--record"}, {"--record", "-o DIR"});
}

TEST_F(Views, PlotNeedsAPlace) {
  refused({"train", "simplemlp", "--engine", "host", "--plot", "nowhere/map.svg"}, {"nowhere/map.svg"});
}

TEST_F(Views, DiffNeedsTwoProjects) {
  refused({"diff", "a"}, {"b"});
  refused({"diff", "a", "b"}, {"a: no such directory", "tessera compile"});
  std::filesystem::create_directories(folder.path() / "empty");
  refused({"diff", "empty", "empty"}, {"not a project"});
  ASSERT_EQ(tessera({"compile", "mlp:20-10-4", "-o", "p"}).code, 0);
  std::ofstream(folder.path() / "p/record.json") << "{";
  refused({"diff", "p", "p"}, {"record.json", "damaged"});
  std::filesystem::remove(folder.path() / "p/record.json");
  std::ofstream(folder.path() / "p/report.json") << "[1";
  refused({"diff", "p", "p"}, {"report.json", "damaged"});
}

}  // namespace
}  // namespace tessera::test
