// WatchSpec: what makes `headroom watch` measure a recipe again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace headroom::sweep {

enum class TriggerKind { kGit, kPackage, kUrl, kCommand, kImage, kFile };

struct TriggerSpec {
  TriggerKind kind = TriggerKind::kFile;
  std::string name;     // what is told; by default the kind and its object
  std::string object;   // repository, package, URL, command, image or file
  std::string ref;      // git: branch or tag; package: registry (pip, npm, debian)
  std::string pointer;  // of a JSON answer: "/tag_name"; empty: the whole answer
  std::string as;       // the variable of the recipe that takes the value
};

struct BisectSpec {
  std::string repository;        // a local clone, or an address that git can clone
  std::string variable = "ref";  // takes the commit
  int64_t most_runs = 12;
};

struct WatchSpec {
  std::optional<double> every_s;
  std::vector<TriggerSpec> triggers;
  std::optional<BisectSpec> bisect;
  double threshold = 0.03;  // a smaller relative change is no move, whatever the repeats say
};

}  // namespace headroom::sweep
