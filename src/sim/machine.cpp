#include "sim/machine.hpp"

#include <algorithm>

#include "sim/chip.hpp"

namespace tessera::sim {

Machine::Machine(std::unique_ptr<Chip> chip) : chip_(std::move(chip)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

Result<Machine> Machine::create(const target::Target& target, const Elf& elf, Options options) {
  if (!target.engine("L1", "L2")) return input_error("target {} has no DMA engine between L2 and L1", target.name);
  if (target.cores > Turns::kMostCores)
    return input_error("target {} has {} cores; the virtual chip can run {}", target.name, target.cores,
                       Turns::kMostCores);
  const auto most = [&](const char* what, int has, size_t can) -> Result<void> {
    if (has >= 1 && static_cast<size_t>(has) <= can) return {};
    return input_error("target {} has {} {}; the virtual chip can have 1 to {}", target.name, has, what, can);
  };
  CHECK_OK(most("FPUs", target.timing.fpus, kMostUnits - kFirstFpu));
  CHECK_OK(most("DMA ports", target.timing.dma_ports, WordPorts::kMost));
  auto chip = std::make_unique<Chip>(target, elf, std::move(options));
  CHECK_OK(chip->load());
  return Machine(std::move(chip));
}

Result<RunResult> Machine::run() {
  return chip_->run();
}

namespace {

Ram* holder(Memories& memory, uint32_t address, size_t size) {
  for (Ram* s : {&memory.l1, &memory.l2})
    if (s->holds(address, size)) return s;
  return nullptr;
}

}  // namespace

bool Machine::read(uint32_t address, std::span<uint8_t> bytes) const {
  Ram* s = holder(chip_->memory(), address, bytes.size());
  if (s) std::copy_n(s->at(address), bytes.size(), bytes.begin());
  return s;
}

bool Machine::write(uint32_t address, std::span<const uint8_t> bytes) {
  Ram* s = holder(chip_->memory(), address, bytes.size());
  if (!s) return false;
  std::ranges::copy(bytes, s->at(address));
  for (uint8_t& b : s->state_of(address, static_cast<uint32_t>(bytes.size()))) b |= kWritten | kDeclared;
  return true;
}

bool Machine::read_l3(uint32_t offset, std::span<uint8_t> bytes) const {
  Ram& s = chip_->memory().l3;
  if (!s.holds(offset, bytes.size())) return false;
  std::copy_n(s.at(offset), bytes.size(), bytes.begin());
  return true;
}

bool Machine::write_l3(uint32_t offset, std::span<const uint8_t> bytes) {
  Ram& s = chip_->memory().l3;
  if (!s.holds(offset, bytes.size())) return false;
  std::ranges::copy(bytes, s.at(offset));
  for (uint8_t& b : s.state_of(offset, static_cast<uint32_t>(bytes.size()))) b |= kWritten | kDeclared;
  return true;
}

std::optional<uint32_t> Machine::symbol(std::string_view name) const {
  const Symbol* s = chip_->elf().find(name);
  return s ? std::optional(s->address) : std::nullopt;
}

}  // namespace tessera::sim
