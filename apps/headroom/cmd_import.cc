// headroom import: points that others measured, from a file into the store; others' recipes.
#include <set>

#include "base/file.h"
#include "base/json_writer.h"
#include "base/table.h"
#include "commands.h"
#include "results/import.h"
#include "store_options.h"
#include "sweep/inferencex_recipe.h"

namespace headroom::apps {
namespace {

struct Options {
  std::vector<std::string> recipes;
  std::string runners, out;
  std::string file, db = kDefaultStore, format = "auto";
  std::vector<std::string> set;
  bool json = false;
};

base::Result<std::map<std::string, std::string>> given_columns(const Options& options) {
  std::map<std::string, std::string> given;
  for (const std::string& pair : options.set) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos || equals == 0)
      return base::fail(base::ErrorCode::kInvalidArgument, "--set '{}': give column=value", pair);
    given[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return given;
}

size_t point_count(const std::vector<sweep::IxPoint>& entries) {
  size_t count = 0;
  for (const sweep::IxPoint& entry : entries) count += entry.concurrency.size();
  return count;
}

std::string recipes_json(const std::vector<sweep::IxConfig>& configs,
                         const std::vector<sweep::IxPoint>& entries,
                         const sweep::IxConversion& made) {
  base::JsonWriter json;
  json.begin_object().field("configs", static_cast<uint64_t>(configs.size()));
  json.field("points", static_cast<uint64_t>(point_count(entries)));
  json.key("entries").begin_array();
  for (const sweep::IxPoint& entry : entries) {
    json.begin_object().field("config", entry.config->key);
    json.field("recipe_fingerprint", entry.fingerprint()).key("matrix").raw(entry.json());
    json.end_object();
  }
  json.end_array().key("recipes").begin_array();
  for (const sweep::IxRecipe& recipe : made.recipes)
    json.begin_object()
        .field("name", recipe.name)
        .field("points", static_cast<uint64_t>(recipe.points))
        .end_object();
  json.end_array().key("without_equivalent").begin_array();
  for (const sweep::IxGap& gap : made.gaps)
    json.begin_object()
        .field("config", gap.config)
        .field("where", gap.where)
        .field("points", static_cast<uint64_t>(gap.points))
        .field("reason", gap.reason)
        .end_object();
  json.end_array().end_object();
  return json.take();
}

void print_recipes(const Options& options, const std::vector<sweep::IxConfig>& configs,
                   const std::vector<sweep::IxPoint>& entries, const sweep::IxConversion& made) {
  struct Line {
    size_t points = 0, taken = 0;
    std::set<std::string> reasons;
  };
  std::map<std::string, Line> lines;
  for (const sweep::IxPoint& entry : entries)
    lines[entry.config->key].points += entry.concurrency.size();
  for (const sweep::IxGap& gap : made.gaps) {
    lines[gap.config].reasons.insert(gap.reason);
    lines[gap.config].taken += gap.points;  // counted down below
  }
  base::Table table;
  table.columns = {{"configuration", base::Table::Align::kLeft},
                   {"points"},
                   {"in recipes"},
                   {"what has no equivalent here", base::Table::Align::kLeft}};
  for (const sweep::IxConfig& config : configs) {
    const Line& line = lines[config.key];
    table.rows.push_back({config.key, std::to_string(line.points),
                          std::to_string(line.points - line.taken),
                          fmt::format("{}", fmt::join(line.reasons, "; "))});
  }
  fmt::print("{}\n{} configurations, {} points; {} recipes{}\n", table.terminal(), configs.size(),
             point_count(entries), made.recipes.size(),
             options.out.empty() ? " (written with --out DIR)" : " written to " + options.out);
}

CommandResult import_file(const Options& options) {
  HEADROOM_TRY(const auto given, given_columns(options));
  HEADROOM_TRY(const std::string text, base::read_file(options.file, size_t{1} << 29));
  const std::string name = std::filesystem::path(options.file).filename().string();
  const auto format = options.format == "csv"       ? results::ImportFormat::kCsv
                      : options.format == "records" ? results::ImportFormat::kRecords
                      : options.format == "json"    ? results::ImportFormat::kJson
                                                    : results::ImportFormat::kAuto;
  HEADROOM_TRY(const results::Imported imported, results::import_text(text, name, format, given));
  HEADROOM_TRY(results::Store store, results::Store::open(options.db));
  HEADROOM_TRY(const results::AddCounts counts, results::store_imported(store, imported));
  if (options.json) {
    base::JsonWriter json;
    json.begin_object().field("file", options.file).field("db", store.name());
    json.field("rows", static_cast<uint64_t>(imported.rows.size()));
    json.field("added", counts.added).field("known", counts.known);
    json.key("unknown_columns").begin_array();
    for (const std::string& column : imported.unknown_columns) json.value(column);
    json.end_array().end_object();
    fmt::print("{}\n", json.take());
    return 0;
  }
  if (!imported.unknown_columns.empty())
    fmt::print("not used: column{} {}\n", imported.unknown_columns.size() == 1 ? "" : "s",
               fmt::join(imported.unknown_columns, ", "));
  if (counts.added == 0) {
    fmt::print("{}: nothing new; all {} records were in {} already\n", options.file, counts.known,
               store.name());
  } else {
    fmt::print("{}: {} records added to {}{}\n", options.file, counts.added, store.name(),
               counts.known > 0 ? fmt::format(", {} were there already", counts.known) : "");
  }
  return 0;
}

/// Files of InferenceX's: its points, and recipes of ours where there is an equivalent.
CommandResult import_recipes(const Options& options) {
  std::vector<sweep::IxConfig> configs;
  std::map<std::string, std::string> seen;
  for (const std::string& file : options.recipes) {
    HEADROOM_TRY(const std::string text, base::read_file(file, size_t{8} << 20));
    HEADROOM_TRY(auto some, sweep::parse_inferencex(text, file));
    for (sweep::IxConfig& config : some) {
      if (const auto [at, fresh] = seen.emplace(config.key, config.where); !fresh)
        return base::fail(base::ErrorCode::kInvalidArgument, "{}: {} is in {} already",
                          config.where, config.key, at->second);
      configs.push_back(std::move(config));
    }
  }
  sweep::IxRunners runners;
  if (!options.runners.empty()) {
    HEADROOM_TRY(const std::string text, base::read_file(options.runners, size_t{8} << 20));
    HEADROOM_TRY(runners, sweep::parse_inferencex_runners(text, options.runners));
  }
  HEADROOM_TRY(const std::vector<sweep::IxPoint> points, sweep::ix_points(configs, runners));
  const sweep::IxConversion made = sweep::ix_recipes(configs);
  if (!options.out.empty()) {
    std::error_code error;
    std::filesystem::create_directories(options.out, error);
    if (error)
      return base::fail(base::ErrorCode::kIo, "--out {}: {}", options.out, error.message());
    for (const sweep::IxRecipe& recipe : made.recipes) {
      const std::filesystem::path file = recipe.name + ".yaml";
      if (file.filename() != file || recipe.name.starts_with('.'))  // never outside the folder
        return base::fail(base::ErrorCode::kInvalidArgument,
                          "configuration {}: its name cannot be a file's name in {}", recipe.name,
                          options.out);
      HEADROOM_TRY_VOID(
          base::write_file_atomic(std::filesystem::path(options.out) / file, recipe.text));
    }
  }
  if (options.json) {
    fmt::print("{}\n", recipes_json(configs, points, made));
  } else {
    print_recipes(options, configs, points, made);
  }
  return 0;
}

}  // namespace

void add_import(CLI::App& app, std::function<CommandResult()>& run) {
  auto* command = app.add_subcommand("import", "Put measured points from a file into the store");
  auto options = std::make_shared<Options>();
  command
      ->add_option("FILE", options->file,
                   "CSV with named columns, what export --json wrote, or JSON of InferenceX, vllm "
                   "bench serve "
                   "or SGLang")
      ->excludes(command->add_option("--recipes", options->recipes,
                                     "InferenceX's master YAML files, instead of FILE"));
  command->add_option("--runners", options->runners, "With --recipes: its table of runners");
  command->add_option("--out", options->out, "With --recipes: where our recipes are written");
  command->add_option("--db", options->db, "The store, made when missing")->capture_default_str();
  command->add_option("--format", options->format, "What the file is")
      ->check(CLI::IsMember({"auto", "csv", "records", "json"}))
      ->capture_default_str();
  command->add_option("--set", options->set, "column=value for every row; repeatable")
      ->allow_extra_args(false);
  command->add_flag("--json", options->json, "One JSON object on stdout");
  std::string columns;
  for (const auto& names : results::import_columns())
    columns += fmt::format("{}{}", columns.empty() ? "" : ", ", fmt::join(names, "|"));
  command->footer(
      "Example:\n  headroom import --recipes nvidia-master.yaml --runners runners.yaml --out "
      "recipes/\n"
      "  headroom import rows.csv --db points.db --set model=Kimi-K2.5 --set "
      "hardware=mi355x\n\nColumns: " +
      columns);
  command->callback([options, &run] {
    run = [options]() -> CommandResult {
      if (!options->recipes.empty()) return import_recipes(*options);
      if (options->file.empty())
        return base::fail(base::ErrorCode::kInvalidArgument,
                          "give FILE, or --recipes with InferenceX's files");
      return import_file(*options);
    };
  });
}

}  // namespace headroom::apps
