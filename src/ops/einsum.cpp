// Einsum: diagonals, sums, transposes and matrix products, one operand after the other.
//
//   "bij,bjk->bik":  MatMul(a, b)       "ii->i":  a slice of the flattened matrix in steps of n + 1
#include <algorithm>
#include <cctype>
#include <map>

#include "ops/arguments.hpp"
#include "ops/builder.hpp"
#include "ops/movement.hpp"
#include "ops/table.hpp"

namespace tessera::ops {
namespace {

using Label = int;                  // a letter; axes of an ellipsis count down from -1, the last axis
using Labels = std::vector<Label>;  // by axis

struct Term {
  Labels before, after;  // the ellipsis, where there is one
  bool ellipsis = false;
};

struct Equation {
  std::vector<Labels> operands;
  Labels result;
  std::map<Label, int64_t> extent;
};

Result<Term> parse_term(const NodeContext& n, std::string_view text) {
  Term term;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '.') {
      if (term.ellipsis || text.substr(i, 3) != "...")
        return n.error(fmt::format("cannot read '{}': an ellipsis is three dots, once", text));
      term.ellipsis = true;
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i]))) {
      (term.ellipsis ? term.after : term.before).push_back(text[i]);
    } else {
      return n.error(fmt::format("cannot read '{}': '{}' is no letter", text, text[i]));
    }
  }
  return term;
}

Labels labels_of(const Term& term, size_t covered) {
  Labels all = term.before;
  for (size_t i = covered; term.ellipsis && i > 0; --i) all.push_back(-static_cast<Label>(i));
  all.insert(all.end(), term.after.begin(), term.after.end());
  return all;
}

std::vector<std::string_view> split(std::string_view text) {
  std::vector<std::string_view> parts;
  for (size_t at = 0;;) {
    auto comma = text.find(',', at);
    parts.push_back(text.substr(at, comma - at));
    if (comma == text.npos) return parts;
    at = comma + 1;
  }
}

// Without an arrow: the ellipsis, then every letter that occurs once, in the order of the alphabet.
Labels implied_result(const std::vector<Labels>& operands, size_t covered) {
  Labels result;
  for (size_t i = covered; i > 0; --i) result.push_back(-static_cast<Label>(i));
  std::map<Label, int> times;
  for (auto& labels : operands)
    for (auto l : labels)
      if (l > 0) ++times[l];
  for (auto& [label, count] : times)
    if (count == 1) result.push_back(label);
  return result;
}

Result<void> measure(const NodeContext& n, Equation& e) {
  for (size_t i = 0; i < e.operands.size(); ++i) {
    if (e.operands[i].size() != n.in(i).size())
      return n.error(fmt::format("'{}' is {}, but the equation gives it {} axes", n.input(i).name,
                                 to_string(n.input(i).type), e.operands[i].size()));
    for (size_t a = 0; a < e.operands[i].size(); ++a) {
      auto& extent = e.extent.try_emplace(e.operands[i][a], 1).first->second;
      if (extent != 1 && n.in(i)[a] != 1 && extent != n.in(i)[a])
        return n.error(fmt::format("axis {} of '{}' has {} elements where another operand has {}", a, n.input(i).name,
                                   n.in(i)[a], extent));
      extent = std::max(extent, n.in(i)[a]);
    }
  }
  for (auto l : e.result)
    if (!e.extent.contains(l) || std::ranges::count(e.result, l) > 1)
      return n.error("its result names an axis that no operand has, or names one twice");
  return {};
}

Result<Equation> equation(const NodeContext& n) {
  CHECK_OK(takes(n, 1, n.node.inputs.size()));
  for (size_t i = 0; i < n.node.inputs.size(); ++i) CHECK_OK(is_float(n, i));
  auto text = n.node.attributes.text("equation", "");
  std::erase_if(text, [](unsigned char c) { return std::isspace(c); });
  auto arrow = text.find("->");
  auto terms = split(std::string_view(text).substr(0, arrow));
  if (terms.size() != n.node.inputs.size())
    return n.error(
        fmt::format("has {} inputs, but its equation '{}' has {} terms", n.node.inputs.size(), text, terms.size()));
  Equation e;
  size_t covered = 0;  // axes of the longest ellipsis
  for (size_t i = 0; i < terms.size(); ++i) {
    TRY(auto term, parse_term(n, terms[i]));
    auto named = term.before.size() + term.after.size();
    auto own = term.ellipsis && n.in(i).size() > named ? n.in(i).size() - named : 0;
    covered = std::max(covered, own);
    e.operands.push_back(labels_of(term, own));
  }
  if (arrow == text.npos) {
    e.result = implied_result(e.operands, covered);
  } else {
    TRY(auto term, parse_term(n, std::string_view(text).substr(arrow + 2)));
    e.result = labels_of(term, covered);
  }
  CHECK_OK(measure(n, e));
  return e;
}

