// Scale: values to pixels, linear or logarithmic, and the round values worth a tick.
#pragma once

#include <string>
#include <vector>

namespace headroom::dash {

class Scale {
 public:
  /// Covers [low, high] with some room; logarithmic when all is positive and the span is wide
  /// (high > 4 low). `from` and `to` are pixels, in either direction.
  Scale(double low, double high, double from, double to);

  double operator()(double value) const;
  double low() const { return low_; }
  double high() const { return high_; }
  bool logarithmic() const { return logarithmic_; }

  struct Tick {
    double value;
    std::string text;
  };
  /// At most about `most` round values inside the range, ascending.
  std::vector<Tick> ticks(int most) const;

 private:
  double low_, high_, from_, to_;
  bool logarithmic_;
};

/// "1,647" "43.2" "0.18": three significant digits, thousands grouped.
std::string number_text(double value);

}  // namespace headroom::dash
