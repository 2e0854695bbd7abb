// network.h and network.c: the memory of the network, one function a node, the two entry points.
#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "emit/describe.hpp"
#include "emit/names.hpp"
#include "emit/source.hpp"
#include "emit/statements.hpp"

namespace tessera::emit {

namespace {

using schedule::Section;

// True where the text calls a function of that name.
bool calls(const std::vector<std::string>& lines, const std::string& call) {
  return std::ranges::any_of(lines, [&](const std::string& line) {
    for (size_t at = line.find(call); at != std::string::npos; at = line.find(call, at + 1))
      if (at == 0 || (!std::isalnum(static_cast<unsigned char>(line[at - 1])) && line[at - 1] != '_')) return true;
    return false;
  });
}

class Network {
 public:
  explicit Network(const Source& source) : source_(source) {}

  Result<std::vector<File>> files() {
    TRY(engines_, engines_of_handles(source_.schedule, source_.target));
    find_locals();
    TRY(auto training,
        entry("TrainingNetwork", source_.schedule.training,
              source_.program.training() ? "Forward, loss and backward pass of one micro-batch; adds up gradients."
                                         : "One inference."));
    TRY(auto optimizer,
        entry("OptimizerNetwork", source_.schedule.optimizer,
              source_.schedule.optimizer.empty() ? "Nothing to update."
                                                 : "Updates the parameters with the gradients so far."));
    std::vector<std::string> body = training;
    body.insert(body.end(), optimizer.begin(), optimizer.end());
    return std::vector<File>{{"network.c", source_text(body)}, {"network.h", header_text()}};
  }

 private:
  // A buffer that only one section touches is named there.
  void find_locals() {
    std::map<int32_t, int> sections;
    for (const auto* entry : {&source_.schedule.training, &source_.schedule.optimizer})
      for (const auto& section : *entry)
        for (const auto& use : buffers_of(section, source_.graph())) ++sections[use.buffer.index];
    for (size_t b = 0; b < source_.schedule.buffers.size(); ++b) {
      bool home = source_.schedule.buffers[b].storage.index >= 0;
      auto used = sections.find(static_cast<int32_t>(b));
      if (home || (used != sections.end() && used->second > 1))
        globals_.push_back(b);
      else
        locals_.insert(static_cast<int32_t>(b));
    }
  }

  Result<std::vector<std::string>> entry(const std::string& name, const std::vector<Section>& sections,
                                         const std::string& what) {
    std::vector<std::string> lines, calls_made;
    for (const auto* section : emitted_sections(sections)) {
      const Node& node = source_.graph().at(section->node);
      auto function = functions_.take("run_" + identifier(node.name));
      TRY(auto text, node_function(function, *section));
      lines.insert(lines.end(), text.begin(), text.end());
      calls_made.push_back(fmt::format("  ts_profile({});", stamps_++));
      calls_made.push_back(fmt::format("  {}();", function));
    }
    calls_made.push_back(fmt::format("  ts_profile({});", stamps_++));
    lines.push_back(fmt::format("/* {} */", what));
    lines.push_back(fmt::format("void {}(void) {{", name));
    lines.insert(lines.end(), calls_made.begin(), calls_made.end());
    lines.insert(lines.end(), {"}", ""});
    return lines;
  }

  Result<std::vector<std::string>> node_function(const std::string& function, const Section& section) {
    const Node& node = source_.graph().at(section.node);
    TRY(auto tiles, tiling(source_.graph(), node, source_.plan.nodes[static_cast<size_t>(section.node.index)]));
    auto lines = comment_block({formula(source_.graph(), node), tiles});
    lines.push_back(fmt::format("static void {}(void) {{", function));
    auto uses = buffers_of(section, source_.graph());
    UniqueNames unique;
    for (const auto& use : uses)
      if (!locals_.contains(use.buffer.index)) unique.take(source_.buffer_names[static_cast<size_t>(use.buffer.index)]);
    std::map<int32_t, std::string> names;
    std::vector<std::string> slots;
    for (const auto& use : uses) {
      if (!locals_.contains(use.buffer.index)) continue;
      const auto& buffer = source_.schedule.buffers[static_cast<size_t>(use.buffer.index)];
      auto name = unique.take(fmt::format("L{}_{}", buffer.level + 1, identifier(use.holds)));
      slots.push_back(fmt::format("{} = {}", name, buffer.offset.count));
      names[use.buffer.index] = std::move(name);
    }
    auto append = [&](const std::vector<std::string>& more) { lines.insert(lines.end(), more.begin(), more.end()); };
    if (!slots.empty()) append(wrapped(1, "enum { ", slots, " };"));
    append(statements(section, {source_.schedule, source_.target, engines_, source_.buffer_names, names}));
    lines.insert(lines.end(), {"}", ""});
    return lines;
  }

  bool any_handle(Engine engine) const { return std::ranges::find(engines_, engine) != engines_.end(); }

