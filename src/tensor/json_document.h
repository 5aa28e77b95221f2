// JsonDocument: a JSON text parsed by simdjson, with errors that name where it came from.
#pragma once

#include <simdjson.h>

#include <filesystem>
#include <memory>
#include <string_view>

#include "base/result.h"

namespace headroom::tensor {

/// Owns what `root` points into.
struct JsonDocument {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
};

/// `where` (a file name) starts the error message. kDataLoss when it is not JSON.
base::Result<std::unique_ptr<JsonDocument>> parse_json(std::string_view where,
                                                       std::string_view text);
/// Reads and parses a file.
base::Result<std::unique_ptr<JsonDocument>> read_json(const std::filesystem::path& path);

/// "an object", "the number 4.5", "the text `relu`": what `value` is, for messages; long ones cut.
std::string describe_json(simdjson::dom::element value);

}  // namespace headroom::tensor
