// headroom serve: an OpenAI-compatible server for one model.
#include <signal.h>

#include <cstdlib>

#include "base/clock.h"
#include "base/cpu.h"
#include "base/log.h"
#include "checkpoint_digest.h"
#include "commands.h"
#include "http/server.h"
#include "model/deepseek.h"
#include "model_options.h"
#include "openai/generation_config.h"
#include "openai/plan.h"
#include "openai/service.h"
#include "plan_table.h"
#include "text/tokenizer.h"

namespace headroom::apps {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

struct Options : ModelOptions {
  std::string served_name, api_key;
  http::ServerOptions http;
  engine::EngineOptions engine;
  int32_t max_context = 0, kv_pages = 0, threads = 0, prefill_chunk = 0;
  double drain_seconds = 30;
  bool plan_only = false;
};

// Of the machine's memory: the weights, the buffers and other programs need the rest.
constexpr double kCacheShare = 0.4;
constexpr int32_t kPrefillChunk = 256;

base::Result<model::LoadOptions> load_options(Options& options, const model::Config& config) {
  engine::EngineOptions& engine = options.engine;
  // A chunk must fit beside every other sequence's token, or a prompt could wait for ever.
  const int32_t room = engine.max_step_tokens - engine.max_sequences + 1;
  engine.prefill_chunk =
      options.prefill_chunk > 0 ? options.prefill_chunk : std::min(kPrefillChunk, room);
  if (engine.prefill_chunk < 1 || engine.prefill_chunk > room)
    return base::fail(base::ErrorCode::kInvalidArgument,
                      "--max-step-tokens {} must be at least --max-sequences {} + --prefill-chunk "
                      "{} - 1",
                      engine.max_step_tokens, engine.max_sequences,
                      std::max(1, engine.prefill_chunk));
  model::LoadOptions load;
  HEADROOM_TRY(static_cast<model::PlanOptions&>(load), plan_options(options));
  load.limits = {
      .max_tokens = engine.max_step_tokens,
      .max_sequences = engine.max_sequences,
      .max_logits_rows = engine.max_sequences,
      .max_context = options.max_context > 0 ? options.max_context : config.max_positions};
  load.page_count = options.kv_pages;
  if (load.page_count == 0) {
    const int64_t per_sequence =
        (int64_t{load.limits.max_context} + options.page_size - 1) / options.page_size;
    const int64_t page_bytes = int64_t{options.page_size} * config.layers *
                               kernels::kv_row_bytes(load.kv, config.latent, config.rope);
    const auto share =
        static_cast<int64_t>(static_cast<double>(base::cpu_info().memory_bytes) * kCacheShare) /
        page_bytes;
    load.page_count = static_cast<int32_t>(std::min<int64_t>(
        {per_sequence * engine.max_sequences, std::max(share, int64_t{1}), INT32_MAX}));
  }
  return load;
}

/// The tokenizer, or null with a warning when the model has none: prompts are ids then.
base::Result<std::shared_ptr<const text::Tokenizer>> load_tokenizer(const Options& options) {
  auto tokenizer = text::Tokenizer::load(options.model);
  if (tokenizer) return std::make_shared<const text::Tokenizer>(std::move(*tokenizer));
  if (tokenizer.error().code != base::ErrorCode::kNotFound)
    return tl::unexpected(tokenizer.error());
  base::log_warning("{}: prompts must be token ids, and answers carry no text",
                    tokenizer.error().message);
  return nullptr;
}

base::Result<openai::ServedModel> served_model(
    const Options& options, const model::StepModel& model,
    const std::shared_ptr<const text::Tokenizer>& tokenizer) {
  openai::ServedModel served;
  served.name = options.served_name;
  served.source = options.model;
  served.max_context = model.limits().max_context;
  served.vocab = model.vocab_size();
  HEADROOM_TRY(served.sampling, openai::read_generation_config(options.model));
  if (!tokenizer) return served;
  // Completions are raw text by contract: the caller writes the template, its special tokens
  // included.
  served.encode = [tokenizer](std::string_view text,
                              bool add_special) -> base::Result<std::vector<int32_t>> {
    HEADROOM_TRY(std::vector<int32_t> ids, tokenizer->encode(text, true));
    if (add_special && tokenizer->special_ids().add_bos && tokenizer->bos())
      ids.insert(ids.begin(), *tokenizer->bos());
    return ids;
  };
  served.token_bytes = [tokenizer](int32_t id) { return tokenizer->token_bytes(id); };
  for (int32_t id = 0; id < tokenizer->size(); ++id)
    served.longest_token = std::max(served.longest_token, tokenizer->token_bytes(id).size());
  return served;
}

/// Waits for SIGTERM or SIGINT, then lets requests finish until the deadline or a second signal.
void serve_until_signal(const sigset_t& signals, engine::Engine& engine, http::Server& server,
                        double drain_seconds) {
  int signal = 0;
  sigwait(&signals, &signal);
  engine.drain();
  base::log_info("signal {}: draining, {} running and {} waiting, at most {} s (again to stop now)",
                 signal, engine.metrics().running, engine.metrics().waiting, drain_seconds);
  const int64_t deadline = base::now_ns() + static_cast<int64_t>(drain_seconds * 1e9);
  while (!engine.wait_idle(milliseconds(50)) && base::now_ns() < deadline) {
    const timespec none{};
    if (sigtimedwait(&signals, nullptr, &none) > 0) break;
  }
  engine.stop();
  server.stop(seconds(2));
  base::log_info("stopped");
}

CommandResult serve(Options& options) {
  // Before any thread exists, so that all inherit it and sigwait gets the signals.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  if (const char* key = std::getenv("HEADROOM_API_KEY"); key != nullptr && options.api_key.empty())
    options.api_key = key;

  HEADROOM_TRY(const model::Config config, model::load_config(options.model));
  if (options.served_name.empty()) options.served_name = config.name;
  HEADROOM_TRY(const model::LoadOptions load, load_options(options, config));
  HEADROOM_TRY(const model::ModelPlan plan, model::make_plan(config, load));
  // Kernels that were merely not needed are `headroom plan`'s business.
  fmt::print(options.plan_only ? stdout : stderr, "{}", plan_text(plan.rows, options.plan_only));
  if (plan.error) return tl::unexpected<base::Error>(*plan.error);
  if (options.plan_only) return 0;
  // An address in use is told before minutes of loading, not after.
  if (options.http.port != 0 || !options.http.unix_path.empty())
    HEADROOM_TRY_VOID(http::Server::listen(options.http, {}).map([](auto) {}));

  base::ThreadPool pool(options.threads);
  const int64_t started_ns = base::now_ns();
  HEADROOM_TRY(const std::unique_ptr<model::Deepseek> loaded,
               model::Deepseek::load(options.model, load, pool));
  HEADROOM_TRY(const auto tokenizer, load_tokenizer(options));
  HEADROOM_TRY(openai::ServedModel served, served_model(options, *loaded, tokenizer));
  HEADROOM_TRY(const text::SpecialIds special, text::read_special_ids(options.model));
  options.engine.eos_ids = tokenizer ? tokenizer->eos() : special.eos;
  if (tokenizer) {
    options.engine.token_bytes = [tokenizer](int32_t id) {
      return tokenizer->is_special(id) ? std::string_view() : tokenizer->token_bytes(id);
    };
  }
  openai::PlanFacts facts;
  facts.model = served.name;
  facts.source = options.model;
  HEADROOM_TRY(facts.checkpoint_digest, checkpoint_digest(options.model));
  facts.attention = options.attention;
  facts.precision = "bf16";  // F32 and F16 checkpoints are rounded at load
  facts.kv = load.kv;
  facts.vocab = loaded->vocab_size();
  facts.page_size = loaded->page_size();
  facts.pages = loaded->page_count();
  facts.cache_bytes = loaded->cache_bytes();
  facts.max_context = loaded->limits().max_context;
  facts.threads = pool.size();
  facts.engine = options.engine;

  HEADROOM_TRY(const std::unique_ptr<engine::Engine> engine,
               engine::Engine::start(*loaded, options.engine));
  auto service =
      std::make_shared<openai::Service>(*engine, std::move(served), options.api_key,
                                        openai::plan_json(facts, loaded->plan()), loaded->plan());
  HEADROOM_TRY(const std::unique_ptr<http::Server> server,
               http::Server::listen(options.http, openai::make_router(service)));
  server->start();
  fmt::print(stderr,
             "headroom serve: ready at {} (model {}, context {}, {} sequences, {} KV pages of {}, "
             "{:.1f} MiB; loaded in {:.1f} s)\n",
             server->url(), options.served_name, facts.max_context, options.engine.max_sequences,
             facts.pages, facts.page_size, static_cast<double>(facts.cache_bytes) / (1 << 20),
             static_cast<double>(base::now_ns() - started_ns) * 1e-9);
  std::fflush(stderr);
  serve_until_signal(signals, *engine, *server, options.drain_seconds);
  return 0;
}

}  // namespace

