// A Problem prepared for search: sharing buffers become one item, times become columns, bytes become units.
//
//   {a: [0,9) 2048 bytes, b: [5,30) 1024 bytes, c: [20,30) 1024 bytes}
//   -> unit 1024, columns 0..1, items {a: column 0, 2 units}, {b: columns 0..1, 1 unit}, {c: column 1, 1 unit}
#pragma once

#include <cstdint>
#include <vector>

#include "base/error.hpp"
#include "plan/allocation/allocate.hpp"
#include "plan/allocation/problem.hpp"

namespace tessera::allocation {

// In the columns first..last the item holds [low, high), counted in units from its offset.
struct Piece {
  int first = 0;
  int last = 0;
  int64_t low = 0;
  int64_t high = 0;
  bool operator==(const Piece&) const = default;
};

struct Item {
  std::vector<Piece> pieces;  // disjoint and in order of columns, unless the item has windows
  int64_t size = 0;           // the whole extent counts for the height, even where only a window of it is held
  int64_t alignment = 1;
  int64_t fixed = -1;  // the offset that is settled, or -1
  bool is_fixed() const { return fixed >= 0; }
};

struct Model {
  std::vector<Item> items;
  std::vector<int> item_of;  // for every buffer
  int columns = 0;
  int64_t unit = 1;
  bool windows = false;  // some piece does not start at the item's offset: then stacks have no order from bottom to top
};

// One independent part of a model: its items, renumbered, and which items of the model they are.
struct Part {
  Model model;
  std::vector<int> origin;
};

// Refuses a problem that contradicts itself.
Result<Model> compile(const Problem& problem, const Techniques& use);

// Items that never live together, not even through others, stand in different parts. `on` false: one part.
std::vector<Part> split(const Model& model, bool on);

// The items that hold something in each column.
std::vector<std::vector<int>> items_by_column(const Model& model);

constexpr int64_t align_to(int64_t value, int64_t alignment) {
  return alignment == 1 ? value : (value + alignment - 1) / alignment * alignment;
}

}  // namespace tessera::allocation
