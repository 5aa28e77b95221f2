// MetricsText: Prometheus' text exposition format, version 0.0.4.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/metrics.h"

namespace headroom::openai {

class MetricsText {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;
  /// `common` goes on every sample.
  explicit MetricsText(Labels common) : common_(std::move(common)) {}

  void head(std::string_view name, std::string_view help, std::string_view type);
  void sample(std::string_view name, double value, const Labels& labels = {});
  void gauge(std::string_view name, std::string_view help, double value) {
    head(name, help, "gauge");
    sample(name, value);
  }
  void counter(std::string_view name, std::string_view help, double value) {
    head(name, help, "counter");
    sample(name, value);
  }
  void histogram(std::string_view name, std::string_view help,
                 const engine::BucketHistogram& histogram);
  std::string take() { return std::move(out_); }

 private:
  Labels common_;
  std::string out_;
};

}  // namespace headroom::openai
