// CSV rows as records: the table of columns, and the checks of their values.
#include <algorithm>
#include <charconv>
#include <functional>
#include <set>

#include "results/csv_reader.h"
#include "results/dates.h"
#include "results/import.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;

// A setter puts one cell into the record or says what would have been right.
using Setter = std::function<const char*(std::string_view cell, Record& record)>;

// `field`: the member that a column fills, as a function of the record.
template <typename Field>
Setter text(Field field) {
  return [field](std::string_view cell, Record& record) -> const char* {
    field(record) = cell;
    return nullptr;
  };
}

template <typename Field>
Setter count(Field field) {
  return [field](std::string_view cell, Record& record) -> const char* {
    int64_t value = 0;
    const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
    if (error != std::errc{} || end != cell.data() + cell.size() || value < 1)
      return "a whole number above 0";
    field(record) = value;
    return nullptr;
  };
}

template <typename Field>
Setter figure(Field field) {
  return [field](std::string_view cell, Record& record) -> const char* {
    auto printed = Printed::parse(cell);
    // 0 tok/s or 0 ms is how other tools write "not measured"; here the cell stays empty for that.
    if (!printed || printed->value < 1e-12 || printed->value > 1e12)
      return "a positive number (leave the cell empty when there is none)";
    field(record) = std::move(*printed);
    return nullptr;
  };
}

/// Other tools print latencies in seconds; the digits stay as many as were printed.
template <typename Field>
Setter seconds(Field field) {
  const Setter ms = figure(field);
  return [ms](std::string_view cell, Record& record) -> const char* {
    const auto printed = Printed::parse(cell);
    if (!printed || printed->value <= 0) return ms(cell, record);
    std::string text = fmt::format("{:#.{}g}", printed->value * 1000,
                                   std::clamp(printed->significant_digits(), 1, 17));
    if (text.ends_with('.')) text.pop_back();
    return ms(text, record);
  };
}

const char* date(std::string_view cell, Record& record) {
  if (!is_date(cell)) return "a date as YYYY-MM-DD";
  record.date = cell;
  return nullptr;
}

template <typename Field>
Setter flag(Field field) {
  return [field](std::string_view cell, Record& record) -> const char* {
    const bool yes = cell == "true" || cell == "True" || cell == "TRUE";
    if (!yes && cell != "false" && cell != "False" && cell != "FALSE") return "true or false";
    field(record) = yes;
    return nullptr;
  };
}

const char* rate(std::string_view cell, Record& record) {
  const auto printed = Printed::parse(cell);
  if (!printed || printed->value <= 0) return "a positive number of requests/s";
  record.workload.rate = printed->value;
  return nullptr;
}

// "vllm 0.16.0" is a framework and its version.
const char* framework(std::string_view cell, Record& record) {
  const size_t space = cell.find(' ');
  const bool versioned =
      space != std::string_view::npos && space + 1 < cell.size() &&
      std::string_view("v0123456789").find(cell[space + 1]) != std::string_view::npos;
  record.server.framework = cell.substr(0, versioned ? space : cell.size());
  if (versioned && record.server.framework_version.empty())
    record.server.framework_version = cell.substr(space + 1);
  return nullptr;
}

struct Column {
  std::vector<std::string> names;
  Setter set;
  bool is_figure = false;
};

