// The demo's servers, started by the launcher of the sweeps.
#include "demo_server.h"

namespace headroom::apps {

base::Result<DemoServer> DemoServer::start(const std::filesystem::path& model,
                                           const std::vector<std::string>& arguments,
                                           const std::filesystem::path& log,
                                           const std::atomic<bool>& stop) {
  HEADROOM_TRY(const auto program, sweep::own_program());
  HEADROOM_TRY(const int port, sweep::free_port());
  sweep::Launch launch;
  launch.process.emplace();
  launch.process->command = {
      program.string(),  "serve", model.string(), "--port", std::to_string(port),
      "--drain-seconds", "0"};
  launch.process->command.insert(launch.process->command.end(), arguments.begin(), arguments.end());
  launch.process->log = log;
  launch.process->grace_s = 2;
  launch.url = fmt::format("http://127.0.0.1:{}", port);
  HEADROOM_TRY(sweep::Server server,
               sweep::Server::start(launch, {.start_s = 120, .health_s = 120}, &stop));
  return DemoServer(std::move(server));
}

}  // namespace headroom::apps
