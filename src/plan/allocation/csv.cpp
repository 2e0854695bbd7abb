#include "plan/allocation/csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <map>
#include <span>
#include <unordered_map>

namespace tessera::allocation {
namespace {

enum Column { Id, Lower, Upper, Size, Alignment, Offset, Gaps, Share, Apart, kColumns };

constexpr std::array<std::string_view, kColumns> kNames{"id",     "lower", "upper", "size", "alignment",
                                                        "offset", "gaps",  "share", "apart"};
constexpr const char* kHeaderHint =
    "the first line names the columns: id,lower,upper,size[,alignment][,offset][,gaps][,share][,apart]";

std::string_view trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

// The fields of a line, without copying; `separator` ' ' takes runs of blanks as one.
void split_fields(std::string_view line, char separator, std::vector<std::string_view>& fields) {
  fields.clear();
  for (;;) {
    const size_t at = line.find(separator);
    const std::string_view field = trim(line.substr(0, at));
    if (separator != ' ' || !field.empty()) fields.push_back(field);
    if (at == line.npos) return;
    line.remove_prefix(at + 1);
  }
}

// Lines of a stream, one at a time, in bounded memory.
class Lines {
 public:
  Lines(std::istream& in, int64_t most) : in_(in), most_(static_cast<size_t>(most)) {}

  enum class Next { Line, End, TooLong };
  Next next() {
    line_.clear();
    ++number_;
    std::streambuf* source = in_.rdbuf();
    for (int c = source->sbumpc();; c = source->sbumpc()) {
      if (c == std::char_traits<char>::eof()) return line_.empty() ? Next::End : Next::Line;
      if (c == '\n') return Next::Line;
      if (line_.size() >= most_) return Next::TooLong;
      line_.push_back(static_cast<char>(c));
    }
  }
  std::string_view line() const { return line_; }
  int64_t number() const { return number_; }

 private:
  std::istream& in_;
  const size_t most_;
  std::string line_;
  int64_t number_ = 0;
};

class Reader {
 public:
  Reader(std::istream& in, const CsvLimits& limits) : limits_(limits), lines_(in, limits.line_bytes) {}

  Result<Problem> read() {
    CHECK_OK(read_header());
    for (;;) {
      TRY(const bool more, next_line());
      if (!more) break;
      if (trim(lines_.line()).empty()) continue;
      if (static_cast<int64_t>(problem_.buffers.size()) >= limits_.rows)
        return input_error("more than {} buffers", limits_.rows)
            .hint("a memory plan has thousands of buffers; if this one is meant, raise the limit with --rows N");
      CHECK_OK(read_row());
    }
    CHECK_OK(relate());
    return std::move(problem_);
  }

  // The line that an error is about.
  int64_t line() const { return blamed_ > 0 ? blamed_ : lines_.number(); }

 private:
  Result<bool> next_line() {
    switch (lines_.next()) {
      case Lines::Next::Line:
        return true;
      case Lines::Next::End:
        return false;
      case Lines::Next::TooLong:
        break;
    }
    return input_error("the line is longer than {} bytes", limits_.line_bytes).hint("is this a CSV file?");
  }

