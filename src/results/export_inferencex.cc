// Records as InferenceX's published rows.
#include <cmath>

#include "base/json_writer.h"
#include "results/export.h"
#include "results/row_reader.h"

namespace headroom::results {
namespace {

using base::JsonWriter;

constexpr const char* kStatistics[] = {"mean", "median", "std", "p90", "p99", "p99.9"};

double value_of(const std::string& text) {
  return Printed::parse(text).value().value;
}

class RowWriter {
 public:
  explicit RowWriter(const Record& record)
      : r_(record),
        seconds_(record.published.source.starts_with("inferencex row") ||
                 record.published.source.starts_with("inferencex api")) {}

  std::string text() {
    json_.begin_object();
    write_identity();
    write_throughput();
    for (const char* quantity : {"ttft", "tpot", "itl", "e2e"})
      for (const char* statistic : kStatistics) write_time(statistic, quantity);
    write_power();
    json_.end_object();
    return json_.take();
  }

 private:
  void text(const char* name, const std::string& value) {
    if (!value.empty()) json_.field(name, value);
  }
  template <typename T>
  void known(const char* name, const std::optional<T>& value) {
    if (value) json_.field(name, *value);
  }

  void write_identity() {
    const Layout& layout = r_.server.layout;
    text("hw", r_.hardware.name);
    known("conc", r_.workload.concurrency);
    text("image", r_.server.image);
    text("model", r_.server.model);
    if (const auto at = r_.published.columns.find("infmax_model_prefix");
        at != r_.published.columns.end())
      text("infmax_model_prefix", at->second);
    text("framework", r_.server.framework);
    text("precision", r_.server.precision);
    json_.field("spec_decoding", r_.server.speculative.empty() ? "none" : r_.server.speculative);
    known("disagg", layout.disaggregated);
    known("isl", r_.workload.input_tokens);
    known("osl", r_.workload.output_tokens);
    known("is_multinode", layout.multinode);
    text("recipe_fingerprint", r_.server.recipe_fingerprint);
    for (const auto& [name, role] :
         {std::pair("prefill", &layout.prefill), std::pair("decode", &layout.decode)})
      if (*role) write_role(name, **role);
    if (layout.prefill || layout.decode) return;
    known("tp", layout.tp);
    known("pp", layout.pp);
    known("dcp_size", layout.dcp);
    known("pcp_size", layout.pcp);
    known("ep", layout.ep);
    if (layout.dp_attention) json_.field("dp_attention", *layout.dp_attention ? "true" : "false");
  }

  void write_role(const std::string& side, const Role& role) {
    const auto number = [&](const std::string& name, const std::optional<int64_t>& value) {
      if (value) json_.key(name).value(*value);
    };
    number(side + "_num_workers", role.workers);
    number(side + "_tp", role.tp);
    number(side + "_pp", role.pp);
    number(side + "_dcp_size", role.dcp);
    number(side + "_pcp_size", role.pcp);
    number(side + "_ep", role.ep);
    if (role.dp_attention)
      json_.key(side + "_dp_attention").value(*role.dp_attention ? "true" : "false");
    number("num_" + side + "_gpu", role.devices);
    if (!role.hardware.empty()) json_.key(side + "_hw").value(role.hardware);
  }

  void write_throughput() {
    const Window& w = r_.measures.whole;
    const bool measured = w.duration_s && *w.duration_s > 0 && w.input_tokens && w.output_tokens &&
                          r_.hardware.devices;
    if (!measured) {
      const auto printed = [&](const char* name, const std::optional<Printed>& figure) {
        if (figure) json_.field(name, figure->value);
      };
      printed("tput_per_gpu", r_.published.tok_s_gpu);
      printed("output_tput_per_gpu", r_.published.output_tok_s_gpu);
      printed("input_tput_per_gpu", r_.published.input_tok_s_gpu);
      return;
    }
    // In the order of its formulas: the last digits follow too.
    const auto output = static_cast<double>(*w.output_tokens) / *w.duration_s;
    const auto total = static_cast<double>(*w.input_tokens + *w.output_tokens) / *w.duration_s;
    const auto devices = static_cast<double>(*r_.hardware.devices);
    const Layout& layout = r_.server.layout;
    const auto of = [&](const std::optional<Role>& role) {
      return role && role->devices.value_or(0) > 0 ? static_cast<double>(*role->devices) : devices;
    };
    json_.field("tput_per_gpu", total / devices);
    json_.field("output_tput_per_gpu", output / of(layout.decode));
    json_.field("input_tput_per_gpu", (total - output) / of(layout.prefill));
  }

  /// In milliseconds; from the histogram where there is one.
  std::optional<double> milliseconds(const std::string& statistic,
                                     std::string_view quantity) const {
    const Window& w = r_.measures.whole;
    const auto& histogram = quantity == "ttft"   ? w.ttft
                            : quantity == "tpot" ? w.tpot
                            : quantity == "itl"  ? w.itl
                                                 : w.e2e;
    if (const auto printed = printed_ms(statistic, quantity)) return value_of(*printed);
    if (!histogram || histogram->empty() || statistic == "std") return std::nullopt;
    if (statistic == "mean") return histogram->mean() * 1e-6;
    const double percentile = statistic == "median" ? 50 : value_of(statistic.substr(1));
    return static_cast<double>(histogram->percentile(percentile)) * 1e-6;
  }

  std::optional<std::string> printed_ms(const std::string& statistic,
                                        std::string_view quantity) const {
    const Published& p = r_.published;
    if (statistic == "median" && p.statistic.empty()) {
      const auto& plain = quantity == "ttft"   ? p.ttft_ms
                          : quantity == "tpot" ? p.tpot_ms
                          : quantity == "itl"  ? p.itl_ms
                                               : p.e2e_ms;
      if (plain) return plain->text;
    }
    const auto at = p.statistics.find(fmt::format("{}_{}_ms", statistic, quantity));
    return at == p.statistics.end() ? std::nullopt : std::optional(at->second.text);
  }

  void write_time(const std::string& statistic, const std::string& quantity) {
    const auto ms = milliseconds(statistic, quantity);
    if (!ms) return;
    const std::string name = statistic + "_" + (quantity == "e2e" ? "e2el" : quantity);
    const auto printed = printed_ms(statistic, quantity);
    // Rows that came in seconds leave with the digits they came with.
    json_.key(name).value(seconds_ && printed ? value_of(shifted(*printed, -3)) : *ms / 1000);
    if (quantity != "tpot") return;
    const auto kept = statistic == "median" ? r_.published.interactivity : std::nullopt;
    const auto at = r_.published.statistics.find(statistic + "_interactivity");
    json_.key(statistic + "_intvty")
        .value(kept                                  ? kept->value
               : at != r_.published.statistics.end() ? at->second.value
                                                     : 1000 / *ms);
  }

  void write_power() {
    const auto& power = r_.measures.power;
    if (!power) return;
    known("avg_total_gpu_power_w", power->average_w);
    known("total_gpu_energy_j", power->energy_j);
  }

  const Record& r_;
  bool seconds_;
  JsonWriter json_;
};

}  // namespace

std::string export_inferencex(std::span<const StoredRecord> records) {
  std::string out;
  for (const StoredRecord& stored : records) out += RowWriter(stored.record).text() + "\n";
  return out;
}

}  // namespace headroom::results
