#include "emit/source.hpp"

#include <algorithm>

#include "emit/keeping.hpp"
#include "emit/names.hpp"

namespace tessera::emit {

namespace {

void collect_headers(const schedule::Block& block, std::set<std::string>& headers) {
  for (const auto& step : block) {
    if (const auto* loop = std::get_if<schedule::Loop>(&step.v)) collect_headers(loop->body, headers);
    if (const auto* branch = std::get_if<schedule::If>(&step.v)) collect_headers(branch->then, headers);
    if (const auto* keep = std::get_if<schedule::Keep>(&step.v)) headers.insert(as_call(*keep).call.header);
    if (const auto* put = std::get_if<schedule::PutTogether>(&step.v)) headers.insert(as_call(*put).call.header);
    const auto* kernel = std::get_if<schedule::Kernel>(&step.v);
    if (kernel && !kernel->call.function.empty()) headers.insert(kernel->call.header);
  }
}

bool is_zero(const TensorData& value) {
  return std::ranges::all_of(value.bytes(), [](std::byte b) { return b == std::byte{0}; });
}

// The samples of one input must be whole samples of it.
Result<void> check_samples(const Tensor& input, const TensorData& data) {
  if (data.empty()) return input_error("no samples for input '{}'", input.name);
  Shape sample = input.type.shape, given = data.shape();
  if (!sample.empty()) sample.erase(sample.begin());
  if (!given.empty()) given.erase(given.begin());
  if (data.type().dtype != input.type.dtype || sample != given || data.type().elements() == 0)
    return input_error("samples of input '{}' are {}; the input is {}", input.name, to_string(data.type()),
                       to_string(input.type));
  return {};
}

}  // namespace

const plan::Storage* Source::storage(TensorId tensor) const {
  if (!tensor) return nullptr;
  auto id = plan.storage_of[static_cast<size_t>(tensor.index)];
  return id.index < 0 ? nullptr : &plan.storages[static_cast<size_t>(id.index)];
}

int64_t Source::arena_bytes(plan::LevelId level) const {
  for (const auto& arena : plan.arenas)
    if (arena.level == level) return arena.size.count;
  return 0;
}

std::vector<std::string> name_buffers(const schedule::Schedule& schedule) {
  UniqueNames unique;
  std::vector<std::string> names;
  for (const auto& buffer : schedule.buffers)
    names.push_back(unique.take(fmt::format("L{}_{}", buffer.level + 1, identifier(buffer.name))));
  return names;
}

std::set<std::string> headers_of(const schedule::Schedule& schedule) {
  std::set<std::string> headers;
  for (const auto* entry : {&schedule.training, &schedule.optimizer})
    for (const auto& section : *entry) collect_headers(section.body, headers);
  return headers;
}

Result<std::vector<Image>> images_of(const Source& source) {
  UniqueNames unique;
  std::vector<Image> images;
  for (const auto& storage : source.plan.storages) {
    for (TensorId id : storage.members) {
      const Tensor& tensor = source.graph().at(id);
      if (tensor.value.empty() || is_zero(tensor.value)) continue;
      if (!storage.persistent)
        return internal_error("'{}' has an initial value, but its storage is used for other tensors too", tensor.name);
      auto name = unique.take(identifier(tensor.name));
      images.push_back({id, &storage, fmt::format("images/{}.bin", name), "ts_image_" + name});
    }
  }
  std::ranges::stable_sort(images, {}, [](const Image& i) { return std::pair(i.home->level, i.home->offset); });
  return images;
}

Results results_of(const Source& source) {
  Results results{.runs = int64_t{source.options.steps} * source.options.accumulate};
  if (source.program.training()) {
    results.losses = results.runs * static_cast<int64_t>(sizeof(float));
    if (!source.options.reference_losses.empty()) results.reference = results.losses;
  } else {
    for (TensorId id : source.graph().outputs) results.outputs += source.graph().at(id).type.bytes().count;
    results.outputs *= source.options.steps;
  }
  return results;
}

Result<std::vector<RamFile>> ram_files(const Source& source) {
  TRY(auto images, images_of(source));
  TRY(auto samples, samples_of(source));
  std::vector<RamFile> files;
  for (const auto& image : images)
    if (image.home->level >= 2)
      files.push_back(
          {image.path, image.symbol, image.home->offset.count, source.graph().at(image.tensor).type.bytes().count});
  int64_t end = source.arena_bytes(2);
  for (const auto& s : samples) {
    const auto offset = align_up(Bytes(end), kRamFileAlignment).count;
    files.push_back({s.path, s.symbol, offset, static_cast<int64_t>(s.data->bytes().size())});
    end = offset + files.back().bytes;
  }
  return files;
}

Result<std::vector<Samples>> samples_of(const Source& source) {
  std::vector<Samples> all;
  auto add = [&](TensorId input, const TensorData& data) -> Result<void> {
    CHECK_OK(check_samples(source.graph().at(input), data));
    auto n = all.size();
    all.push_back({input, &data, fmt::format("images/samples_{}.bin", n), fmt::format("ts_samples_{}", n)});
    return {};
  };
  const auto& program = source.program;
  const auto& data = source.options.data;
  if (data.data.size() != program.data.size())
    return input_error("{} arrays of samples for {} inputs", data.data.size(), program.data.size());
  for (size_t i = 0; i < program.data.size(); ++i) CHECK_OK(add(program.data[i], data.data[i]));
  if (program.label) CHECK_OK(add(program.label, data.label));
  return all;
}

}  // namespace tessera::emit
