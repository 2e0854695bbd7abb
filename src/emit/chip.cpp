// chip/ts_chip.h and chip/memory.ld: the target as its runtime and its linker script see it.
#include "emit/names.hpp"
#include "emit/source.hpp"

namespace tessera::emit {

namespace {

// The first 64 kB of L2 are two private banks; what is larger than the rest begins there.
constexpr int64_t kPrivateL2 = 64 * 1024;

int64_t sample_bytes(const Source& source) {
  auto files = ram_files(source);
  if (!files) return 0;  // whoever writes them says what is wrong
  int64_t bytes = 0;
  for (const auto& file : *files) bytes += align_up(Bytes(file.bytes), kRamFileAlignment).count;
  return bytes;
}

// What stands in L2 whatever happens: the arena, stacks, code and the runtime's data.
int64_t planned_l2(const Source& source) {
  return source.arena_bytes(1) + (source.plan.reserved.size() > 1 ? source.plan.reserved[1].count : 0);
}

// What must be near the cores, whatever the run leaves.
int64_t with_losses(const Source& source) {
  const auto results = results_of(source);
  return planned_l2(source) + align_up(Bytes(results.losses), 16).count + align_up(Bytes(results.reference), 16).count;
}

int64_t with_results(const Source& source) {
  return with_losses(source) + align_up(Bytes(results_of(source).outputs), 16).count;
}

std::string hex(uint32_t value) {
  return fmt::format("0x{:08x}", value);
}

std::string header_text(const Source& source) {
  const auto& t = source.target;
  const auto& r = t.registers;
  std::string text = fmt::format(
      "/* {}: its cores and the bases of its registers. */\n#ifndef TS_CHIP_H\n#define TS_CHIP_H\n\n"
      "#define TS_CHIP_WORKERS {} /* cores that this program uses */\n"
      "#define TS_CHIP_CONTROLLER {} /* the core that forks */\n"
      "#define TS_CHIP_CONTROLLER_WORKS {}\n\n",
      comment_text(t.name), source.plan.cores, t.controller, t.controller_works ? 1 : 0);
  const std::pair<const char*, uint32_t> bases[] = {
      {"CLUSTER", r.cluster},     {"EVENT_UNIT", r.event_unit},     {"DMA", r.dma},        {"UDMA", r.udma},
      {"FC_ICACHE", r.fc_icache}, {"FC_INTERRUPT", r.fc_interrupt}, {"STDOUT", r.stdout_}, {"EXIT", r.exit}};
  text += fmt::format(
      "/* Of the runtime's data: what the cluster uses often. A build that watches needs that room for its stack. */\n"
      "#ifdef TS_CHIP_SANITIZE\n#define TS_CHIP_NEAR\n#else\n#define TS_CHIP_NEAR{}\n#endif\n\n",
      near_bytes(source) > 0 ? " PI_CL_L1" : "");
  for (auto& [name, base] : bases) text += fmt::format("#define TS_CHIP_{} {}u\n", name, hex(base));
  return text + "\n#endif\n";
}

std::string memory_text(const Source& source) {
  const auto& t = source.target;
  const bool in_ram = data_in_ram(source);
  const auto &l1 = t.memories[0], &l2 = t.memories[1];
  const int64_t l3 = t.memories.size() > 2 ? t.memories[2].size.count : 0;
  const bool away = outputs_in_ram(source);
  const int64_t wanted = (away ? with_losses(source) : with_results(source)) + (in_ram ? 0 : sample_bytes(source));
  const int64_t skipped = wanted <= l2.size.count - kPrivateL2 ? kPrivateL2 : 0;
  std::string text = fmt::format("/* The memories of {}, and what stands where. */\nMEMORY {{\n", comment_text(t.name));
  text += fmt::format("  L1 (rw) : ORIGIN = {}, LENGTH = {}\n", hex(l1.base), l1.size.count);
  text += fmt::format("  L2 (rwx) : ORIGIN = {}, LENGTH = {}\n", hex(static_cast<uint32_t>(l2.base + skipped)),
                      l2.size.count - skipped);
  text += fmt::format("}}\nREGION_ALIAS(\"STACKS\", {})\n\n", source.plan.stack_level == 0 ? "L1" : "L2");
  text += fmt::format(
      "__controller_stack_bytes = {} - (DEFINED(ts_broken_rule) ? 0 : {});\n__worker_stack_bytes = {};\n"
      "__worker_count = {};\n__fc_stack_bytes = {};\n",
      source.plan.controller_stack.count, near_bytes(source), t.stacks.worker.count,
      source.plan.cores - (t.controller_works ? 1 : 0), t.stacks.fabric_controller.count);
  text += in_ram
              ? "\n/* The external RAM as it begins, from its first byte: no segment loads it. */\n"
                "SECTIONS {\n  .ts_data 0 (INFO) : { KEEP(*(.ts_data)) }\n}\n__l3_heap = SIZEOF(.ts_data);\n"
              : "\n/* Samples. */\nSECTIONS {\n  .ts_data : ALIGN(16) { KEEP(*(.ts_data)) } > L2\n}\n__l3_heap = 0;\n";
  const int64_t asked = (in_ram ? 0 : source.arena_bytes(2)) + (away ? results_of(source).outputs : 0);
  return text +
         fmt::format("__l3_heap_end = {};\n__l3_asked = __l3_heap + {}; /* when the run has begun */\n", l3, asked);
}

}  // namespace

// A command is a byte there (chip/calls.h). The arena may take all that the stacks leave of L1, hence a part of a
// stack.
int64_t near_bytes(const Source& source) {
  constexpr int64_t most_commands = 128;
  constexpr auto queues = 40_B;  // of the external RAM (chip/ram.c); the arena stands between them and the commands
  const Bytes commands(source.schedule.handles);
  if (source.plan.stack_level != 0 || commands.count > most_commands) return 0;
  return (align_up(queues, 16) + align_up(commands, 16)).count;
}

bool data_in_ram(const Source& source) {
  return with_results(source) + sample_bytes(source) > source.target.memories[1].size.count;
}

bool outputs_in_ram(const Source& source) {
  return with_results(source) > source.target.memories[1].size.count;
}

Result<std::vector<File>> chip_files(const Source& source) {
  return std::vector<File>{{"chip/ts_chip.h", header_text(source)}, {"chip/memory.ld", memory_text(source)}};
}

}  // namespace tessera::emit
