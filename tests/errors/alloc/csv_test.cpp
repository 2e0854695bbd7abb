// What a user reads when a file of buffers is wrong: file, line, reason and the way out. Always exit code 2.
#include <gtest/gtest.h>

#include <sstream>

#include "plan/allocation/allocate.hpp"
#include "plan/allocation/csv.hpp"
#include "support/expect_error.hpp"

namespace tessera::allocation {
namespace {

using tessera::test::expect_error;

void expect_refused(const std::string& text, const std::vector<std::string>& parts, const CsvLimits& limits = {}) {
  std::istringstream in(text);
  expect_error(read_csv(in, "f.csv", limits), parts);
}

const std::string kHeader = "id,lower,upper,size\n";

TEST(CsvErrors, Headers) {
  expect_refused("", {"f.csv:1: the file is empty", "id,lower,upper,size"});
  expect_refused("id,lower,upper\na,0,1\n", {"f.csv:1: no column 'size'", "the first line names the columns"});
  expect_refused("id,lower,upper,size,algnment\n", {"f.csv:1: unknown column 'algnment'"});
  expect_refused("id,lower,start,upper,size\n", {"f.csv:1: column 'lower' appears twice"});
  expect_refused("0,0,1,64\n", {"f.csv:1: unknown column '0'", "the first line names the columns"});
}

TEST(CsvErrors, Numbers) {
  expect_refused(kHeader + "a,0,1,-5\n", {"f.csv:2: size -5 is negative"});
  expect_refused(kHeader + "a,0,1,4\nb,9,3,4\n", {"f.csv:3: lower 9 is above upper 3", "swap"});
  expect_refused(kHeader + "a,0,1,4k\n", {"f.csv:2: size '4k' is not an integer", "4096"});
  expect_refused(kHeader + "a,0,1,\n", {"f.csv:2: size '' is not an integer"});
  expect_refused(kHeader + "a,0,1,99999999999999999999\n", {"f.csv:2: size 99999999999999999999 is too large"});
  expect_refused("id,start,end,size\na,0,9223372036854775807,4\n", {"f.csv:2: end 9223372036854775807 is too large"});
  expect_refused("id,lower,upper,size,alignment\na,0,1,4,0\n", {"f.csv:2: alignment 0 is not positive"});
  expect_refused("id,lower,upper,size,offset\na,0,1,4,-1\n", {"f.csv:2: offset -1 is negative"});
}

TEST(CsvErrors, Rows) {
  expect_refused(kHeader + "a,0,1\n", {"f.csv:2: 3 fields where the header has 4"});
  expect_refused(kHeader + "a,0,1,4,5\n", {"f.csv:2: 5 fields where the header has 4"});
  expect_refused(kHeader + ",0,1,4\n", {"f.csv:2: the id is empty"});
  expect_refused(kHeader + "a,0,1,4\n\na,2,3,4\n", {"f.csv:4: id 'a' is there already, as buffer 1"});
}

TEST(CsvErrors, GapsAndRelations) {
  const std::string header = "id,lower,upper,size,gaps,apart\n";
  expect_refused(header + "a,0,9,4,3to5,\n", {"f.csv:2: gap '3to5' is not understood", "10-20@0:64"});
  expect_refused(header + "a,0,9,4,3-12,\n", {"f.csv:2: gap '3-12' is not inside the lifetime [0, 9)"});
  expect_refused(header + "a,0,9,4,3-5 4-6,\n", {"gap '4-6'", "without overlap"});
  expect_refused(header + "a,0,9,4,3-5@0:8,\n", {"the window of gap '3-5@0:8' is not inside the 4 bytes"});
  expect_refused(header + "a,0,9,4,,b\nc,0,9,4,,\n", {"f.csv:2: apart names 'b'"});
}

TEST(CsvErrors, FilesTooLarge) {
  expect_refused(kHeader + "a,0,1,4\nb,0,1,4\nc,0,1,4\n", {"f.csv:4: more than 2 buffers", "--rows"}, {.rows = 2});
  expect_refused(std::string(100'000, 'x'), {"f.csv:1: the line is longer than 65536 bytes", "is this a CSV file?"});
}

// Ten million rows that are made as they are read: refused after a million, in bounded memory.
TEST(CsvErrors, TenMillionRows) {
  class Rows : public std::streambuf {
   protected:
    int_type underflow() override {
      if (row_ > 10'000'000) return traits_type::eof();
      text_ = row_ == 0 ? kHeader : fmt::format("{},0,1,64\n", row_);
      ++row_;
      setg(text_.data(), text_.data(), text_.data() + text_.size());
      return traits_type::to_int_type(text_[0]);
    }

   private:
    int64_t row_ = 0;
    std::string text_;
  } rows;
  std::istream in(&rows);
  expect_error(read_csv(in, "f.csv"), {"f.csv:1000002: more than 1000000 buffers", "--rows"});
}

TEST(CsvErrors, Files) {
  expect_error(read_csv(std::filesystem::path("/nowhere/f.csv")), {"/nowhere/f.csv: cannot be read"});
  expect_error(read_csv(std::filesystem::path(TESSERA_ROOT)), {"is a directory"});
}

TEST(ProblemErrors, Contradictions) {
  const Buffer a{.id = "a", .lower = 0, .upper = 9, .size = 8_B, .offset = 0_B};
  Buffer b{.id = "b", .lower = 0, .upper = 9, .size = 8_B, .offset = 4_B};
  expect_error(allocate({.buffers = {a, b}}), {"buffers a and b are both fixed and overlap", "free the offset"});
  expect_error(allocate({.buffers = {a, b}, .share = {{0, 1}}}), {"must share an offset but are fixed at 0 and 4"});
  b.offset.reset();
  expect_error(allocate({.buffers = {a, b}, .share = {{0, 1}}, .apart = {{0, 1}}}),
               {"a and b must share an offset and must stay apart"});
  expect_error(allocate({.buffers = {a, b}, .share = {{0, 7}}}), {"names buffer 7 of 2"});
  b.offset = 6_B, b.alignment = 4;
  expect_error(allocate({.buffers = {b}}), {"buffer b: the fixed offset 6 is not a multiple of its alignment 4"});
  b = {.id = "b", .lower = 0, .upper = 1, .size = Bytes(INT64_MAX)};
  expect_error(allocate({.buffers = {a, b}}), {"buffer b: the sizes up to here add up to more than"});
}

}  // namespace
}  // namespace tessera::allocation
