// Reads files whose size the system does not tell.
#include "environment/tree.h"

#include <algorithm>
#include <charconv>
#include <fstream>

namespace headroom::environment {
namespace {

constexpr size_t kMostBytes = size_t{1} << 18;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Digits compare by value, the rest by character.
bool natural_less(const std::string& a, const std::string& b) {
  size_t i = 0, j = 0;
  while (i < a.size() && j < b.size()) {
    if (!is_digit(a[i]) || !is_digit(b[j])) {
      if (a[i] != b[j]) return a[i] < b[j];
      ++i;
      ++j;
      continue;
    }
    size_t x = i, y = j;
    while (x < a.size() && is_digit(a[x])) ++x;
    while (y < b.size() && is_digit(b[y])) ++y;
    const std::string_view left(a.data() + i, x - i), right(b.data() + j, y - j);
    if (left.size() != right.size()) return left.size() < right.size();
    if (left != right) return left < right;
    i = x;
    j = y;
  }
  return a.size() - i < b.size() - j;
}

}  // namespace

std::filesystem::path Tree::at(std::string_view path) const {
  while (!path.empty() && path.front() == '/') path.remove_prefix(1);
  return root_ / path;
}

std::optional<std::string> Tree::read(std::string_view path) const {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(at(path), ignored)) return std::nullopt;
  std::ifstream in(at(path), std::ios::binary);
  std::string text(kMostBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(in.gcount(), 0)));
  const std::string_view inner = trimmed(text);
  if (inner.empty()) return std::nullopt;
  return std::string(inner);
}

std::optional<int64_t> Tree::number(std::string_view path) const {
  const auto text = read(path);
  return text ? to_number(*text) : std::nullopt;
}

bool Tree::exists(std::string_view path) const {
  std::error_code ignored;
  return std::filesystem::exists(at(path), ignored);
}

std::vector<std::string> Tree::list(std::string_view path) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(at(path), error), end;
  for (; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  std::sort(names.begin(), names.end(), natural_less);
  return names;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::optional<std::string> value_of(std::string_view text, std::string_view name, char separator) {
  for (const std::string_view line : lines_of(text)) {
    const size_t at = line.find(separator);
    if (at == std::string_view::npos || trimmed(line.substr(0, at)) != name) continue;
    const std::string_view value = trimmed(line.substr(at + 1));
    if (value.empty()) return std::nullopt;
    return std::string(value);
  }
  return std::nullopt;
}

std::optional<int64_t> to_number(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

int64_t count_of_list(std::string_view list) {
  int64_t count = 0;
  while (!list.empty()) {
    const size_t end = std::min(list.find(','), list.size());
    const std::string_view part = trimmed(list.substr(0, end));
    const size_t dash = part.find('-');
    const auto first = to_number(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : to_number(part.substr(dash + 1));
    if (first && last && *last >= *first) count += *last - *first + 1;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return count;
}

std::optional<std::string> distinct(const std::vector<std::string>& values) {
  std::vector<std::string> seen;
  for (const std::string& value : values)
    if (std::find(seen.begin(), seen.end(), value) == seen.end()) seen.push_back(value);
  return merged(seen);
}

std::optional<std::string> merged(const std::vector<std::string>& values) {
  if (std::all_of(values.begin(), values.end(), [](const auto& v) { return v.empty(); }))
    return std::nullopt;
  if (std::all_of(values.begin(), values.end(), [&](const auto& v) { return v == values[0]; }))
    return values[0];
  std::string all;
  for (const std::string& value : values) {
    if (&value != &values[0]) all += "; ";
    all += value.empty() ? "?" : value;
  }
  return all;
}

}  // namespace headroom::environment
