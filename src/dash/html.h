// HTML text: escaping, and tables whose cells are escaped by their maker's choice, not by luck.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace headroom::dash {

/// Text for element content and for attribute values in double quotes. Control characters and bytes
/// that are not UTF-8 become U+FFFD, so that the document stays valid whatever a label holds.
std::string escape(std::string_view text);

/// A table cell: text is escaped when it is made, markup is ours.
struct Cell {
  std::string html;
  std::string css;    // class, "" for none
  std::string title;  // shown on hover, plain text
  static Cell text(std::string_view plain, std::string css = "");
  static Cell number(std::string_view plain, std::string css = "");  // right-aligned
  static Cell markup(std::string html, std::string css = "");
};

struct HtmlTable {
  std::string caption;     // plain
  std::vector<Cell> head;  // the same classes as the columns
  std::vector<std::vector<Cell>> rows;
  /// Takes out the columns whose every cell is `nothing`; all rows are as long as the head.
  void drop_empty_columns(std::string_view nothing);
  /// <div class="scroll"><table>…; "" when there are no rows.
  std::string html() const;
};

}  // namespace headroom::dash
