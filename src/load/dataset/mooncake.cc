// Dataset "mooncake": the trace's lengths, its blocks as random tokens.
#include "load/dataset/mooncake.h"

#include <simdjson.h>

#include <algorithm>
#include <numeric>

#include "base/file.h"
#include "load/dataset/filler.h"
#include "load/dataset/json_lines.h"
#include "load/text_lines.h"

namespace headroom::load {

namespace dom = simdjson::dom;

using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

constexpr int64_t kMostTokens = 10'000'000;

Result<int64_t> read_length(dom::object object, const char* name) {
  int64_t value = 0;
  dom::element element;
  if (object.at_key(name).get(element) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "no \"{}\"", name);
  if (element.get(value) != simdjson::SUCCESS || value < 1 || value > kMostTokens)
    return fail(ErrorCode::kDataLoss, "{} {} is not a number from 1 to {}", name,
                shortened(simdjson::minify(element)), kMostTokens);
  return value;
}

Result<TraceRow> read_row(dom::object object) {
  TraceRow row;
  dom::element element;
  if (object.at_key("timestamp").get(element) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "no \"timestamp\"");
  if (element.get(row.timestamp_ms) != simdjson::SUCCESS || row.timestamp_ms < 0 ||
      row.timestamp_ms > 1e13)
    return fail(ErrorCode::kDataLoss, "timestamp {} is not a number of milliseconds from 0 on",
                shortened(simdjson::minify(element)));
  HEADROOM_TRY(row.input_length, read_length(object, "input_length"));
  HEADROOM_TRY(row.output_length, read_length(object, "output_length"));
  dom::element ids;
  if (object.at_key("hash_ids").get(ids) != simdjson::SUCCESS) return row;
  dom::array array;
  if (ids.get(array) != simdjson::SUCCESS)
    return fail(ErrorCode::kDataLoss, "hash_ids {} is not a list",
                shortened(simdjson::minify(ids)));
  for (const dom::element id : array) {
    int64_t number = 0;
    if (id.get(number) != simdjson::SUCCESS)
      return fail(ErrorCode::kDataLoss, "hash_ids: {} is not a whole number",
                  shortened(simdjson::minify(id)));
    row.hash_ids.push_back(number);
  }
  const auto blocks = static_cast<int64_t>(row.hash_ids.size());
  if (blocks > 0 && (blocks - 1) * kTraceBlock >= row.input_length)
    return fail(ErrorCode::kDataLoss, "hash_ids: {} blocks of {} for input_length {}", blocks,
                kTraceBlock, row.input_length);
  return row;
}

class Mooncake final : public Dataset {
 public:
  Mooncake(std::vector<TraceRow> rows, Filler filler, const WorkloadOptions& options)
      : rows_(std::move(rows)), filler_(std::move(filler)), seed_(salted_seed(options)) {}

  size_t size() const override { return rows_.size(); }
  bool shares_prefixes() const override { return true; }

  Ask ask(uint64_t index, int64_t turn) const override {
    const TraceRow& row = rows_[index % rows_.size()];
    // Each replay has blocks of its own: the second point of a run finds no cache of the first.
    const uint64_t seed = mix_seed(seed_, 1, index / rows_.size());
    Ask ask;
    int64_t left = row.input_length;
    for (const int64_t id : row.hash_ids) {
      const int64_t tokens = std::min(left, kTraceBlock);
      filler_.add(ask, mix_seed(seed, 2, static_cast<uint64_t>(id)), tokens);
      left -= tokens;
    }
    if (left > 0) filler_.add(ask, mix_seed(seed, 3, index), left);
    ask.output_tokens = row.output_length;
    return ask;
  }

 private:
  std::vector<TraceRow> rows_;
  Filler filler_;
  uint64_t seed_;
};

}  // namespace

Result<std::vector<TraceRow>> parse_mooncake(std::string_view where, std::string_view text) {
  std::vector<TraceRow> rows;
  HEADROOM_TRY_VOID(for_each_object(where, text, [&](dom::object object) -> Result<> {
    HEADROOM_TRY(TraceRow row, read_row(object));
    rows.push_back(std::move(row));
    return {};
  }));
  if (rows.empty()) return fail(ErrorCode::kDataLoss, "{}: has no row", where);
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::pair(rows[a].timestamp_ms, a) < std::pair(rows[b].timestamp_ms, b);
  });
  std::vector<TraceRow> sorted;
  sorted.reserve(rows.size());
  for (const size_t at : order) sorted.push_back(std::move(rows[at]));
  return sorted;
}

Result<std::unique_ptr<const Dataset>> open_mooncake(const WorkloadOptions& options,
                                                     const std::string& file) {
  if (options.prefix_tokens > 0)
    return fail(ErrorCode::kInvalidArgument, "prefix tokens: a trace has its own shared blocks");
  HEADROOM_TRY(const std::string text, base::read_file(file));
  HEADROOM_TRY(std::vector<TraceRow> rows, parse_mooncake(file, text));
  HEADROOM_TRY(Filler filler, Filler::create(options, options.endpoint != Endpoint::kChat));
  return std::make_unique<Mooncake>(std::move(rows), std::move(filler), options);
}

}  // namespace headroom::load
