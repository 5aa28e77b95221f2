// Lines of requests.
#include "load/request_log.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "base/json_writer.h"

namespace headroom::load {

std::string request_line(const RequestRecord& r, const std::string& why, int64_t start_ns,
                         std::string_view run, size_t point, std::string_view load) {
  base::JsonWriter json;
  const auto at = [&](std::string_view name, const std::optional<int64_t>& time) {
    json.key(name);
    if (time)
      json.value(static_cast<double>(*time - start_ns) * 1e-6);
    else
      json.null();
  };
  json.begin_object()
      .field("run", run)
      .field("point", static_cast<int64_t>(point))
      .field("load", load);
  json.field("index", static_cast<int64_t>(r.index)).field("turn", static_cast<int64_t>(r.turn));
  json.field("slot", static_cast<int64_t>(r.slot)).field("warmup", r.warmup);
  json.key("failure");
  if (r.ok())
    json.null();
  else
    json.value(failure_name(r.failure, r.http_status));
  if (!r.ok()) json.field("why", why);
  json.field("http_status", r.http_status);
  at("intended_ms", r.intended);
  at("released_ms", r.released);
  at("sent_ms", r.sent);
  at("first_byte_ms", r.first_byte);
  at("first_token_ms", r.first_token);
  at("first_text_ms", r.first_text);
  at("last_token_ms", r.last_token);
  at("done_ms", r.done);
  json.field("input_tokens_known", r.prompt_intended).field("input_tokens", r.prompt_tokens);
  json.field("output_tokens_asked", r.output_intended).field("output_tokens", r.output_tokens);
  json.field("chunks", r.chunks).field("chunk_tokens", r.chunk_tokens);
  json.field("coalesced", r.coalesced).field("resent", r.again);
  json.end_object();
  return json.take();
}

namespace {

/// A run that was killed while it wrote: its half line must not swallow the next one.
bool ends_within_a_line(const std::string& path) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "r"),
                                                             std::fclose);
  return file && std::fseek(file.get(), -1, SEEK_END) == 0 && std::fgetc(file.get()) != '\n';
}

}  // namespace

base::Result<RequestLog> RequestLog::open(const std::string& path) {
  RequestLog log;
  log.path_ = path;
  log.file_.reset(std::fopen(path.c_str(), "a"));
  if (!log.file_)
    return base::fail(base::ErrorCode::kIo, "{}: cannot be written: {}", path,
                      std::strerror(errno));
  std::setvbuf(log.file_.get(), nullptr, _IONBF, 0);
  if (ends_within_a_line(path)) log.buffer_ = "\n";
  return log;
}

void RequestLog::add(const std::string& line) {
  constexpr size_t kMost = 64 << 10;
  buffer_ += line;
  buffer_ += '\n';
  if (buffer_.size() >= kMost) flush();
}

void RequestLog::flush() {
  if (buffer_.empty()) return;
  if (error_.empty() &&
      std::fwrite(buffer_.data(), 1, buffer_.size(), file_.get()) != buffer_.size())
    error_ = fmt::format("{}: cannot be written: {}", path_, std::strerror(errno));
  buffer_.clear();
}

}  // namespace headroom::load
