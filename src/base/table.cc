// Rendering of tables.
#include "base/table.h"

#include <algorithm>

#include "base/utf8.h"

namespace headroom::base {
namespace {

uint32_t decode(std::string_view c) {
  const auto b = [&](size_t i) { return static_cast<uint32_t>(static_cast<unsigned char>(c[i])); };
  switch (c.size()) {
    case 1:
      return b(0);
    case 2:
      return (b(0) & 0x1F) << 6 | (b(1) & 0x3F);
    case 3:
      return (b(0) & 0x0F) << 12 | (b(1) & 0x3F) << 6 | (b(2) & 0x3F);
    default:
      return (b(0) & 0x07) << 18 | (b(1) & 0x3F) << 12 | (b(2) & 0x3F) << 6 | (b(3) & 0x3F);
  }
}

// The blocks that terminals draw two columns wide (East Asian Width W and F, without emoji detail).
bool is_wide(uint32_t c) {
  return (c >= 0x1100 && c <= 0x115F) || (c >= 0x2E80 && c <= 0xA4CF) ||
         (c >= 0xAC00 && c <= 0xD7A3) || (c >= 0xF900 && c <= 0xFAFF) ||
         (c >= 0xFE30 && c <= 0xFE6F) || (c >= 0xFF00 && c <= 0xFF60) ||
         (c >= 0xFFE0 && c <= 0xFFE6) || (c >= 0x1F300 && c <= 0x1FAFF) ||
         (c >= 0x20000 && c <= 0x3FFFD);
}

std::string padded(const std::string& text, size_t width, Table::Align align) {
  const size_t have = display_width(text);
  const std::string fill(width > have ? width - have : 0, ' ');
  return align == Table::Align::kLeft ? text + fill : fill + text;
}

/// A cell from outside must neither break the line nor drive the terminal.
std::string terminal_cell(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || c == 127) c = ' ';
  return text;
}

std::string markdown_cell(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '|') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

}  // namespace

size_t display_width(std::string_view text) {
  size_t width = 0;
  while (!text.empty()) {
    const size_t length = std::max<size_t>(1, utf8_length(text));
    width += length > 1 && is_wide(decode(text.substr(0, length))) ? 2 : 1;
    text.remove_prefix(length);
  }
  return width;
}

std::string Table::terminal() const {
  std::vector<size_t> widths;
  for (size_t c = 0; c < columns.size(); ++c) {
    size_t width = display_width(columns[c].title);
    for (const auto& row : rows) width = std::max(width, display_width(row[c]));
    widths.push_back(width);
  }
  std::string out, rule;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (size_t c = 0; c < columns.size(); ++c) {
      if (c > 0) text += "  ";
      text += padded(terminal_cell(cell_of(c)), widths[c], columns[c].align);
    }
    while (!text.empty() && text.back() == ' ') text.pop_back();
    out += text + "\n";
  };
  line([&](size_t c) { return columns[c].title; });
  for (size_t c = 0; c < columns.size(); ++c) {
    if (c > 0) rule += "  ";
    for (size_t i = 0; i < widths[c]; ++i) rule += "─";
  }
  out += rule + "\n";
  for (const auto& row : rows) line([&](size_t c) { return row[c]; });
  return out;
}

std::string Table::markdown() const {
  std::string out = "|";
  for (const Column& column : columns) out += " " + markdown_cell(column.title) + " |";
  out += "\n|";
  for (const Column& column : columns) out += column.align == Align::kLeft ? " :--- |" : " ---: |";
  out += "\n";
  for (const auto& row : rows) {
    out += "|";
    for (const std::string& cell : row) out += " " + markdown_cell(cell) + " |";
    out += "\n";
  }
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  return out + "\"";
}

std::string Table::csv() const {
  std::string out;
  for (size_t c = 0; c < columns.size(); ++c) out += (c ? "," : "") + csv_field(columns[c].title);
  out += "\n";
  for (const auto& row : rows) {
    for (size_t c = 0; c < row.size(); ++c) out += (c ? "," : "") + csv_field(row[c]);
    out += "\n";
  }
  return out;
}

std::vector<std::vector<std::string>> parse_csv(std::string_view text) {
  std::vector<std::vector<std::string>> records;
  std::vector<std::string> record;
  std::string field;
  bool quoted = false, any = false;
  const auto end_record = [&] {
    record.push_back(std::move(field));
    field.clear();
    records.push_back(std::move(record));
    record.clear();
    any = false;
  };
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c == '"' && i + 1 < text.size() && text[i + 1] == '"') {
        field += '"';
        ++i;
      } else if (c == '"') {
        quoted = false;
      } else {
        field += c;
      }
      continue;
    }
    if (c == '\n') {
      if (any) end_record();
      continue;
    }
    if (c == '\r' && (i + 1 == text.size() || text[i + 1] == '\n')) continue;
    any = true;
    if (c == '"' && field.empty()) {
      quoted = true;
    } else if (c == ',') {
      record.push_back(std::move(field));
      field.clear();
    } else {
      field += c;
    }
  }
  if (any) end_record();
  return records;
}

}  // namespace headroom::base
