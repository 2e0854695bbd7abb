// Compositions against whole runs, on a small model of the same kind: the same heads, tiles and board.
#include <algorithm>

#include "accel/decoder_shape.hpp"
#include "accel/regime_pieces.hpp"

namespace tessera::accel {
namespace {

using enum MemoryModelKind;

constexpr int64_t kSmallLayers = 8, kSmallContext = 128;
constexpr uint64_t kAmple = uint64_t{64} << 20;

Model small_model(const Model& model, const MachineConfig& machine) {
  auto m = model;
  m.name = "a small " + model.name;
  m.layers = std::min(model.layers, kSmallLayers);
  m.heads = model.group(), m.kv_heads = 1;
  m.hidden = std::min<int64_t>(model.hidden, std::max<int64_t>(std::max(machine.mlen, 128), model.head_dim));
  m.intermediate = std::min<int64_t>(model.intermediate, std::max(2 * machine.mlen, 256));
  m.vocabulary = model.vocabulary ? 2 * machine.mlen : 0;
  return m;
}

// The same machine with so little SRAM that the context takes several blocks.
std::optional<MachineConfig> with_blocks(const Model& model, MachineConfig machine) {
  if (machine.sram_bytes == 0) machine.sram_bytes = int64_t{1} << 30;
  for (; machine.sram_bytes > 4096; machine.sram_bytes = machine.sram_bytes * 3 / 4) {
    auto used = machine;
    const auto shape = shape_decoder(model, used, {.tokens = 2 * kSmallContext, .context = 2 * kSmallContext});
    if (!shape) return std::nullopt;
    if (shape->padded >= 4 * shape->rows) return machine;
  }
  return std::nullopt;
}

}  // namespace

Result<std::vector<CompositionCheck>> check_composition(const Model& model, const MachineConfig& machine,
                                                        const target::Board& board,
                                                        std::optional<memory::LinkTiming> link) {
  const auto small = small_model(model, machine);
  PieceStore store;
  std::vector<CompositionCheck> checks;
  // `tight`: the cache of two layers and a half is what the memory has room for.
  const auto check = [&](const char* phase, const MachineConfig& on, MemoryModelKind regime, DecoderOptions options,
                         bool tight = false) -> Result<void> {
    auto capacity = kAmple;
    if (tight) {
      TRY(const auto all, RegimePieces(small, on, board, link, kAmple, store).bytes_of(options));
      capacity = all.weight + all.activation + all.kv * 5 / static_cast<uint64_t>(2 * small.layers);
    }
    RegimePieces pieces(small, on, board, link, capacity, store);
    TRY(const auto composed,
        options.past ? pieces.decode(regime, options.past + 1) : pieces.prefill(regime, options.tokens));
    TRY(const auto program, compile_decoder(small, on, options));
    TRY(const auto whole, pieces.bytes_of(options));
    auto memory = pieces.memory_for(regime, whole);
    memory.regions = program.regions();
    TRY(const auto memory_model, make_memory_model(memory));
    TRY(const auto run, run_program(program, *memory_model, {}));
    checks.push_back({fmt::format("{}, {}, {} layers, context {}{}", phase, name_of(regime), small.layers,
                                  options.past + options.tokens, tight ? ", KV beyond the memory" : ""),
                      composed.seconds, static_cast<double>(run.total.count) * 1e-12});
    return {};
  };
  const auto blocks = with_blocks(small, machine);
  const DecoderOptions prompt{.tokens = kSmallContext, .context = kSmallContext},
      token{.past = kSmallContext - 1, .tokens = 1, .context = kSmallContext},
      long_prompt{.tokens = 2 * kSmallContext, .context = 2 * kSmallContext};
  for (auto regime : {Resident, KvSwap, WeightStream})
    for (bool tight : {false, true}) {
      if (regime != Resident ? !link : tight) continue;
      CHECK_OK(check("prefill", machine, regime, prompt, tight));
      if (model.causal) CHECK_OK(check("decode", machine, regime, token, tight));
      if (blocks) CHECK_OK(check("prefill in blocks", *blocks, regime, long_prompt, tight));
    }
  return checks;
}

}  // namespace tessera::accel
