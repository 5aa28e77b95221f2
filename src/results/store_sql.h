// The SQL that both databases share: the query of a filter, in either dialect.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/store_backend.h"

namespace headroom::results {

struct Dialect {
  /// A text inside the payload, lower case, '' when absent: the expression that an index has.
  std::string (*text)(std::string_view path);
  std::string (*placeholder)(size_t number);  // from 1
};

struct BoundQuery {
  std::string sql;
  std::vector<std::string> values;
};

/// Columns: id, run, label, date, added, origin, payload, quarantine.
BoundQuery select_query(const RowFilter& filter, const Dialect& dialect);

/// "server.model", …: what has an index, by selector field.
struct IndexedField {
  const char *field, *path;
};
inline constexpr IndexedField kIndexedFields[] = {
    {"model", "server.model"},
    {"hardware", "hardware.name"},
    {"precision", "server.precision"},
    {"fingerprint", "server.recipe_fingerprint"},
};

}  // namespace headroom::results
