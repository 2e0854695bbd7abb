// Pieces of pictures, as SVG text.
//
//   svg::label({0, 0, 80, 12}, "fc1.weight") -> <text x="40.0" ...>fc1.weight</text>; nothing where it would not fit
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tessera::svg {

struct Box {
  double x = 0, y = 0, w = 0, h = 0;
};

std::string escaped(std::string_view text);

// Neighbours get colours far apart; what has a large share (0..1) is stronger.
std::string colour(size_t index, double share);

// A text in the middle of a box, along its longer side, as large as fits; where that is too small to read, its
// beginning, or nothing. Stands in a group with text-anchor="middle".
std::string label(const Box& box, std::string_view text);

// The beginning and the end of a picture with a white ground.
std::string opening(double width, double height);
inline constexpr std::string_view kClosing = "</svg>\n";

// 1, 2, 4, 8, ... bytes: the step that gives about ten marks.
int64_t byte_step(int64_t top);

}  // namespace tessera::svg
