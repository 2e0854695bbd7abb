#include "sim/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

namespace tessera::sim {

std::string TraceSink::row_of(int core) {
  return core < 0 ? "fc" : fmt::format("core {}", core);
}

void TraceSink::begin(const Elf& elf, const target::Target&) {
  elf_ = &elf;
  enter(-1, elf.entry, 0);
}

void TraceSink::close(int core, Open& open, uint64_t ps) {
  if (open.function && ps > open.since) slices_.push_back({row_of(core), open.function->name, open.since, ps, 0});
}

void TraceSink::enter(int core, uint32_t pc, uint64_t ps) {
  Open& open = open_[core];
  const Symbol* function = elf_->at(pc, true);
  if (function == open.function) return;
  close(core, open, ps);
  open = {function, ps};
}

void TraceSink::sleep(int core, uint64_t from_ps, uint64_t to_ps) {
  Open& open = open_[core];
  close(core, open, from_ps);
  open.since = to_ps;
  if (to_ps > from_ps) slices_.push_back({row_of(core), "(asleep)", from_ps, to_ps, 0});
}

void TraceSink::transfer(const std::string& channel, const char* direction, uint32_t bytes, uint64_t from_ps,
                         uint64_t to_ps) {
  slices_.push_back({channel, direction, from_ps, std::max(to_ps, from_ps + 1), bytes});
}

void TraceSink::end(uint64_t ps) {
  for (auto& [core, open] : open_) close(core, open, ps);
  open_.clear();
}

Result<void> TraceSink::write(const std::string& path) const {
  std::ofstream out(path);
  if (!out) return input_error("{}: cannot be written", path);
  std::vector<std::string> rows;
  for (const auto& s : slices_)
    if (std::ranges::find(rows, s.row) == rows.end()) rows.push_back(s.row);
  std::ranges::sort(rows);
  out << "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  for (size_t i = 0; i < rows.size(); ++i)
    out << fmt::format("{{\"ph\":\"M\",\"pid\":1,\"tid\":{},\"name\":\"thread_name\",\"args\":{{\"name\":{}}}}},\n", i,
                       nlohmann::json(rows[i]).dump());
  for (size_t i = 0; i < slices_.size(); ++i) {
    const Slice& s = slices_[i];
    const auto row = std::ranges::lower_bound(rows, s.row) - rows.begin();
    const std::string args = s.bytes ? fmt::format(",\"args\":{{\"bytes\":{}}}", s.bytes) : "";
    out << fmt::format("{{\"ph\":\"X\",\"pid\":1,\"tid\":{},\"name\":{},\"ts\":{:.3f},\"dur\":{:.3f}{}}}{}\n", row,
                       nlohmann::json(s.name).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace),
                       static_cast<double>(s.from) * 1e-6, static_cast<double>(s.to - s.from) * 1e-6, args,
                       i + 1 < slices_.size() ? "," : "");
  }
  out << "]}\n";
  if (!out.flush()) return input_error("{}: cannot be written", path);
  return {};
}

}  // namespace tessera::sim
