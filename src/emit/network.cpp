// network.h and network.c: the memory of the network, one function a node, the two entry points.
#include <algorithm>
#include <cctype>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "emit/describe.hpp"
#include "emit/names.hpp"
#include "emit/node_functions.hpp"
#include "emit/parts.hpp"
#include "emit/source.hpp"
#include "emit/statements.hpp"
#include "schedule/command.hpp"

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

std::set<std::string> words(const std::vector<std::string>& lines) {
  std::set<std::string> found;
  auto in_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (const auto& line : lines)
    for (auto at = line.begin(); at != line.end();) {
      auto start = std::find_if(at, line.end(), in_word);
      at = std::find_if_not(start, line.end(), in_word);
      found.emplace(start, at);
    }
  return found;
}

// What the nodes' functions call: transfers between arenas by number of request, and waits. Functions, for they are
// called often; where findings must name the line that called, macros in a file of their own.
struct Helper {
  std::string name, parameters, body;
  std::string through;  // how the function says it, by another one that has a place of its own
  bool apart = false;   // has one itself

  std::string function() const {
    std::vector<std::string> typed;
    for (auto& parameter : split())
      typed.push_back((parameter == "direction" ? "pi_cl_dma_dir_e " : "int32_t ") + parameter);
    const auto& says = through.empty() ? body : through;
    auto lines =
        wrapped({0, fmt::format("{} void {}(", apart ? "TS_ON_A_LINE TS_APART" : "static", name), typed, ") {"});
    auto head = fmt::format("{}", fmt::join(lines, "\n"));
    auto end = says.ends_with('}') ? "" : ";";
    return head.size() + says.size() < 116 ? fmt::format("{} {}{} }}", head, says, end)
                                           : fmt::format("{}\n  {}{}\n}}", head, says, end);
  }
  std::string macro() const {
    auto text = body;
    for (auto& parameter : split())
      text = std::regex_replace(text, std::regex("\\b" + parameter + "\\b"), "(" + parameter + ")");
    return fmt::format("#define {}({}) \\\n  {}", name, parameters,
                       std::regex_replace(text, std::regex("\n"), " \\\n"));
  }

 private:
  std::vector<std::string> split() const {
    std::vector<std::string> out;
    std::istringstream in(parameters);
    for (std::string one; std::getline(in >> std::ws, one, ',');) out.push_back(one);
    return out;
  }
};

// A transfer of any length, in parts that the engine takes.
std::string in_parts(const std::string& one, const std::string& wait) {
  auto part = std::regex_replace(one, std::regex("far\\b"), "far + (uint32_t)ts_part");
  part = std::regex_replace(part, std::regex("near\\b"), "near + ts_part");
  part = std::regex_replace(part, std::regex(" \\(uint32_t\\)bytes"),
                            fmt::format("\n        (uint32_t)ts_min({}, bytes - ts_part)", schedule::kLongestLine));
  return fmt::format(
      "for (int32_t ts_part = 0; ts_part < bytes; ts_part += {}) {{\n    if (ts_part > 0) {};\n    {};\n  }}",
      schedule::kLongestLine, wait, part);
}

// A command of the cluster's DMA.
std::string command(bool strided, const std::string& direction) {
  return fmt::format(
      "pi_cl_dma_cmd{}((uint32_t)(uintptr_t)(ts_l2 + far), (uint32_t)(uintptr_t)(ts_l1 + near), (uint32_t)bytes,\n     "
      "{} {}, &dma[request])",
      strided ? "_2d" : "", strided ? " (uint32_t)stride, (uint32_t)line," : "", direction);
}

// Both directions of the DMA through one function: the cluster's cores share 4 KB of cached code.
std::vector<Helper> move_helpers() {
  return {{"move", "far, near, bytes, direction, request", command(false, "direction"), "", true},
          {"move_2d", "far, near, bytes, stride, line, direction, request", command(true, "direction"), "", true}};
}

