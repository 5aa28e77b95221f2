// headroom mock: a scripted OpenAI server for trying and testing clients.
#include <sched.h>

#include <csignal>
#include <cstdio>

#include "base/clock.h"
#include "base/json_writer.h"
#include "commands.h"
#include "http/socket.h"
#include "load/mock/mock_server.h"

namespace headroom::apps {
namespace {

struct Options {
  std::string host = "127.0.0.1", script, socket, truth;
  int port = 8000;
  std::optional<int> cpu;
  size_t connections = 0;
  bool json = false, realtime = false;
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

/// Before the server's thread starts, which inherits both.
base::Result<> place_thread(const Options& o) {
  if (o.cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(static_cast<size_t>(*o.cpu), &set);
    if (sched_setaffinity(0, sizeof set, &set) != 0)
      return base::fail(base::ErrorCode::kInvalidArgument,
                        "--cpu {}: this process may not run there", *o.cpu);
  }
  if (o.realtime) {
    const sched_param priority{.sched_priority = 1};
    if (sched_setscheduler(0, SCHED_FIFO, &priority) != 0)
      fmt::print(stderr, "mock: no real-time priority here; tokens may leave late\n");
  }
  return {};
}

CommandResult run_command(const Options& o) {
  HEADROOM_TRY(load::MockScript script, load::parse_mock_script(o.script));
  // The signals are waited for here, so they must reach no other thread.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  HEADROOM_TRY_VOID(http::reserve_descriptors(o.connections));
  HEADROOM_TRY_VOID(place_thread(o));
  HEADROOM_TRY(const auto server,
               load::MockServer::start(std::move(script),
                                       o.socket.empty() ? o.host : "unix:" + o.socket, o.port));
  fmt::print(stderr, "mock: listening on {}\n", server->url());
  const timespec tick{.tv_sec = 0, .tv_nsec = 50'000'000};
  while (server->running()) {
    const int signal = sigtimedwait(&signals, nullptr, &tick);
    if (signal == SIGUSR1 && !o.truth.empty()) {
      HEADROOM_TRY_VOID(load::write_truths(o.truth, server->truths()));
    } else if (signal == SIGINT || signal == SIGTERM) {
      break;
    }
  }
  server->stop();
  server->wait();
  if (!o.truth.empty()) {
    HEADROOM_TRY_VOID(load::write_truths(o.truth, server->truths()));
  }
  if (const base::Histogram late = server->lateness(); !late.empty())
    fmt::print(stderr, "mock: {} writes, late by {:.3f} ms on average, {:.3f} ms at p99\n",
               late.count(), late.mean() * 1e-6, static_cast<double>(late.percentile(99)) * 1e-6);
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
  sub->add_option("--socket", options->socket, "listen on this unix socket instead of a port");
  sub->add_option(
      "--truth", options->truth,
      "write what was sent to this file, a JSON object a line, at the end and on SIGUSR1");
  sub->add_option("--connections", options->connections, "make room for so many descriptors");
  sub->add_option("--cpu", options->cpu, "run on this core only")->check(CLI::Range(0, 1023));
  sub->add_flag("--realtime", options->realtime, "real-time priority, where allowed");
  sub->add_option("--script", options->script, "key=value,... (below)");
  sub->add_flag("--json", options->json, "print what was really sent when it ends (Ctrl-C)");
  sub->footer("Keys of a script:\n" + load::mock_script_help() +
              "Example:\n  headroom mock --port 8000 --script ttft=50,interval=10,lines=crlf");
  sub->callback([options, &run] { run = [options] { return run_command(*options); }; });
}

}  // namespace headroom::apps
