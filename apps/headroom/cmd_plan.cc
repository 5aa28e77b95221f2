// headroom plan: which kernel runs each op of a model, and why each other one does not.
#include <cstdio>

#include "base/json_writer.h"
#include "commands.h"
#include "limit/catalog.h"
#include "model/plan.h"
#include "model_options.h"
#include "plan_table.h"

namespace headroom::apps {
namespace {

struct Options : ModelOptions {
  int context = 0, sequences = 64, tokens = 512;
  bool json = false;
};

void print_json(const Options& options, const model::Config& config, const model::ModelPlan& plan) {
  base::JsonWriter json;
  json.begin_object().field("model", config.name).field("tp", options.tp).field("ep", options.ep);
  json.field("kv", options.kv).field("attention", options.attention);
  json.key("ops").begin_array();
  for (const kernels::OpChoice& row : plan.rows) {
    json.begin_object().field("op", row.op).field("role", row.role);
    json.field("descriptor", row.descriptor).field("count", row.count).key("chosen");
    if (row.chosen.empty())
      json.null();
    else
      json.value(row.chosen);
    json.key("rows");
    if (row.logical_rows > 0)
      json.begin_object()
          .field("logical", row.logical_rows)
          .field("kernel", row.kernel_rows)
          .end_object();
    else
      json.null();
    json.key("refused").begin_array();
    for (const kernels::Refusal& refusal : row.refused)
      json.begin_object()
          .field("kernel", refusal.kernel)
          .field("reason", kernels::reason_text(refusal.reason))
          .end_object();
    json.end_array().end_object();
  }
  json.end_array().key("error");
  if (plan.error)
    json.value(plan.error->message);
  else
    json.null();
  fmt::print("{}\n", json.end_object().text());
}

void print_table(const Options& options, const model::Config& config,
                 const model::ModelPlan& plan) {
  fmt::print("{} ({}), tp {}, ep {}, cache rows {}, pages of {}\n", config.name, config.model_type,
             options.tp, options.ep, options.kv, options.page_size);
  if (!config.quantization.empty())
    fmt::print("weights planned as BF16: {} weights are not served yet\n", config.quantization);
  fmt::print("\n{}", plan_text(plan.rows, true));
}

CommandResult run_plan(const Options& options) {
  HEADROOM_TRY(model::PlanOptions plan_of, plan_options(options));
  HEADROOM_TRY(const model::Config config, limit::find_config(options.model));
  plan_of.limits = {.max_tokens = options.tokens,
                    .max_sequences = options.sequences,
                    .max_logits_rows = options.sequences,
                    .max_context = options.context};
  HEADROOM_TRY(const model::ModelPlan plan, model::make_plan(config, plan_of));
  if (options.json)
    print_json(options, config, plan);
  else
    print_table(options, config, plan);
  std::fflush(stdout);
  if (plan.error) return tl::unexpected<base::Error>(*plan.error);
  return 0;
}

}  // namespace

void add_plan(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("plan", "Show which kernel runs each op, and why not another");
  c->add_option("model", options->model,
                "Model folder, shape file or name (`headroom limit --list`)")
      ->required();
  add_model_options(*c, *options);
  c->add_option("--context", options->context, "Tokens of a sequence; 0: the model's own limit")
      ->check(CLI::Range(0, 1 << 28))
      ->capture_default_str();
  c->add_option("--sequences", options->sequences, "Sequences of a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_option("--step-tokens", options->tokens, "New tokens of a step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  c->add_flag("--json", options->json, "One JSON object");
  c->footer(
      "Examples:\n  headroom plan models/tiny-mla --tp 8 --kv fp8\n  headroom plan kimi-k2.5 --tp "
      "8\n"
      "Weights are not loaded.");
  c->callback([&run, options] { run = [options] { return run_plan(*options); }; });
}

}  // namespace headroom::apps
