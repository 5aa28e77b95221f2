// headroom generate: text or ids in, generated tokens out, without a server.
#include <charconv>
#include <cstdio>

#include "base/json_writer.h"
#include "commands.h"
#include "model/deepseek.h"
#include "model/generate.h"
#include "model_options.h"
#include "text/detokenizer.h"

namespace headroom::apps {
namespace {

struct Options : ModelOptions {
  std::optional<std::string> prompt;
  std::string ids;
  int max_tokens = 128, top_logits = 8, threads = 0;
  double temperature = 0, top_p = 1;
  uint64_t seed = 0;
  bool ignore_eos = false, json = false;
};

/// "1,2,3": one option value, so that a model folder may follow it; blanks around an id are fine.
base::Result<std::vector<int32_t>> parse_ids(std::string_view text) {
  constexpr std::string_view kBlank = " \t\n";
  std::vector<int32_t> ids;
  for (bool more = true; more;) {
    const size_t comma = text.find(',');
    more = comma != text.npos;
    std::string_view word = text.substr(0, comma);
    if (more) text.remove_prefix(comma + 1);
    word.remove_prefix(std::min(word.find_first_not_of(kBlank), word.size()));
    word = word.substr(0, word.find_last_not_of(kBlank) + 1);
    int32_t id = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), id);
    if (error != std::errc() || end != word.data() + word.size())
      return base::fail(base::ErrorCode::kInvalidArgument,
                        "--ids: `{}` at place {} is no token id; give numbers as in 1,2,3", word,
                        ids.size());
    ids.push_back(id);
  }
  return ids;
}

/// The prompt's ids: --ids as they are, --prompt encoded, with a BOS where the model wants one.
base::Result<std::vector<int32_t>> prompt_ids(const Options& options,
                                              const std::optional<text::Tokenizer>& tokenizer) {
  if (!options.prompt) return parse_ids(options.ids);
  if (options.prompt->empty())
    return base::fail(base::ErrorCode::kInvalidArgument, "--prompt: is empty");
  HEADROOM_TRY(std::vector<int32_t> ids, tokenizer->encode(*options.prompt));
  const text::SpecialIds& special = tokenizer->special_ids();
  if (special.add_bos && special.bos) ids.insert(ids.begin(), *special.bos);
  return ids;
}

void print_json(const std::vector<int32_t>& prompt, const model::Generation& result,
                const std::optional<text::Tokenizer>& tokenizer, const model::Deepseek& model) {
  base::JsonWriter json;
  json.begin_object().field("model", model.config().name);
  const auto list = [&](const char* key, const auto& values) {
    json.key(key).begin_array();
    for (const auto value : values) json.value(value);
    json.end_array();
  };
  list("prompt_ids", prompt);
  list("ids", result.ids);
  json.key("text");
  if (tokenizer)
    json.value(tokenizer->decode(result.ids));
  else
    json.null();
  json.field("finish_reason", result.stopped ? "stop" : "length");
  list("prompt_logprobs", result.prompt_logprobs);
  json.key("top_logits").begin_array();
  for (const auto& [id, value] : result.top_logits)
    json.begin_array().value(int64_t{id}).value(value).end_array();
  json.end_array().key("kernels").begin_object();
  for (const kernels::OpChoice& row : model.plan())
    if (row.logical_rows > 0) json.field(row.op, row.chosen);
  json.end_object().field("prefill_seconds", result.prefill_seconds);
  json.field("decode_seconds", result.decode_seconds).end_object();
  fmt::print("{}\n", json.text());
}

/// "12 prompt tokens in 8.1 ms (1481 tok/s), 64 tokens generated, 0.92 ms each (...)"
void print_figures(size_t prompt, const model::Generation& result, const model::Deepseek& model) {
  std::string kernels;
  for (const kernels::OpChoice& row : model.plan())
    if (row.logical_rows > 0) kernels += fmt::format(", {} on {}", row.op, row.chosen);
  fmt::print(stderr, "\n[{} prompt tokens in {:.1f} ms ({:.0f} tok/s)", prompt,
             result.prefill_seconds * 1e3, static_cast<double>(prompt) / result.prefill_seconds);
  fmt::print(stderr, "; {} generated", result.ids.size());
  // The first token comes out of the prefill.
  if (result.ids.size() > 1) {
    const double each = result.decode_seconds / static_cast<double>(result.ids.size() - 1);
    fmt::print(stderr, ", {:.2f} ms a token ({:.0f} tok/s)", each * 1e3, 1 / each);
  }
  fmt::print(stderr, "{}{}]\n", result.stopped ? ", ended by itself" : "", kernels);
}

