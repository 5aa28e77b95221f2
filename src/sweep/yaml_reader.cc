// The strict getters of a YAML node and the errors they give.
#include "sweep/yaml_reader.h"

#include <charconv>
#include <cmath>

#include "sweep/yaml_tree.h"

namespace headroom::sweep {

using base::Error;
using base::ErrorCode;
using base::Result;

namespace {

/// `value "x" is not a number` needs a short form of whatever is there.
std::string shown(std::string_view text) {
  constexpr size_t kMost = 60;
  return text.size() <= kMost ? std::string(text) : std::string(text.substr(0, kMost)) + "…";
}

template <typename T>
std::optional<T> whole(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Edits (insert, delete, replace, swap of neighbours) that turn `a` into `b`.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min(
          {d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

void append_canonical_text(std::string& out, std::string_view text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  out += '"';
}

const char* kind_name(YamlNode::Kind kind) {
  switch (kind) {
    case YamlNode::Kind::kNull:
      return "nothing";
    case YamlNode::Kind::kScalar:
      return "a single value";
    case YamlNode::Kind::kList:
      return "a list";
    case YamlNode::Kind::kMap:
      return "a mapping";
  }
  return "?";
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string_view>& known) {
  std::string_view best;
  size_t least = SIZE_MAX;
  if (word.size() > 100) return {};
  for (const std::string_view candidate : known)
    if (const size_t d = distance(word, candidate); d < least) {
      least = d;
      best = candidate;
    }
  const size_t tolerated = std::max<size_t>(1, std::min(word.size(), best.size()) / 3);
  return least <= tolerated ? std::string(best) : std::string();
}

YamlNode::Kind YamlNode::kind() const {
  return tree_->kind;
}
int YamlNode::line() const {
  return tree_->line;
}
std::string YamlNode::where() const {
  return fmt::format("{}:{}", *file_, line());
}

Error YamlNode::error(std::string message) const {
  return {ErrorCode::kInvalidArgument, path_.empty()
                                           ? fmt::format("{}: {}", where(), message)
                                           : fmt::format("{}: {}: {}", where(), path_, message)};
}

Result<std::string> YamlNode::text() const {
  if (!is_scalar())
    return tl::unexpected(error(fmt::format("a text is due, here is {}", kind_name(kind()))));
  return tree_->scalar;
}

Result<std::string> YamlNode::one_of(const std::vector<std::string>& allowed) const {
  HEADROOM_TRY(std::string value, text());
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
  const std::string near = nearest(value, {allowed.begin(), allowed.end()});
  return tl::unexpected(
      error(fmt::format("value \"{}\" is not one of {}{}", shown(value), fmt::join(allowed, ", "),
                        near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near))));
}

Result<int64_t> YamlNode::integer(int64_t low, int64_t high) const {
  if (!is_scalar())
    return tl::unexpected(
        error(fmt::format("a whole number is due, here is {}", kind_name(kind()))));
  const auto value = tree_->plain ? whole<int64_t>(tree_->scalar) : std::nullopt;
  if (!value)
    return tl::unexpected(
        error(fmt::format("value \"{}\" is not a whole number", shown(tree_->scalar))));
  if (*value < low || *value > high)
    return tl::unexpected(
        error(high == INT64_MAX ? fmt::format("value {} is not at least {}", *value, low)
                                : fmt::format("value {} is not from {} to {}", *value, low, high)));
  return *value;
}

Result<double> YamlNode::number(double low, double high) const {
  if (!is_scalar())
    return tl::unexpected(error(fmt::format("a number is due, here is {}", kind_name(kind()))));
  const auto value = tree_->plain ? whole<double>(tree_->scalar) : std::nullopt;
  if (!value || !std::isfinite(*value))
    return tl::unexpected(error(fmt::format("value \"{}\" is not a number", shown(tree_->scalar))));
  if (*value < low || *value > high)
    return tl::unexpected(
        error(high >= 1e300 ? fmt::format("value {} is not at least {}", *value, low)
                            : fmt::format("value {} is not from {} to {}", *value, low, high)));
  return *value;
}

Result<bool> YamlNode::boolean() const {
  if (is_scalar() && tree_->plain && (tree_->scalar == "true" || tree_->scalar == "false"))
    return tree_->scalar == "true";
  return tl::unexpected(error(
      is_scalar() ? fmt::format("value \"{}\" is neither true nor false", shown(tree_->scalar))
                  : fmt::format("true or false is due, here is {}", kind_name(kind()))));
}

Result<std::vector<YamlNode>> YamlNode::list() const {
  if (!is_list())
    return tl::unexpected(error(fmt::format("a list is due, here is {}", kind_name(kind()))));
  std::vector<YamlNode> items;
  for (size_t i = 0; i < tree_->items.size(); ++i)
    items.push_back(YamlNode(tree_->items[i], file_, fmt::format("{}[{}]", path_, i)));
  return items;
}

Result<std::vector<YamlNode>> YamlNode::list_or_one() const {
  if (is_scalar()) return std::vector<YamlNode>{*this};
  return list();
}

Result<std::vector<std::string>> YamlNode::texts() const {
  HEADROOM_TRY(const auto items, list_or_one());
  std::vector<std::string> result;
  for (const YamlNode& item : items) {
    HEADROOM_TRY(std::string value, item.text());
    result.push_back(std::move(value));
  }
  return result;
}

Result<YamlMap> YamlNode::any_map() const {
  if (!is_map())
    return tl::unexpected(error(fmt::format("a mapping is due, here is {}", kind_name(kind()))));
  return YamlMap(*this);
}

Result<YamlMap> YamlNode::map(const std::vector<std::string_view>& known) const {
  HEADROOM_TRY(YamlMap result, any_map());
  for (size_t i = 0; i < tree_->entries.size(); ++i) {
    const std::string& key = tree_->entries[i].first;
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string near = nearest(key, known);
    return base::fail(
        ErrorCode::kInvalidArgument, "{}:{}: key \"{}\" is not known here{}{}; known: {}", *file_,
        tree_->key_lines[i], shown(key), path_.empty() ? "" : fmt::format(" ({})", path_),
        near.empty() ? "" : fmt::format("; did you mean \"{}\"?", near), fmt::join(known, ", "));
  }
  return result;
}

std::string YamlNode::canonical() const {
  std::string out;
  switch (kind()) {
    case Kind::kNull:
      return "null";
    case Kind::kScalar:
      append_canonical_text(out, tree_->scalar);
      return out;
    case Kind::kList:
      out = "[";
      for (const auto& item : tree_->items)
        out += (out.size() > 1 ? "," : "") + YamlNode(item, file_, "").canonical();
      return out + "]";
    case Kind::kMap:
      break;
  }
  auto entries = tree_->entries;
  std::sort(entries.begin(), entries.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  out = "{";
  for (const auto& [key, value] : entries) {
    if (out.size() > 1) out += ",";
    append_canonical_text(out, key);
    out += ":" + YamlNode(value, file_, "").canonical();
  }
  return out + "}";
}

std::vector<std::pair<std::string, YamlNode>> YamlMap::entries() const {
  std::vector<std::pair<std::string, YamlNode>> result;
  for (const auto& [key, value] : node_.tree_->entries)
    result.emplace_back(
        key, YamlNode(value, node_.file_, node_.path_.empty() ? key : node_.path_ + "." + key));
  return result;
}

std::optional<YamlNode> YamlMap::find(std::string_view key) const {
  for (const auto& [name, value] : node_.tree_->entries) {
    if (name != key) continue;
    if (value->kind == YamlNode::Kind::kNull) return std::nullopt;
    return YamlNode(value, node_.file_, node_.path_.empty() ? name : node_.path_ + "." + name);
  }
  return std::nullopt;
}

Result<YamlNode> YamlMap::need(std::string_view key) const {
  if (auto found = find(key)) return *found;
  return tl::unexpected(node_.error(fmt::format("key \"{}\" is missing", key)));
}

Result<std::string> YamlMap::text_or(std::string_view key, std::string otherwise) const {
  if (const auto found = find(key)) return found->text();
  return otherwise;
}
Result<double> YamlMap::number_or(std::string_view key, double otherwise, double low,
                                  double high) const {
  if (const auto found = find(key)) return found->number(low, high);
  return otherwise;
}
Result<int64_t> YamlMap::integer_or(std::string_view key, int64_t otherwise, int64_t low,
                                    int64_t high) const {
  if (const auto found = find(key)) return found->integer(low, high);
  return otherwise;
}
Result<bool> YamlMap::boolean_or(std::string_view key, bool otherwise) const {
  if (const auto found = find(key)) return found->boolean();
  return otherwise;
}
Result<std::optional<double>> YamlMap::maybe_number(std::string_view key, double low,
                                                    double high) const {
  const auto found = find(key);
  if (!found) return std::optional<double>{};
  HEADROOM_TRY(const double value, found->number(low, high));
  return std::optional<double>(value);
}
Result<std::optional<int64_t>> YamlMap::maybe_integer(std::string_view key, int64_t low,
                                                      int64_t high) const {
  const auto found = find(key);
  if (!found) return std::optional<int64_t>{};
  HEADROOM_TRY(const int64_t value, found->integer(low, high));
  return std::optional<int64_t>(value);
}
Result<std::vector<std::string>> YamlMap::texts(std::string_view key) const {
  if (const auto found = find(key)) return found->texts();
  return std::vector<std::string>{};
}

}  // namespace headroom::sweep
