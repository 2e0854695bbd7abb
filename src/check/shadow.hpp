// The shadow of a memory: for every granule (a word, or a byte where something is not word-aligned) what it holds, as a
// tag: which content, and which granule of it. Consecutive elements have consecutive tags, so that a run of bytes is
// checked and written as a counting loop.
//
//   shadow.fill(64, 16, tag(fc1.weight, 0));     shadow.differs(64, 16, tag(fc1.weight, 0)) -> -1 (nowhere)
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "graph/tensor.hpp"
#include "ops/tile_map.hpp"

namespace tessera::check {

using Tag = uint64_t;  // content number in the upper half (0: nothing known), granule of the content in the lower
constexpr Tag tag_of(uint32_t content, int64_t granule) {
  return (static_cast<Tag>(content) << 32) + static_cast<Tag>(granule);
}
constexpr uint32_t content_of(Tag tag) {
  return static_cast<uint32_t>(tag >> 32);
}

class Shadow {
 public:
  explicit Shadow(int64_t granules) : tags_(static_cast<size_t>(granules), 0) {}

  void fill(int64_t at, int64_t n, Tag first) {
    Tag* p = tags_.data() + at;
    for (int64_t i = 0; i < n; ++i) p[i] = first + static_cast<Tag>(i);
  }
  void move(int64_t from, int64_t to, int64_t n) {
    const auto first = tags_.begin() + from;
    if (to > from)
      std::copy_backward(first, first + n, tags_.begin() + to + n);
    else
      std::copy(first, first + n, tags_.begin() + to);
  }
  void wipe(int64_t at, int64_t n) { std::fill_n(tags_.begin() + at, n, Tag{0}); }
  // The first granule of the stretch that does not hold what it should, or -1.
  int64_t differs(int64_t at, int64_t n, Tag first) const {
    const Tag* p = tags_.data() + at;
    Tag wrong = 0;
    for (int64_t i = 0; i < n; ++i) wrong |= p[i] ^ (first + static_cast<Tag>(i));
    if (wrong == 0) return -1;
    int64_t i = 0;
    while (p[i] == first + static_cast<Tag>(i)) ++i;
    return i;
  }
  // Whether any granule of the stretch holds exactly that already.
  bool holds_some(int64_t at, int64_t n, Tag first) const {
    const Tag* p = tags_.data() + at;
    bool found = false;
    for (int64_t i = 0; i < n; ++i) found |= p[i] == first + static_cast<Tag>(i);
    return found;
  }
  Tag at(int64_t i) const { return tags_[static_cast<size_t>(i)]; }
  int64_t size() const { return static_cast<int64_t>(tags_.size()); }

 private:
  std::vector<Tag> tags_;
};

// A stretch of bytes of one level: `lines` lines of `line` bytes, `stride` apart.
struct Stretch {
  int level = 0;
  int64_t at = 0, line = 0, lines = 1, stride = 0;
  int64_t end() const { return at + (lines - 1) * stride + line; }
};
bool overlap(const Stretch& a, const Stretch& b);

// Calls f(offset, count) for the runs of consecutive elements of a box, in row-major order, beginning with the element
// `skip` of the box, until f returns false.
template <class F>
void for_each_run(const Shape& view, const ops::Box& box, F f, int64_t skip = 0) {
  auto rank = view.size();
  int64_t run = 1, stride = 1, base = 0;
  size_t outer = rank;  // axes [outer, rank) are one run
  bool joined = true;   // all of the axes behind are whole
  std::vector<int64_t> strides(rank), index(rank, 0);
  for (size_t a = rank; a-- > 0;) {
    if (box.len[a] <= 0) return;
    strides[a] = stride;
    base += box.lo[a] * stride;
    if (joined) {
      run *= box.len[a];
      outer = a;
      joined = box.len[a] == view[a];
    }
    stride *= view[a];
  }
  int64_t rest = skip / run;
  skip %= run;
  for (size_t a = outer; a-- > 0; rest /= box.len[a]) {
    index[a] = rest % box.len[a];
    base += index[a] * strides[a];
  }
  while (true) {
    if (!f(base + skip, run - skip)) return;
    skip = 0;
    size_t a = outer;
    while (a-- > 0) {
      base += strides[a];
      if (++index[a] < box.len[a]) break;
      base -= strides[a] * box.len[a];
      index[a] = 0;
    }
    if (a == static_cast<size_t>(-1)) return;
  }
}

int64_t volume(const ops::Box& box);
bool inside(const ops::Box& box, const Shape& view);

}  // namespace tessera::check