  std::string source_text(const std::vector<std::string>& body) const {
    std::vector<std::string> lines = {
        "/* One function for each node: its transfers, waits and kernel calls, as planned. */",
        "#include \"network.h\"", ""};
    auto uses_math = [](const std::string& line) {
      return line.find("INFINITY") != std::string::npos || line.find("NAN") != std::string::npos;
    };
    if (std::ranges::any_of(body, uses_math)) lines.push_back("#include <math.h>");
    for (const auto& header : headers_of(source_.schedule))
      lines.push_back(fmt::format("#include \"kernels/{}.h\"", header));
    lines.push_back("");
    if (source_.arena_bytes(0) > 0)
      lines.push_back("PI_CL_L1 static uint8_t ts_l1[TS_L1_BYTES] __attribute__((aligned(16)));");
    auto handles = source_.schedule.handles;
    if (handles > 0 && any_handle(Engine::Cluster))
      lines.push_back(
          fmt::format("static pi_cl_dma_cmd_t dma[{}]; /* each has at most one transfer in flight */", handles));
    if (handles > 0 && any_handle(Engine::Ram))
      lines.push_back(fmt::format("static pi_cl_ram_req_t ram[{}];", handles));
    if (source_.arena_bytes(2) > 0) lines.insert(lines.end(), {"struct pi_device ts_ram;", "uint32_t ts_l3;"});
    lines.push_back("");
    if (calls(body, "l1(")) lines.push_back("static void *l1(int32_t byte) { return ts_l1 + byte; }");
    if (calls(body, "l2(")) lines.push_back("static void *l2(int32_t byte) { return ts_l2 + byte; }");
    // The two sides of the cluster's DMA, as the 32-bit addresses that it takes.
    if (calls(body, "ext(")) {
      lines.push_back("static uint32_t ext(int32_t byte) { return (uint32_t)(uintptr_t)(ts_l2 + byte); } /* L2 */");
      lines.push_back("static uint32_t loc(int32_t byte) { return (uint32_t)(uintptr_t)(ts_l1 + byte); } /* L1 */");
      if (calls(body, "TS_IN")) lines.push_back("#define TS_IN PI_CL_DMA_DIR_EXT2LOC");
      if (calls(body, "TS_OUT")) lines.push_back("#define TS_OUT PI_CL_DMA_DIR_LOC2EXT");
    }
    if (lines.back() != "") lines.push_back("");
    lines.insert(lines.end(), body.begin(), body.end());
    while (lines.back().empty()) lines.pop_back();
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  }

  std::string header_text() const {
    auto name = source_.graph().name.empty() ? "network" : source_.graph().name;
    std::vector<std::string> lines = {
        fmt::format("/* {}: its memory and its entry points, for {} with {} cores. */", comment_text(name),
                    comment_text(source_.target.name), source_.plan.cores),
        "#ifndef NETWORK_H",
        "#define NETWORK_H",
        "",
        "#include \"kernels/ts_kernel.h\"",
        "",
        "/* The arenas: every byte is planned. L1 holds the tiles of the node that runs. */"};
    for (int level = 0; level < 3; ++level)
      if (auto bytes = source_.arena_bytes(level); bytes > 0)
        lines.push_back(fmt::format("#define TS_L{}_BYTES {}", level + 1, bytes));
    lines.push_back("extern uint8_t ts_l2[]; /* images.S: with the initial values where they live */");
    if (source_.arena_bytes(2) > 0)
      lines.insert(lines.end(), {"extern struct pi_device ts_ram;", "extern uint32_t ts_l3; /* address in the RAM */"});
    lines.insert(lines.end(), {"", "/* Where tensors live, in bytes from the start of their arena. */", "enum {"});
    for (size_t b : globals_) {
      const auto& buffer = source_.schedule.buffers[b];
      auto text = fmt::format("  {} = {},", source_.buffer_names[b], buffer.offset.count);
      if (buffer.storage.index >= 0) {
        const auto& storage = source_.plan.storages[static_cast<size_t>(buffer.storage.index)];
        text +=
            fmt::format(" /* {} */", home_comment(source_.graph(), storage, 110 - std::min<size_t>(text.size(), 90)));
      }
      lines.push_back(text);
    }
    lines.insert(lines.end(), {"};", "", "void TrainingNetwork(void);", "void OptimizerNetwork(void);", "",
                               "/* Tells a profiler that a node begins, or that all are done. */", "#ifdef TS_PROFILE",
                               "#include \"chip/profile.h\"", "#else", "#define ts_profile(stamp) ((void)0)", "#endif",
                               "", "#endif"});
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  }

  const Source& source_;
  std::vector<Engine> engines_;
  std::set<int32_t> locals_;
  std::vector<size_t> globals_;
  UniqueNames functions_;
  int stamps_ = 0;
};

}  // namespace

Result<std::vector<File>> network_files(const Source& source) {
  return Network(source).files();
}

}  // namespace tessera::emit
