// headroom import: points that others measured, from a file into the store.
#include "base/file.h"
#include "base/json_writer.h"
#include "commands.h"
#include "results/import.h"
#include "store_options.h"

namespace headroom::apps {
namespace {

struct Options {
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
    json.begin_object().field("file", options.file).field("db", options.db);
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
               options.db);
  } else {
    fmt::print("{}: {} records added to {}{}\n", options.file, counts.added, options.db,
               counts.known > 0 ? fmt::format(", {} were there already", counts.known) : "");
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
      ->required();
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
      "Example:\n  headroom import rows.csv --db points.db --set model=Kimi-K2.5 --set "
      "hardware=mi355x\n\nColumns: " +
      columns);
  command->callback([options, &run] { run = [options] { return import_file(*options); }; });
}

}  // namespace headroom::apps
