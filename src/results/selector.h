// Selector: "date=2026-03-01,tp=8" as a test of records, with errors that list what there is.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "results/record.h"

namespace headroom::results {

struct StoredRecord;

/// All conditions must hold; none selects everything. A condition holds when one of its values
/// does.
struct Selector {
  struct Condition {
    std::string field;
    std::vector<std::string> values;
  };
  std::vector<Condition> conditions;
  std::string text;  // as given

  bool matches(const Record& record) const;
};

/// `field=value[,field=value...]`; `field=a|b` takes either; values with commas go in double
/// quotes. A bare word selects the sweep whose run or label it is. Unknown fields are
/// kInvalidArgument and list the fields there are.
base::Result<Selector> parse_selector(std::string_view text);

/// Names that a selector may use.
const std::vector<std::string>& selector_fields();

/// The record's value of a selector field as text; empty when absent.
std::string field_value(const Record& record, std::string_view field);

/// Why nothing in `all` matched: names the condition and the values that exist.
base::Error explain_no_match(const Selector& selector, std::span<const StoredRecord> all);

}  // namespace headroom::results
