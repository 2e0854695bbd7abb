// Which array is which input: by name, else in order.
//
//   slots x: f32[4,784], label: i64[4]  +  arrays arr_0: f32[256,784], arr_1: f32[256] (3.0, 7.0, ...)
//   -> x: f32[256,784], label: i64[256], note "arrays bound in order: ..."        (Rows::Samples)
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "graph/graph.hpp"
#include "onnx/arrays.hpp"

namespace tessera::onnx {

// A place for an array.
struct Slot {
  std::string name;
  TensorType type;
  std::vector<std::string> aliases;  // other names that it answers to: "label" for a graph input that is called "y.1"
  bool careful = false;              // where other arrays have names that fit, it is not bound to one that has not
  std::string_view what = "input";   // for messages: "output" where results are compared
};
Slot slot(const Graph& graph, TensorId input, std::vector<std::string> aliases = {});

enum class Rows : uint8_t {
  Exact,    // the array has the slot's shape
  Samples,  // the first axis counts samples, however many; the others are the slot's
};

struct Binding {
  std::vector<TensorData> values;  // by slot, of the slot's element type
  std::vector<std::string> notes;
};

// Arrays that no slot takes are ignored with a note. Numbers are cast where each value allows it (3.0 is a class index,
// 3.5 is not). A missing array, a wrong shape and NaN are errors that name `source`, the array and the slot.
Result<Binding> bind_arrays(std::span<const Slot> slots, std::span<const NamedArray> arrays, Rows rows,
                            const std::string& source);

}  // namespace tessera::onnx
