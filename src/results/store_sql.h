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

/// Fields that the database compares itself: texts and whole numbers of the payload.
struct PayloadField {
  const char *field, *path;
  bool number = false;
};
inline constexpr PayloadField kPayloadFields[] = {
    {"model", "server.model"},
    {"hardware", "hardware.name"},
    {"precision", "server.precision"},
    {"framework", "server.framework"},
    {"fingerprint", "server.recipe_fingerprint"},
    {"input", "workload.input_tokens", true},
    {"output", "workload.output_tokens", true},
    {"concurrency", "workload.concurrency", true},
    {"tp", "server.layout.tp", true},
};
/// In the order of the index that views use; the date follows.
inline constexpr const char* kViewIndex[] = {"server.model", "hardware.name",
                                             "workload.input_tokens", "workload.output_tokens"};

}  // namespace headroom::results
