// headroom export: stored points as CSV, Markdown or JSON.
#include "analysis/point_table.h"
#include "base/file.h"
#include "commands.h"
#include "results/export.h"
#include "store_options.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string selector, db = kDefaultStore, format = "csv", output;
  bool json = false, quarantined = false;
};

CommandResult export_points(const Options& options) {
  HEADROOM_TRY(const auto store, results::Store::open(options.db, results::Store::Mode::kRead));
  std::vector<results::StoredRecord> records;
  if (options.selector.empty()) {
    HEADROOM_TRY(records, store.query({}, options.quarantined));
  } else {
    HEADROOM_TRY(records, select_records(store, options.selector, options.quarantined));
  }
  std::string text;
  if (options.json || options.format == "json") {
    text = results::export_json(records) + "\n";
  } else if (options.format == "inferencex") {
    text = results::export_inferencex(records);
  } else {
    const base::Table table = analysis::point_table(records, {});
    text = options.format == "csv" ? table.csv() : table.markdown();
  }
  if (options.output.empty()) {
    fmt::print("{}", text);
    return 0;
  }
  HEADROOM_TRY_VOID(base::write_file_atomic(options.output, text));
  fmt::print(stderr, "{}: {} records written\n", options.output, records.size());
  return 0;
}

}  // namespace

void add_export(CLI::App& app, std::function<CommandResult()>& run) {
  auto* command = app.add_subcommand("export", "Write stored points as CSV, Markdown or JSON");
  auto options = std::make_shared<Options>();
  command->add_option("SELECTOR", options->selector, "field=value list or run; all when left out");
  command->add_option("--db", options->db, "The store")->capture_default_str();
  command
      ->add_option("--format", options->format,
                   "csv and markdown hold figures, json everything; inferencex is its published "
                   "row, one a line")
      ->check(CLI::IsMember({"csv", "markdown", "json", "inferencex"}))
      ->capture_default_str();
  command->add_option("--output,-o", options->output, "A file instead of stdout");
  command->add_flag("--json", options->json, "The same as --format json");
  command->add_flag("--quarantined", options->quarantined, "Quarantined records too");
  command->footer(
      "Example:\n  headroom export 'date=2026-03-26' --db points.db --format markdown\n"
      "  headroom export --db points.db --json -o points.json   # import reads it back whole");
  command->callback([options, &run] { run = [options] { return export_points(*options); }; });
}

}  // namespace headroom::apps
