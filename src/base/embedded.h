// EmbeddedFile: a data file that is compiled into the program (cmake/embed.cmake).
#pragma once

#include <string_view>

namespace headroom::base {

struct EmbeddedFile {
  std::string_view name;  // without folders: "h200.yaml"
  std::string_view text;
};

}  // namespace headroom::base
