// CSV with the line of every record, strict where base::parse_csv is lenient.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::results {

struct CsvRecord {
  size_t line = 0;  // where it begins, from 1
  std::vector<std::string> fields;
};

/// RFC 4180 with LF or CRLF, blank lines skipped, a byte order mark dropped. Errors (kDataLoss)
/// name `name` and the line: broken UTF-8, a quote not closed, text behind a closing quote.
base::Result<std::vector<CsvRecord>> read_csv(std::string_view text, std::string_view name);

}  // namespace headroom::results
