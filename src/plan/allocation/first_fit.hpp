// Turns an order of items into a packing: each item in turn goes to the lowest place that is free for it.
//
//   order {a, b, c} of a: column 0, b: columns 0..1, c: column 1   ->   offsets a 0, b above a, c below b if it fits
//   there
#pragma once

#include <cstdint>
#include <vector>

#include "plan/allocation/model.hpp"

namespace tessera::allocation {

class FirstFit {
 public:
  explicit FirstFit(const Model& model);

  // The height of the packing; offsets[i] is written for every item. Fixed items are placed before all others.
  int64_t pack(const std::vector<int>& order, std::vector<int64_t>& offsets);

 private:
  // While `other` stands at q, this item may not stand in the open interval (q + from, q + to).
  struct Conflict {
    int other;
    int64_t from, to;
  };

  void list_conflicts();
  void forbidden_from_list(int item, const std::vector<int64_t>& offsets);
  int64_t lowest_scan(int item, const std::vector<int64_t>& offsets) const;
  int64_t lowest_free(int item);
  int64_t place(int item, const std::vector<int64_t>& offsets);

  const Model& model_;
  bool listed_ = false;  // few enough conflicts to hold them all; else the placed items are scanned in order of offset
  std::vector<int> begin_;
  std::vector<Conflict> conflicts_;
  std::vector<int> placed_;  // in order of offset; only where conflicts are not listed
  std::vector<char> done_;
  std::vector<std::pair<int64_t, int64_t>> forbidden_;
};

enum class Order { Area, Size, Width, Tall, Long };

// What an order sorts by, largest first. Width counts columns: the moments that matter. Tall and Long are areas that
// favour size and width.
std::vector<double> order_keys(const Model& model, Order order);
std::vector<int> sorted_by(const std::vector<double>& keys);

}  // namespace tessera::allocation
