// Parses JSON text and files; describes values for error messages.
#include "tensor/json_document.h"

#include "base/file.h"

namespace headroom::tensor {

using base::ErrorCode;
using base::Result;

Result<std::unique_ptr<JsonDocument>> parse_json(std::string_view where, std::string_view text) {
  auto document = std::make_unique<JsonDocument>();
  const simdjson::error_code error = document->parser.parse(text).get(document->root);
  if (error) {
    return base::fail(ErrorCode::kDataLoss, "{}: not valid JSON ({} bytes): {}", where, text.size(),
                      simdjson::error_message(error));
  }
  return document;
}

Result<std::unique_ptr<JsonDocument>> read_json(const std::filesystem::path& path) {
  HEADROOM_TRY(const std::string text, base::read_file(path));
  return parse_json(path.string(), text);
}

std::string describe_json(simdjson::dom::element value) {
  constexpr size_t kLongest = 60;
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = simdjson::minify(value);
  if (text.size() > kLongest) text = text.substr(0, kLongest) + "…";
  return text;
}

}  // namespace headroom::tensor
