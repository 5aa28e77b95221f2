// Going through objects a line.
#include "load/dataset/json_lines.h"

#include <optional>

#include "load/text_lines.h"

namespace headroom::load {

base::Result<> for_each_object(std::string_view where, std::string_view text,
                               const std::function<base::Result<>(simdjson::dom::object)>& take) {
  simdjson::dom::parser parser;
  std::optional<base::Error> error;
  for_each_line(text, [&](std::string_view line, size_t number) {
    simdjson::dom::object object;
    if (parser.parse(line.data(), line.size()).get(object) != simdjson::SUCCESS) {
      error = base::Error{base::ErrorCode::kDataLoss, fmt::format("{}:{}: {} is not a JSON object",
                                                                  where, number, shortened(line))};
      return false;
    }
    if (const auto taken = take(object); !taken) {
      error = base::Error{taken.error().code,
                          fmt::format("{}:{}: {}", where, number, taken.error().message)};
      return false;
    }
    return true;
  });
  if (error) return tl::unexpected<base::Error>(*error);
  return {};
}

}  // namespace headroom::load
