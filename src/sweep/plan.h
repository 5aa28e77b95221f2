// Plan: a recipe's search space as server configurations and the points measured on each.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sweep/recipe.h"

namespace headroom::sweep {

/// One level of load; neither: the recipe's schedule or trace.
struct Load {
  std::optional<int64_t> concurrency;
  std::optional<double> rate;
  bool operator==(const Load&) const = default;
};
std::string load_text(const Load& load);  // "16 streams", "2.5 req/s", "schedule"

/// Everything about a server, with templates filled but for ${port}, ${node} and ${env:…}.
struct Configuration {
  /// The layout and what differs between configurations: "tp=8 block-size=1"; "-" when there is
  /// but one without any.
  std::string label;
  std::vector<std::pair<std::string, std::string>> axes;  // name, value; in the recipe's order
  std::map<std::string, std::string> variables;
  std::vector<std::string> command;  // kHeadroom: from "serve" on; kContainer: behind the image
  std::map<std::string, std::string> environment;
  std::string image, url, health, model_path;
  std::vector<std::string> options;           // of the container runtime
  std::vector<std::string> launcher_options;  // of ssh or sbatch
  std::map<std::string, std::string> facts;   // for records: framework, tp, flags …
  std::optional<int64_t> devices;
  /// SHA-256 of all that the recipe fixes here, the load and the repeat aside.
  std::string fingerprint;
};

struct PlannedPoint {
  size_t configuration = 0;
  Load load;
  std::string digest;  // record.point
};

struct Plan {
  std::vector<Configuration> configurations;
  std::vector<PlannedPoint> points;  // grouped by configuration
};

/// `overrides`: variables of the recipe with another value; unknown ones are errors, as are
/// templates that name unknown variables (with the line of their search entry).
base::Result<Plan> make_plan(const Recipe& recipe,
                             const std::map<std::string, std::string>& overrides = {});

constexpr size_t kShortDigest = 12;  // of a point, in command lines
/// Leaves the points whose digest starts with `digest`; kInvalidArgument when there are none.
base::Result<> keep_points(Plan& plan, const std::string& digest);

std::string point_digest(const Configuration& configuration, const Load& load);

/// The environment as records keep it: what looks like a secret is "***", but for ${env:…}, which
/// tells no more than where it comes from.
std::map<std::string, std::string> recorded_environment(const Configuration& configuration);

/// What `load::run_bench` needs for a point of `configuration` at `load`; the url is the caller's.
load::BenchOptions bench_options(const Recipe& recipe, const Configuration& configuration,
                                 const Load& load);

std::string sha256_hex(std::string_view text);

}  // namespace headroom::sweep
