// Tries eight directions around a point and takes the one that covers least.
#include "dash/labels.h"

#include <algorithm>
#include <cmath>

#include "base/table.h"

namespace headroom::dash {

double Box::overlap(const Box& other) const {
  const double w = std::min(x + width, other.x + other.width) - std::max(x, other.x);
  const double h = std::min(y + height, other.y + other.height) - std::max(y, other.y);
  return w > 0 && h > 0 ? w * h : 0;
}

double text_width(std::string_view text, double size) {
  return 0.56 * size * static_cast<double>(base::display_width(text));
}

std::optional<Placed> LabelPlacer::place(double x, double y, std::string_view text, double size,
                                         double gap, double tolerated) {
  struct Direction {
    double dx, dy;
    const char* anchor;
  };
  static constexpr Direction kDirections[] = {
      {0, -1, "middle"},   {0.8, -0.8, "start"}, {1, 0, "start"}, {0, 1, "middle"},
      {0.8, 0.8, "start"}, {-0.8, -0.8, "end"},  {-1, 0, "end"},  {-0.8, 0.8, "end"},
  };
  const double width = text_width(text, size), height = size;
  double least = tolerated * width * height + 1e-6;  // rounding must not refuse a free place
  std::optional<Placed> best;
  Box best_box;
  for (const Direction& d : kDirections) {
    const std::string_view anchor = d.anchor;
    Box box{x + d.dx * gap, y + d.dy * (gap + height / 2) - height / 2, width, height};
    if (anchor == "middle") box.x -= width / 2;
    if (anchor == "end") box.x -= width;
    double cost = width * height - box.overlap(area_);  // outside counts as covered
    for (const Box& other : taken_) cost += box.overlap(other);
    if (cost < least - 1e-9 || (!best && cost <= least)) {
      least = cost;
      const double text_x = anchor == "middle" ? box.x + width / 2
                            : anchor == "end"  ? box.x + width
                                               : box.x;
      best = Placed{text_x, box.y + 0.82 * height, d.anchor};
      best_box = box;
    }
  }
  if (best) taken_.push_back(best_box);
  return best;
}

}  // namespace headroom::dash
