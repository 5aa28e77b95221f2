// Printed numbers: their value, their digits and what their rounding hides.
#include <charconv>
#include <cmath>

#include "results/record.h"

namespace headroom::results {
namespace {

struct Parts {
  int significant = 0;        // digits from the first that is not 0
  int64_t last_exponent = 0;  // power of ten of the last digit
};

Parts parts_of(std::string_view text) {
  Parts parts;
  int after_point = 0;
  bool point = false, leading = true;
  size_t i = 0;
  for (; i < text.size() && text[i] != 'e' && text[i] != 'E'; ++i) {
    if (text[i] == '.') point = true;
    if (text[i] < '0' || text[i] > '9') continue;
    if (point) ++after_point;
    if (text[i] != '0') leading = false;
    if (!leading) ++parts.significant;
  }
  int exponent = 0;
  if (i < text.size()) {
    ++i;
    if (i < text.size() && text[i] == '+') ++i;
    std::from_chars(text.data() + i, text.data() + text.size(), exponent);
  }
  parts.last_exponent = int64_t{exponent} - after_point;
  return parts;
}

}  // namespace

base::Result<Printed> Printed::parse(std::string_view text) {
  const auto refuse = [&] {
    return base::fail(base::ErrorCode::kInvalidArgument, "'{}' is not a decimal number",
                      text.substr(0, 40));
  };
  // from_chars also takes "inf" and "nan": only digits, sign, point and exponent may appear.
  if (text.empty() || text.size() > 64 ||
      text.find_first_not_of("0123456789+-.eE") != std::string_view::npos)
    return refuse();
  Printed printed;
  printed.text = text;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), printed.value);
  if (error != std::errc{} || end != text.data() + text.size() || !std::isfinite(printed.value))
    return refuse();
  return printed;
}

int Printed::significant_digits() const {
  return parts_of(text).significant;
}

double Printed::half_unit() const {
  return 0.5 * std::pow(10.0, static_cast<double>(parts_of(text).last_exponent));
}

}  // namespace headroom::results
