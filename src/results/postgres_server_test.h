// For tests: a PostgreSQL server of our own in a temporary folder, where Debian's is installed.
#pragma once

#include <string>

#include "base/result.h"

namespace headroom::results {

class TestPostgres {
 public:
  /// Started on first use, stopped when the program ends. kNotFound: no PostgreSQL here.
  static base::Result<TestPostgres*> instance();

  /// A fresh database's URL.
  base::Result<std::string> create_database();
  /// As an operator would: at once, connections cut.
  base::Result<> restart();

  TestPostgres() = default;
  TestPostgres(const TestPostgres&) = delete;
  TestPostgres& operator=(const TestPostgres&) = delete;
  ~TestPostgres();

 private:
  base::Result<> start();
  base::Result<> control(const std::string& arguments) const;

  std::string programs_, folder_, as_user_;
  int databases_ = 0;
};

}  // namespace headroom::results
