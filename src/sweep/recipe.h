// Recipe: what a sweep measures, as its file says: a server, a load, and the space between them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "load/bench.h"
#include "sweep/server.h"
#include "sweep/watch_spec.h"
#include "sweep/yaml_reader.h"

namespace headroom::sweep {

/// Texts marked "template" may hold ${name}: variables of the recipe (vars, set, tp, pp, ep, cache,
/// model, image, flags by name), ${port} and ${host} of the started server, ${env:NAME} of our own
/// environment (looked up at the start, never stored). `$$` is a dollar sign.

enum class ServerKind { kHeadroom, kCommand, kContainer, kUrl };
enum class LauncherKind { kLocal, kSsh, kSlurm };

struct LauncherSpec {
  LauncherKind kind = LauncherKind::kLocal;
  std::string host;                  // SSH: [user@]host
  std::vector<std::string> options;  // of ssh, or #SBATCH lines: templates
  bool forward = true;               // SSH: reach the port through the connection
  std::string directory;             // SSH, Slurm: where the command runs; empty: the default
};

struct ServerSpec {
  ServerKind kind = ServerKind::kUrl;
  std::vector<std::string> command;  // kCommand: words; kHeadroom: arguments. Templates
  std::string model_path;            // kHeadroom: directory of the checkpoint. Template
  std::string image, runtime;        // kContainer: templates; docker or podman
  std::vector<std::string> options;  // kContainer: of `docker run`. Templates
  std::string url;                   // template; empty: http://127.0.0.1:${port}
  std::string directory;             // where a local command runs; empty: here
  std::string health = "/health";    // template
  std::map<std::string, std::string> environment;  // templates
  std::map<std::string, std::string>
      facts;  // what the server does not tell: framework, … Templates
  LauncherSpec launcher;
};

/// One dimension of the product.
struct Axis {
  enum class Kind { kVariable, kFlag, kEnvironment };
  Kind kind = Kind::kVariable;
  std::string name;
  std::vector<std::string> values;
};

struct SearchEntry {
  std::vector<Axis> axes;
  std::vector<std::string> args;  // templates, behind the server's own
  std::vector<int64_t> concurrency;
  std::vector<double> rates;
  std::string where;  // "FILE:LINE"
};

/// How many requests a point gets; per stream where a factor is given.
struct RequestCounts {
  std::optional<double> per_stream, warmup_per_stream;
};

/// Asked of each server that is started, before its points; the score goes into their records.
struct EvalSpec {
  std::string task;       // TASK.jsonl, or a text whose perplexity counts
  int64_t questions = 0;  // or windows; 0: all
  int64_t concurrency = 16, shots = 5, max_tokens = 512;
  bool chat = false;
  std::string tokenizer;
  std::optional<double> least, most;  // a score beyond fails the configuration's points
  double timeout_s = 3600;
};

struct Limits {
  std::optional<double> seconds;  // of one call of `sweep`
  std::optional<double> dollars;  // of one call, by the price below
  std::optional<double> dollars_per_device_hour;
};

struct Timeouts {
  ServerTimeouts server;
  double warmup_s = 300, point_s = 1800, stop_s = 20;
};

struct RefineSpec {
  int64_t most_points = 4;  // added to each configuration
  double bend = 0.05;    // deviation from the chord, of its length, that asks for a point between
  double margin = 0.10;  // a branch worse by that at two successive loads is given up
  int64_t smallest_gap = 1;  // between neighbouring concurrencies
};

struct Recipe {
  std::string file, name, description, model;
  std::map<std::string, std::string> variables;  // templates of one another are not followed
  ServerSpec server;
  std::string hardware;
  std::string devices;  // template giving a number; empty: as the server tells
  /// Workload, arrivals, SLO, key; everything of a point but its load.
  load::BenchOptions bench;
  RequestCounts counts;
  bool salted = true;
  std::vector<SearchEntry> search;
  int64_t repeats = 1;
  bool restart_between_repeats = false;  // repeats: over server starts, not within one
  std::optional<EvalSpec> eval;
  Limits limits;
  Timeouts timeouts;
  std::optional<RefineSpec> refine;
  WatchSpec watch;
  std::string workload_text;  // canonical, for fingerprints
  std::string text;           // the file as read
};

/// Errors: one line with file, line and the nearest known key or what a value should be.
base::Result<Recipe> parse_recipe(std::string_view text, const std::string& file);
base::Result<Recipe> read_recipe(const std::filesystem::path& file);

/// "90", "90s", "15m", "2h", "1d" as seconds.
base::Result<double> parse_duration(const YamlNode& node);

/// Replaces ${name}; `kept` names stay as they are. Errors (kInvalidArgument) name the variable and
/// those there are.
base::Result<std::string> fill(std::string_view text,
                               const std::map<std::string, std::string>& variables,
                               const std::vector<std::string_view>& kept = {});

}  // namespace headroom::sweep
