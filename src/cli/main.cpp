// The program: declares the subcommands, runs the chosen one, and turns errors into messages and exit codes.
#include <algorithm>
#include <iostream>
#include <string_view>
#include <vector>

#include "cli/command.hpp"
#include "cli/failure.hpp"

namespace tessera::cli {
namespace {

constexpr auto kExamples = R"(Examples:
  tessera train simplemlp --steps 8 --accumulate 4
  tessera train net.onnx --loss cross_entropy --data samples.npz --l1 64k
  tessera compile net.onnx --loss mse -o build/net

Exit codes: 0 done, 1 a result did not match or a check failed, 2 bad usage or input, 3 does not fit, 4 our bug.)";

int run(int argc, char** argv) {
  const bool json = std::any_of(argv + 1, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; });
  CLI::App app("Tessera trains and runs neural networks on devices whose memories are explicit.", "tessera");
  app.footer(kExamples);
  app.require_subcommand(0, 1);
  app.fallthrough(false);
  Chosen chosen;
  add_train(app, chosen);
  add_infer(app, chosen);
  add_compile(app, chosen);
  add_profile(app, chosen);
  add_compare(app, chosen);
  add_fit(app, chosen);
  add_diff(app, chosen);
  add_check(app, chosen);
  add_zoo(app, chosen);
  add_ops(app, chosen);
  add_targets(app, chosen);
  add_alloc(app, chosen);
  add_sim(app, chosen);
  add_accel(app, chosen);

  Result<int> done = 0;
  try {
    app.parse(argc, argv);
    if (!chosen) {
      std::cerr << app.help();
      return static_cast<int>(ErrorKind::Input);
    }
    done = chosen();
  } catch (const CLI::CallForHelp&) {
    auto& command = deepest(app);
    std::cout << command.help(command.get_parent() ? path_of(*command.get_parent()) : "");
    return 0;
  } catch (const CLI::ParseError& error) {
    done = usage_error(app, error);
  } catch (const std::bad_alloc&) {
    done = input_error("out of memory").hint("the model or its data is larger than this machine can hold");
  } catch (const std::exception& error) {
    done = internal_error("{}", error.what());
  }
  if (done) return *done;
  return report_failure(done.error(), json);
}

}  // namespace
}  // namespace tessera::cli

int main(int argc, char** argv) {
  return tessera::cli::run(argc, argv);
}
