#include <iostream>
#include <memory>

#include "cli/options.hpp"
#include "run/difference.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera train resnet8 --record -o a && tessera train resnet8 --engine host --tiling off --record -o b
  tessera diff a b
  tessera compile dscnn --l1 32k -o small && tessera compile dscnn -o large && tessera diff small large --top 10

The first operator whose outputs have other bits, between any two engines, tilings, memories or chips (`--record` keeps
what that takes); then the operators whose plan or cycles differ. Exit code 1 where bits differ.)";

struct Flags {
  std::string a, b;
  Text top;
  bool json = false;
};

Result<int> run(const Flags& flags) {
  size_t top = 0;
  if (flags.top) {
    TRY(auto rows, parse_integer("--top", *flags.top, 1, 1'000'000));
    top = static_cast<size_t>(rows);
  }
  TRY(auto difference, run::difference(flags.a, flags.b));
  for (auto& note : difference.notes) std::cerr << "note: " << note << "\n";
  std::cout << (flags.json ? report::to_json(difference) + "\n" : report::to_text(difference, top)) << std::flush;
  return difference.same_bits() ? 0 : static_cast<int>(ErrorKind::Mismatch);
}

}  // namespace

void add_diff(CLI::App& app, Chosen& chosen) {
  auto flags = std::make_shared<Flags>();
  auto* command = app.add_subcommand("diff", "Where two runs part: bits, plans and cycles, operator by operator");
  command->footer(kExamples);
  command->add_option("a", flags->a, "what `compile`, `train` or `infer` wrote with -o")
      ->type_name("DIR_A")
      ->required();
  command->add_option("b", flags->b, "another one")->type_name("DIR_B")->required();
  command->add_option("--top", flags->top, "operators to show (default: all that differ)")->type_name("N");
  command->add_flag("--json", flags->json, "one JSON object on standard output, and nothing else there");
  command->callback([&chosen, flags] { chosen = [flags] { return run(*flags); }; });
}

}  // namespace tessera::cli
