// Checked reading of foreign fields.
#include "results/row_reader.h"

#include <charconv>
#include <cmath>

#include "results/dates.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using Kind = JsonValue::Kind;

constexpr size_t kLongestKept = 2000;

template <typename T>
bool parse_whole(std::string_view text, T& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string shifted(std::string_view number, int powers_of_ten) {
  if (powers_of_ten == 0) return std::string(number);
  const size_t e = number.find_first_of("eE");
  if (e != std::string_view::npos) {
    int exponent = 0;
    std::string_view tail = number.substr(e + 1);
    if (tail.starts_with('+')) tail.remove_prefix(1);
    if (!parse_whole(tail, exponent)) return std::string(number);
    return fmt::format("{}e{}", number.substr(0, e), exponent + powers_of_ten);
  }
  std::string digits(number);
  std::string sign;
  if (digits.starts_with('-')) {
    sign = "-";
    digits.erase(0, 1);
  }
  size_t point = digits.find('.');
  if (point == std::string::npos)
    point = digits.size();
  else
    digits.erase(point, 1);
  for (int i = 0; i < powers_of_ten; ++i)
    if (++point > digits.size()) digits += '0';
  for (int i = 0; i > powers_of_ten; --i) {
    if (point == 0)
      digits.insert(0, "0");
    else
      --point;
  }
  std::string whole = digits.substr(0, point), part = digits.substr(point);
  whole.erase(0, std::min(whole.find_first_not_of('0'), whole.size()));
  if (whole.empty()) whole = "0";
  return sign + whole + (part.empty() ? "" : "." + part);
}

const JsonValue* RowReader::take(const std::string& path) {
  const JsonValue* value = row_.find(path);
  if (value == nullptr) return nullptr;
  taken_.insert(path);
  const bool nothing =
      value->kind == Kind::kNull || (value->kind == Kind::kText && value->text.empty());
  return nothing ? nullptr : value;
}

void RowReader::wrong(const std::string& path, const JsonValue& value, std::string_view right) {
  if (!error_)
    error_ =
        base::Error{ErrorCode::kDataLoss, fmt::format("{}: field '{}': '{}' is not {}", row_.where,
                                                      path, value.text.substr(0, 60), right)};
}

void RowReader::text(const char* path, std::string& target) {
  const JsonValue* value = take(path);
  if (value == nullptr) return;
  if (value->kind != Kind::kText || value->text.size() > 10'000)
    return wrong(path, *value, "a text of at most 10000 bytes");
  target = value->text;
}

void RowReader::count(const char* path, std::optional<int64_t>& target, int64_t least) {
  const JsonValue* value = take(path);
  if (value == nullptr) return;
  int64_t whole = 0;
  double number = 0;
  std::string_view digits = value->text;
  if (!parse_whole(digits, whole)) {  // "8.0"
    if (!parse_whole(digits, number) || number != std::floor(number) || std::abs(number) > 1e15)
      return wrong(path, *value, "a whole number");
    whole = static_cast<int64_t>(number);
  }
  if (whole < least) return wrong(path, *value, fmt::format("a whole number from {}", least));
  target = whole;
}

void RowReader::flag(const char* path, std::optional<bool>& target) {
  const JsonValue* value = take(path);
  if (value == nullptr) return;
  if (value->text == "true" || value->text == "True") {
    target = true;
  } else if (value->text == "false" || value->text == "False") {
    target = false;
  } else {
    wrong(path, *value, "true or false");
  }
}

void RowReader::number(const char* path, std::optional<double>& target) {
  const JsonValue* value = take(path);
  if (value == nullptr) return;
  double number = 0;
  if (!parse_whole(std::string_view(value->text), number) || !std::isfinite(number))
    return wrong(path, *value, "a finite number");
  target = number;
}

void RowReader::figure(const char* path, std::optional<Printed>& target, int shift) {
  const JsonValue* value = take(path);
  if (value == nullptr) return;
  auto printed = Printed::parse(shifted(value->text, shift));
  if (!printed || value->kind == Kind::kList || printed->value < 0 || printed->value > 1e12)
    return wrong(path, *value, "a number from 0 to 1e12");
  if (printed->value > 0) target = std::move(*printed);
}

void RowReader::date(const char* path, std::string& target) {
  const JsonValue* value = take(path);
  if (value == nullptr) return;
  std::string text = value->text.substr(0, 10);
  if (text.size() >= 8 && text.find('-') >= 8)
    text = fmt::format("{}-{}-{}", text.substr(0, 4), text.substr(4, 2), text.substr(6, 2));
  if (!is_date(text)) return wrong(path, *value, "a date as YYYY-MM-DD");
  target = text;
}

std::map<std::string, std::string> RowReader::rest() const {
  std::map<std::string, std::string> rest;
  for (const auto& [path, value] : row_.values)
    if (!taken_.contains(path) && value.kind != Kind::kNull)
      rest[path] = value.text.substr(0, kLongestKept);
  return rest;
}

std::optional<StatisticName> statistic_name(std::string_view column) {
  const size_t cut = column.find('_');
  if (cut == std::string_view::npos) return std::nullopt;
  StatisticName name;
  name.statistic = column.substr(0, cut);
  std::string_view quantity = column.substr(cut + 1);
  if (quantity.ends_with("_ms")) quantity.remove_suffix(3);
  if (quantity == "e2el" || quantity == "e2e_latency") quantity = "e2e";
  if (quantity == "intvty") quantity = "interactivity";
  const bool known = quantity == "ttft" || quantity == "tpot" || quantity == "itl" ||
                     quantity == "e2e" || quantity == "interactivity";
  double percentile = 0;
  const bool statistic = name.statistic == "mean" || name.statistic == "median" ||
                         name.statistic == "std" || name.statistic == "min" ||
                         name.statistic == "max" ||
                         (name.statistic.starts_with('p') &&
                          parse_whole(std::string_view(name.statistic).substr(1), percentile) &&
                          percentile > 0 && percentile < 100);
  if (!known || !statistic) return std::nullopt;
  name.quantity = quantity;
  return name;
}

void take_statistics(RowReader& reader, std::string_view prefix, int shift, Published& published) {
  const std::map<std::string, std::optional<Printed>*> plain = {
      {"ttft", &published.ttft_ms},
      {"tpot", &published.tpot_ms},
      {"itl", &published.itl_ms},
      {"e2e", &published.e2e_ms},
      {"interactivity", &published.interactivity}};
  for (const auto& [path, unused] : reader.row().values) {
    if (!path.starts_with(prefix)) continue;
    const auto name = statistic_name(std::string_view(path).substr(prefix.size()));
    if (!name) continue;
    const bool time = name->quantity != "interactivity";
    std::optional<Printed> figure;
    reader.figure(path.c_str(), figure, time ? shift : 0);
    if (!figure) continue;
    if (name->statistic == "median")
      *plain.at(name->quantity) = std::move(figure);
    else
      published
          .statistics[fmt::format("{}_{}{}", name->statistic, name->quantity, time ? "_ms" : "")] =
          std::move(*figure);
  }
}

}  // namespace headroom::results
