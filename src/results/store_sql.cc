// Which conditions of a selector the database can decide, and how.
#include "results/store_sql.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace headroom::results {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// "8" and "8.0" are equal to a selector but not to SQL: such a condition is left to the selector.
bool numeric(const Selector::Condition& condition) {
  return std::ranges::any_of(condition.values, [](const std::string& value) {
    return !value.empty() && value.find_first_not_of("0123456789+-.eE") == std::string::npos;
  });
}

}  // namespace

BoundQuery select_query(const RowFilter& filter, const Dialect& dialect) {
  BoundQuery query;
  query.sql =
      "SELECT r.id, r.run, r.label, r.date, r.added, r.origin, r.payload, coalesce(q.reason, '') "
      "FROM records r LEFT JOIN quarantine q ON q.record_id = r.id WHERE 1 = 1";
  const auto list = [&](const std::vector<std::string>& values, bool fold) {
    std::vector<std::string> places;
    for (const std::string& value : values) {
      query.values.push_back(fold ? lower(value) : value);
      places.push_back(dialect.placeholder(query.values.size()));
    }
    return fmt::format("({})", fmt::join(places, ", "));
  };
  if (!filter.id.empty()) query.sql += " AND r.id IN " + list({std::string(filter.id)}, false);
  for (const Selector::Condition& condition : filter.conditions) {
    if (condition.field == "date") query.sql += " AND r.date IN " + list(condition.values, false);
    if (numeric(condition)) continue;
    for (const IndexedField& indexed : kIndexedFields)
      if (condition.field == indexed.field)
        query.sql += " AND " + dialect.text(indexed.path) + " IN " + list(condition.values, true);
    if (condition.field == "run") {
      query.sql += " AND (lower(r.run) IN " + list(condition.values, true);
      query.sql += " OR lower(r.label) IN " + list(condition.values, true) + ")";
    }
  }
  if (!filter.with_quarantined) query.sql += " AND q.reason IS NULL";
  query.sql += " ORDER BY r.date, r.seq";
  return query;
}

}  // namespace headroom::results
