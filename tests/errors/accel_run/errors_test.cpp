// What a user reads when an accelerator's run is refused.
#include <fstream>

#include "support/session.hpp"

namespace tessera::test {
namespace {

class AccelErrors : public Session {
 protected:
  void refused(std::vector<std::string> arguments, const std::vector<std::string>& parts, int code = 2) {
    arguments.insert(arguments.begin(), "accel");
    const auto ran = tessera(arguments, code);
    EXPECT_TRUE(ran.err.starts_with("error: ")) << ran.err;
    for (const auto& part : parts) EXPECT_NE(ran.err.find(part), std::string::npos) << part << " in: " << ran.err;
  }
  void file(const char* name, const std::string& text) { std::ofstream(folder.path() / name) << text; }
};

const std::vector<std::string> kSmall = {"run", "clm-60m", "--layers", "1", "--tokens", "16", "--numerics", "off"};

std::vector<std::string> small(std::vector<std::string> more) {
  auto all = kSmall;
  all.insert(all.end(), more.begin(), more.end());
  return all;
}

TEST_F(AccelErrors, Options) {
  refused({"run", "gpt-9"}, {"gpt-9", "clm-60m"});
  refused({"run", "clm-60m", "--board", "nobody"}, {"nobody"});
  refused({"run", "clm-60m", "--layers", "9"}, {"8 layers", "9"});
  refused({"run", "clm-60m", "--layers", "0"}, {"--layers 0"});
  refused(small({"--mlen", "60", "--blen", "4"}), {"60"});
  refused(small({"--mlen", "64", "--blen", "128"}), {"BLEN 128"});
  refused(small({"--hlen", "16"}), {"HLEN 16", "--hlen 64"});
  refused(small({"--layout", "row"}), {"--layout row", "own, plena"});
  refused(small({"--sram", "12"}), {"--sram 12", "unlimited"});
  refused(small({"--format", "int4"}), {"int4"});
  refused(small({"--memory-model", "tape"}), {"tape", "kv-swap"});
  refused(small({"--dma", "none"}), {"--dma none", "blocking"});
  refused(small({"--generate", "2"}), {"clm-60m chooses no tokens"});
  refused(small({"--dump", "d"}), {"--dump"});
  refused({"run", "llada-8b", "--decode"}, {"bidirectional", "--decode"});
  refused({"run", "SmolLM2-135M", "--layers", "1", "--prompt", "1,99999"}, {"99999", "49152"});
  refused({"run", "SmolLM2-135M", "--prompt", "1,x"}, {"--prompt x"});
  refused({"run", "clm-60m", "--layout", "plena", "--mlen", "256", "--blen", "64", "--tokens", "300"}, {"MLEN tokens"});
}

TEST_F(AccelErrors, BandwidthAndCapacity) {
  for (const char* none : {"0", "-1", "x", "nan"})
    refused(small({"--memory-model", "weight-stream", "--host-bandwidth", none}), {"--host-bandwidth"});
  refused(small({"--memory-model", "kv-swap", "--ddr-capacity", "0"}), {"--ddr-capacity 0"});
  refused(small({"--memory-model", "kv-swap", "--ddr-capacity", "much"}), {"--ddr-capacity"});
  refused(small({"--board", "v80", "--memory-model", "weight-stream"}), {"v80", "--host-bandwidth"});
}

TEST_F(AccelErrors, Manifests) {
  refused(small({"--memory-model", "kv-swap", "--manifest", "none.json"}), {"none.json", "no such file"});
  file("bad.json", "{");
  refused(small({"--memory-model", "kv-swap", "--manifest", "bad.json"}), {"bad.json"});
  file("overlap.json", R"({"activation_ceiling": 0, "regions": [{"layer_id": 0, "offset": 0, "size": 128},
    {"layer_id": 0, "offset": 64, "size": 128}]})");
  refused(small({"--memory-model", "kv-swap", "--manifest", "overlap.json"}), {"overlap.json", "overlap"});
}