  Result<void> read_header() {
    column_.fill(-1);
    TRY(const bool any, next_line());
    std::string_view line = lines_.line();
    if (line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
    if (!any || trim(line).empty()) return input_error("the file is empty").hint(kHeaderHint);
    split_fields(line, ',', fields_);
    for (size_t k = 0; k < fields_.size(); ++k) {
      std::string_view name = fields_[k];
      if (name == "buffer" || name == "buffer_id") name = "id";
      if (name == "begin" || name == "start") name = "lower";
      if (name == "end") name = "upper", inclusive_ = 1;
      const auto known = std::find(kNames.begin(), kNames.end(), name);
      if (known == kNames.end()) return input_error("unknown column '{}'", fields_[k]).hint(kHeaderHint);
      int& place = column_[known - kNames.begin()];
      if (place >= 0) return input_error("column '{}' appears twice", *known).hint("keep one of them");
      place = static_cast<int>(k);
    }
    for (Column needed : {Id, Lower, Upper, Size})
      if (column_[needed] < 0) return input_error("no column '{}'", kNames[needed]).hint(kHeaderHint);
    count_ = fields_.size();
    return {};
  }

  std::string_view field(Column column) const {
    return column_[column] < 0 ? std::string_view() : fields_[column_[column]];
  }

  static Result<int64_t> number(std::string_view text, std::string_view what) {
    int64_t value = 0;
    const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (problem == std::errc::result_out_of_range)
      return input_error("{} {} is too large", what, text).hint("the largest number is 9223372036854775807");
    if (problem != std::errc() || end != text.data() + text.size())
      return input_error("{} '{}' is not an integer", what, text)
          .hint("sizes are bytes, times are integers: 4096, not 4k or 1.5");
    return value;
  }

  Result<int64_t> number(Column column) const { return number(field(column), kNames[column]); }

  Result<void> read_row() {
    split_fields(lines_.line(), ',', fields_);
    if (fields_.size() != count_)
      return input_error("{} fields where the header has {}", fields_.size(), count_)
          .hint("fields are separated by commas; an empty field still needs its comma");
    Buffer buffer;
    buffer.id = field(Id);
    if (buffer.id.empty()) return input_error("the id is empty").hint("give every buffer a name or a number");
    CHECK_OK(read_numbers(buffer));
    CHECK_OK(read_gaps(buffer));
    const int index = static_cast<int>(problem_.buffers.size());
    const auto [other, fresh] = index_.try_emplace(buffer.id, index);
    if (!fresh)
      return input_error("id '{}' is there already, as buffer {} of the file", buffer.id, other->second + 1)
          .hint("rename one of the two: answers are told apart by id");
    if (!field(Share).empty()) groups_[std::string(field(Share))].push_back(index);
    if (!field(Apart).empty()) apart_.push_back({index, lines_.number(), std::string(field(Apart))});
    problem_.buffers.push_back(std::move(buffer));
    return {};
  }

  Result<void> read_numbers(Buffer& buffer) const {
    TRY(buffer.lower, number(Lower));
    TRY(buffer.upper, number(Upper));
    if (buffer.lower > buffer.upper)
      return input_error("lower {} is above upper {}", buffer.lower, buffer.upper)
          .hint("a buffer lives during [lower, upper); swap the two?");
    if (__builtin_add_overflow(buffer.upper, inclusive_, &buffer.upper))
      return input_error("end {} is too large", field(Upper)).hint("the largest end is 9223372036854775806");
    TRY(const int64_t size, number(Size));
    if (size < 0) return input_error("size {} is negative", size).hint("sizes are counts of bytes");
    buffer.size = Bytes(size);
    if (!field(Alignment).empty()) {
      TRY(buffer.alignment, number(Alignment));
      if (buffer.alignment < 1) return input_error("alignment {} is not positive", buffer.alignment).hint("1 is none");
    }
    if (!field(Offset).empty()) {
      TRY(const int64_t offset, number(Offset));
      if (offset < 0)
        return input_error("offset {} is negative", offset).hint("leave the field empty for a free buffer");
      buffer.offset = Bytes(offset);
    }
    return {};
  }

  // "10-20" or "10-20@0:64"
  Result<Gap> read_gap(std::string_view text) const {
    const auto bad = [&] {
      return input_error("gap '{}' is not understood", text).hint("write 10-20, or 10-20@0:64 for a window of bytes");
    };
    const size_t at = std::min(text.find('@'), text.size());
    const std::string_view times = text.substr(0, at);
    const size_t dash = times.find('-', 1);
    if (dash == times.npos) return bad();
    Gap gap;
    TRY(gap.lower, number(times.substr(0, dash), "gap"));
    TRY(gap.upper, number(times.substr(dash + 1), "gap"));
    if (__builtin_add_overflow(gap.upper, inclusive_, &gap.upper)) return bad();
    if (at == text.size()) return gap;
    const std::string_view window = text.substr(at + 1);
    const size_t colon = window.find(':');
    if (colon == window.npos) return bad();
    TRY(const int64_t from, number(window.substr(0, colon), "window"));
    TRY(const int64_t to, number(window.substr(colon + 1), "window"));
    gap.window_lower = Bytes(from), gap.window_upper = Bytes(to);
    return gap;
  }

  Result<void> read_gaps(Buffer& buffer) {
    if (field(Gaps).empty()) return {};
    std::vector<std::string_view> gaps;
    split_fields(field(Gaps), ' ', gaps);
    for (std::string_view text : gaps) {
      TRY(const Gap gap, read_gap(text));
      const int64_t after = buffer.gaps.empty() ? buffer.lower : buffer.gaps.back().upper;
      if (gap.lower < after || gap.lower > gap.upper || gap.upper > buffer.upper)
        return input_error("gap '{}' is not inside the lifetime [{}, {}) or not after the gap before it", text,
                           buffer.lower, buffer.upper)
            .hint("list gaps in order of time, without overlap");
      if (gap.window_lower.count < 0 || gap.window_lower > gap.window_upper || gap.window_upper > buffer.size)
        return input_error("the window of gap '{}' is not inside the {} bytes of the buffer", text, buffer.size.count)
            .hint("a window counts bytes from the buffer's offset");
      buffer.gaps.push_back(gap);
    }
    return {};
  }

  // What names other buffers is resolved when all are known.
  Result<void> relate() {
    for (auto& [_, group] : groups_)
      if (group.size() > 1) problem_.share.push_back(std::move(group));
    std::vector<std::string_view> ids;
    for (const Apartness& row : apart_) {
      split_fields(row.ids, ' ', ids);
      for (std::string_view id : ids) {
        const auto other = index_.find(std::string(id));
        if (other == index_.end() || other->second == row.buffer) {
          blamed_ = row.line;
          return input_error("apart names '{}', which is not the id of another buffer", id)
              .hint("ids are separated by blanks and must stand in this file");
        }
        problem_.apart.emplace_back(row.buffer, other->second);
      }
    }
    return {};
  }

  struct Apartness {
    int buffer;
    int64_t line;
    std::string ids;
  };

  const CsvLimits limits_;
  Lines lines_;
  std::array<int, kColumns> column_{};
  size_t count_ = 0;
  int64_t blamed_ = 0;
  int64_t inclusive_ = 0;  // 1 where the file gives the last moment of a lifetime
  std::vector<std::string_view> fields_;
  Problem problem_;
  std::unordered_map<std::string, int> index_;
  std::map<std::string, std::vector<int>> groups_;
  std::vector<Apartness> apart_;
};

std::string gaps_text(const Buffer& buffer) {
  std::string text;
  for (const Gap& gap : buffer.gaps) {
    text += fmt::format("{}{}-{}", text.empty() ? "" : " ", gap.lower, gap.upper);
    if (gap.window_lower < gap.window_upper)
      text += fmt::format("@{}:{}", gap.window_lower.count, gap.window_upper.count);
  }
  return text;
}

}  // namespace

Result<Problem> read_csv(std::istream& in, const std::string& name, const CsvLimits& limits) {
  Reader reader(in, limits);
  Result<Problem> problem = reader.read();
  if (!problem) return std::move(problem).error().within(fmt::format("{}:{}", name, reader.line()));
  return problem;
}

Result<Problem> read_csv(const std::filesystem::path& path, const CsvLimits& limits) {
  std::error_code trouble;
  if (std::filesystem::is_directory(path, trouble))
    return input_error("{}: is a directory", path.string()).hint("name a CSV file in it");
  std::ifstream in(path, std::ios::binary);
  if (!in) return input_error("{}: cannot be read", path.string()).hint("does the file exist, and may you read it?");
  return read_csv(in, path.string(), limits);
}

std::string to_csv(const Problem& problem, const Solution& solution) {
  const auto& buffers = problem.buffers;
  const bool aligned = std::any_of(buffers.begin(), buffers.end(), [](auto& b) { return b.alignment != 1; });
  const bool gaps = std::any_of(buffers.begin(), buffers.end(), [](auto& b) { return !b.gaps.empty(); });
  std::string text = "id,lower,upper,size";
  if (aligned) text += ",alignment";
  if (gaps) text += ",gaps";
  text += ",offset\n";
  for (size_t b = 0; b < buffers.size(); ++b) {
    const Buffer& buffer = buffers[b];
    text += fmt::format("{},{},{},{}", buffer.id, buffer.lower, buffer.upper, buffer.size.count);
    if (aligned) text += fmt::format(",{}", buffer.alignment);
    if (gaps) text += "," + gaps_text(buffer);
    text += fmt::format(",{}\n", solution.offsets[b].count);
  }
  return text;
}

}  // namespace tessera::allocation