#define FIELD(member) [](Record& r) -> auto& { return r.member; }
const std::vector<Column>& columns() {
  static const std::vector<Column> table = {
      {{"date"}, date},
      {{"run"}, text(FIELD(run))},
      {{"label"}, text(FIELD(label))},
      {{"repeat"}, count(FIELD(repeat))},
      {{"model"}, text(FIELD(server.model))},
      {{"hardware", "hw", "gpu"}, text(FIELD(hardware.name))},
      {{"devices", "num_gpu", "num_gpus", "gpus"}, count(FIELD(hardware.devices))},
      {{"version", "framework_version"}, text(FIELD(server.framework_version))},
      {{"framework", "backend"}, framework},
      {{"image"}, text(FIELD(server.image))},
      {{"precision"}, text(FIELD(server.precision))},
      {{"kv", "kv_cache_dtype"}, text(FIELD(server.kv))},
      {{"attention"}, text(FIELD(server.attention))},
      {{"speculative", "spec_decoding", "spec_method"}, text(FIELD(server.speculative))},
      {{"recipe"}, text(FIELD(server.recipe))},
      {{"fingerprint", "recipe_fingerprint"}, text(FIELD(server.recipe_fingerprint))},
      {{"tp"}, count(FIELD(server.layout.tp))},
      {{"pp"}, count(FIELD(server.layout.pp))},
      {{"ep"}, count(FIELD(server.layout.ep))},
      {{"dp_attention"}, flag(FIELD(server.layout.dp_attention))},
      {{"multinode", "is_multinode"}, flag(FIELD(server.layout.multinode))},
      {{"disaggregated", "disagg"}, flag(FIELD(server.layout.disaggregated))},
      {{"input", "isl", "input_tokens"}, count(FIELD(workload.input_tokens))},
      {{"output", "osl", "output_tokens"}, count(FIELD(workload.output_tokens))},
      {{"dataset"}, text(FIELD(workload.dataset))},
      {{"arrivals"}, text(FIELD(workload.arrivals))},
      {{"concurrency", "conc", "max_concurrency"}, count(FIELD(workload.concurrency))},
      {{"rate", "request_rate"}, rate},
      {{"tok_s_gpu", "tput_per_gpu", "tput_per_gpu_tok_s"},
       figure(FIELD(published.tok_s_gpu)),
       true},
      {{"input_tok_s_gpu", "input_tput_per_gpu"}, figure(FIELD(published.input_tok_s_gpu)), true},
      {{"output_tok_s_gpu", "output_tput_per_gpu"},
       figure(FIELD(published.output_tok_s_gpu)),
       true},
      {{"tpot_ms", "median_tpot_ms"}, figure(FIELD(published.tpot_ms)), true},
      {{"interactivity", "intvty_tok_s_user", "tok_s_user", "median_intvty"},
       figure(FIELD(published.interactivity)),
       true},
      {{"ttft_ms", "median_ttft_ms"}, figure(FIELD(published.ttft_ms)), true},
      {{"itl_ms", "median_itl_ms"}, figure(FIELD(published.itl_ms)), true},
      {{"e2e_ms", "e2el_ms", "median_e2el_ms"}, figure(FIELD(published.e2e_ms)), true},
      // InferenceX: seconds
      {{"median_tpot"}, seconds(FIELD(published.tpot_ms)), true},
      {{"median_ttft"}, seconds(FIELD(published.ttft_ms)), true},
      {{"median_itl"}, seconds(FIELD(published.itl_ms)), true},
      {{"median_e2el"}, seconds(FIELD(published.e2e_ms)), true},
      {{"statistic"}, text(FIELD(published.statistic))},
  };
  return table;
}
#undef FIELD

const Column* find_column(std::string_view name) {
  for (const Column& column : columns())
    if (std::ranges::find(column.names, name) != column.names.end()) return &column;
  return nullptr;
}

std::string trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return std::string(text);
}

