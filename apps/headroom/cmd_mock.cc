// headroom mock: a scripted OpenAI server for trying and testing clients.
#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "base/json_writer.h"
#include "commands.h"
#include "load/mock/mock_server.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string host = "127.0.0.1", script;
  int port = 8000;
  bool json = false;
};

void print_truths(const load::MockServer& server) {
  base::JsonWriter json;
  json.begin_object().field("url", server.url()).field("most_in_flight", server.most_in_flight());
  json.field("connections", server.connections()).key("requests").begin_array();
  for (const load::MockTruth& truth : server.truths()) {
    json.begin_object().field("request_id", truth.request_id);
    json.field("prompt_tokens", truth.prompt_tokens).field("tokens", truth.tokens);
    json.field("chunks", truth.chunks).field("whole", truth.whole);
    json.key("ttft_ms");
    if (truth.tokens > 0)
      json.value(static_cast<double>(truth.first_token - truth.received) * 1e-6);
    else
      json.null();
    json.key("tpot_ms");
    if (truth.tokens > 1)
      json.value(static_cast<double>(truth.last_token - truth.first_token) * 1e-6 /
                 static_cast<double>(truth.tokens - 1));
    else
      json.null();
    json.end_object();
  }
  json.end_array().end_object();
  fmt::print("{}\n", json.text());
}

CommandResult run_command(const Options& o) {
  HEADROOM_TRY(load::MockScript script, load::parse_mock_script(o.script));
  // The signals are waited for here, so they must reach no other thread.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  HEADROOM_TRY(const auto server, load::MockServer::start(std::move(script), o.host, o.port));
  fmt::print(stderr, "mock: listening on {}\n", server->url());
  const timespec tick{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (server->running() && sigtimedwait(&signals, nullptr, &tick) < 0) {
  }
  server->stop();
  server->wait();
  if (o.json) print_truths(*server);
  return 0;
}

}  // namespace

void add_mock(CLI::App& app, std::function<CommandResult()>& run) {
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("mock", "a scripted OpenAI server for testing clients");
  sub->add_option("--host", options->host, "address to listen on")->capture_default_str();
  sub->add_option("--port", options->port, "0 takes a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  sub->add_option("--script", options->script, "key=value,... (below)");
  sub->add_flag("--json", options->json, "print what was really sent when it ends (Ctrl-C)");
  sub->footer("Keys of a script:\n" + load::mock_script_help() +
              "Example:\n  headroom mock --port 8000 --script ttft=50,interval=10,lines=crlf");
  sub->callback([options, &run] { run = [options] { return run_command(*options); }; });
}

}  // namespace headroom::apps