// `long_ram`: some transfers of the external memory go in parts; those of the cluster that do are called differently,
// for they are rare and the others many.
std::vector<Helper> transfer_helpers(bool long_ram) {
  std::vector<Helper> out;
  const std::string done = "pi_cl_dma_cmd_wait(&dma[request])", ram_done = "pi_cl_ram_copy_wait(&ram[request])";
  for (bool in : {true, false})
    for (bool strided : {false, true}) {
      auto name = fmt::format("{}{}", in ? "fetch" : "send", strided ? "_2d" : "");
      auto given = strided ? "far, near, bytes, stride, line, request" : "far, near, bytes, request";
      auto direction = fmt::format("PI_CL_DMA_DIR_{}", in ? "EXT2LOC" : "LOC2EXT");
      auto body = command(strided, direction);
      out.push_back({name, given, body,
                     fmt::format("move{}(far, near, bytes,{} {}, request)", strided ? "_2d" : "",
                                 strided ? " stride, line," : "", direction)});
      if (!strided) out.push_back({name + "_parts", given, in_parts(body, done)});
      body = fmt::format(
          "pi_cl_ram_copy{}(&ts_ram, ts_l3 + (uint32_t)far, ts_l2 + near, (uint32_t)bytes,{} {}, &ram[request])",
          strided ? "_2d" : "", strided ? "\n      (uint32_t)stride, (uint32_t)line," : "", in ? 1 : 0);
      out.push_back({"ram_" + name, given, long_ram && !strided ? in_parts(body, ram_done) : body});
    }
  out.push_back({"done", "request", done, "", true});
  out.push_back({"ram_done", "request", ram_done});
  return out;
}

std::string macros_text(bool long_ram) {
  std::string text =
      "/* The transfers of network.c as macros, in a build with TS_CHIP_SANITIZE: a finding names the line that "
      "called. "
      "*/\n";
  for (auto& helper : transfer_helpers(long_ram)) text += helper.macro() + "\n";
  return text;
}

class Network {
 public:
  explicit Network(const Source& source) : source_(source) {}

