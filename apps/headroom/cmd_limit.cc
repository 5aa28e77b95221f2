// headroom limit: the memory, compute and link bound of operating points, from shapes and figures.
#include <cstdio>

#include "base/json_writer.h"
#include "base/table.h"
#include "commands.h"
#include "limit/bound.h"
#include "limit/catalog.h"
#include "limit/machine.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string shape, hardware = "this", precision = "bf16", kv = "bf16", basis;
  int tp = 1, ep = 1;
  double context = 8192;
  std::vector<double> concurrency = {1, 4, 8, 16, 32, 64};
  std::optional<double> input, output;
  bool list = false, reprobe = false, json = false;
};

void parts_json(base::JsonWriter& json, const char* name, const limit::Parts& parts) {
  json.key(name).begin_object();
  json.field("experts", parts.experts).field("shared", parts.shared).field("gate", parts.gate);
  json.field("dense", parts.dense).field("attention", parts.attention);
  json.field("lm_head", parts.lm_head).field("kv", parts.kv).end_object();
}

void print_json(const Options& options, const limit::Shape& shape, const limit::Hardware& hardware,
                const limit::Question& q, const limit::Curve& curve) {
  base::JsonWriter json;
  json.begin_object().field("shape", shape.name).field("hardware", hardware.name);
  json.field("hardware_title", hardware.title).field("basis", limit::basis_name(q.basis));
  json.field("precision", options.precision).field("kv", options.kv);
  json.field("tp", q.layout.tp).field("ep", q.layout.ep).field("devices", q.layout.devices());
  if (q.lengths) json.field("input", q.lengths->input).field("output", q.lengths->output);
  json.key("points").begin_array();
  for (const limit::Point& p : curve.points) {
    json.begin_object().field("concurrency", p.concurrency).field("context", p.context);
    json.field("tpot_ms", p.tpot_ms).field("bytes", p.bytes.total());
    json.field("flops", p.flops.total()).field("bound", p.bound);
    json.field("decode_ms", p.decode_ms).field("memory_ms", p.memory_ms);
    json.field("compute_ms", p.compute_ms).field("link_ms", p.link_ms);
    json.field("prefill_ms", p.prefill_ms).field("prefill_flops", p.prefill_flops);
    json.field("step_ms", p.step_ms).field("tok_s_user", 1000 / p.tpot_ms);
    json.field("output_tok_s_gpu", p.output_tok_s_gpu).field("total_tok_s_gpu", p.total_tok_s_gpu);
    json.field("distinct_experts", p.distinct_experts);
    parts_json(json, "bytes_by_part", p.bytes);
    parts_json(json, "flops_by_part", p.flops);
    json.end_object();
  }
  json.end_array().key("notes").begin_array();
  for (const std::string& note : curve.notes) json.value(note);
  json.end_array().end_object();
  fmt::print("{}\n", json.text());
}

void print_table(const limit::Shape& shape, const limit::Hardware& hardware,
                 const limit::Question& q, const limit::Curve& curve, const Options& options) {
  fmt::print("{} on {} x {}, {} figures\n", shape.name, q.layout.devices(), hardware.title,
             limit::basis_name(q.basis));
  fmt::print(
      "weights {}, cache rows {} ({:.0f} bytes), tp {}, ep {}, {:.0f} tokens of context{}\n\n",
      options.precision, options.kv, limit::kv_row_bytes(shape, q.kv), q.layout.tp, q.layout.ep,
      curve.points.front().context,
      q.lengths ? fmt::format(" ({:.0f} in, {:.0f} out)", q.lengths->input, q.lengths->output)
                : "");
  base::Table table;
  table.columns = {{"requests"},  {"experts met"}, {"weights GB"}, {"cache GB"},
                   {"memory ms"}, {"compute ms"},  {"link ms"}};
  if (q.lengths) table.columns.push_back({"prefill ms"});
  for (const char* title : {"TPOT ms", "tok/s/user", "tok/s/GPU"}) table.columns.push_back({title});
  table.columns.push_back({"bound", base::Table::Align::kLeft});
  for (const limit::Point& p : curve.points) {
    std::vector<std::string> row = {fmt::format("{:g}", p.concurrency),
                                    fmt::format("{:.1f}", p.distinct_experts),
                                    fmt::format("{:.3g}", (p.bytes.total() - p.bytes.kv) / 1e9),
                                    fmt::format("{:.3g}", p.bytes.kv / 1e9),
                                    fmt::format("{:.3f}", p.memory_ms),
                                    fmt::format("{:.3f}", p.compute_ms),
                                    p.link_ms ? fmt::format("{:.3f}", *p.link_ms) : "-"};
    if (q.lengths) row.push_back(fmt::format("{:.3f}", *p.prefill_ms));
    row.push_back(fmt::format("{:.3f}", p.tpot_ms));
    row.push_back(fmt::format("{:.1f}", 1000 / p.tpot_ms));
    row.push_back(fmt::format("{:.1f}", p.total_tok_s_gpu.value_or(p.output_tok_s_gpu)));
    row.emplace_back(p.bound);
    table.rows.push_back(std::move(row));
  }
  fmt::print("{}\n", table.terminal());
  fmt::print("tok/s/GPU counts {}; prefill is {}.\n", q.lengths ? "input and output" : "output",
             q.lengths ? "added to TPOT and overlapped in tok/s/GPU" : "not counted");
  for (const std::string& note : curve.notes) fmt::print("  {}\n", note);
}

