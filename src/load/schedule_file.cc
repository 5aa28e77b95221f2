// Reading offsets.
#include "load/schedule_file.h"

#include <simdjson.h>

#include <charconv>
#include <cmath>

#include "base/file.h"
#include "load/text_lines.h"

namespace headroom::load {

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

/// Seconds of one line; nothing when it is no offset.
std::optional<double> seconds_of(std::string_view line, simdjson::dom::parser& parser) {
  double value = 0;
  if (line.front() == '{') {
    simdjson::dom::object object;
    if (parser.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS)
      return std::nullopt;
    if (object["timestamp"].get(value) == simdjson::SUCCESS) return value * 1e-3;
    if (object["offset"].get(value) == simdjson::SUCCESS) return value;
    return std::nullopt;
  }
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value);
  if (error != std::errc{} || end != line.data() + line.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<std::vector<double>> parse_schedule(std::string_view where, std::string_view text) {
  std::vector<double> seconds;
  simdjson::dom::parser parser;
  std::optional<base::Error> error;
  for_each_line(text, [&](std::string_view line, size_t number) {
    const auto at = seconds_of(line, parser);
    if (!at || !std::isfinite(*at) || *at < 0 || *at > 1e10) {
      error = base::Error{ErrorCode::kDataLoss,
                          fmt::format("{}:{}: {} is not a number of seconds from 0 on, nor an "
                                      "object with \"timestamp\" (ms) or \"offset\" (s)",
                                      where, number, shortened(line))};
      return false;
    }
    seconds.push_back(*at);
    return true;
  });
  if (error) return tl::unexpected<base::Error>(*error);
  if (seconds.empty()) return fail(ErrorCode::kDataLoss, "{}: has no offset", where);
  return seconds;
}

Result<std::vector<double>> read_schedule_file(const std::string& path) {
  HEADROOM_TRY(const std::string text, base::read_file(path));
  return parse_schedule(path, text);
}

}  // namespace headroom::load
