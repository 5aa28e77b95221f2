// Labels: finds a free place for each short text of a chart.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace headroom::dash {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;  // left, top
  double overlap(const Box& other) const;
};

/// Pixels that `text` takes, near enough, in the chart's type of `size` pixels.
double text_width(std::string_view text, double size);

/// Where a text stands: its anchor is on the left, in the middle or on the right.
struct Placed {
  double x = 0, y = 0;  // baseline
  const char* anchor = "start";
};

/// Takes places one after the other; what is taken stays taken.
class LabelPlacer {
 public:
  explicit LabelPlacer(Box area) : area_(area) {}
  void block(Box box) { taken_.push_back(box); }
  /// A place beside (x, y), `gap` pixels off, that crosses the least of what is taken. Absent when
  /// every place would cover more than `tolerated` of the text.
  std::optional<Placed> place(double x, double y, std::string_view text, double size, double gap,
                              double tolerated = 0.15);

 private:
  Box area_;
  std::vector<Box> taken_;
};

}  // namespace headroom::dash