void add_serve(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  auto* command = app.add_subcommand("serve", "Serve a model over the OpenAI-compatible API.");
  command->footer(
      "Example:\n  headroom serve models/tiny-mla --port 8000 --kv fp8\n"
      "  curl http://127.0.0.1:8000/v1/completions -d '{\"prompt\":\"Once upon a time\"}'\n"
      "Sampling that a request does not state is the model's generation_config.json, then OpenAI's "
      "(temperature 1, top_p 1).\nThe API key may come from HEADROOM_API_KEY. SIGTERM drains.");
  command->add_option("model", options->model, "Directory of the checkpoint")->required();
  command->add_option("--host", options->http.host, "Address to listen on")->capture_default_str();
  command->add_option("--port", options->http.port, "Port; 0 takes a free one and prints it")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  command->add_option("--unix", options->http.unix_path, "Listen on a Unix socket instead");
  add_model_options(*command, *options);
  add_device_option(*command, *options);
  command
      ->add_option("--max-context", options->max_context,
                   "Tokens of a sequence, prompt and output (default: the model's)")
      ->check(CLI::Range(2, INT32_MAX));
  command->add_option("--max-sequences", options->engine.max_sequences, "Sequences at once")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command
      ->add_option("--max-step-tokens", options->engine.max_step_tokens, "New tokens of one step")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--prefill-chunk", options->prefill_chunk,
                   "Prompt tokens of a sequence in one step (default: 256, or what fits)")
      ->check(CLI::Range(1, 1 << 20));
  command->add_option("--max-waiting", options->engine.max_waiting, "Requests that may wait")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command
      ->add_option("--kv-pages", options->kv_pages,
                   "Cache pages (default: all sequences at full context, at most 40 % of memory)")
      ->check(CLI::Range(1, INT32_MAX));
  command->add_option("--threads", options->threads, "Compute threads (default: all cores)")
      ->check(CLI::Range(1, 4096));
  command->add_option("--io-threads", options->http.threads, "Threads for connections")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--served-name", options->served_name,
                      "Name of the model in the API (default: the directory's)");
  command->add_option("--api-key", options->api_key, "Key that /v1 and /headroom ask for");
  command->add_option("--cors-origin", options->http.cors_origin,
                      "Allow browsers of this origin (default: CORS off)");
  command
      ->add_option("--drain-seconds", options->drain_seconds,
                   "Time that running requests get after SIGTERM")
      ->check(number_in(0.0, 86400.0))
      ->capture_default_str();
  command->add_flag("--plan-only", options->plan_only, "Print the plan and exit");
  command->callback([options, &run] { run = [options] { return serve(*options); }; });
}

}  // namespace headroom::apps
