// Router: exact paths and methods to handlers, with the right answer when there is none.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/incoming.h"

namespace headroom::http {

/// Filled before the server starts, read-only afterwards. HEAD is answered by GET's handler and
/// OPTIONS with the methods there are; an unknown path is 404, a wrong method 405 with Allow.
class Router {
 public:
  /// `failure` turns what goes wrong outside of a handler into a reply, in the API's error form.
  using Failure = std::function<Reply(int status, const std::string& message)>;
  /// Looks at every request that has a handler; a reply ends it there (a wrong key).
  using Gate = std::function<std::optional<Reply>(const IncomingRequest&)>;

  void add(std::string_view method, std::string_view path, Handler handler);
  void set_failure(Failure failure) { failure_ = std::move(failure); }
  void set_gate(Gate gate) { gate_ = std::move(gate); }

  void dispatch(const IncomingRequest& request, std::shared_ptr<Responder> responder) const;
  Reply failure(int status, const std::string& message) const;

 private:
  std::map<std::string, std::map<std::string, Handler, std::less<>>, std::less<>> routes_;
  Failure failure_;
  Gate gate_;
};

/// Splits a request target ("/a%20b?x=1", "http://host/a", "*") into a decoded path and a query.
/// Absent: not a target, a broken percent escape, or a NUL or control character in the path.
struct Target {
  std::string path, query;
};
std::optional<Target> parse_target(std::string_view target);

/// "Not Found" and so on.
std::string_view status_text(int status);

}  // namespace headroom::http
