#include <charconv>
#include <iostream>
#include <memory>

#include "accel/regimes.hpp"
#include "base/file.hpp"
#include "cli/accel.hpp"
#include "cli/accel_options.hpp"
#include "cli/options.hpp"
#include "target/target.hpp"

namespace tessera::cli {
namespace {

struct Flags {
  std::string model, context = "128:8192";
  std::vector<std::string> boards, links;
  Text capacity, bandwidth, format, mlen, blen, svg;
  bool json = false;
};

Result<int64_t> rate_of(std::string_view option, const std::string& text) {
  TRY(const auto value, parse_number(option, text, 0, 1e15));
  if (value < 1) return input_error("{} {}: must be positive", option, text).hint("give bytes a second, e.g. 1.5e9");
  return static_cast<int64_t>(value);
}

// "usb2" is the link of the board that has it; a number is bytes a second.
Result<accel::NamedLink> link_of(const std::string& text) {
  const auto directory = target::default_target_directory();
  std::string known;
  for (auto& name : target::list_boards(directory)) {
    TRY(const auto board, target::load_board(name, directory));
    if (!board.link) continue;
    known += (known.empty() ? "" : ", ") + board.link->name;
    if (board.link->name == text)
      return accel::NamedLink{text,
                              {.bytes_per_second = board.link->bytes_per_second,
                               .latency = memory::Picoseconds(board.link->latency_ns * 1000),
                               .packet = board.link->packet}};
  }
  if (text.empty() || text.find_first_not_of("0123456789.eE+") != text.npos)
    return input_error("--link {}: no board has such a link", text)
        .hint(fmt::format("known: {}; or bytes a second: 1.5e9", known));
  TRY(const auto rate, rate_of("--link", text));
  return accel::NamedLink{text, {.bytes_per_second = rate, .latency = memory::Picoseconds(1'000'000)}};
}

Result<accel::Model> model_of(const std::string& name) {
  std::error_code none;
  if (std::filesystem::exists(std::filesystem::path(name) / "config.json", none))
    return accel::read_model_config(std::filesystem::path(name) / "config.json");
  return accel::find_model(name);
}

Result<accel::RegimesOptions> resolve(const Flags& flags) {
  accel::RegimesOptions o;
  o.progress = slow_progress();
  TRY(o.model, model_of(flags.model));
  TRY(o.contexts, accel::parse_contexts(flags.context));
  for (auto& name : flags.boards) {
    TRY(auto board, target::load_board(name, target::default_target_directory()));
    o.boards.push_back(std::move(board));
  }
  if (flags.capacity) {
    auto bytes = parse_bytes(*flags.capacity);
    if (!bytes) return std::move(bytes).error().within("--ddr-capacity");
    if (bytes->count == 0) return input_error("--ddr-capacity 0: a memory of 0 bytes holds nothing");
    o.ddr_capacity = static_cast<uint64_t>(bytes->count);
  }
  if (flags.bandwidth) {
    TRY(o.host_bandwidth, rate_of("--host-bandwidth", *flags.bandwidth));
    if (!flags.links.empty()) return input_error("--link and --host-bandwidth both say how fast the link is");
  }
  for (auto& text : flags.links) {
    TRY(auto link, link_of(text));
    o.links.push_back(std::move(link));
  }
  o.format = flags.format;
  if (flags.mlen) {
    TRY(const auto n, parse_integer("--mlen", *flags.mlen, 1, 4096));
    o.tile.mlen = static_cast<int>(n);
  }
  if (flags.blen) {
    TRY(const auto n, parse_integer("--blen", *flags.blen, 1, 4096));
    o.tile.blen = static_cast<int>(n);
  }
  return o;
}

Result<int> sweep(const Flags& flags) {
  TRY(const auto options, resolve(flags));
  TRY(const auto done, accel::sweep_regimes(options));
  if (flags.svg) {
    const auto picture = accel::regimes_svg(done);
    CHECK_OK(write_file(*flags.svg, std::as_bytes(std::span(picture))));
  }
  std::cout << (flags.json ? accel::regimes_json(done) : accel::regimes_table(done));
  return 0;
}

}  // namespace

void add_accel_regimes(CLI::App& group, Chosen& chosen) {
  auto* command = group.add_subcommand("regimes", "What fits, what streams, and how fast, over contexts and boards");
  command->footer(R"(Examples:
  tessera accel regimes SmolLM2-135M --board nexys_video,custom_a7,v80 --svg regimes.svg
  tessera accel regimes SmolLM2-135M --board custom_a7 --ddr-capacity 192M --context 3000,3712,3713,4096
  tessera accel regimes SmolLM2-135M --board custom_a7 --link usb2,pcie_gen2_x4,8e9 --json
  tessera accel regimes llada-8b --board v80 --context 128:1024       a step over all tokens at once)");
  auto flags = std::make_shared<Flags>();
  command->add_option("model", flags->model, "a preset, or a folder with config.json")->type_name("MODEL")->required();
  command->add_option("--board", flags->boards, "boards to compare")->type_name("B,...")->delimiter(',')->required();
  command->add_option("--context", flags->context, "tokens: 128:8192 doubles, 100,200 lists")->type_name("A:B");
  command->add_option("--ddr-capacity", flags->capacity, "instead of the board's memory")->type_name("BYTES");
  command->add_option("--host-bandwidth", flags->bandwidth, "bytes a second, instead of the board's link")
      ->type_name("N");
  command->add_option("--link", flags->links, "links to compare: usb2, pcie_gen2_x4, bytes a second")
      ->type_name("L,...")
      ->delimiter(',');
  command->add_option("--format", flags->format, "of numbers in memory, instead of the board's")->type_name("F");
  command->add_option("--mlen", flags->mlen, "edge of a tile")->type_name("N");
  command->add_option("--blen", flags->blen, "edge of the systolic array")->type_name("N");
  command->add_option("--svg", flags->svg, "a picture of tokens a second over context")->type_name("F.svg");
  command->add_flag("--json", flags->json, "one JSON object on standard output");
  command->callback([&chosen, flags] { chosen = [flags] { return sweep(*flags); }; });
}

}  // namespace tessera::cli
