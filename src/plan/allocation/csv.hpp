// Allocation problems and answers as CSV, in MiniMalloc's format and with a few columns more.
//
//   id,lower,upper,size[,alignment][,offset][,gaps][,share][,apart]      in any order
//   b1,0,3,4   ->   out: b1,0,3,4,8 under id,lower,upper,size,offset
//
// An offset fixes the buffer there; an empty field leaves it free. gaps: "10-20 30-40@0:64", times in which the buffer
// holds nothing, or only the bytes of the window. share: buffers with the same word stand at one offset. apart: ids,
// separated by blanks, that must not touch this buffer at any time. MiniMalloc's other names are understood: buffer and
// buffer_id for id, begin and start for lower, end for an upper that is the last moment instead of the one after it.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>

#include "base/error.hpp"
#include "plan/allocation/problem.hpp"

namespace tessera::allocation {

struct CsvLimits {
  int64_t rows = 1'000'000;      // more is surely not meant, and would fill the memory before anything is said
  int64_t line_bytes = 1 << 16;  // so a file without line ends is not read into memory whole
};

// Errors name the file, the line and the way out.
Result<Problem> read_csv(const std::filesystem::path& path, const CsvLimits& limits = {});
Result<Problem> read_csv(std::istream& in, const std::string& name, const CsvLimits& limits = {});

// Columns that no buffer needs are left out.
std::string to_csv(const Problem& problem, const Solution& solution);

}  // namespace tessera::allocation