Result<std::vector<TensorType>> infer(const NodeContext& n) {
  TRY(auto e, equation(n));
  TensorType type{n.input(0).type.dtype, {}};
  for (size_t i = 0; i < n.node.inputs.size(); ++i)
    if (n.input(i).type.dtype != type.dtype) return n.error("its operands are not of one type");
  for (auto l : e.result) type.shape.push_back(e.extent[l]);
  return std::vector{type};
}

// Every combination of indices: the product of the operands' elements goes to its place in the result.
Result<std::vector<Array>> reference(const NodeContext& n, std::span<const Array> in) {
  TRY(auto e, equation(n));
  Shape space;
  std::vector<Label> order;
  for (auto& [label, extent] : e.extent) order.push_back(label), space.push_back(extent);
  auto steps_of = [&](const Labels& labels, const Shape& shape) {
    std::vector<size_t> by_label(order.size());
    auto dense = dense_steps(shape);
    for (size_t a = 0; a < labels.size(); ++a)
      if (shape[a] != 1) by_label[static_cast<size_t>(std::ranges::find(order, labels[a]) - order.begin())] += dense[a];
    return by_label;
  };
  Array y{in[0].dtype, n.out(0), std::vector<double>(static_cast<size_t>(count(n.out(0))))};
  std::vector<std::vector<size_t>> steps;
  for (size_t i = 0; i < in.size(); ++i) steps.push_back(steps_of(e.operands[i], in[i].shape));
  auto to = steps_of(e.result, y.shape), dense = dense_steps(space);
  for (size_t at = 0; at < static_cast<size_t>(count(space)); ++at) {
    auto offset = [&](const std::vector<size_t>& step) {
      size_t sum = 0;
      for (size_t l = 0; l < step.size(); ++l) sum += at / dense[l] % static_cast<size_t>(space[l]) * step[l];
      return sum;
    };
    double product = 1;
    for (size_t i = 0; i < in.size(); ++i) product *= in[i].v[offset(steps[i])];
    y.v[offset(to)] += product;
  }
  return std::vector{std::move(y)};
}

// ---- as nodes

struct Value {
  TensorId tensor;
  Labels labels;
};

class Writer {
 public:
  Writer(ExpandContext& c, Equation e) : c_(c), e_(std::move(e)), name_(c.build.name(c.node.outputs[0])) {}

  TensorId run() {
    std::vector<Value> values;
    for (size_t i = 0; i < e_.operands.size(); ++i)
      values.push_back(diagonal(stretched(Value{c_.node.inputs[i], e_.operands[i]})));
    for (size_t i = 0; i < values.size(); ++i) values[i] = summed(values[i], needed(values, i, i));
    auto all = values[0];
    for (size_t i = 1; i < values.size(); ++i) {
      Labels kept = needed(values, 0, i);
      all = product(summed(all, joined(kept, values[i].labels)), values[i], kept);
    }
    return ordered(summed(all, e_.result), e_.result).tensor;
  }

 private:
  const Shape& shape(const Value& v) const { return c_.build.type(v.tensor).shape; }
  std::string next() { return fmt::format("{}.{}", name_, ++count_); }
  static bool has(const Labels& all, Label l) { return std::ranges::find(all, l) != all.end(); }
  static Labels joined(Labels a, const Labels& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }
  // What the result or an operand outside of [first, last] still needs.
  Labels needed(const std::vector<Value>& values, size_t first, size_t last) const {
    Labels all = e_.result;
    for (size_t i = 0; i < values.size(); ++i)
      if (i < first || i > last) all = joined(std::move(all), values[i].labels);
    return all;
  }
  int64_t extent(const Labels& labels) const {
    int64_t n = 1;
    for (auto l : labels) n *= e_.extent.at(l);
    return n;
  }

  TensorId reshape(TensorId x, const Shape& to) {
    if (!x || c_.build.type(x).shape == to) return x;
    auto name = next();
    return c_.build.node({"", "Reshape"}, {x, c_.build.integers(to, name + ".shape")}, {}, name);
  }