CommandResult run_generate(const Options& options) {
  HEADROOM_TRY(const model::PlanOptions plan, plan_options(options));
  std::optional<text::Tokenizer> tokenizer;
  const std::filesystem::path folder = options.model;
  // Ids need no tokenizer; then a folder without one still works, and its output has no text.
  if (options.prompt || std::filesystem::exists(folder / "tokenizer.json")) {
    HEADROOM_TRY(tokenizer, text::Tokenizer::load(folder));
  }
  HEADROOM_TRY(const std::vector<int32_t> prompt, prompt_ids(options, tokenizer));
  HEADROOM_TRY(const text::SpecialIds special, text::read_special_ids(folder));
  HEADROOM_TRY(const model::Config config, model::load_config(folder));

  model::LoadOptions load{plan};
  load.limits.max_sequences = 1;
  load.limits.max_tokens = 512;
  // Every row of a chunk needs logits when the prompt is scored: 64 MiB of them at most.
  load.limits.max_logits_rows = std::clamp((1 << 24) / config.vocab, 16, 512);
  // Only as much cache as this run can use.
  const int64_t wanted = std::max<int64_t>(std::ssize(prompt) + options.max_tokens, 1);
  load.limits.max_context = static_cast<int32_t>(std::min<int64_t>(wanted, config.max_positions));
  base::ThreadPool pool(options.threads);
  HEADROOM_TRY(const auto model, model::Deepseek::load(folder, load, pool));

  model::GenerateOptions generate;
  generate.max_tokens = options.max_tokens;
  generate.sampling = {.temperature = static_cast<float>(options.temperature),
                       .top_p = static_cast<float>(options.top_p),
                       .seed = options.seed};
  if (!options.ignore_eos) generate.eos = tokenizer ? tokenizer->eos() : special.eos;
  generate.prompt_logprobs = options.json;
  generate.top_logits = options.top_logits;
  std::optional<text::Detokenizer> detokenizer;
  if (tokenizer) detokenizer.emplace(*tokenizer);
  const auto show = [&](int32_t id) {
    if (detokenizer)
      fmt::print("{}", detokenizer->push(id));
    else
      fmt::print("{} ", id);
    std::fflush(stdout);
  };
  HEADROOM_TRY(const model::Generation result,
               model::generate(*model, prompt, generate,
                               options.json ? std::function<void(int32_t)>() : show));
  if (options.json) {
    print_json(prompt, result, tokenizer, *model);
    return 0;
  }
  fmt::print("{}\n", detokenizer ? detokenizer->flush() : "");
  std::fflush(stdout);
  print_figures(prompt.size(), result, *model);
  return 0;
}

}  // namespace

void add_generate(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  CLI::App* c = app.add_subcommand("generate", "Generate text with a model, without a server");
  c->add_option("model", options->model, "Model folder")->required();
  auto* prompt = c->add_option("--prompt", options->prompt, "Text to continue");
  auto* ids = c->add_option("--ids", options->ids, "Token ids to continue, as they are: 1,2,3")
                  ->excludes(prompt);
  c->add_option("--max-tokens", options->max_tokens, "Tokens to generate at most")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  c->add_option("--top-logits", options->top_logits, "Largest logits to list (--json)")
      ->check(CLI::Range(0, 1 << 24))
      ->capture_default_str();
  c->add_option("--temperature", options->temperature, "0: the most probable token each time")
      ->check(number_in(0.0, 100.0))
      ->capture_default_str();
  c->add_option("--top-p", options->top_p, "Draw from the most probable tokens of this mass")
      ->check(number_in(0.0, 1.0))
      ->capture_default_str();
  c->add_option("--seed", options->seed, "Of the draws")->capture_default_str();
  c->add_flag("--ignore-eos", options->ignore_eos, "Go on behind an end-of-text token");
  c->add_option("--threads", options->threads, "0: all cores")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  add_model_options(*c, *options);
  add_device_option(*c, *options);
  c->add_flag("--json", options->json, "One JSON object");
  c->footer(
      "Example: headroom generate models/tiny-mla --prompt 'Once upon a time' "
      "--max-tokens 64");
  c->callback([&run, options, prompt, ids] {
    run = [options, given = prompt->count() + ids->count()]() -> CommandResult {
      if (given == 0)
        return base::fail(base::ErrorCode::kInvalidArgument, "give --prompt TEXT or --ids 1,2,3");
      return run_generate(*options);
    };
  });
}

}  // namespace headroom::apps
