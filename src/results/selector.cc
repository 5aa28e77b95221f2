// Parsing and matching of selectors.
#include "results/selector.h"

#include <algorithm>
#include <charconv>
#include <set>

#include "results/store.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;

template <typename T>
std::string text_of(const std::optional<T>& number) {
  return number ? fmt::format("{}", *number) : std::string();
}

struct Field {
  const char* name;
  std::string (*value)(const Record&);
};

constexpr Field kFields[] = {
    {"run", [](const Record& r) { return r.run; }},
    {"label", [](const Record& r) { return r.label; }},
    {"date", [](const Record& r) { return r.date; }},
    {"model", [](const Record& r) { return r.server.model; }},
    {"hardware", [](const Record& r) { return r.hardware.name; }},
    {"devices", [](const Record& r) { return text_of(r.hardware.devices); }},
    {"framework", [](const Record& r) { return r.server.framework; }},
    {"version", [](const Record& r) { return r.server.framework_version; }},
    {"image", [](const Record& r) { return r.server.image; }},
    {"precision", [](const Record& r) { return r.server.precision; }},
    {"kv", [](const Record& r) { return r.server.kv; }},
    {"attention", [](const Record& r) { return r.server.attention; }},
    {"speculative", [](const Record& r) { return r.server.speculative; }},
    {"recipe", [](const Record& r) { return r.server.recipe; }},
    {"fingerprint", [](const Record& r) { return r.server.recipe_fingerprint; }},
    {"tp", [](const Record& r) { return text_of(r.server.layout.tp); }},
    {"pp", [](const Record& r) { return text_of(r.server.layout.pp); }},
    {"ep", [](const Record& r) { return text_of(r.server.layout.ep); }},
    {"dp_attention", [](const Record& r) { return text_of(r.server.layout.dp_attention); }},
    {"concurrency", [](const Record& r) { return text_of(r.workload.concurrency); }},
    {"rate", [](const Record& r) { return text_of(r.workload.rate); }},
    {"input", [](const Record& r) { return text_of(r.workload.input_tokens); }},
    {"output", [](const Record& r) { return text_of(r.workload.output_tokens); }},
    {"dataset", [](const Record& r) { return r.workload.dataset; }},
    {"arrivals", [](const Record& r) { return r.workload.arrivals; }},
    {"repeat", [](const Record& r) { return text_of(r.repeat); }},
};

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return out;
}

// "8", "8.0" and "08" name the same number.
bool same_value(std::string_view have, std::string_view wanted) {
  if (lower(have) == lower(wanted)) return true;
  double a = 0, b = 0;
  const auto whole = [](std::string_view text, double& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc{} && end == text.data() + text.size();
  };
  return whole(have, a) && whole(wanted, b) && a == b;
}

bool holds(const Selector::Condition& condition, const Record& record) {
  const auto is = [&](std::string_view have) {
    return std::ranges::any_of(condition.values,
                               [&](const std::string& wanted) { return same_value(have, wanted); });
  };
  if (is(field_value(record, condition.field))) return true;
  if (condition.field == "run") return is(record.label) && !record.label.empty();
  if (condition.field == "framework" && !record.server.framework_version.empty())
    return is(record.server.framework + " " + record.server.framework_version);
  return false;
}

std::string listed(const std::set<std::string>& values) {
  constexpr size_t kShown = 12;
  std::string out;
  size_t n = 0;
  for (const std::string& value : values) {
    if (n++ == kShown) return out + fmt::format(" and {} more", values.size() - kShown);
    out += (n > 1 ? ", " : "") + (value.empty() ? std::string("(none)") : value);
  }
  return out;
}

std::string shown(const Selector::Condition& condition) {
  return fmt::format("{}={}", condition.field, fmt::join(condition.values, "|"));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// Cuts at `separator` outside double quotes; the quotes stay.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  bool quoted = false;
  size_t from = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '"') quoted = !quoted;
    if (i < text.size() && (quoted || text[i] != separator)) continue;
    parts.push_back(trimmed(text.substr(from, i - from)));
    from = i + 1;
  }
  return parts;
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"')
    text = text.substr(1, text.size() - 2);
  return std::string(text);
}

}  // namespace

const std::vector<std::string>& selector_fields() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> out;
    for (const Field& field : kFields) out.emplace_back(field.name);
    return out;
  }();
  return names;
}

std::string field_value(const Record& record, std::string_view name) {
  for (const Field& field : kFields)
    if (name == field.name) return field.value(record);
  return {};
}

bool Selector::matches(const Record& record) const {
  return std::ranges::all_of(conditions, [&](const Condition& c) { return holds(c, record); });
}

base::Result<Selector> parse_selector(std::string_view text) {
  Selector selector;
  selector.text = text;
  if (trimmed(text).empty())
    return fail(ErrorCode::kInvalidArgument,
                "empty selector: give field=value[,field=value...] or a run");
  if (std::ranges::count(text, '"') % 2 != 0)
    return fail(ErrorCode::kInvalidArgument, "selector '{}': a double quote is not closed", text);
  for (const std::string_view part : split(text, ',')) {
    if (part.empty())
      return fail(ErrorCode::kInvalidArgument, "selector '{}': an empty condition", text);
    const size_t equals = part.front() == '"' ? std::string_view::npos : part.find('=');
    if (equals == std::string_view::npos) {
      selector.conditions.push_back({"run", {unquoted(part)}});
      continue;
    }
    Selector::Condition condition{lower(trimmed(part.substr(0, equals))), {}};
    if (std::ranges::find(selector_fields(), condition.field) == selector_fields().end())
      return fail(ErrorCode::kInvalidArgument, "selector '{}': no field '{}'; the fields are {}",
                  text, condition.field, fmt::join(selector_fields(), ", "));
    for (const std::string_view value : split(part.substr(equals + 1), '|'))
      condition.values.push_back(unquoted(value));
    selector.conditions.push_back(std::move(condition));
  }
  return selector;
}

base::Error explain_no_match(const Selector& selector, std::span<const StoredRecord> all) {
  if (all.empty())
    return {ErrorCode::kNotFound, fmt::format("'{}': the store holds no records yet; `headroom "
                                              "import` and `headroom bench` put some in",
                                              selector.text)};
  std::vector<const Record*> left;
  for (const StoredRecord& stored : all) left.push_back(&stored.record);
  std::string before;  // the conditions that still left something
  for (const Selector::Condition& condition : selector.conditions) {
    std::vector<const Record*> next;
    std::set<std::string> values;
    for (const Record* record : left) {
      values.insert(field_value(*record, condition.field));
      if (condition.field == "run" && !record->label.empty()) values.insert(record->label);
      if (holds(condition, *record)) next.push_back(record);
    }
    if (next.empty())
      return {
          ErrorCode::kNotFound,
          fmt::format("'{}': no record has {}{}; {} there: {}", selector.text, shown(condition),
                      before.empty() ? "" : " beside " + before, condition.field, listed(values))};
    left = std::move(next);
    before += (before.empty() ? "" : ",") + shown(condition);
  }
  return {ErrorCode::kNotFound,
          fmt::format("'{}': every matching record is quarantined", selector.text)};
}

}  // namespace headroom::results
