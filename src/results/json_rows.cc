// Flattening JSON objects.
#include "results/json_rows.h"

#include <simdjson.h>

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
namespace od = simdjson::ondemand;

constexpr int kDeepest = 16;

class Flattener {
 public:
  explicit Flattener(JsonRow& row) : row_(row) {}

  Result<> object(od::object object, const std::string& prefix, int depth) {
    if (depth > kDeepest) return broken(prefix, "nested too deeply");
    for (auto field : object) {
      std::string_view key;
      if (const auto error = field.unescaped_key().get(key))
        return broken(prefix, simdjson::error_message(error));
      const std::string path =
          prefix.empty() ? std::string(key) : fmt::format("{}.{}", prefix, key);
      od::value value;
      if (const auto error = field.value().get(value))
        return broken(path, simdjson::error_message(error));
      HEADROOM_TRY_VOID(one(value, path, depth));
    }
    return {};
  }

 private:
  Result<> broken(const std::string& path, std::string_view why) const {
    return fail(ErrorCode::kDataLoss, "{}{}{}: {}", row_.where, path.empty() ? "" : ": ", path,
                why);
  }

  Result<> one(od::value value, const std::string& path, int depth) {
    od::json_type type;
    if (const auto error = value.type().get(type))
      return broken(path, simdjson::error_message(error));
    if (type == od::json_type::object) {
      od::object inner;
      if (const auto error = value.get_object().get(inner))
        return broken(path, simdjson::error_message(error));
      return object(inner, path, depth + 1);
    }
    JsonValue out;
    std::string_view text;
    simdjson::error_code error = simdjson::SUCCESS;
    switch (type) {
      case od::json_type::string:
        out.kind = JsonValue::Kind::kText;
        error = value.get_string().get(text);
        break;
      case od::json_type::number: {
        out.kind = JsonValue::Kind::kNumber;
        text = value.raw_json_token();
        double number = 0;
        error = value.get_double().get(number);
        break;
      }
      case od::json_type::boolean: {
        out.kind = JsonValue::Kind::kFlag;
        bool flag = false;
        error = value.get_bool().get(flag);
        text = flag ? "true" : "false";
        break;
      }
      case od::json_type::array: {
        out.kind = JsonValue::Kind::kList;
        od::array list;
        error = value.get_array().get(list);
        if (!error) error = list.raw_json().get(text);
        break;
      }
      default:
        break;
    }
    if (error) return broken(path, simdjson::error_message(error));
    while (!text.empty() && (text.back() == ' ' || text.back() == '\n' || text.back() == '\r'))
      text.remove_suffix(1);
    out.text = text;
    if (!row_.values.try_emplace(path, std::move(out)).second) return broken(path, "given twice");
    return {};
  }

  JsonRow& row_;
};

/// On-demand reading checks only what it passes by; this checks all of it.
Result<> whole(std::string_view json, std::string_view where) {
  simdjson::dom::parser parser;
  if (const auto error = parser.parse(json.data(), json.size()).error())
    return fail(ErrorCode::kDataLoss, "{}: not whole JSON: {}", where,
                simdjson::error_message(error));
  return {};
}

Result<JsonRow> flatten(od::object object, std::string where) {
  JsonRow row;
  row.where = std::move(where);
  HEADROOM_TRY_VOID(Flattener(row).object(object, "", 0));
  if (!row.values.contains("_source")) return row;
  // A row as it was kept with a note of where it came from.
  JsonRow inner;
  inner.where = row.where;
  for (auto& [path, value] : row.values)
    if (path.starts_with("row.")) inner.values.emplace(path.substr(4), std::move(value));
  return inner.values.empty() ? row : inner;
}

}  // namespace

const JsonValue* JsonRow::find(std::string_view path) const {
  const auto at = values.find(std::string(path));
  return at == values.end() ? nullptr : &at->second;
}

Result<std::vector<JsonRow>> read_json_rows(std::string_view text, std::string_view name) {
  if (!simdjson::validate_utf8(text.data(), text.size()))
    return fail(ErrorCode::kDataLoss, "{}: not UTF-8", name);
  std::vector<JsonRow> rows;
  od::parser parser;
  // A line that is an object by itself makes it a file of lines.
  const size_t first_end = text.find('\n');
  const std::string_view first = text.substr(0, first_end);
  simdjson::dom::parser probe;
  const bool lines = first_end != std::string_view::npos && first.starts_with('{') &&
                     !probe.parse(first.data(), first.size()).error() &&
                     text.find_first_not_of(" \t\r\n", first_end) != std::string_view::npos;
  const auto read_one = [&](std::string_view json, const std::string& where) -> Result<> {
    HEADROOM_TRY_VOID(whole(json, where));
    const simdjson::padded_string padded(json);
    od::document document;
    od::object object;
    if (const auto error = parser.iterate(padded).get(document))
      return fail(ErrorCode::kDataLoss, "{}: not JSON: {}", where, simdjson::error_message(error));
    if (document.get_object().get(object))
      return fail(ErrorCode::kDataLoss, "{}: not a JSON object", where);
    HEADROOM_TRY(JsonRow row, flatten(object, where));
    rows.push_back(std::move(row));
    return {};
  };
  if (lines) {
    size_t number = 0;
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find('\n', begin), text.size());
      const std::string_view line = text.substr(begin, end - begin);
      begin = end + 1;
      ++number;
      if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
      HEADROOM_TRY_VOID(read_one(line, fmt::format("{}:{}", name, number)));
    }
    return rows;
  }
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return fail(ErrorCode::kDataLoss, "{}: empty", name);
  if (text[start] != '[') {
    HEADROOM_TRY_VOID(read_one(text, std::string(name)));
    return rows;
  }
  HEADROOM_TRY_VOID(whole(text, name));
  const simdjson::padded_string padded(text);
  od::document document;
  od::array list;
  auto error = parser.iterate(padded).get(document);
  if (!error) error = document.get_array().get(list);
  if (error)
    return fail(ErrorCode::kDataLoss, "{}: not JSON: {}", name, simdjson::error_message(error));
  for (auto item : list) {
    const std::string where = fmt::format("{}[{}]", name, rows.size());
    od::object object;
    if (const auto bad = item.get_object().get(object))
      return fail(ErrorCode::kDataLoss, "{}: not a JSON object: {}", where,
                  simdjson::error_message(bad));
    HEADROOM_TRY(JsonRow row, flatten(object, where));
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace headroom::results
