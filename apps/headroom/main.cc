// Entry point: parses the command line, runs the chosen subcommand, prints errors as one line.
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

#include "base/log.h"
#include "base/version.h"
#include "commands.h"

namespace {

using headroom::apps::CommandResult;

int run_main(int argc, char** argv) {
  CLI::App app{
      "Headroom: serve MLA mixture-of-experts models, measure any OpenAI-compatible server,"
      " and show how far every operating point is from the hardware's limit."};
  app.name("headroom");
  app.set_version_flag("--version", headroom::base::version_line());
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::help);
  std::function<CommandResult()> run;
#define HEADROOM_ADD(name) headroom::apps::add_##name(app, run);
  HEADROOM_COMMANDS(HEADROOM_ADD)
#undef HEADROOM_ADD
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& e) {
    return app.exit(e);  // --help, --version
  } catch (const CLI::ParseError& e) {
    const auto names = [&](const CLI::App* sub) { return sub->check_name(argv[1]); };
    if (argc > 1 && argv[1][0] != '-' && app.get_subcommands(names).empty()) {
      fmt::print(stderr, "headroom: no subcommand `{}`; see `headroom --help`\n", argv[1]);
      return 2;
    }
    fmt::print(stderr, "headroom: {}\nTry `headroom{} --help`.\n", e.what(),
               argc > 1 && argv[1][0] != '-' ? fmt::format(" {}", argv[1]) : "");
    return 2;
  }
  const CommandResult result = run();
  if (result) return *result;
  const auto* chosen = app.get_subcommands().front();
  fmt::print(stderr, "headroom {}: {}\n", chosen->get_name(), result.error().message);
  return headroom::base::exit_status(result.error().code);
}

/// Output that did not get out is failed work, whatever the command thinks of itself.
int delivered(int status) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return status;
  if (errno != EPIPE)  // the reader had enough: nobody is left to be told
    fmt::print(stderr, "headroom: standard output: {}\n",
               errno != 0 ? std::generic_category().message(errno) : "an earlier write failed");
  return status == 0 ? 1 : status;
}

}  // namespace

int main(int argc, char** argv) {
  // A closed socket or pipe, or a file at its size limit, is an error value, not a death.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  try {
    return delivered(run_main(argc, argv));
  } catch (const std::exception& e) {
    const auto* system = dynamic_cast<const std::system_error*>(&e);
    if (system != nullptr && std::ferror(stdout) != 0) {  // fmt, writing to stdout
      if (system->code().value() != EPIPE)
        fmt::print(stderr, "headroom: standard output: {}\n", system->code().message());
      return 1;
    }
    fmt::print(stderr, "headroom: internal error: {}\n", e.what());
    return 1;
  }
}
