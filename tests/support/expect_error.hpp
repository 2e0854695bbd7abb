// What a user reads when something is refused.
//
//   expect_error(import_onnx("none.onnx", {}), {"none.onnx", "no such file"});      exit code 2 unless said otherwise
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"

namespace tessera::test {

// The result is an error with that exit code, and its text (message and way out) has every one of the parts.
template <class T>
void expect_error(const Result<T>& result, const std::vector<std::string>& parts, int exit_code = 2) {
  ASSERT_FALSE(result) << "was accepted";
  EXPECT_EQ(result.error().exit_code(), exit_code) << result.error().text();
  for (auto& part : parts)
    EXPECT_NE(result.error().text().find(part), std::string::npos) << "'" << part << "' in: " << result.error().text();
}

}  // namespace tessera::test
