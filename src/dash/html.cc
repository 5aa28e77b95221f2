// Writes HTML tables and escapes everything that comes from outside.
#include "dash/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/utf8.h"

namespace headroom::dash {
namespace {

std::string cell_html(std::string_view tag, const Cell& cell) {
  return fmt::format("<{}{}{}{}>{}</{}>", tag, tag == "th" ? " scope=\"col\"" : "",
                     cell.css.empty() ? "" : fmt::format(" class=\"{}\"", escape(cell.css)),
                     cell.title.empty() ? "" : fmt::format(" title=\"{}\"", escape(cell.title)),
                     cell.html, tag);
}

}  // namespace

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  for (size_t i = 0; i < text.size();) {
    const size_t length = base::utf8_length(text.substr(i));
    const auto c = static_cast<unsigned char>(text[i]);
    if (length == 0 || (c < 0x20 && c != '\n' && c != '\t') || c == 0x7F) {
      out += "\xEF\xBF\xBD";
      ++i;
      continue;
    }
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      default:
        out += text.substr(i, length);
    }
    i += length;
  }
  return out;
}

Cell Cell::text(std::string_view plain, std::string css) {
  return {escape(plain), std::move(css), ""};
}
Cell Cell::number(std::string_view plain, std::string css) {
  return {escape(plain), css.empty() ? "n" : "n " + css, ""};
}
Cell Cell::markup(std::string html, std::string css) {
  return {std::move(html), std::move(css), ""};
}

void HtmlTable::drop_empty_columns(std::string_view nothing) {
  for (size_t column = head.size(); column-- > 0;) {
    const bool empty = std::ranges::all_of(
        rows, [&](const std::vector<Cell>& row) { return row[column].html == nothing; });
    if (!empty) continue;
    const auto at = static_cast<std::ptrdiff_t>(column);
    head.erase(head.begin() + at);
    for (auto& row : rows) row.erase(row.begin() + at);
  }
}

std::string HtmlTable::html() const {
  if (rows.empty()) return "";
  std::string out = "<div class=\"scroll\"><table>";
  if (!caption.empty()) out += fmt::format("<caption>{}</caption>", escape(caption));
  out += "<thead><tr>";
  for (const Cell& cell : head) out += cell_html("th", cell);
  out += "</tr></thead>\n<tbody>\n";
  for (const auto& row : rows) {
    out += "<tr>";
    for (const Cell& cell : row) out += cell_html("td", cell);
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

}  // namespace headroom::dash
