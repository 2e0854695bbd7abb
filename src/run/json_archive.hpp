// Values to JSON and back by one description of their fields, so that the two directions cannot disagree.
//
//   template <class A> void fields(A& a, plan::Arena& v) { a("level", v.level)("size", v.size); }
//   to_json(arena) -> {"level": 0, "size": 4096}          from_json<plan::Arena>(json) -> the same; throws Malformed
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/expr.hpp"
#include "base/units.hpp"

namespace tessera::run {

using Json = nlohmann::ordered_json;

// Never leaves read_archive.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class T>
Json to_json(const T& value);
template <class T>
T from_json(const Json& json);

Json expr_to_json(const Expr& expr);
Expr expr_from_json(const Json& json, int depth = 0);
Json float_to_json(float value);  // a number, or "nan", "inf", "-inf"
float float_from_json(const Json& json);

class Writer {
 public:
  template <class T>
  Writer& operator()(const char* key, T& value) {
    json[key] = to_json(value);
    return *this;
  }
  Json json = Json::object();
};

class Reader {
 public:
  explicit Reader(const Json& from) : json(from) {}
  template <class T>
  Reader& operator()(const char* key, T& value) {
    value = from_json<T>(json.at(key));
    return *this;
  }
  const Json& json;
};

// A type with a conversion of its own says so here.
template <class T>
struct Special : std::false_type {};

template <class T>
struct VectorOf : std::false_type {};
template <class T>
struct VectorOf<std::vector<T>> : std::true_type {};
template <class T>
struct VariantOf : std::false_type {};
template <class... T>
struct VariantOf<std::variant<T...>> : std::true_type {};
template <class T>
struct QuantityOf : std::false_type {};
template <class T>
struct QuantityOf<Quantity<T>> : std::true_type {};
template <class T>
concept Id = requires(T t) {
  t.index;
}
&&sizeof(T) == sizeof(int32_t);

template <class T>
Json to_json(const T& value) {
  if constexpr (Special<T>::value) {
    return Special<T>::write(value);
  } else if constexpr (std::is_same_v<T, Expr>) {
    return expr_to_json(value);
  } else if constexpr (std::is_same_v<T, float>) {
    return float_to_json(value);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<int>(value);
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return value;
  } else if constexpr (QuantityOf<T>::value) {
    return value.count;
  } else if constexpr (Id<T>) {
    return value.index;
  } else if constexpr (VectorOf<T>::value) {
    Json array = Json::array();
    for (auto&& item : value) array.push_back(to_json<typename T::value_type>(item));
    return array;
  } else if constexpr (VariantOf<T>::value) {
    return Json::array({value.index(), std::visit([](auto& v) { return to_json(v); }, value)});
  } else {
    Writer writer;
    fields(writer, const_cast<T&>(value));  // a Writer only reads
    return std::move(writer.json);
  }
}

template <class T, size_t I = 0>
T variant_from_json(const Json& json, size_t index) {
  if constexpr (I == std::variant_size_v<T>) {
    throw Malformed("an alternative that does not exist");
  } else {
    if (index == I) return T(std::in_place_index<I>, from_json<std::variant_alternative_t<I, T>>(json));
    return variant_from_json<T, I + 1>(json, index);
  }
}

template <class T>
T from_json(const Json& json) {
  if constexpr (Special<T>::value) {
    return Special<T>::read(json);
  } else if constexpr (std::is_same_v<T, Expr>) {
    return expr_from_json(json);
  } else if constexpr (std::is_same_v<T, float>) {
    return float_from_json(json);
  } else if constexpr (std::is_enum_v<T>) {
    return static_cast<T>(json.get<int>());
  } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
    return json.get<T>();
  } else if constexpr (QuantityOf<T>::value) {
    return T(json.get<int64_t>());
  } else if constexpr (Id<T>) {
    return T{json.get<int32_t>()};
  } else if constexpr (VectorOf<T>::value) {
    if (!json.is_array()) throw Malformed("a list is missing");
    T items;
    for (auto& item : json) items.push_back(from_json<typename T::value_type>(item));
    return items;
  } else if constexpr (VariantOf<T>::value) {
    return variant_from_json<T>(json.at(1), json.at(0).get<size_t>());
  } else {
    T value;
    Reader reader(json);
    fields(reader, value);
    return value;
  }
}

}  // namespace tessera::run
