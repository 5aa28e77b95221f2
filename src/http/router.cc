// Routing and targets.
#include "http/router.h"

#include <fmt/format.h>

#include <exception>

#include "base/log.h"

namespace headroom::http {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> percent_decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]);
      const int low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) return std::nullopt;
    out += c;
  }
  return out;
}

}  // namespace

std::string_view IncomingRequest::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) return value;
  }
  return {};
}

std::optional<Target> parse_target(std::string_view target) {
  // The absolute form that proxies send.
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!target.starts_with(scheme)) continue;
    const size_t slash = target.find('/', scheme.size());
    target = slash == std::string_view::npos ? "/" : target.substr(slash);
  }
  if (target != "*" && !target.starts_with('/')) return std::nullopt;
  const size_t mark = target.find('?');
  auto path = percent_decode(target.substr(0, mark));
  if (!path) return std::nullopt;
  const std::string_view query =
      mark == std::string_view::npos ? std::string_view() : target.substr(mark + 1);
  return Target{std::move(*path), std::string(query)};
}

void Router::add(std::string_view method, std::string_view path, Handler handler) {
  routes_[std::string(path)][std::string(method)] = std::move(handler);
}

Reply Router::failure(int status, const std::string& message) const {
  if (failure_) return failure_(status, message);
  return {status, message + "\n", "text/plain; charset=utf-8"};
}

void Router::dispatch(const IncomingRequest& request, std::shared_ptr<Responder> responder) const {
  const auto route = routes_.find(request.path);
  if (request.method == "OPTIONS" && (request.path == "*" || route != routes_.end())) {
    Reply reply{204, "", ""};
    std::string allow;
    if (route != routes_.end()) {
      for (const auto& [method, handler] : route->second) allow += method + ", ";
      if (route->second.contains("GET")) allow += "HEAD, ";
    }
    reply.headers.emplace_back("Allow", allow + "OPTIONS");
    responder->reply(std::move(reply));
    return;
  }
  if (route == routes_.end()) {
    responder->reply(failure(404, fmt::format("no such path: {}", request.path)));
    return;
  }
  const std::string_view method =
      request.method == "HEAD" ? std::string_view("GET") : std::string_view(request.method);
  const auto handler = route->second.find(method);
  if (handler == route->second.end()) {
    std::string allow;
    for (const auto& [name, unused] : route->second) {
      allow += name + ", ";
      if (name == "GET") allow += "HEAD, ";
    }
    Reply reply = failure(405, fmt::format("{} is not allowed on {}; allowed: {}OPTIONS",
                                           request.method, request.path, allow));
    reply.headers.emplace_back("Allow", allow + "OPTIONS");
    responder->reply(std::move(reply));
    return;
  }
  if (gate_) {
    if (auto denied = gate_(request)) {
      responder->reply(std::move(*denied));
      return;
    }
  }
  try {
    handler->second(request, responder);
  } catch (const std::exception& e) {
    base::log_error("{} {}: {}", request.method, request.path, e.what());
    responder->reply(failure(500, "internal error"));
  }
}

std::string_view status_text(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    default:
      return "Status";
  }
}

}  // namespace headroom::http
