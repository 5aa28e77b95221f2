// Which conditions of a selector the database can decide, and how.
#include "results/store_sql.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <optional>

namespace headroom::results {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

/// The texts of which the payload's must be one for the condition to hold; nothing where SQL would
/// decide otherwise than the selector, to which "8", "8.0" and "08" are equal.
std::optional<std::vector<std::string>> texts_of(const Selector::Condition& condition,
                                                 const PayloadField& field) {
  std::vector<std::string> texts;
  for (const std::string& value : condition.values) {
    const bool whole = !value.empty() && value.size() < 16 && value[0] != '0' &&
                       value.find_first_not_of("0123456789") == std::string::npos;
    const bool numeric =
        !value.empty() && value.find_first_not_of("0123456789+-.eE") == std::string::npos;
    if (numeric && !(whole && field.number)) return std::nullopt;
    texts.push_back(lower(value));
    // "vllm 0.16.0" names a framework and its version.
    if (condition.field == "framework")
      for (size_t at = value.find(' '); at != std::string::npos; at = value.find(' ', at + 1))
        texts.push_back(lower(std::string_view(value).substr(0, at)));
  }
  return texts;
}

}  // namespace

BoundQuery select_query(const RowFilter& filter, const Dialect& dialect) {
  BoundQuery query;
  query.sql =
      "SELECT r.id, r.run, r.label, r.date, r.added, r.origin, r.payload, coalesce(q.reason, '') "
      "FROM records r LEFT JOIN quarantine q ON q.record_id = r.id WHERE 1 = 1";
  const auto list = [&](const std::vector<std::string>& values) {
    std::vector<std::string> places;
    for (const std::string& value : values) {
      query.values.push_back(value);
      places.push_back(dialect.placeholder(query.values.size()));
    }
    return fmt::format("({})", fmt::join(places, ", "));
  };
  if (!filter.id.empty()) query.sql += " AND r.id IN " + list({std::string(filter.id)});
  for (const Selector::Condition& condition : filter.conditions) {
    if (condition.field == "date") query.sql += " AND r.date IN " + list(condition.values);
    for (const PayloadField& field : kPayloadFields)
      if (condition.field == field.field)
        if (const auto texts = texts_of(condition, field))
          query.sql += " AND " + dialect.text(field.path) + " IN " + list(*texts);
    if (condition.field == "run") {
      std::vector<std::string> names;
      for (const std::string& value : condition.values) names.push_back(lower(value));
      query.sql += " AND (lower(r.run) IN " + list(names);
      query.sql += " OR lower(r.label) IN " + list(names) + ")";
    }
  }
  if (!filter.with_quarantined) query.sql += " AND q.reason IS NULL";
  query.sql += " ORDER BY r.date, r.seq";
  return query;
}

}  // namespace headroom::results
