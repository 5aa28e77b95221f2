// The hardware and shape files that are compiled into the program.
#pragma once

#include <span>
#include <string_view>

namespace headroom::limit {

struct EmbeddedFile {
  std::string_view name;  // "h200.yaml", "kimi-k2.5.json"
  std::string_view text;
};
std::span<const EmbeddedFile> embedded_files();

}  // namespace headroom::limit
