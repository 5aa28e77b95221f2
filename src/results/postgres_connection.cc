// Talking to PostgreSQL.
#include "results/postgres_connection.h"

#include <cstring>

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::Result;

std::string one_line(const char* text) {
  std::string line(text == nullptr ? "" : text);
  for (const char* noise : {"ERROR:  ", "FATAL:  ", "PANIC:  "})
    if (const size_t at = line.find(noise); at != std::string::npos)
      line.erase(at, std::strlen(noise));
  if (const size_t detail = line.find('\n'); detail != std::string::npos) line.resize(detail);
  return line;
}

// By SQLSTATE: https://www.postgresql.org/docs/15/errcodes-appendix.html
ErrorCode code_of(std::string_view state) {
  if (state.empty()) return ErrorCode::kUnavailable;  // libpq's own word: the connection is gone
  if (state.starts_with("08") || state.starts_with("57")) return ErrorCode::kUnavailable;
  if (state == "55P03" || state == "40001" || state == "40P01") return ErrorCode::kUnavailable;
  if (state.starts_with("53")) return ErrorCode::kResourceExhausted;
  if (state == "25006" || state == "42501") return ErrorCode::kIo;
  return ErrorCode::kIo;
}

}  // namespace

std::string without_password(std::string_view url) {
  std::string out(url);
  const size_t scheme = out.find("://");
  if (scheme == std::string::npos) return out;
  const size_t end = std::min(out.find('/', scheme + 3), out.size());
  const size_t at = out.rfind('@', end);
  const size_t colon = out.find(':', scheme + 3);
  if (at != std::string::npos && at > scheme && colon < at)
    out.replace(colon + 1, at - colon - 1, "***");
  // sslpassword too.
  for (size_t key = 0; (key = out.find("password=", key)) != std::string::npos;) {
    key += std::strlen("password=");
    out.replace(key, std::min(out.find('&', key), out.size()) - key, "***");
  }
  return out;
}

Result<PostgresConnection> PostgresConnection::connect(const std::string& url) {
  PostgresConnection made;
  made.name_ = without_password(url);
  char* why = nullptr;
  PQconninfoOption* parsed = PQconninfoParse(url.c_str(), &why);
  if (parsed == nullptr) {
    auto bad = base::Error{ErrorCode::kInvalidArgument,
                           fmt::format("{}: not a PostgreSQL URL", made.name_)};
    PQfreemem(why);  // it may quote the password
    return tl::unexpected(std::move(bad));
  }
  PQconninfoFree(parsed);
  const char* keys[] = {"dbname", "connect_timeout", "application_name", "client_encoding",
                        nullptr};
  const char* values[] = {url.c_str(), "10", "headroom", "UTF8", nullptr};
  made.connection_.reset(PQconnectdbParams(keys, values, 1));
  if (PQstatus(made.connection_.get()) != CONNECTION_OK)
    return tl::unexpected(base::Error{
        ErrorCode::kUnavailable,
        fmt::format("{}: {}", made.name_, one_line(PQerrorMessage(made.connection_.get())))});
  PQsetNoticeProcessor(made.connection_.get(), [](void*, const char*) {}, nullptr);
  return made;
}

base::Error PostgresConnection::error(std::string_view doing, const PGresult* result) const {
  const char* state = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  const bool lost = PQstatus(connection_.get()) != CONNECTION_OK;
  const char* text = PQresultErrorMessage(result);
  if (text == nullptr || *text == 0) text = PQerrorMessage(connection_.get());
  return {lost ? ErrorCode::kUnavailable : code_of(state == nullptr ? "" : state),
          fmt::format("{}: {} the store: {}", name_, doing, one_line(text))};
}

Result<> PostgresConnection::revive(std::string_view doing) {
  if (PQstatus(connection_.get()) == CONNECTION_OK || in_transaction_) return {};
  PQreset(connection_.get());
  if (PQstatus(connection_.get()) == CONNECTION_OK) return {};
  return tl::unexpected(base::Error{ErrorCode::kUnavailable,
                                    fmt::format("{}: {} the store: {}", name_, doing,
                                                one_line(PQerrorMessage(connection_.get())))});
}

Result<PostgresConnection::Rows> PostgresConnection::run(
    std::string_view doing, const std::string& sql,
    const std::vector<std::string_view>& parameters) {
  HEADROOM_TRY_VOID(revive(doing));
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const std::string_view text : parameters) {
    values.push_back(text.data() == nullptr ? "" : text.data());
    lengths.push_back(static_cast<int>(text.size()));
    formats.push_back(1);  // with a length, so that a zero byte is refused and not an end
  }
  Rows rows(PQexecParams(connection_.get(), sql.c_str(), static_cast<int>(parameters.size()),
                         nullptr, values.data(), lengths.data(), formats.data(), 0));
  const ExecStatusType status = PQresultStatus(rows.get());
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    return tl::unexpected(error(doing, rows.get()));
  return rows;
}

Result<> PostgresConnection::each(std::string_view doing, const std::string& sql,
                                  const std::vector<std::string>& parameters,
                                  const std::function<Result<>(const PGresult*)>& row) {
  HEADROOM_TRY_VOID(revive(doing));
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
  for (const std::string& text : parameters) {
    values.push_back(text.c_str());
    lengths.push_back(static_cast<int>(text.size()));
    formats.push_back(1);
  }
  Result<> outcome;
  if (PQsendQueryParams(connection_.get(), sql.c_str(), static_cast<int>(parameters.size()),
                        nullptr, values.data(), lengths.data(), formats.data(), 0) == 0)
    return tl::unexpected(error(doing, nullptr));
  PQsetSingleRowMode(connection_.get());
  // Every result must be fetched before the connection can be used again.
  while (PGresult* next = PQgetResult(connection_.get())) {
    const Rows result(next);
    const ExecStatusType status = PQresultStatus(next);
    if (!outcome) continue;
    if (status == PGRES_SINGLE_TUPLE) {
      outcome = row(next);
    } else if (status != PGRES_TUPLES_OK) {
      outcome = tl::unexpected(error(doing, next));
    }
  }
  return outcome;
}

Result<> PostgresConnection::transaction(const std::function<Result<>()>& work) {
  Result<> outcome = run("writing", "BEGIN").map([](Rows) {});
  in_transaction_ = outcome.has_value();
  if (outcome) outcome = work();
  const bool worked = outcome.has_value();
  if (worked) outcome = run("writing", "COMMIT").map([](Rows) {});
  in_transaction_ = false;
  if (!outcome) {
    // A connection that breaks under COMMIT does not tell what became of it.
    outcome.error().message +=
        worked && PQstatus(connection_.get()) != CONNECTION_OK
            ? "; whether this write was kept is not known: write it again, nothing comes twice"
            : "; nothing of this write was kept, everything before it was";
    if (PQstatus(connection_.get()) == CONNECTION_OK) (void)run("writing", "ROLLBACK");
  }
  return outcome;
}

}  // namespace headroom::results
