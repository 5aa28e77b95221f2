// JSON rows: the objects of a result file, flattened to paths and values, numbers as printed.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::results {

struct JsonValue {
  enum class Kind { kText, kNumber, kFlag, kNull, kList };
  Kind kind = Kind::kNull;
  std::string text;  // the text; the number as printed; "true"; a list's JSON
};

/// One object: "metrics.p99_itl" → value. Lists stay whole.
struct JsonRow {
  std::string where;  // "file.json:3" or "file.json[3]"
  std::map<std::string, JsonValue> values;

  const JsonValue* find(std::string_view path) const;
  bool has(std::string_view path) const { return find(path) != nullptr; }
};

/// A list of objects, one object, or an object a line. Objects {"_source": …, "row": {…}} stand for
/// their row. Errors (kDataLoss) name file, place and what was wrong; doubled keys are errors.
base::Result<std::vector<JsonRow>> read_json_rows(std::string_view text, std::string_view name);

}  // namespace headroom::results
