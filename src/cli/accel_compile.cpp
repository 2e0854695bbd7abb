#include <memory>

#include "accel/project.hpp"
#include "cli/accel.hpp"
#include "cli/accel_options.hpp"

namespace tessera::cli {
namespace {

struct Flags {
  AccelJobFlags job;
  std::string output;
  bool json = false;
};

Result<int> compile(const Flags& flags) {
  TRY(const auto options, resolve(flags.job));
  TRY(const auto job, accel::prepare(options));
  TRY(const auto program, accel::compile_decoder(job.model, job.machine, job.decoder));
  std::vector<uint8_t> image;
  if (job.numerics) {
    TRY(image, accel::starting_image(job, program));
  }
  CHECK_OK(accel::write_project(job, program, image, flags.output));
  const auto totals = accel::totals_of(program.regions());
  const auto& m = program.machine;
  if (flags.json) {
    print_json({{"model", job.model.name},
                {"folder", flags.output},
                {"instructions", program.words.size()},
                {"memory_bytes", program.memory_bytes},
                {"bytes", {{"weight", totals.weight}, {"kv", totals.kv}, {"activation", totals.activation}}},
                {"mlen", m.mlen},
                {"blen", m.blen},
                {"hlen", m.hlen},
                {"sram", {{"matrix", m.matrix_sram_bytes()}, {"vector", m.vector_sram_bytes()}}},
                {"image", !image.empty()},
                {"notes", job.notes}});
    return 0;
  }
  fmt::print(
      "{}: {} instructions, tiles {}/{}, SRAM {} + {} bytes\nmemory {} bytes: weights {}, KV {}, activations {}\n",
      job.model.name, program.words.size(), m.mlen, m.blen, m.matrix_sram_bytes(), m.vector_sram_bytes(),
      program.memory_bytes, totals.weight, totals.kv, totals.activation);
  for (const auto& note : job.notes) fmt::print("note: {}\n", note);
  return 0;
}

}  // namespace

void add_accel_compile(CLI::App& group, Chosen& chosen) {
  auto* command = group.add_subcommand("compile", "A decoder into a program, its memory image and its manifest");
  command->footer(R"(Examples:
  tessera accel compile SmolLM2-135M --board nexys_video -o out      prefill of 64 tokens
  tessera accel compile SmolLM2-135M --board v80 --decode -o out     one token more
  tessera accel compile my-model/ --tokens 128 -o out                a folder with config.json and model.safetensors)");
  auto flags = std::make_shared<Flags>();
  add_accel_job(*command, flags->job, "a preset (clm-60m, SmolLM2-135M, llada-8b) or a folder with config.json", false);
  command->add_option("-o,--output", flags->output, "folder for the program")->type_name("DIR")->required();
  command->add_flag("--json", flags->json, "one JSON object on standard output");
  command->callback([&chosen, flags] { chosen = [flags] { return compile(*flags); }; });
}

}  // namespace tessera::cli
