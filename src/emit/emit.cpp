#include "emit/emit.hpp"

#include <algorithm>

#include "emit/manifest.hpp"
#include "emit/source.hpp"

namespace tessera::emit {

std::vector<const schedule::Section*> emitted_sections(const std::vector<schedule::Section>& entry) {
  std::vector<const schedule::Section*> sections;
  for (const auto& section : entry)
    if (!section.body.empty()) sections.push_back(&section);
  return sections;
}

Result<Project> emit(const train::Program& program, const plan::Plan& plan, const schedule::Schedule& schedule,
                     const target::Target& target, const HarnessOptions& options) {
  Source source{program, plan, schedule, target, options, name_buffers(schedule)};
  Project project;
  for (auto writer : {network_files, config_files, image_files, chip_files, copied_files, manifest_files}) {
    TRY(auto files, writer(source));
    std::ranges::move(files, std::back_inserter(project.files));
  }
  std::ranges::sort(project.files, {}, &File::path);
  return project;
}

}  // namespace tessera::emit
