// Table: rows of text as an aligned terminal table, Markdown or CSV.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom::base {

struct Table {
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kRight;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;  // each as long as columns

  /// Box-free columns under a rule, two spaces apart; widths count code points, wide (CJK) ones
  /// twice.
  std::string terminal() const;
  std::string markdown() const;
  /// RFC 4180: quoted where needed, CRLF-free (LF) lines, header first.
  std::string csv() const;
};

/// Columns that `text` takes on a terminal.
size_t display_width(std::string_view text);

/// One CSV field, quoted when it must be.
std::string csv_field(std::string_view text);

/// Splits CSV text into records (RFC 4180 quotes, LF or CRLF); a last line without newline counts.
std::vector<std::vector<std::string>> parse_csv(std::string_view text);

}  // namespace headroom::base
