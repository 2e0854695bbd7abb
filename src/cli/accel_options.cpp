#include "cli/accel_options.hpp"

#include <chrono>
#include <iostream>

#include "cli/results.hpp"
#include "target/target.hpp"

namespace tessera::cli {
namespace {

template <class Value>
Result<void> word(const char* option, const Text& text, Value& value,
                  std::initializer_list<std::pair<const char*, Value>> words) {
  if (!text) return {};
  std::string known;
  for (const auto& [name, meaning] : words) {
    if (*text == name) {
      value = meaning;
      return {};
    }
    known += fmt::format("{}{}", known.empty() ? "" : ", ", name);
  }
  return input_error("{} {}: unknown value", option, *text).hint("one of: " + known);
}

template <class Value>
Result<void> integer(const char* option, const Text& text, Value& value, int64_t least, int64_t most) {
  if (!text) return {};
  TRY(const auto number, parse_integer(option, *text, least, most));
  if constexpr (std::is_same_v<Value, std::optional<int>>) {
    value = static_cast<int>(number);
  } else {
    value = static_cast<Value>(number);
  }
  return {};
}

Result<std::vector<int64_t>> parse_tokens(const char* option, const std::string& text) {
  std::vector<int64_t> words;
  for (size_t begin = 0; begin <= text.size();) {
    const auto end = std::min(text.find(',', begin), text.size());
    TRY(const auto number, parse_integer(option, text.substr(begin, end - begin), 0, int64_t{1} << 31));
    words.push_back(number);
    begin = end + 1;
  }
  return words;
}

}  // namespace

void add_accel_job(CLI::App& command, AccelJobFlags& flags, const char* what, bool runs) {
  command.add_option("model", flags.model, what)->type_name(runs ? "DIR|MODEL" : "MODEL")->required();
  command
      .add_option("--board", flags.board, "clock, SRAM, memory and link: a name (`tessera targets`) or a .yaml file")
      ->type_name("NAME");
  command.add_option("--layers", flags.layers, "only the first N layers")->type_name("N");
  command.add_option("--tokens", flags.tokens, "of the prompt (64)")->type_name("N");
  command.add_flag("--decode", flags.decode, "one token more, with the prompt's K and V in memory");
  command.add_option("--layout", flags.layout, "of memory: ours, or PLENA's to the byte")->type_name("own|plena");
  command.add_option("--mlen", flags.mlen, "edge of a matrix tile (the board's largest)")->type_name("N");
  command.add_option("--blen", flags.blen, "edge of the systolic array")->type_name("N");
  command.add_option("--hlen", flags.hlen, "slot of a head (the head, at most MLEN)")->type_name("N");
  command.add_option("--sram", flags.sram, "lift the board's limit")->type_name("unlimited");
  command.add_flag("--no-head", flags.no_head, "leave out the final norm and lm_head");
  command.add_option("--weights", flags.weights, "folder with safetensors and config.json (seeded)")->type_name("DIR");
  command.add_option("--format", flags.format, "of numbers in memory: MXFP8 of OCP (blocks of 32) or PLENA (8)")
      ->type_name("ocp|plena");
  command.add_option("--seed", flags.seed, "of synthetic weights and prompts (1)")->type_name("N");
  command.add_option("--prompt", flags.prompt, "token numbers: 1,2,3")->type_name("LIST");
  if (!runs) return;
  command.add_option("--generate", flags.generate, "tokens to choose; each after the first is a decode step (1)")
      ->type_name("N");
  command.add_option("--forced", flags.forced, "tokens that the steps after the first work on, whatever was chosen")
      ->type_name("LIST");
  command.add_option("--numerics", flags.numerics, "off: timing alone")->type_name("on|off");
}

std::string compile_option_given(const AccelJobFlags& f) {
  const std::pair<const char*, bool> given[] = {
      {"--layers", f.layers.has_value()},   {"--tokens", f.tokens.has_value()},    {"--decode", f.decode},
      {"--layout", f.layout.has_value()},   {"--mlen", f.mlen.has_value()},        {"--blen", f.blen.has_value()},
      {"--hlen", f.hlen.has_value()},       {"--sram", f.sram.has_value()},        {"--no-head", f.no_head},
      {"--weights", f.weights.has_value()}, {"--format", f.format.has_value()},    {"--seed", f.seed.has_value()},
      {"--prompt", f.prompt.has_value()},   {"--generate", f.generate.has_value()}};
  for (const auto& [name, is] : given)
    if (is) return name;
  return {};
}

Result<std::optional<target::Board>> find_board(const Text& name) {
  if (!name) return std::optional<target::Board>();
  TRY(auto board, target::load_board(*name, target::default_target_directory()));
  return std::optional(std::move(board));
}

Result<accel::JobOptions> resolve(const AccelJobFlags& flags) {
  accel::JobOptions o{.model = flags.model, .weights = flags.weights};
  o.progress = slow_progress();
  TRY(o.board, find_board(flags.board));
  CHECK_OK(integer("--layers", flags.layers, o.layers, 1, 1 << 20));
  CHECK_OK(integer("--tokens", flags.tokens, o.tokens, 1, 1 << 22));
  CHECK_OK(integer("--mlen", flags.mlen, o.tile.mlen, 8, 4096));
  CHECK_OK(integer("--blen", flags.blen, o.tile.blen, 1, 4096));
  CHECK_OK(integer("--hlen", flags.hlen, o.tile.hlen, 1, 4096));
  CHECK_OK(integer("--seed", flags.seed, o.seed, 0, INT64_MAX));
  CHECK_OK(integer("--generate", flags.generate, o.generate, 1, 1 << 20));
  CHECK_OK(word("--layout", flags.layout, o.layout, {{"own", accel::Layout::Own}, {"plena", accel::Layout::Plena}}));
  CHECK_OK(word("--sram", flags.sram, o.tile.sram_unlimited, {{"unlimited", true}}));
  bool numerics = true;
  CHECK_OK(word("--numerics", flags.numerics, numerics, {{"on", true}, {"off", false}}));
  if (flags.numerics) o.numerics = numerics;
  if (flags.prompt) {
    if (flags.tokens) return input_error("--prompt and --tokens both say how many tokens there are");
    TRY(o.prompt, parse_tokens("--prompt", *flags.prompt));
  }
  if (flags.forced) {
    TRY(o.forced, parse_tokens("--forced", *flags.forced));
  }
  o.format = flags.format;
  o.decode = flags.decode;
  o.head = !flags.no_head;
  return o;
}

void add_accel_memory(CLI::App& command, AccelMemoryFlags& flags) {
  command.add_option("--memory-model", flags.model, "auto with a board, else hbm")
      ->type_name("hbm|layer-swap|host-stream|auto|resident|kv-swap|weight-stream");
  command.add_option("--manifest", flags.manifest, "regions and capacity (the program's own)")->type_name("F.json");
  command.add_option("--ddr-capacity", flags.capacity, "bytes of the memory (the manifest's, else the board's)")
      ->type_name("SIZE");
  command.add_option("--host-bandwidth", flags.bandwidth, "bytes a second of the link (the board's)")->type_name("X");
  command.add_option("--prefetch", flags.prefetch, "bring the next layer while this one computes")->type_name("on|off");
  command.add_option("--start", flags.start, "warm: weights that stay are there already")->type_name("warm|cold");
  command.add_option("--accounting", flags.accounting, "plena: KV made on chip is charged a load")
      ->type_name("own|plena");
  command.add_option("--dma", flags.dma, "blocking: the machine waits for each transfer")
      ->type_name("overlap|blocking");
}

Result<bool> dma_overlaps(const AccelMemoryFlags& flags) {
  bool overlaps = true;
  CHECK_OK(word("--dma", flags.dma, overlaps, {{"overlap", true}, {"blocking", false}}));
  return overlaps;
}

Result<accel::MemoryOptions> resolve(const AccelMemoryFlags& flags, const std::optional<target::Board>& board) {
  accel::MemoryOptions o{.board = board};
  if (flags.model) {
    TRY(o.kind, accel::parse_memory_model(*flags.model));
  }
  if (flags.manifest) {
    TRY(o.manifest, accel::read_manifest(*flags.manifest));
  }
  if (flags.capacity) {
    auto bytes = parse_bytes(*flags.capacity);
    if (!bytes) return std::move(bytes).error().within("--ddr-capacity");
    if (bytes->count == 0) return input_error("--ddr-capacity 0: a memory of 0 bytes holds nothing");
    o.ddr_capacity = static_cast<uint64_t>(bytes->count);
  }
  if (flags.bandwidth) {
    TRY(const auto rate, parse_number("--host-bandwidth", *flags.bandwidth, -1e18, 1e15));
    if (rate < 1)
      return input_error("--host-bandwidth {}: must be positive", *flags.bandwidth)
          .hint("bytes a second, e.g. --host-bandwidth 1.5e9");
    o.host_bandwidth = static_cast<int64_t>(rate);
  }
  CHECK_OK(word("--prefetch", flags.prefetch, o.prefetch, {{"on", true}, {"off", false}}));
  CHECK_OK(word("--start", flags.start, o.start, {{"warm", accel::Start::Warm}, {"cold", accel::Start::Cold}}));
  CHECK_OK(word("--accounting", flags.accounting, o.accounting,
                {{"own", accel::Accounting::Own}, {"plena", accel::Accounting::Plena}}));
  return o;
}

std::function<void(std::string_view)> slow_progress() {
  using Clock = std::chrono::steady_clock;
  return [say = progress(), last = Clock::now()](std::string_view what) mutable {
    if (!say || Clock::now() - last < std::chrono::seconds(1)) return;
    last = Clock::now();
    say(what);
  };
}

void print_json(const nlohmann::ordered_json& object) {
  std::cout << object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << "\n";
}

}  // namespace tessera::cli
