// The tree behind YamlNode; shared between the parser's side and the getters.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sweep/yaml_reader.h"

namespace headroom::sweep {

struct YamlNode::Tree {
  Kind kind = Kind::kNull;
  int line = 1;
  bool plain = true;   // not quoted
  std::string scalar;  // of kScalar
  std::vector<std::shared_ptr<const Tree>> items;
  std::vector<std::pair<std::string, std::shared_ptr<const Tree>>> entries;
  std::vector<int> key_lines;  // of entries
  size_t expanded = 1;         // nodes below, aliases counted each time
};

}  // namespace headroom::sweep
