// RowReader: takes the fields of one JSON row into a record, checked; what is left is kept by name.
#pragma once

#include <set>

#include "results/json_rows.h"
#include "results/record.h"

namespace headroom::results {

/// The first wrong field stands in error(); reading goes on without it. Fields that hold null, ""
/// or are missing leave their target as it was.
class RowReader {
 public:
  explicit RowReader(const JsonRow& row) : row_(row) {}

  void text(const char* path, std::string& target);
  /// Whole and at least `least`.
  void count(const char* path, std::optional<int64_t>& target, int64_t least = 1);
  /// true, false, or a text of them.
  void flag(const char* path, std::optional<bool>& target);
  void number(const char* path, std::optional<double>& target);
  /// Positive; 0 is how other tools write "not measured" and counts as missing.
  /// `shift`: powers of ten to multiply by, digits untouched (3 turns seconds into milliseconds).
  void figure(const char* path, std::optional<Printed>& target, int shift = 0);
  /// YYYY-MM-DD, or the beginning of a stamp like 20260527-075026.
  void date(const char* path, std::string& target);

  const JsonValue* take(const std::string& path);
  const JsonRow& row() const { return row_; }
  /// `right`: what would have been right.
  void wrong(const std::string& path, const JsonValue& value, std::string_view right);
  /// Everything that was not taken, long values cut.
  std::map<std::string, std::string> rest() const;
  const std::optional<base::Error>& error() const { return error_; }

 private:
  const JsonRow& row_;
  std::set<std::string> taken_;
  std::optional<base::Error> error_;
};

/// "0.0174" with shift 3 is "17.4": the same digits. Exponents stay exponents.
std::string shifted(std::string_view number, int powers_of_ten);

/// "p99_ttft" → "p99" and "ttft"; nothing unless it is a statistic of a known quantity.
struct StatisticName {
  std::string statistic;  // "mean", "median", "std", "p99", "p99.9", …
  std::string quantity;   // "ttft", "tpot", "itl", "e2e", "interactivity"
};
std::optional<StatisticName> statistic_name(std::string_view column);

/// All columns that are statistics: medians into their plain fields, the others into
/// published.statistics. `prefix`: "metrics."; `shift` as above for those that are times.
void take_statistics(RowReader& reader, std::string_view prefix, int shift, Published& published);

}  // namespace headroom::results
