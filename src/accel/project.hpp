// A compiled program as a folder, and back.
//
//   write_project(job, program, image, "out/")   program.asm program.hex memory.bin fp_sram.txt regions.json
//   manifest.json
//                                                machine.json
#pragma once

#include <filesystem>

#include "accel/job.hpp"

namespace tessera::accel {

Result<void> write_project(const Job& job, const Program& program, const std::vector<uint8_t>& image,
                           const std::filesystem::path& folder);

struct Project {
  Job job;
  Program program;
  std::vector<uint8_t> image;  // empty where the folder has none
};
// The words are those of program.hex: what runs is what stands there.
Result<Project> read_project(const std::filesystem::path& folder);

// Instructions with a comment where each operator begins.
Result<std::string> program_text(const Program& program);

}  // namespace tessera::accel
