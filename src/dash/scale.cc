// Linear and logarithmic axes with 1-2-5 ticks.
#include "dash/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace headroom::dash {

Scale::Scale(double low, double high, double from, double to) : from_(from), to_(to) {
  if (!(low < high)) {  // one value: give it a surrounding
    const double around = low == 0 ? 1 : std::abs(low) / 2;
    low -= around;
    high += around;
  }
  logarithmic_ = low > 0 && high > 4 * low;
  if (logarithmic_) {
    const double room = std::pow(high / low, 0.06);
    low_ = low / room;
    high_ = high * room;
  } else {
    const double room = (high - low) * 0.08;
    low_ = low >= 0 ? std::max(0.0, low - room) : low - room;
    high_ = high + room;
  }
}

double Scale::operator()(double value) const {
  const double t = logarithmic_
                       ? std::log(std::max(value, low_ * 1e-6) / low_) / std::log(high_ / low_)
                       : (value - low_) / (high_ - low_);
  return from_ + t * (to_ - from_);
}

std::vector<Scale::Tick> Scale::ticks(int most) const {
  std::vector<Tick> ticks;
  const auto add = [&](double value) {
    if (value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9))
      ticks.push_back({value, number_text(value)});
  };
  if (logarithmic_) {
    // The densest set of round mantissas that stays within `most`.
    static constexpr double kSets[][4] = {{1, 2, 3, 5}, {1, 2, 5, 0}, {1, 3, 0, 0}, {1, 0, 0, 0}};
    for (const auto& set : kSets) {
      ticks.clear();
      for (double decade = std::pow(10, std::floor(std::log10(low_))); decade <= high_;
           decade *= 10)
        for (const double mantissa : set)
          if (mantissa > 0) add(decade * mantissa);
      if (static_cast<int>(ticks.size()) <= most) break;
    }
    return ticks;
  }
  const double raw = (high_ - low_) / std::max(1, most);
  const double decade = std::pow(10, std::floor(std::log10(raw)));
  double step = 10 * decade;
  for (const double mantissa : {1.0, 2.0, 5.0})
    if (mantissa * decade >= raw) {
      step = mantissa * decade;
      break;
    }
  for (double k = std::ceil(low_ / step); k * step <= high_; ++k) add(k * step);
  return ticks;
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return "–";
  const double size = std::abs(value);
  if (size >= 999.5) {
    std::string digits = fmt::format("{:.0f}", size);
    for (auto at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3)
      digits.insert(static_cast<size_t>(at), ",");
    return (value < 0 ? "-" : "") + digits;
  }
  if (size == 0) return "0";
  std::string text = size >= 99.95    ? fmt::format("{:.0f}", value)
                     : size >= 9.995  ? fmt::format("{:.1f}", value)
                     : size >= 0.9995 ? fmt::format("{:.2f}", value)
                                      : fmt::format("{:.3g}", value);
  if (text.find('.') != std::string::npos && text.find('e') == std::string::npos) {
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
  }
  return text;
}

}  // namespace headroom::dash
