// Which dates exist.
#include "results/dates.h"

namespace headroom::results {

bool is_date(std::string_view text) {
  if (text.size() != 10 || text[4] != '-' || text[7] != '-') return false;
  int year = 0, month = 0, day = 0;
  const auto digits = [&](size_t from, size_t n, int& out) {
    for (const char c : text.substr(from, n)) {
      if (c < '0' || c > '9') return false;
      out = out * 10 + (c - '0');
    }
    return true;
  };
  if (!digits(0, 4, year) || !digits(5, 2, month) || !digits(8, 2, day)) return false;
  constexpr int kDays[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  if (month < 1 || month > 12 || day < 1 || day > kDays[month - 1]) return false;
  return month != 2 || day != 29 || (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
}

}  // namespace headroom::results
