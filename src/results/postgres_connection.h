// A connection to PostgreSQL: libpq behind values that close themselves and errors of one line.
#pragma once

#include <libpq-fe.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace headroom::results {

/// One thread at a time. A connection that was lost is made anew by the next call outside a
/// transaction.
class PostgresConnection {
 public:
  /// Errors: kInvalidArgument for a URL that libpq does not understand, kUnavailable when the
  /// server does not answer or refuses.
  static base::Result<PostgresConnection> connect(const std::string& url);

  struct Free {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Rows = std::unique_ptr<PGresult, Free>;

  /// `doing`: "reading", "writing", … for the error's text. Parameters are text.
  base::Result<Rows> run(std::string_view doing, const std::string& sql,
                         const std::vector<std::string_view>& parameters = {});
  /// Row after row, without the whole answer in memory.
  base::Result<> each(std::string_view doing, const std::string& sql,
                      const std::vector<std::string>& parameters,
                      const std::function<base::Result<>(const PGresult*)>& row);
  /// BEGIN … COMMIT around `work`; rolled back when it fails.
  base::Result<> transaction(const std::function<base::Result<>()>& work);

  const std::string& name() const { return name_; }  // the URL without its password

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  base::Error error(std::string_view doing, const PGresult* result) const;
  base::Result<> revive(std::string_view doing);

  std::unique_ptr<PGconn, Finish> connection_;
  std::string name_;
  bool in_transaction_ = false;
};

/// The URL with its password as "***".
std::string without_password(std::string_view url);

}  // namespace headroom::results
