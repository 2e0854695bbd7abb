// A room includes only itself and rooms that stand before it in CMakeLists.txt: the map stays a map.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace {
namespace fs = std::filesystem;

std::string slurp(const fs::path& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::vector<std::string> rooms(const std::string& cmake) {
  std::smatch list;
  EXPECT_TRUE(std::regex_search(cmake, list, std::regex(R"(set\(ROOMS ([^)]*)\))")));
  std::istringstream words(list[1].str());
  return {std::istream_iterator<std::string>(words), {}};
}

// "room/file.cpp includes 'later/x.hpp'" for each include of `text` that `room` may not have.
std::vector<std::string> violations(const std::vector<std::string>& order, const std::string& room,
                                    const std::string& file, const std::string& text) {
  auto place = [&](const std::string& r) { return std::find(order.begin(), order.end(), r) - order.begin(); };
  static const std::regex include(R"re(#include "([^"/]+)/[^"]*")re");
  std::vector<std::string> found;
  for (std::sregex_iterator i(text.begin(), text.end(), include), end; i != end; ++i) {
    const std::string other = (*i)[1];
    if (place(other) > place(room) || place(other) == static_cast<long>(order.size()))
      found.push_back(file + ": " + i->str());
  }
  return found;
}

TEST(Rooms, IncludeOnlyWhatStandsBeforeThem) {
  const fs::path source = fs::path(TESSERA_ROOT) / "src";
  const auto order = rooms(slurp(fs::path(TESSERA_ROOT) / "CMakeLists.txt"));
  ASSERT_GT(order.size(), 10u);
  size_t files = 0;
  for (auto& entry : fs::recursive_directory_iterator(source)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    const auto relative = fs::relative(entry.path(), source);
    const std::string room = *relative.begin();
    EXPECT_NE(std::find(order.begin(), order.end(), room), order.end())
        << room << " is not a room of CMakeLists.txt: " << relative;
    for (auto& violation : violations(order, room, relative, slurp(entry.path()))) ADD_FAILURE() << violation;
    ++files;
  }
  EXPECT_GT(files, 20u);
}

TEST(Rooms, AnIncludeOfALaterOrUnknownRoomIsFound) {
  const std::vector<std::string> order{"base", "graph", "plan"};
  EXPECT_EQ(violations(order, "graph", "graph/g.cpp", "#include \"graph/g.hpp\"\n#include \"base/error.hpp\"\n").size(),
            0u);
  EXPECT_EQ(violations(order, "graph", "graph/g.cpp", "#include \"plan/plan.hpp\"\n").size(), 1u);
  EXPECT_EQ(violations(order, "graph", "graph/g.cpp", "#include \"attic/x.hpp\"\n").size(), 1u);
}

// Types of a room's own namespaces, outside anonymous ones: two of one name in one program are undefined behaviour that
// no compiler reports, and one destroys what the other built.
std::vector<std::string> types(const std::string& text) {
  static const std::regex open(R"(namespace ([\w:]*) ?\{\s*)"), close(R"(\}\s*// namespace.*)"),
      type(R"((struct|class|enum class|enum) (\w+)( final)?( : [^;]*)? \{.*)");
  std::vector<std::string> found, inside;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::smatch m;
    if (std::regex_match(line, m, open)) inside.push_back(m[1]);
    if (std::regex_match(line, close)) inside.pop_back();
    if (!std::regex_match(line, m, type) || std::ranges::count(inside, "") > 0) continue;
    std::string name;
    for (auto& space : inside) name += space + "::";
    found.push_back(name + m[2].str());
  }
  return found;
}

TEST(Rooms, ATypeHasOneDefinition) {
  const fs::path source = fs::path(TESSERA_ROOT) / "src";
  std::map<std::string, std::string> home;
  for (auto& entry : fs::recursive_directory_iterator(source)) {
    if (entry.path().extension() != ".cpp" && entry.path().extension() != ".hpp") continue;
    const std::string file = fs::relative(entry.path(), source);
    for (auto& type : types(slurp(entry.path()))) {
      auto [known, added] = home.emplace(type, file);
      EXPECT_TRUE(added) << type << " is defined in " << known->second << " and in " << file;
    }
  }
  EXPECT_GT(home.size(), 200u);
  EXPECT_EQ(
      types(
          "namespace a {\nnamespace {\nstruct Hidden {\n};\n}  // namespace\nenum class E { A };\n}  // namespace a\n"),
      std::vector<std::string>{"a::E"});
}

// The checker must not learn its opinion from those whom it judges: their values yes, their functions no.
TEST(Rooms, TheCheckerSharesNoCodeWithPlanAndSchedule) {
  const fs::path check = fs::path(TESSERA_ROOT) / "src" / "check";
  for (auto& entry : fs::recursive_directory_iterator(check)) {
    if (!entry.is_regular_file()) continue;
    const auto text = slurp(entry.path());
    static const std::regex include(R"re(#include "(plan|schedule)/([^"]*)")re");
    for (std::sregex_iterator i(text.begin(), text.end(), include), end; i != end; ++i) {
      const std::string header = (*i)[1].str() + "/" + (*i)[2].str();
      EXPECT_TRUE(header == "plan/plan.hpp" || header == "schedule/schedule.hpp")
          << entry.path().filename() << " includes " << header;
    }
  }
}

}  // namespace
