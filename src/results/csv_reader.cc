// The CSV state machine.
#include "results/csv_reader.h"

#include "base/utf8.h"

namespace headroom::results {

using base::ErrorCode;
using base::fail;

base::Result<std::vector<CsvRecord>> read_csv(std::string_view text, std::string_view name) {
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<CsvRecord> records;
  CsvRecord record;
  std::string field;
  enum class At { kStart, kPlain, kQuoted, kClosed } at = At::kStart;
  bool any = false;  // something stands on this line
  size_t line = 1;
  record.line = 1;
  const auto end_field = [&] {
    record.fields.push_back(std::move(field));
    field.clear();
    at = At::kStart;
  };
  const auto end_record = [&] {
    if (any) {
      end_field();
      records.push_back(std::move(record));
    }
    record = {line, {}};
    at = At::kStart;
    any = false;
  };
  for (size_t i = 0; i < text.size();) {
    const size_t length = base::utf8_length(text.substr(i));
    if (length == 0) return fail(ErrorCode::kDataLoss, "{}:{}: not UTF-8", name, line);
    const std::string_view c = text.substr(i, length);
    i += length;
    if (c == "\n") ++line;
    if (at == At::kQuoted) {
      if (c != "\"") {
        field += c;
      } else if (text.substr(i, 1) == "\"") {
        field += '"';
        ++i;
      } else {
        at = At::kClosed;
      }
      continue;
    }
    if (c == "\r" && (i == text.size() || text[i] == '\n')) continue;
    if (c == "\n") {
      end_record();
      continue;
    }
    any = true;
    if (c == ",") {
      end_field();
    } else if (c == "\"" && at == At::kStart) {
      at = At::kQuoted;
    } else if (at == At::kClosed) {
      return fail(ErrorCode::kDataLoss, "{}:{}: '{}' behind a closing quote", name, line, c);
    } else {
      field += c;
      at = At::kPlain;
    }
  }
  if (at == At::kQuoted)
    return fail(ErrorCode::kDataLoss, "{}:{}: a quote that is not closed", name, record.line);
  end_record();
  return records;
}

}  // namespace headroom::results
