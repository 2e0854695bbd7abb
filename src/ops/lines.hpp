// A tensor as lines: the middle axis of [outer, axis, inner], for references of what works along one axis.
//
//   Lines{2, 3, 4}.line(values, 5)  ->  the 3 elements of outer 1, inner 1, which stand 4 apart
#pragma once

#include <cstdint>
#include <vector>

namespace tessera::ops {

struct Line {
  double* start = nullptr;
  int64_t size = 0, stride = 1;
  double& operator[](int64_t i) const { return start[i * stride]; }
};

struct Lines {
  int64_t outer = 1, axis = 1, inner = 1;

  int64_t count() const { return outer * inner; }
  Line line(std::vector<double>& values, int64_t i) const {
    return {values.data() + i / inner * axis * inner + i % inner, axis, inner};
  }
};

}  // namespace tessera::ops
