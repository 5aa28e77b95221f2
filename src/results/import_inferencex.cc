// InferenceX's files as records: its published rows, what its API answers, its evaluations.
#include "results/import_json.h"

namespace headroom::results {
namespace {

/// "none" is InferenceX's word for no speculation.
void speculative(RowReader& reader, const char* path, Server& server) {
  reader.text(path, server.speculative);
  if (server.speculative == "none") server.speculative.clear();
}

void role(RowReader& reader, const std::string& side, std::optional<Role>& target) {
  Role role;
  reader.count((side + "_num_workers").c_str(), role.workers, 0);
  reader.count((side + "_tp").c_str(), role.tp, 0);
  reader.count((side + "_pp").c_str(), role.pp, 0);
  reader.count((side + "_ep").c_str(), role.ep, 0);
  reader.count((side + "_dcp_size").c_str(), role.dcp, 0);
  reader.count((side + "_pcp_size").c_str(), role.pcp, 0);
  reader.flag((side + "_dp_attention").c_str(), role.dp_attention);
  reader.count(fmt::format("num_{}_gpu", side).c_str(), role.devices, 0);
  reader.text((side + "_hw").c_str(), role.hardware);
  if (role.tp || role.workers || role.devices) target = std::move(role);
}

/// Prefill and decode apart are two roles; otherwise both columns say the same and are one layout.
void layout_of_roles(RowReader& reader, bool apart, Record& record) {
  Layout& layout = record.server.layout;
  role(reader, "prefill", layout.prefill);
  role(reader, "decode", layout.decode);
  if (apart) {
    if (layout.prefill && layout.decode && layout.prefill->devices && layout.decode->devices) {
      record.hardware.devices = *layout.prefill->devices + *layout.decode->devices;
      record.hardware.devices_source = kDevicesPublished;
    }
    return;
  }
  if (!layout.decode) return;
  layout.tp = layout.decode->tp;
  layout.pp = layout.decode->pp;
  layout.ep = layout.decode->ep;
  layout.dcp = layout.decode->dcp;
  layout.pcp = layout.decode->pcp;
  layout.dp_attention = layout.decode->dp_attention;
  // Its figures are divided by tp x pp x pcp; some rows count tp x ep devices, which is kept as
  // odd.
  if (layout.tp.value_or(0) > 0) {
    record.hardware.devices = *layout.tp * layout.pp.value_or(1) * layout.pcp.value_or(1);
    const bool agreed = layout.decode->devices == record.hardware.devices;
    record.hardware.devices_source = agreed ? kDevicesPublished : kDevicesDerived;
    if (!agreed && layout.decode->devices)
      record.published.columns["num_decode_gpu"] = fmt::format("{}", *layout.decode->devices);
  }
  layout.prefill.reset();
  layout.decode.reset();
}

void throughput(RowReader& reader, const std::string& prefix, Published& published) {
  reader.figure((prefix + "tput_per_gpu").c_str(), published.tok_s_gpu);
  reader.figure((prefix + "input_tput_per_gpu").c_str(), published.input_tok_s_gpu);
  reader.figure((prefix + "output_tput_per_gpu").c_str(), published.output_tok_s_gpu);
}

void power(RowReader& reader, const std::string& prefix, Record& record) {
  Power power;
  reader.number((prefix + "avg_total_gpu_power_w").c_str(), power.average_w);
  reader.number((prefix + "total_gpu_energy_j").c_str(), power.energy_j);
  if (!power.average_w && !power.energy_j) return;
  power.source = "inferencex";
  record.measures.power = std::move(power);
}

void identity(RowReader& reader, Record& record) {
  reader.text("framework", record.server.framework);
  reader.text("precision", record.server.precision);
  reader.text("model", record.server.model);
  reader.text("image", record.server.image);
  reader.flag("disagg", record.server.layout.disaggregated);
  reader.flag("is_multinode", record.server.layout.multinode);
  reader.count("isl", record.workload.input_tokens);
  reader.count("osl", record.workload.output_tokens);
  reader.count("conc", record.workload.concurrency);
  if (record.workload.concurrency) record.workload.arrivals = "closed";
}

}  // namespace

void read_inferencex_row(RowReader& reader, Record& record) {
  record.published.source = "inferencex row";
  identity(reader, record);
  reader.text("hw", record.hardware.name);
  speculative(reader, "spec_decoding", record.server);
  reader.text("recipe_fingerprint", record.server.recipe_fingerprint);
  Layout& layout = record.server.layout;
  reader.count("tp", layout.tp);
  reader.count("pp", layout.pp);
  reader.count("ep", layout.ep);
  reader.count("dcp_size", layout.dcp);
  reader.count("pcp_size", layout.pcp);
  reader.flag("dp_attention", layout.dp_attention);
  if (reader.row().has("num_prefill_gpu") || reader.row().has("prefill_tp")) {
    layout_of_roles(reader, true, record);
  } else if (layout.tp) {
    record.hardware.devices = *layout.tp * layout.pp.value_or(1) * layout.pcp.value_or(1);
    record.hardware.devices_source = kDevicesDerived;
  }
  throughput(reader, "", record.published);
  take_statistics(reader, "", 3, record.published);
  power(reader, "", record);
}

void read_inferencex_api(RowReader& reader, Record& record) {
  record.published.source = "inferencex api";
  identity(reader, record);
  reader.text("hardware", record.hardware.name);
  speculative(reader, "spec_method", record.server);
  reader.date("date", record.date);
  reader.text("run_url", record.run);
  layout_of_roles(reader, record.server.layout.disaggregated.value_or(false), record);
  throughput(reader, "metrics.", record.published);
  take_statistics(reader, "metrics.", 3, record.published);
  power(reader, "metrics.", record);
}

void read_inferencex_eval(RowReader& reader, Record& record) {
  const bool api = reader.row().has("metrics.em_strict") || reader.row().has("hardware");
  record.published.source = "inferencex eval";
  identity(reader, record);
  reader.text(api ? "hardware" : "hw", record.hardware.name);
  speculative(reader, api ? "spec_method" : "spec_decoding", record.server);
  reader.date("date", record.date);
  reader.text("run_url", record.run);
  layout_of_roles(reader, record.server.layout.disaggregated.value_or(false), record);
  const std::string prefix = api ? "metrics." : "";
  Eval eval;
  reader.text("task", eval.task);
  eval.metric = "exact_match,strict-match";
  reader.number((prefix + "em_strict").c_str(), eval.score);
  reader.number((prefix + "em_strict_se").c_str(), eval.standard_error);
  reader.count((prefix + "n_eff").c_str(), eval.questions);
  record.measures.eval = std::move(eval);
  for (const char* name : {"em_flexible", "em_flexible_se"}) {
    std::optional<Printed> figure;
    reader.figure((prefix + name).c_str(), figure);
    if (figure) record.published.statistics[name] = std::move(*figure);
  }
}

}  // namespace headroom::results
