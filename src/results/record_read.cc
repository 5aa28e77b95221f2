// A record from JSON: every field checked, every complaint with the field's path.
#include <simdjson.h>

#include <cmath>
#include <set>

#include "results/fields.h"
#include "results/record_dom.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using simdjson::dom::element;
using simdjson::dom::object;

std::string shown(const element& value) {
  std::string text = simdjson::minify(value);
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

Result<> wrong(const std::string& path, const element& value, std::string_view right) {
  return fail(ErrorCode::kDataLoss, "{}: {} is not {}", path, shown(value), right);
}

template <Fielded T>
Result<> read(const std::string& path, const element& value, T& out);

Result<> read(const std::string& path, const element& value, std::string& out) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return wrong(path, value, "a text");
  out = text;
  return {};
}

Result<> read(const std::string& path, const element& value, int64_t& out) {
  if (value.get(out) != simdjson::SUCCESS) return wrong(path, value, "a whole number");
  return {};
}

Result<> read(const std::string& path, const element& value, double& out) {
  if (value.get(out) != simdjson::SUCCESS) return wrong(path, value, "a number");
  return {};
}

Result<> read(const std::string& path, const element& value, bool& out) {
  if (value.get(out) != simdjson::SUCCESS) return wrong(path, value, "true or false");
  return {};
}

Result<> read(const std::string& path, const element& value, base::Histogram& out) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return wrong(path, value, "an encoded histogram");
  auto histogram = base::Histogram::decode(text);
  if (!histogram) return base::fail_in(path, histogram.error());
  out = std::move(*histogram);
  return {};
}

Result<> read(const std::string& path, const element& value, Printed& out) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return wrong(path, value, "a printed number (a text)");
  auto printed = Printed::parse(text);
  if (!printed) return base::fail_in(path, printed.error());
  out = std::move(*printed);
  return {};
}

template <typename T>
Result<> read(const std::string& path, const element& value, std::optional<T>& out) {
  return read(path, value, out.emplace());
}

template <typename T>
Result<> read(const std::string& path, const element& value, std::map<std::string, T>& out) {
  object entries;
  if (value.get(entries) != simdjson::SUCCESS) return wrong(path, value, "an object");
  for (const auto& [key, entry] : entries) {
    const std::string name(key);
    if (out.contains(name)) return fail(ErrorCode::kDataLoss, "{}.{}: given twice", path, name);
    HEADROOM_TRY_VOID(read(path + "." + name, entry, out[name]));
  }
  return {};
}

template <Fielded T>
Result<> read(const std::string& path, const element& value, std::vector<T>& out) {
  simdjson::dom::array entries;
  if (value.get(entries) != simdjson::SUCCESS) return wrong(path, value, "an array");
  for (const element entry : entries) {
    // Named first: the order in which arguments are evaluated is the compiler's.
    const std::string where = fmt::format("{}[{}]", path, out.size());
    HEADROOM_TRY_VOID(read(where, entry, out.emplace_back()));
  }
  return {};
}

template <Fielded T>
Result<> read(const std::string& path, const element& value, T& out) {
  object entries;
  if (value.get(entries) != simdjson::SUCCESS) return wrong(path, value, "an object");
  std::set<std::string_view> seen;
  for (const auto& [key, entry] : entries) {
    const std::string inner = path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
    if (!seen.insert(key).second) return fail(ErrorCode::kDataLoss, "{}: given twice", inner);
    bool known = false;
    Result<> result;
    // Structured bindings cannot be captured everywhere; plain names can.
    const std::string_view wanted = key;
    const element found = entry;
    each_field(out, [&](const char* name, auto& field) {
      if (known || wanted != name) return;
      known = true;
      result = read(inner, found, field);
    });
    if (!known) return fail(ErrorCode::kDataLoss, "{}: no such field of a record", inner);
    if (!result) return result;
  }
  return {};
}

}  // namespace

Result<Record> record_from_element(const element& value, const std::string& path) {
  Record record;
  HEADROOM_TRY_VOID(read(path, value, record));
  return record;
}

Result<Record> record_from_json(std::string_view json) {
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root))
    return fail(ErrorCode::kDataLoss, "record: {}", simdjson::error_message(error));
  return record_from_element(root, "");
}

}  // namespace headroom::results