  // An axis of one element that stands for more: the operand simply does not have it.
  Value stretched(Value v) {
    Labels labels;
    Shape to;
    for (size_t a = 0; a < v.labels.size(); ++a)
      if (shape(v)[a] == e_.extent.at(v.labels[a])) labels.push_back(v.labels[a]), to.push_back(shape(v)[a]);
    return {reshape(v.tensor, to), labels};
  }

  Value ordered(const Value& v, const Labels& labels) {
    if (v.labels == labels) return v;
    std::vector<int64_t> perm;
    for (auto l : labels) perm.push_back(std::ranges::find(v.labels, l) - v.labels.begin());
    return {c_.build.node({"", "Transpose"}, {v.tensor}, {{"perm", perm}}, next()), labels};
  }

  // A letter twice: both axes to the end, [n, n] as [n * n], every (n + 1)th of it.
  Value diagonal(Value v) {
    for (size_t a = 0; a < v.labels.size(); ++a) {
      auto label = v.labels[a];
      auto again = std::find(v.labels.begin() + static_cast<long>(a) + 1, v.labels.end(), label) - v.labels.begin();
      if (again == static_cast<long>(v.labels.size())) continue;
      std::vector<int64_t> perm;
      Labels labels;
      Shape to;
      for (size_t i = 0; i < v.labels.size(); ++i)
        if (i != a && static_cast<long>(i) != again)
          perm.push_back(static_cast<int64_t>(i)), labels.push_back(v.labels[i]), to.push_back(shape(v)[i]);
      perm.push_back(static_cast<int64_t>(a));
      perm.push_back(again);
      auto n = e_.extent.at(label);
      labels.push_back(label);
      to.push_back(n * n);
      auto flat = reshape(c_.build.node({"", "Transpose"}, {v.tensor}, {{"perm", perm}}, next()), to);
      std::vector<Cut> cuts;
      for (auto e : to) cuts.push_back({0, 1, e});
      cuts.back() = {0, n + 1, n};
      v = {cut_out(c_.build, flat, cuts, next()), labels};
      a = static_cast<size_t>(-1);  // from the start again: the axes have moved
    }
    return v;
  }

  Value summed(const Value& v, const Labels& kept) {
    std::vector<int64_t> axes;
    Labels labels;
    for (size_t a = 0; a < v.labels.size(); ++a)
      if (has(kept, v.labels[a]))
        labels.push_back(v.labels[a]);
      else
        axes.push_back(static_cast<int64_t>(a));
    if (axes.empty()) return v;
    auto name = next();
    return {c_.build.node({"", "ReduceSum"}, {v.tensor, c_.build.integers(axes, name + ".axes")},
                          {{"keepdims", int64_t{0}}}, name),
            labels};
  }

  // [batch, rows, sum] x [batch, sum, columns]; where nothing is summed, a product element by element.
  Value product(const Value& a, const Value& b, const Labels& kept) {
    Labels batch, sum, rows, columns;
    for (auto l : a.labels) (!has(b.labels, l) ? rows : has(kept, l) ? batch : sum).push_back(l);
    for (auto l : b.labels)
      if (!has(a.labels, l)) columns.push_back(l);
    auto left = ordered(a, joined(joined(batch, rows), sum)), right = ordered(b, joined(joined(batch, sum), columns));
    auto x = reshape(left.tensor, {extent(batch), extent(rows), extent(sum)});
    auto y = reshape(right.tensor, {extent(batch), extent(sum), extent(columns)});
    auto z = c_.build.node({"", extent(sum) == 1 ? "Mul" : "MatMul"}, {x, y}, {}, next());
    auto labels = joined(joined(batch, rows), columns);
    Shape to;
    for (auto l : labels) to.push_back(e_.extent.at(l));
    if (!c_.build.status()) return {z, labels};
    return {reshape(z, to), labels};
  }

  ExpandContext& c_;
  Equation e_;
  std::string name_;
  int count_ = 0;
};

Result<std::vector<TensorId>> expand(ExpandContext& c) {
  TRY(auto e, equation({c.build.graph(), c.node}));
  auto y = Writer(c, std::move(e)).run();
  CHECK_OK(c.build.status());
  return std::vector{y};
}

}  // namespace

namespace defined {

const Operator Einsum{.domain = "",
                      .type = "Einsum",
                      .since = 12,
                      .summary = "products summed over the axes that the equation leaves out",
                      .verified = "onnx, torch",
                      .infer = infer,
                      .reference = reference,
                      .expand = expand};

}  // namespace defined
}  // namespace tessera::ops