CommandResult print_list(bool json_wanted) {
  base::Table table;
  table.columns = {{"kind", base::Table::Align::kLeft},
                   {"name", base::Table::Align::kLeft},
                   {"what", base::Table::Align::kLeft}};
  table.rows.push_back({"hardware", "this", "this machine, measured once and remembered"});
  for (const std::string& name : limit::hardware_names()) {
    HEADROOM_TRY(const limit::Hardware hardware, limit::find_hardware(name));
    table.rows.push_back({"hardware", name, hardware.title});
  }
  for (const std::string& name : limit::shape_names()) {
    HEADROOM_TRY(const limit::Shape shape, limit::find_shape(name));
    table.rows.push_back({"shape", name, shape.name});
  }
  if (!json_wanted) {
    fmt::print("{}", table.terminal());
    return 0;
  }
  base::JsonWriter json;
  json.begin_object().key("entries").begin_array();
  for (const auto& row : table.rows)
    json.begin_object()
        .field("kind", row[0])
        .field("name", row[1])
        .field("what", row[2])
        .end_object();
  json.end_array().end_object();
  fmt::print("{}\n", json.text());
  return 0;
}

CommandResult run_limit(const Options& options) {
  if (options.list) return print_list(options.json);
  if (options.shape.empty())
    return base::fail(base::ErrorCode::kInvalidArgument,
                      "a SHAPE is due: a name (see --list), a shape file or a model directory");
  HEADROOM_TRY(const limit::Shape shape, limit::find_shape(options.shape));
  const bool local = options.hardware == "this";
  HEADROOM_TRY(const limit::Hardware hardware, local ? limit::this_machine(options.reprobe)
                                                     : limit::find_hardware(options.hardware));
  limit::Question q;
  HEADROOM_TRY(q.precision, limit::parse_precision(options.precision));
  HEADROOM_TRY(q.kv, limit::parse_kv_row(options.kv));
  const std::string basis =
      options.basis.empty() ? (local ? "measured" : "datasheet") : options.basis;
  HEADROOM_TRY(q.basis, limit::parse_basis(basis));
  q.layout = {options.tp, options.ep};
  q.context = options.context;
  if (options.input.has_value() != options.output.has_value())
    return base::fail(base::ErrorCode::kInvalidArgument, "--input and --output go together");
  if (options.input) q.lengths = limit::Lengths{*options.input, *options.output};
  HEADROOM_TRY(const limit::Curve curve, limit::bound(shape, hardware, q, options.concurrency));
  if (options.json)
    print_json(options, shape, hardware, q, curve);
  else
    print_table(shape, hardware, q, curve, options);
  return 0;
}

}  // namespace

void add_limit(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  CLI::App* cmd = app.add_subcommand("limit", "The hardware's bound of operating points");
  cmd->add_option("shape", options->shape, "Shape name, shape file or model directory");
  cmd->add_option("--hardware", options->hardware, "Name, file, or `this` for this machine")
      ->capture_default_str();
  cmd->add_option("--precision", options->precision, "bf16, fp8, mxfp4 or int4")
      ->capture_default_str();
  cmd->add_option("--kv", options->kv, "Cache rows: fp32, bf16, fp8 (656 bytes), fp8-tensor (576)")
      ->capture_default_str();
  cmd->add_option("--tp", options->tp, "Ranks that share attention")->capture_default_str();
  cmd->add_option("--ep", options->ep, "Ranks that share the experts")->capture_default_str();
  cmd->add_option("--context", options->context, "Tokens in the cache of each request")
      ->capture_default_str();
  cmd->add_option("--concurrency", options->concurrency, "Requests in flight, a list")
      ->delimiter(',')
      ->capture_default_str();
  cmd->add_option("--input", options->input,
                  "Prompt tokens: counts prefill; context becomes input + output / 2");
  cmd->add_option("--output", options->output, "Generated tokens of a request");
  cmd->add_option("--basis", options->basis,
                  "datasheet or measured (default: datasheet; for `this`: measured)");
  cmd->add_flag("--list", options->list, "Show the hardware and the shapes there are");
  cmd->add_flag("--reprobe", options->reprobe, "Measure this machine again");
  cmd->add_flag("--json", options->json, "One JSON object on stdout");
  cmd->footer(
      "Example: headroom limit kimi-k2.5 --hardware h200 --precision mxfp4 --tp 8 --kv fp8"
      " --context 8192 --concurrency 4,8,16,32,64");
  cmd->callback([options, &run] { run = [options] { return run_limit(*options); }; });
}

}  // namespace headroom::apps