Result<> set_cell(const Column& column, std::string_view where, std::string_view heading,
                  std::string_view cell, Record& record) {
  if (cell.size() > 10'000)
    return fail(ErrorCode::kDataLoss, "{}: column '{}': a cell of {} bytes (at most 10000)", where,
                heading, cell.size());
  if (const char* right = column.set(cell, record))
    return fail(ErrorCode::kDataLoss, "{}: column '{}': '{}' is not {}", where, heading,
                cell.substr(0, 60), right);
  return {};
}

struct Header {
  std::vector<std::string> titles;
  std::vector<const Column*> columns;  // null: unknown
};

Result<Header> read_header(const CsvRecord& row, std::string_view name,
                           std::vector<std::string>& unknown) {
  Header header;
  bool any_figure = false;
  for (const std::string& field : row.fields) {
    header.titles.push_back(trimmed(field));
    const std::string& title = header.titles.back();
    const Column* column = find_column(title);
    if (column != nullptr && std::ranges::find(header.columns, column) != header.columns.end())
      return fail(ErrorCode::kDataLoss, "{}:{}: column '{}' is there twice", name, row.line, title);
    if (column == nullptr) unknown.push_back(title);
    any_figure |= column != nullptr && column->is_figure;
    header.columns.push_back(column);
  }
  const bool one = header.titles.size() == 1;
  for (const auto& [mark, word] : {std::pair(';', "semicolons"), std::pair('\t', "tabs")})
    if (one && header.titles[0].find(mark) != std::string::npos)
      return fail(ErrorCode::kDataLoss, "{}:{}: the columns are parted by {}; commas are due", name,
                  row.line, word);
  if (!any_figure) {
    std::vector<std::string> names;
    for (const Column& column : columns())
      if (column.is_figure) names.push_back(column.names[0]);
    return fail(ErrorCode::kDataLoss,
                "{}:{}: no column holds a figure; at least one of {} is needed", name, row.line,
                fmt::join(names, ", "));
  }
  return header;
}

}  // namespace

std::vector<std::vector<std::string>> import_columns() {
  std::vector<std::vector<std::string>> names;
  for (const Column& column : columns()) names.push_back(column.names);
  return names;
}

Result<> set_given(const std::map<std::string, std::string>& given, Record& record) {
  for (const auto& [title, value] : given) {
    const Column* column = find_column(title);
    if (column == nullptr) return fail(ErrorCode::kInvalidArgument, "no column '{}' to set", title);
    HEADROOM_TRY_VOID(set_cell(*column, "given", title, value, record));
  }
  if (record.hardware.devices) record.hardware.devices_source = kDevicesStated;
  return {};
}

Result<Imported> import_csv(std::string_view content, std::string_view name,
                            const std::map<std::string, std::string>& given) {
  HEADROOM_TRY(const auto rows, read_csv(content, name));
  if (rows.empty()) return fail(ErrorCode::kDataLoss, "{}: empty, no header", name);
  Imported imported;
  HEADROOM_TRY(const Header header, read_header(rows[0], name, imported.unknown_columns));
  for (const auto& [title, value] : given)
    if (const Column* column = find_column(title);
        std::ranges::find(header.columns, column) != header.columns.end() && column != nullptr)
      return fail(ErrorCode::kInvalidArgument,
                  "{}: column '{}' is in the file, so it cannot be set", name, title);
  Record base_record;
  HEADROOM_TRY_VOID(set_given(given, base_record));
  for (size_t r = 1; r < rows.size(); ++r) {
    const CsvRecord& row = rows[r];
    const std::string where = fmt::format("{}:{}", name, row.line);
    if (row.fields.size() != header.titles.size())
      return fail(ErrorCode::kDataLoss, "{}: {} fields under {} columns", where, row.fields.size(),
                  header.titles.size());
    Record record = base_record;
    bool any_figure = false;
    for (size_t i = 0; i < row.fields.size(); ++i) {
      const std::string cell = trimmed(row.fields[i]);
      if (header.columns[i] == nullptr || cell.empty()) continue;
      HEADROOM_TRY_VOID(set_cell(*header.columns[i], where, header.titles[i], cell, record));
      any_figure |= header.columns[i]->is_figure;
    }
    if (!any_figure) return fail(ErrorCode::kDataLoss, "{}: a row without any figure", where);
    if (record.hardware.devices) record.hardware.devices_source = kDevicesStated;
    imported.rows.push_back({{std::move(record), where}, ""});
  }
  if (imported.rows.empty()) return fail(ErrorCode::kDataLoss, "{}: a header but no rows", name);
  return imported;
}

}  // namespace headroom::results
