// The text format.
#include "openai/metrics_text.h"

#include <fmt/format.h>

#include <iterator>

namespace headroom::openai {
namespace {

std::string escaped(std::string_view value) {
  std::string out;
  for (const char c : value) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

void MetricsText::head(std::string_view name, std::string_view help, std::string_view type) {
  fmt::format_to(std::back_inserter(out_), "# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsText::sample(std::string_view name, double value, const Labels& labels) {
  out_ += name;
  char separator = '{';
  for (const Labels* group : std::initializer_list<const Labels*>{&common_, &labels}) {
    for (const auto& [label, text] : *group) {
      fmt::format_to(std::back_inserter(out_), "{}{}=\"{}\"", separator, label, escaped(text));
      separator = ',';
    }
  }
  if (separator == ',') out_ += '}';
  fmt::format_to(std::back_inserter(out_), " {}\n", value);
}

void MetricsText::histogram(std::string_view name, std::string_view help,
                            const engine::BucketHistogram& histogram) {
  head(name, help, "histogram");
  uint64_t below = 0;
  for (size_t i = 0; i < histogram.bounds().size(); ++i) {
    below += histogram.counts()[i];
    sample(fmt::format("{}_bucket", name), static_cast<double>(below),
           {{"le", fmt::format("{}", histogram.bounds()[i])}});
  }
  sample(fmt::format("{}_bucket", name), static_cast<double>(histogram.count()), {{"le", "+Inf"}});
  sample(fmt::format("{}_sum", name), histogram.sum());
  sample(fmt::format("{}_count", name), static_cast<double>(histogram.count()));
}

}  // namespace headroom::openai
