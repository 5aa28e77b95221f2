// The readers of a recipe's sections, one file each.
#pragma once

#include "sweep/recipe.h"

namespace headroom::sweep {

base::Result<> read_server(const YamlNode& node, Recipe& recipe);
base::Result<> read_workload(const YamlNode& node, Recipe& recipe);
base::Result<> read_search(const YamlNode& node, Recipe& recipe);
base::Result<> read_watch(const YamlNode& node, Recipe& recipe);

/// A path as the recipe's author meant it: beside the recipe when it is there, else as given.
std::string beside(const Recipe& recipe, const std::string& path);
/// name: text, as a map; null values are refused.
base::Result<std::map<std::string, std::string>> text_map(const YamlNode& node);

/// Names that launches choose themselves are refused.
base::Result<> check_variable(const YamlNode& node, const std::string& name);

}  // namespace headroom::sweep
