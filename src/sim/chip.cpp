#include "sim/chip.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "sim/debug_line.hpp"
#include "sim/trace.hpp"

namespace tessera::sim {
namespace {

// "rv32imafc_zicsr_xpulpv2" -> a bit for each letter after rv32
uint32_t isa_letters(const std::string& isa) {
  uint32_t bits = 0;
  for (size_t i = 4; i < isa.size() && isa[i] != '_'; ++i)
    if (isa[i] >= 'a' && isa[i] <= 'z') bits |= isa_bit(isa[i]);
  return bits;
}

// The sanitizer allows only what the silicon has.
uint32_t offered(const target::Target& t, const std::string& isa, bool sanitize) {
  uint32_t bits = isa_letters(isa);
  for (const char lacking : t.silicon_lacks)
    if (sanitize && lacking >= 'a' && lacking <= 'z') bits &= ~isa_bit(lacking);
  return bits;
}

DecodeContext context_of(const target::Target& t, const std::string& isa, const Options& o) {
  return {o.timing ? &t.timing : nullptr, offered(t, isa, o.sanitize), isa.find("xpulp") != std::string::npos};
}

constexpr uint32_t kDmaLocalSpan = 1u << 20;  // local addresses of the DMA have 20 bits

}  // namespace

Chip::Chip(const target::Target& target, const Elf& elf, Options options)
    : target_(target), elf_(elf), options_(std::move(options)), l1_span_(kDmaLocalSpan), events_(target.cores) {
  for (auto [store, level] : {std::pair{&memory_.l1, "L1"}, {&memory_.l2, "L2"}, {&memory_.l3, "L3"}}) {
    const target::Memory& m = *target_.memory(level);
    store->base = m.base;
    store->bytes.assign(static_cast<size_t>(m.size.count), 0);
  }
  const auto cores = static_cast<size_t>(target_.cores);
  cluster_code_ =
      std::make_unique<CodeStore>(memory_, context_of(target_, target_.cluster_isa, options_), timed(), options_.trace);
  fc_code_ =
      std::make_unique<CodeStore>(memory_, context_of(target_, target_.fc_isa, options_), timed(), options_.trace);
  cores_.resize(cores + 1);
  private_banks_.resize(cores + 1);
  private_dividers_.resize(cores + 1);
  divider_free_.resize(static_cast<size_t>(timing().dividers));
  std::vector<target::Cache> shapes;
  std::vector<uint16_t> bits;
  for (size_t i = 0; i < cores; ++i) {
    make_core(cores_[i], static_cast<int>(i), false);
    shapes.push_back(i < static_cast<size_t>(target_.workers) ? timing().l0 : timing().l0_controller);
    bits.push_back(cores_[i].cache_bit);
  }
  make_core(fc(), target_.cores, true);
  mchan_ = std::make_unique<Mchan>(*this, target_.cores + 1);
  share_units();
  cluster_cache_ =
      std::make_unique<InstructionCache>(shapes, bits, &timing().shared_cache, cluster_code_->line_holders());
  fc_cache_ = std::make_unique<InstructionCache>(std::vector{timing().fc_cache}, std::vector{fc().cache_bit}, nullptr,
                                                 fc_code_->line_holders());
  hyperbus_ = std::make_unique<HyperBus>(*this);
  soc_registers_.resize(0x100000 / 4);
  cluster_registers_.resize(0x2000 / 4);
}

void Chip::make_core(Core& c, int id, bool is_fc) {
  c.chip = this;
  c.id = id;
  c.is_fc = is_fc;
  c.isa = offered(target_, is_fc ? target_.fc_isa : target_.cluster_isa, sanitizing());
  c.cache_bit = static_cast<uint16_t>(1u << (is_fc ? 15 : id));
  c.taken_cost = static_cast<uint8_t>(timed() ? timing().taken_branch : 1);
  c.jump_cost = static_cast<uint8_t>(timed() ? timing().jump : 1);
  c.rank = is_fc ? Turns::kLastRank : id;
  code_of(c).attach(c);
  c.fp_slow = reads_float_flags(elf_) ? 2 : 0;
  // With the sanitizer on every access is looked at.
  c.l1 = memory_.l1.bytes.data();
  c.l1_base = memory_.l1.base;
  c.l1_size = is_fc || sanitizing() ? 0 : static_cast<uint32_t>(memory_.l1.bytes.size());
  c.bank_mask = static_cast<uint32_t>(target_.memory("L1")->banks - 1);
}

// Banks, FPUs and the divider are shared, unless time does not matter.
void Chip::share_units() {
  for (Core& c : cores_) {
    const auto i = static_cast<size_t>(c.id);
    c.banks = timed() ? unit_free_.data() : private_banks_[i].data();
    c.fpu_unit = kFirstFpu + static_cast<uint32_t>(c.id % timing().fpus);
    c.divider = timed() ? &divider_free_[i % divider_free_.size()] : &private_dividers_[i];
    c.polled = &polled_;
    give_log(c);
  }
}

// With timing off nobody replays the log, it only ends turns.
void Chip::give_log(Core& c) {
  const size_t room = !timed() ? kUntimedTurn : options_.run_ahead ? kLogged : 1;
  c.log = c.log_end = logs_.emplace_back(std::make_unique<uint64_t[]>(room + 1)).get();
  c.log_full = c.log + room;
  c.log_empty = timed() ? c.log : c.log_full;
}

Result<void> Chip::load() {
  for (const auto& s : elf_.segments) {
    Ram* to = memory_.l2.holds(s.address, s.size)   ? &memory_.l2
              : memory_.l1.holds(s.address, s.size) ? &memory_.l1
                                                    : nullptr;
    if (!to)
      return input_error("the ELF has a segment of {} B at 0x{:x}, which is not inside a memory of {}", s.size,
                         s.address, target_.name)
          .hint(fmt::format("L1 is at 0x{:x} ({}), L2 at 0x{:x} ({})", memory_.l1.base,
                            format_bytes(target_.memory("L1")->size), memory_.l2.base,
                            format_bytes(target_.memory("L2")->size)));
    std::ranges::copy(s.bytes, to->at(s.address));
  }
  if (options_.l3.size() > memory_.l3.bytes.size())
    return does_not_fit("the L3 image has {} B, L3 has {} B", options_.l3.size(), memory_.l3.bytes.size());
  std::ranges::copy(options_.l3, memory_.l3.bytes.begin());
  if (sanitizing()) sanitizer_ = std::make_unique<Sanitizer>(memory_, elf_, options_, target_);
  const bool runnable =
      std::ranges::any_of(elf_.segments, [&](const Segment& s) { return elf_.entry - s.address < s.size; });
  const Op* entry = runnable ? fc_code_->find(elf_.entry) : nullptr;
  if (!entry || elf_.entry % 2) return input_error("the ELF's entry 0x{:x} is in none of its segments", elf_.entry);
  fc().op = entry;
  fc().why = Why::Fetch;
  fc().started = fc().running = true;
  order_changed_ = true;
  if (options_.trace) options_.trace->begin(elf_, target_);
  return {};
}

void Chip::start_core(int id, uint64_t t) {
  Core& c = core(id);
  if (c.started) return;
  c.op = cluster_code_->find(c.boot_address & ~1u);
  if (!c.op) return fault(fmt::format("core {} is started at 0x{:x}, where there is no memory", id, c.boot_address));
  c.started = true;
  c.running = true;
  c.why = Why::Fetch;
  c.t = c.start_time = t + 1;
  to_front(id);
}

std::string Chip::where(const Core& c, uint32_t pc) const {
  const std::string core = c.is_fc ? "the FC" : fmt::format("core {}", c.id);
  const Symbol* function = elf_.at(pc, true);
  const auto line = describe_line(elf_.lines, function ? function->address : pc, pc);
  return fmt::format("{}, {} ({}pc 0x{:x})", core, function ? "in " + function->name : "outside every function",
                     line ? *line + ", " : "", pc);
}

void Chip::fault(std::string what) {
  if (stopped_) return;
  stopped_ = true;
  if (current_) what = fmt::format("{}: {}", where(*current_, code_of(*current_).address_of(current_->op)), what);
  error_ = Error(ErrorKind::Mismatch, std::move(what));
}

void Chip::mark_flight(Level level, uint32_t address, uint32_t size, bool arriving, bool begin,
                       const std::string& what) {
  if (!sanitizer_) return;
  if (!begin) return sanitizer_->end(level, address, size, arriving, what);
  if (auto message = sanitizer_->begin(level, address, size, arriving, what)) fault(*message);
}

void Chip::resume(int port, uint64_t t, uint32_t value) {
  resumes_.push_back({port, t, value});
}

void Chip::udma_done(bool read, uint64_t ps) {
  (void)read, (void)ps;
}

void Chip::trace_dma(int counter, bool to_l1, uint32_t bytes, uint64_t from, uint64_t to) {
  if (options_.trace)
    options_.trace->transfer(fmt::format("mchan {}", counter), to_l1 ? "L2 to L1" : "L1 to L2", bytes,
                             from * cluster_ps(), to * cluster_ps());
}

void Chip::trace_l3(uint32_t id, bool read, uint32_t bytes, uint64_t from_ps, uint64_t to_ps) {
  if (options_.trace)
    options_.trace->transfer(fmt::format("hyperbus {}", id), read ? "L3 to L2" : "L2 to L3", bytes, from_ps, to_ps);
}

void Chip::mark(Core& c, uint32_t value, uint64_t t) {
  if (options_.on_mark && !c.is_fc) options_.on_mark(c.id, value, {t, dma_cycles(t)});
}

void Chip::note_jump(Core& c, uint32_t target, uint64_t t) {
  if (options_.trace) options_.trace->enter(c.is_fc ? -1 : c.id, target, picoseconds(c, t));
}

void Chip::flush_code() {
  cluster_code_->forget();
  fc_code_->forget();
  order_changed_ = true;  // cores that wait look at their instruction again
}

Result<RunResult> Chip::run() {
  if (ran_) return internal_error("a machine runs once");
  ran_ = true;
  const auto start = std::chrono::steady_clock::now();
  loop();
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (options_.trace) options_.trace->end(picoseconds(fc(), fc().t));
  for (auto& [port, line] : output_lines_) flush_output(line);
  if (error_) return std::unexpected(*error_);
  return report(seconds);
}

RunResult Chip::report(double seconds) const {
  RunResult r;
  r.exit_code = exit_code_.value_or(0);
  r.output = output_;
  r.dma = dma_;
  r.seconds = seconds;
  uint64_t end = 0;
  for (size_t i = 0; i < cores_.size(); ++i) end = std::max(end, cluster_time(cores_[i], cores_[i].t));
  r.cluster_cycles = end;
  r.dma_cycles = dma_cycles(end);
  r.soc_cycles = cores_.back().t;
  const auto add = [&](const Core& c) {
    const Counts& k = c.count;
    CoreReport out{c.is_fc ? "fc" : fmt::format("core{}", c.id),
                   c.started ? c.t - c.start_time : 0,
                   k.asleep,
                   c.instructions,
                   k.loads,
                   k.stores,
                   {k.load_use, k.l1_conflict, k.l2, k.peripheral, k.fpu, k.divide,
                    k.taken * (c.taken_cost - 1u) + k.jumps * (c.jump_cost - 1u), k.multiply, k.icache, k.dma_queue}};
    r.instructions += c.instructions;
    r.cores.push_back(out);
  };
  add(cores_.back());
  for (size_t i = 0; i + 1 < cores_.size(); ++i) add(cores_[i]);
  return r;
}

}  // namespace tessera::sim