  Result<std::vector<File>> files() {
    TRY(engines_, engines_of_handles(source_.schedule, source_.target));
    find_locals();
    long_ram_ = moves_parts(source_.schedule, source_.target, Engine::Ram);
    auto training = emitted_sections(source_.schedule.training),
         optimizer = emitted_sections(source_.schedule.optimizer);
    auto sections = training;
    sections.insert(sections.end(), optimizer.begin(), optimizer.end());
    TRY(auto functions, node_functions(source_, sections, engines_, locals_));
    auto body = std::move(functions.lines);
    auto calls = std::span(functions.calls);
    entry("TrainingNetwork", calls.first(training.size()),
          source_.program.training() ? "Forward, loss and backward pass of one micro-batch; adds up gradients."
                                     : "One inference.",
          body);
    entry("OptimizerNetwork", calls.subspan(training.size()),
          optimizer.empty() ? "Nothing to update."
                            : "Updates the parameters with the gradients so far. Follows TrainingNetwork at once.",
          body);
    return std::vector<File>{{"network.c", source_text(body)},
                             {"network.h", header_text(body)},
                             {"chip/transfers.h", macros_text(long_ram_)}};
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

  void entry(const std::string& name, std::span<const Statement> calls, const std::string& what,
             std::vector<std::string>& lines) {
    lines.push_back(fmt::format("/* {} */", what));
    lines.push_back(fmt::format("void {}(void) {{", name));
    for (auto call : calls) {
      call.head = fmt::format("ts_profile({}); {}", stamps_++, call.head);
      for (auto& line : wrapped(call)) lines.push_back(std::move(line));
    }
    lines.push_back(fmt::format("  ts_profile({});", stamps_++));
    lines.insert(lines.end(), {"}", ""});
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
    if (handles > 0 && any_handle(Engine::Ram))
      lines.push_back(fmt::format("static pi_cl_ram_req_t ram[{}];", handles));
    if (source_.arena_bytes(2) > 0) lines.insert(lines.end(), {"struct pi_device ts_ram;", "uint32_t ts_l3;"});
    lines.push_back("");
    if (calls(body, "l1(")) lines.push_back("static void *l1(int32_t byte) { return ts_l1 + byte; }");
    if (calls(body, "l2(")) lines.push_back("static void *l2(int32_t byte) { return ts_l2 + byte; }");
    transfers(body, lines);
    if (calls(body, "TS_NODE "))
      lines.push_back("#define TS_NODE static __attribute__((noinline)) void /* the stack holds one of them */");
    if (lines.back() != "") lines.push_back("");
    lines.insert(lines.end(), body.begin(), body.end());
    while (lines.back().empty()) lines.pop_back();
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  }

  // The commands of the DMA, and what the body calls to give them.
  void transfers(const std::vector<std::string>& body, std::vector<std::string>& lines) const {
    std::vector<std::string> called;
    for (const auto& helper : transfer_helpers(long_ram_))
      if (calls(body, helper.name + "(")) called.push_back(helper.function());
    if (called.empty()) return;
    lines.insert(lines.end(), {"#ifdef TS_CHIP_SANITIZE", "#include \"chip/transfers.h\""});
    auto commands = fmt::format("static pi_cl_dma_cmd_t dma[{}];", source_.schedule.handles);
    bool any = any_handle(Engine::Cluster);
    if (any) lines.push_back(commands);
    lines.push_back("#else");
    if (any)
      lines.push_back(fmt::format("{}{} /* each has at most one transfer in flight */",
                                  near_bytes(source_) > 0 ? "PI_CL_L1 " : "", commands));
    for (const auto& move : move_helpers())
      if (calls(called, move.name + "(")) lines.push_back(move.function());
    lines.insert(lines.end(), called.begin(), called.end());
    lines.push_back("#endif");
  }

  std::string header_text(const std::vector<std::string>& body) const {
    auto name = source_.graph().name.empty() ? "network" : source_.graph().name;
    auto named = words(body);
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
    // What lives from step to step has a line and a word about it; of the rest, as many as a line holds.
    std::vector<std::string> passing;
    for (size_t b : globals_) {
      const auto& buffer = source_.schedule.buffers[b];
      if (buffer.storage.index < 0 && !named.contains(source_.buffer_names[b])) continue;
      auto text = fmt::format("{} = {}", source_.buffer_names[b], buffer.offset.count);
      bool stays =
          buffer.storage.index >= 0 && source_.plan.storages[static_cast<size_t>(buffer.storage.index)].persistent;
      if (!stays) {
        passing.push_back(std::move(text));
        continue;
      }
      const auto& storage = source_.plan.storages[static_cast<size_t>(buffer.storage.index)];
      lines.push_back(fmt::format("  {}, /* {} */", text,
                                  home_comment(source_.graph(), storage, 110 - std::min<size_t>(text.size() + 3, 90))));
    }
    if (!passing.empty())
      for (auto& line : wrapped({1, "", passing, ","})) lines.push_back(line);
    lines.insert(lines.end(), {"};", "", "void TrainingNetwork(void);", "void OptimizerNetwork(void);", "",
                               "/* Tells a profiler that a node begins, or that all are done. */", "#ifdef TS_CHIP",
                               "#include \"chip/profile.h\"", "#elif defined(TS_RECORD)", "#include \"host/record.h\"",
                               fmt::format("#define ts_profile(stamp) ts_record_node(stamp, {})",
                                           source_.arena_bytes(0) > 0 ? "ts_l1" : "0"),
                               "#else", "#define ts_profile(stamp) ((void)0)", "#endif", "", "#endif"});
    return fmt::format("{}\n", fmt::join(lines, "\n"));
  }

  const Source& source_;
  std::vector<Engine> engines_;
  bool long_ram_ = false;
  std::set<int32_t> locals_;
  std::vector<size_t> globals_;
  int stamps_ = 0;
};

}  // namespace

Result<std::vector<File>> network_files(const Source& source) {
  return Network(source).files();
}

}  // namespace tessera::emit
