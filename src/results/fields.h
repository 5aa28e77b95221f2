// each_field: the one list of a record's fields, from which writing, reading and testing follow.
#pragma once

#include "results/record.h"

namespace headroom::results {

// visit(name, field) for every field in canonical order. `R` is the struct or its const.

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Role>
void each_field(R& r, V&& visit) {
  visit("workers", r.workers);
  visit("tp", r.tp);
  visit("pp", r.pp);
  visit("ep", r.ep);
  visit("dcp", r.dcp);
  visit("pcp", r.pcp);
  visit("dp_attention", r.dp_attention);
  visit("devices", r.devices);
  visit("hardware", r.hardware);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Layout>
void each_field(R& r, V&& visit) {
  visit("tp", r.tp);
  visit("pp", r.pp);
  visit("ep", r.ep);
  visit("dcp", r.dcp);
  visit("pcp", r.pcp);
  visit("dp_attention", r.dp_attention);
  visit("multinode", r.multinode);
  visit("disaggregated", r.disaggregated);
  visit("prefill", r.prefill);
  visit("decode", r.decode);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Server>
void each_field(R& r, V&& visit) {
  visit("model", r.model);
  visit("checkpoint_digest", r.checkpoint_digest);
  visit("precision", r.precision);
  visit("kv", r.kv);
  visit("attention", r.attention);
  visit("framework", r.framework);
  visit("framework_version", r.framework_version);
  visit("image", r.image);
  visit("command", r.command);
  visit("flags", r.flags);
  visit("environment", r.environment);
  visit("speculative", r.speculative);
  visit("recipe", r.recipe);
  visit("recipe_fingerprint", r.recipe_fingerprint);
  visit("layout", r.layout);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Hardware>
void each_field(R& r, V&& visit) {
  visit("name", r.name);
  visit("devices", r.devices);
  visit("devices_source", r.devices_source);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Workload>
void each_field(R& r, V&& visit) {
  visit("input_tokens", r.input_tokens);
  visit("output_tokens", r.output_tokens);
  visit("input_lengths", r.input_lengths);
  visit("output_lengths", r.output_lengths);
  visit("dataset", r.dataset);
  visit("arrivals", r.arrivals);
  visit("arrival_detail", r.arrival_detail);
  visit("concurrency", r.concurrency);
  visit("rate", r.rate);
  visit("turns", r.turns);
  visit("think_s", r.think_s);
  visit("prefix_tokens", r.prefix_tokens);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Window>
void each_field(R& r, V&& visit) {
  visit("duration_s", r.duration_s);
  visit("requests", r.requests);
  visit("input_tokens", r.input_tokens);
  visit("output_tokens", r.output_tokens);
  visit("ttft", r.ttft);
  visit("tpot", r.tpot);
  visit("itl", r.itl);
  visit("e2e", r.e2e);
  visit("ttft_from_due", r.ttft_from_due);
  visit("e2e_from_due", r.e2e_from_due);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Slo>
void each_field(R& r, V&& visit) {
  visit("ttft_ms", r.ttft_ms);
  visit("tpot_ms", r.tpot_ms);
  visit("e2e_ms", r.e2e_ms);
  visit("met", r.met);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, ClientLoad>
void each_field(R& r, V&& visit) {
  visit("cpu_cores", r.cpu_cores);
  visit("lateness", r.lateness);
  visit("queueing", r.queueing);
  visit("connect", r.connect);
  visit("read_lag", r.read_lag);
  visit("coalesced", r.coalesced);
  visit("retries", r.retries);
  visit("limited", r.limited);
  visit("limited_reason", r.limited_reason);
  visit("settings", r.settings);
  visit("environment", r.environment);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Power>
void each_field(R& r, V&& visit) {
  visit("average_w", r.average_w);
  visit("energy_j", r.energy_j);
  visit("source", r.source);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Eval>
void each_field(R& r, V&& visit) {
  visit("task", r.task);
  visit("metric", r.metric);
  visit("protocol", r.protocol);
  visit("score", r.score);
  visit("standard_error", r.standard_error);
  visit("questions", r.questions);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Measures>
void each_field(R& r, V&& visit) {
  visit("requests_sent", r.requests_sent);
  visit("requests_ok", r.requests_ok);
  visit("requests_failed", r.requests_failed);
  visit("client_input_tokens", r.client_input_tokens);
  visit("client_output_tokens", r.client_output_tokens);
  visit("server_input_tokens", r.server_input_tokens);
  visit("server_output_tokens", r.server_output_tokens);
  visit("tokens_per_chunk", r.tokens_per_chunk);
  visit("whole", r.whole);
  visit("steady", r.steady);
  visit("client", r.client);
  visit("doubts", r.doubts);
  visit("slo", r.slo);
  visit("power", r.power);
  visit("eval", r.eval);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Published>
void each_field(R& r, V&& visit) {
  visit("source", r.source);
  visit("tok_s_gpu", r.tok_s_gpu);
  visit("input_tok_s_gpu", r.input_tok_s_gpu);
  visit("output_tok_s_gpu", r.output_tok_s_gpu);
  visit("tpot_ms", r.tpot_ms);
  visit("interactivity", r.interactivity);
  visit("ttft_ms", r.ttft_ms);
  visit("itl_ms", r.itl_ms);
  visit("e2e_ms", r.e2e_ms);
  visit("statistic", r.statistic);
  visit("statistics", r.statistics);
  visit("columns", r.columns);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, PlanLine::Refused>
void each_field(R& r, V&& visit) {
  visit("kernel", r.kernel);
  visit("reason", r.reason);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, PlanLine>
void each_field(R& r, V&& visit) {
  visit("op", r.op);
  visit("descriptor", r.descriptor);
  visit("chosen", r.chosen);
  visit("count", r.count);
  visit("logical_rows", r.logical_rows);
  visit("kernel_rows", r.kernel_rows);
  visit("runs", r.runs);
  visit("refused", r.refused);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Limit>
void each_field(R& r, V&& visit) {
  visit("tpot_ms", r.tpot_ms);
  visit("tok_s_gpu", r.tok_s_gpu);
  visit("output_tok_s_gpu", r.output_tok_s_gpu);
  visit("bound", r.bound);
  visit("basis", r.basis);
  visit("hardware", r.hardware);
  visit("bytes", r.bytes);
  visit("flops", r.flops);
}

template <typename V, typename R>
  requires std::is_same_v<std::remove_const_t<R>, Record>
void each_field(R& r, V&& visit) {
  visit("run", r.run);
  visit("label", r.label);
  visit("date", r.date);
  visit("time", r.time);
  visit("repeat", r.repeat);
  visit("point", r.point);
  visit("replay", r.replay);
  visit("client", r.client);
  visit("client_protocol", r.client_protocol);
  visit("server", r.server);
  visit("hardware", r.hardware);
  visit("workload", r.workload);
  visit("measures", r.measures);
  visit("published", r.published);
  visit("plan", r.plan);
  visit("limit", r.limit);
}

/// True for the structs above.
template <typename T>
concept Fielded = requires(T& t) { each_field(t, [](const char*, auto&) {}); };

}  // namespace headroom::results
