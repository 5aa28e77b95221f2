// Building of tables of points.
#include "analysis/point_table.h"

#include <algorithm>

#include "analysis/series.h"
#include "analysis/validity.h"

namespace headroom::analysis {
namespace {

using base::Table;
using results::Printed;
using results::Record;
using results::StoredRecord;

constexpr auto kLeft = Table::Align::kLeft;

// A published figure as printed, else the measured one.
std::string figure_cell(const Record& record, const std::optional<Printed>& printed, Metric metric,
                        const ReadOptions& options) {
  if (printed) return printed->text;
  const auto figure = read(record, metric, options);
  return figure && figure->source == "measured" ? fmt::format("{}", figure->value) : std::string();
}

void drop_empty_columns(Table& table) {
  for (size_t c = table.columns.size(); c-- > 0;) {
    const auto filled = [c](const auto& row) { return !row[c].empty(); };
    if (std::ranges::any_of(table.rows, filled)) continue;
    table.columns.erase(table.columns.begin() + static_cast<std::ptrdiff_t>(c));
    for (auto& row : table.rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(c));
  }
}

}  // namespace

Table point_table(std::span<const StoredRecord> records, const ReadOptions& options) {
  Table table;
  const auto& fields = results::selector_fields();
  for (const std::string& field : fields) table.columns.push_back({field, kLeft});
  for (const char* name : {"tok_s_gpu", "input_tok_s_gpu", "output_tok_s_gpu", "tpot_ms",
                           "interactivity", "ttft_ms", "itl_ms", "e2e_ms", "statistic"})
    table.columns.push_back({name});
  for (const StoredRecord& stored : records) {
    const Record& r = stored.record;
    const auto& p = r.published;
    std::vector<std::string> row;
    for (const std::string& field : fields) row.push_back(results::field_value(r, field));
    row.push_back(figure_cell(r, p.tok_s_gpu, Metric::kTokSGpu, options));
    row.push_back(figure_cell(r, p.input_tok_s_gpu, Metric::kInputTokSGpu, options));
    row.push_back(figure_cell(r, p.output_tok_s_gpu, Metric::kOutputTokSGpu, options));
    row.push_back(figure_cell(r, p.tpot_ms, Metric::kTpotMs, options));
    row.push_back(figure_cell(r, p.interactivity, Metric::kInteractivity, options));
    row.push_back(figure_cell(r, p.ttft_ms, Metric::kTtftMs, options));
    row.push_back(figure_cell(r, p.itl_ms, Metric::kItlMs, options));
    row.push_back(figure_cell(r, p.e2e_ms, Metric::kE2eMs, options));
    row.push_back(p.statistic);
    table.rows.push_back(std::move(row));
  }
  drop_empty_columns(table);
  return table;
}

Table point_list(std::span<const StoredRecord> records, const ReadOptions& options) {
  Table table;
  table.columns = {{"id", kLeft},       {"date", kLeft},   {"run", kLeft},    {"model", kLeft},
                   {"hardware", kLeft}, {"server", kLeft}, {"recipe", kLeft}, {"concurrency"},
                   {"tok/s/GPU"},       {"tok/s"},         {"tok/s/user"},    {"TTFT ms"},
                   {"TPOT ÷ limit"},    {"note", kLeft}};
  for (const StoredRecord& stored : records) {
    const Record& r = stored.record;
    const auto cell = [&](Metric metric) {
      const auto figure = read(r, metric, options);
      return figure ? figure_text(figure->value) : std::string();
    };
    std::string note;
    for (const Flag& flag : validity_flags(r)) note += (note.empty() ? "" : ", ") + flag.code;
    if (!stored.quarantine.empty()) note = "quarantined: " + stored.quarantine;
    std::string server = r.server.framework;
    if (!r.server.framework_version.empty()) server += " " + r.server.framework_version;
    table.rows.push_back({stored.id.substr(0, 12), r.date, r.label.empty() ? r.run : r.label,
                          r.server.model, r.hardware.name, server, recipe_label(r),
                          r.workload.concurrency ? fmt::format("{}", *r.workload.concurrency) : "",
                          cell(Metric::kTokSGpu), cell(Metric::kTokS), cell(Metric::kInteractivity),
                          cell(Metric::kTtftMs), cell(Metric::kHeadroom), note});
  }
  drop_empty_columns(table);
  return table;
}

}  // namespace headroom::analysis
