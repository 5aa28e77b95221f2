// URL parsing.
#include "http/url.h"

#include <charconv>

namespace headroom::http {

using base::ErrorCode;
using base::fail;

namespace {

std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : fmt::format("[{}]", host);
}

/// "unix:/file" or "unix:///file": the file, absolute, and nothing behind it.
base::Result<Url> parse_unix(std::string_view text) {
  constexpr size_t kLongest = 107;  // sockaddr_un holds no more
  Url url;
  url.host = "localhost";
  std::string_view file = text.substr(5);
  if (file.starts_with("//")) file.remove_prefix(2);
  if (!file.starts_with('/') || file.size() > kLongest)
    return fail(ErrorCode::kInvalidArgument,
                "URL {}: not unix: and the absolute path of a socket of at most {} bytes", text,
                kLongest);
  url.unix_socket = file;
  return url;
}

bool host_character(char c, bool literal) {
  const bool alphanumeric = (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z');
  return alphanumeric || c == '-' || c == '.' || (literal ? c == ':' || c == '%' : c == '_');
}

}  // namespace

std::string Url::authority() const {
  if (!unix_socket.empty()) return host;
  return port == (tls ? 443 : 80) ? bracketed(host) : address();
}

std::string Url::address() const {
  if (!unix_socket.empty()) return "unix:" + unix_socket;
  return fmt::format("{}:{}", bracketed(host), port);
}

std::string Url::text() const {
  if (!unix_socket.empty()) return address();
  return fmt::format("{}://{}{}", tls ? "https" : "http", authority(), path);
}

base::Result<Url> parse_url(std::string_view text) {
  Url url;
  std::string_view rest = text;
  if (rest.starts_with("unix:")) return parse_unix(text);
  if (const size_t end = rest.find("://"); end != std::string_view::npos) {
    const std::string_view scheme = rest.substr(0, end);
    if (scheme != "http" && scheme != "https")
      return fail(ErrorCode::kInvalidArgument, "URL {}: scheme {} is not http or https", text,
                  scheme);
    url.tls = scheme == "https";
    rest.remove_prefix(end + 3);
  }
  url.port = url.tls ? 443 : 80;
  const size_t slash = std::min(rest.find_first_of("/?#"), rest.size());
  std::string_view authority = rest.substr(0, slash);
  std::string_view path = rest.substr(slash);
  if (path.find_first_of("?#") != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument, "URL {}: a query or fragment has no place here", text);
  if (authority.find('@') != std::string_view::npos)
    return fail(ErrorCode::kInvalidArgument,
                "URL {}: a user name has no place here; pass a key as a header", text);
  const bool literal = authority.starts_with('[');
  size_t host_end = 0;
  if (literal) {
    host_end = authority.find(']');
    if (host_end == std::string_view::npos)
      return fail(ErrorCode::kInvalidArgument, "URL {}: no ] after the IPv6 address", text);
    url.host = authority.substr(1, host_end - 1);
    ++host_end;
  } else {
    host_end = std::min(authority.find(':'), authority.size());
    url.host = authority.substr(0, host_end);
  }
  if (url.host.empty()) return fail(ErrorCode::kInvalidArgument, "URL {}: no host", text);
  for (const char c : url.host)
    if (!host_character(c, literal))
      return fail(ErrorCode::kInvalidArgument, "URL {}: host {} has a character that no host has",
                  text, url.host);
  authority.remove_prefix(host_end);
  if (!authority.empty()) {
    const char* last = authority.data() + authority.size();
    const auto [end, error] = std::from_chars(authority.data() + 1, last, url.port);
    if (authority[0] != ':' || error != std::errc{} || end != last || url.port == 0)
      return fail(ErrorCode::kInvalidArgument, "URL {}: port {} is not 1 to 65535", text,
                  authority.substr(1));
  }
  for (const char c : path)
    if (static_cast<unsigned char>(c) <= ' ' || c == 127)
      return fail(ErrorCode::kInvalidArgument, "URL {}: the path has a space or control character",
                  text);
  while (path.ends_with('/')) path.remove_suffix(1);
  url.path = path;
  return url;
}

base::Result<Url> parse_server_url(std::string_view text) {
  HEADROOM_TRY(Url url, parse_url(text));
  if (!url.unix_socket.empty()) return url;
  // An endpoint's own address is what users copy from examples.
  for (const std::string_view endpoint : {"/chat/completions", "/completions"})
    if (url.path.ends_with(std::string("/v1").append(endpoint)))
      url.path.resize(url.path.size() - endpoint.size());
  if (url.path.ends_with("/v1")) url.path.resize(url.path.size() - 3);
  return url;
}

}  // namespace headroom::http