TEST_F(AccelErrors, SramThatIsTooSmall) {
  refused({"run", "clm-60m", "--layers", "1", "--tokens", "200000", "--numerics", "off", "--board", "nexys_video"},
          {"vector SRAM", "bytes at least", "unlimited"}, 3);
  refused({"compile", "SmolLM2-135M", "--board", "nexys_video", "--mlen", "1024", "--blen", "64", "-o", "out"},
          {"--sram unlimited"}, 3);
  // More multipliers than the part has, whatever the tile; without its limits it runs.
  for (const auto& [edge, needs] : {std::pair{"64", "4160"}, {"128", "4224"}, {"256", "4352"}})
    refused(small({"--board", "custom_a7", "--mlen", edge, "--blen", "64"}),
            {std::string(edge) + "/64 needs " + needs + " multipliers", "custom_a7 has 1480: 740 DSP slices of 2",
             "--mlen 64 --blen 16 is known to fit", "--blen 32 has enough of them"},
            3);
  refused(small({"--board", "custom_a7", "--mlen", "512", "--blen", "32", "--hlen", "64"}), {"1536", "1480"}, 3);
  refused(small({"--board", "v80", "--mlen", "256", "--blen", "128", "--hlen", "128"}), {"16640", "v80 has 5904"}, 3);
  tessera({"accel", "run", "clm-60m", "--layers", "1", "--tokens", "16", "--numerics", "off", "--board", "custom_a7",
           "--mlen", "64", "--blen", "32"});
  tessera({"accel", "run", "clm-60m", "--layers", "1", "--tokens", "16", "--numerics", "off", "--board", "custom_a7",
           "--mlen", "256", "--blen", "64", "--sram", "unlimited"});
  // A wide tile with a small array: the SRAM itself.
  refused({"compile", "SmolLM2-135M", "--board", "nexys_video", "--mlen", "1024", "--blen", "16", "-o", "out"},
          {"1495040", "--sram unlimited"}, 3);
}

TEST_F(AccelErrors, ProgramsAndFolders) {
  tessera(
      {"accel", "compile", "clm-60m", "--layers", "1", "--tokens", "16", "--mlen", "64", "--blen", "16", "-o", "out"});
  const auto hex = read_text(folder.path() / "out/program.hex");
  file("out/program.hex", "0000003f\n" + hex);
  refused({"run", "out"}, {"program.hex", "word 0", "no opcode 0x3f"});
  file("out/program.hex", hex + "nonsense\n");
  refused({"run", "out"}, {"program.hex", "nonsense"});
  file("out/program.hex", "00000030\n");
  refused({"run", "out"}, {"C_LOOP_END without its start"});
  file("out/program.hex", hex);
  refused({"run", "out", "--tokens", "8"}, {"--tokens", "compiled already"});
  file("out/memory.bin", "short");
  refused({"run", "out"}, {"memory.bin", "5 bytes"});
  file("out/machine.json", "{}");
  refused({"run", "out"}, {"machine.json"});
  file("bad.asm", "M_MM gp1, gp2\nM_MUM gp1\n");
  refused({"asm", "bad.asm"}, {"bad.asm", "line 2", "M_MUM"});
  file("bad.hex", "00008401\n0000003f\n");
  refused({"disasm", "bad.hex"}, {"bad.hex", "word 1", "0x3f"});
}

TEST_F(AccelErrors, WeightsAndConfigs) {
  std::filesystem::create_directories(folder.path() / "m");
  refused({"run", "m"}, {"m", "config.json"});
  file("m/config.json", R"({"hidden_size": 128, "num_attention_heads": 2, "num_hidden_layers": 1})");
  refused({"run", "m"}, {"config.json", "intermediate_size"});
  file("m/config.json", R"({"hidden_size": 128, "intermediate_size": 128, "num_attention_heads": 2,
    "num_key_value_heads": 2, "num_hidden_layers": 1, "vocab_size": 16})");
  refused({"run", "m"}, {"m", "model.safetensors"});
  file("m/model.safetensors", "not one");
  refused({"run", "m"}, {"model.safetensors", "safetensors file?"});
  file("m/model.safetensors", std::string("\x02\0\0\0\0\0\0\0{}", 10));
  refused({"run", "m", "--tokens", "4"}, {"has no tensor"});
  refused({"run", "clm-60m", "--weights", "nowhere"}, {"nowhere", "no such folder"});
  file("m/config.json", R"({"hidden_size": 128, "intermediate_size": 128, "num_attention_heads": 3,
    "num_key_value_heads": 2, "num_hidden_layers": 1})");
  refused({"run", "m"}, {"3 heads", "2 KV heads"});
}

}  // namespace
}  // namespace tessera::test
