// Starting and stopping the server of the tests.
#include "results/postgres_server_test.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/file.h"
#include "results/postgres_connection.h"

namespace headroom::results {

namespace fs = std::filesystem;
using base::ErrorCode;
using base::fail;
using base::Result;

namespace {

Result<> shell(const std::string& command) {
  if (std::system(command.c_str()) != 0) return fail(ErrorCode::kInternal, "failed: {}", command);
  return {};
}

/// The newest installed version's programs.
std::string find_programs() {
  std::string best;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator("/usr/lib/postgresql", ignored))
    if (fs::exists(entry.path() / "bin/postgres", ignored))
      best = std::max(best, (entry.path() / "bin").string());
  return best;
}

}  // namespace

Result<TestPostgres*> TestPostgres::instance() {
  static TestPostgres server;
  static const Result<> started = server.start();
  if (!started) return tl::unexpected(started.error());
  return &server;
}

Result<> TestPostgres::start() {
  programs_ = find_programs();
  if (programs_.empty()) return fail(ErrorCode::kNotFound, "no PostgreSQL server is installed");
  std::string pattern = (fs::temp_directory_path() / "headroom-pg-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) return fail(ErrorCode::kIo, "{}: mkdtemp", pattern);
  folder_ = pattern;
  if (geteuid() == 0) {  // it does not run as root
    as_user_ = "setpriv --reuid=postgres --regid=postgres --clear-groups ";
    HEADROOM_TRY_VOID(shell(fmt::format("chown postgres {}", folder_)));
  }
  HEADROOM_TRY_VOID(
      shell(fmt::format("cd {0} && {1}{2}/initdb -D {0}/data -U postgres -A trust "
                        "-E UTF8 --no-sync >{0}/initdb.log 2>&1",
                        folder_, as_user_, programs_)));
  return control(fmt::format(
      "-w -l {0}/log -o \"-k {0} -c listen_addresses='' -c fsync=off\" start", folder_));
}

Result<> TestPostgres::control(const std::string& arguments) const {
  return shell(fmt::format("cd {0} && {1}{2}/pg_ctl -D {0}/data {3} >>{0}/ctl.log 2>&1", folder_,
                           as_user_, programs_, arguments));
}

Result<> TestPostgres::restart() {
  return control("-w -m immediate restart");
}

TestPostgres::~TestPostgres() {
  if (folder_.empty()) return;
  (void)control("-m immediate stop");
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

Result<std::string> TestPostgres::create_database() {
  const auto url = [&](const std::string& database) {
    return fmt::format("postgresql://postgres@/{}?host={}", database, folder_);
  };
  const std::string name = fmt::format("test{}", databases_++);
  HEADROOM_TRY(auto connection, PostgresConnection::connect(url("postgres")));
  HEADROOM_TRY_VOID(
      connection.run("creating", "CREATE DATABASE " + name).map([](PostgresConnection::Rows) {}));
  return url(name);
}

}  // namespace headroom::results
