// RequestLog: a JSON line for every request as it ends, so that a crash keeps what came before.
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "base/result.h"
#include "load/request_record.h"

namespace headroom::load {

/// One line: the run, the point's number in it and its load, and every stage of the request in
/// milliseconds from the point's start; null for what did not happen.
std::string request_line(const RequestRecord& record, const std::string& why, int64_t start_ns,
                         std::string_view run, size_t point, std::string_view load);

class RequestLog {
 public:
  /// Appends to `path`. Errors name it (kIo).
  static base::Result<RequestLog> open(const std::string& path);

  /// Buffered: at most 64 KiB, or what came since the last flush().
  void add(const std::string& line);
  /// Hands the lines to the system. The first error is kept.
  void flush();
  /// What went wrong with the file, once; the measurement goes on without it.
  const std::string& error() const { return error_; }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::string path_, buffer_, error_;
  std::unique_ptr<std::FILE, Close> file_;
};

}  // namespace headroom::load
