// The store's PostgreSQL database.
#include "results/postgres_connection.h"
#include "results/store_sql.h"

namespace headroom::results {
namespace {

using base::ErrorCode;
using base::fail;
using base::Result;
using Rows = PostgresConnection::Rows;

std::string text_expression(std::string_view path) {
  std::string keys(path);
  for (char& c : keys)
    if (c == '.') c = ',';
  return fmt::format("lower(coalesce(payload #>> '{{{}}}', '') COLLATE \"C\")", keys);
}

constexpr Dialect kDialect = {
    text_expression,
    [](size_t number) { return fmt::format("${}", number); },
};

std::string view_expressions() {
  std::vector<std::string> parts;
  for (const char* path : kViewIndex) parts.push_back("(" + text_expression(path) + ")");
  return fmt::format("{}", fmt::join(parts, ", "));
}

// Each runs once, in order, and is never edited after a release. The payload's type is json, not
// jsonb: it keeps the text as it was, and so its digest.
std::vector<std::string> migrations() {
  return {fmt::format(
      R"sql(
CREATE TABLE records(
  seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  id text COLLATE "C" NOT NULL UNIQUE,
  run text COLLATE "C" NOT NULL,
  label text COLLATE "C" NOT NULL,
  date text COLLATE "C" NOT NULL,
  added text COLLATE "C" NOT NULL,
  origin text NOT NULL,
  payload json NOT NULL
);
CREATE INDEX records_by_date ON records(date);
CREATE INDEX records_by_run_folded ON records(lower(run));
CREATE INDEX records_by_label_folded ON records(lower(label));
CREATE INDEX records_by_view ON records({}, date);
CREATE INDEX records_by_fingerprint ON records(({}));
CREATE FUNCTION records_stay() RETURNS trigger LANGUAGE plpgsql AS
  $$ BEGIN RAISE EXCEPTION 'records are never deleted and never change'; END $$;
CREATE TRIGGER records_stay BEFORE DELETE OR UPDATE OR TRUNCATE ON records
  EXECUTE FUNCTION records_stay();
CREATE TABLE quarantine(
  record_id text COLLATE "C" PRIMARY KEY REFERENCES records(id),
  reason text NOT NULL,
  since text NOT NULL
);
)sql",
      view_expressions(), text_expression("server.recipe_fingerprint"))};
}

class PostgresBackend final : public Backend {
 public:
  explicit PostgresBackend(PostgresConnection connection) : connection_(std::move(connection)) {}

  const std::string& name() const override { return connection_.name(); }

  Result<> prepare(bool writer, const std::string& now) {
    const auto steps = migrations();
    const auto known = static_cast<int>(steps.size());
    HEADROOM_TRY(const int version, schema_version());
    if (version > known)
      return fail(ErrorCode::kUnsupported,
                  "{}: written by a newer Headroom (schema {}; this one knows up to {}); upgrade "
                  "to read it",
                  name(), version, known);
    if (!writer && version == 0)
      return fail(ErrorCode::kNotFound, "{}: has no Headroom store yet", name());
    if (writer && version < known)
      HEADROOM_TRY_VOID(connection_.transaction([&] { return migrate(steps, now); }));
    writer_ = writer;
    return {};
  }

  Result<AddCounts> insert(std::span<const StoredRow> rows) override {
    AddCounts counts;
    const auto work = [&]() -> Result<> {
      for (const StoredRow& row : rows) {
        HEADROOM_TRY(const Rows done,
                     connection_.run("writing",
                                     "INSERT INTO headroom.records(id, run, label, date, added, "
                                     "origin, payload) VALUES ($1::text, $2::text, $3::text, "
                                     "$4::text, $5::text, $6::text, $7::json) ON CONFLICT(id) DO "
                                     "NOTHING",
                                     {row.id, row.run, row.label, row.date, row.added, row.origin,
                                      row.payload}));
        ++(std::string_view(PQcmdTuples(done.get())) == "1" ? counts.added : counts.known);
      }
      return {};
    };
    HEADROOM_TRY_VOID(transaction(work));
    return counts;
  }

  Result<> select(const RowFilter& filter, const Visit& visit) override {
    BoundQuery query = select_query(filter, kDialect);
    HEADROOM_TRY_VOID(command("SET search_path = headroom"));
    return connection_.each(
        "reading", query.sql, query.values, [&](const PGresult* result) -> Result<> {
          StoredRow row;
          int column = 0;
          for (std::string* text : {&row.id, &row.run, &row.label, &row.date, &row.added,
                                    &row.origin, &row.payload, &row.quarantine}) {
            text->assign(PQgetvalue(result, 0, column),
                         static_cast<size_t>(PQgetlength(result, 0, column)));
            ++column;
          }
          return visit(std::move(row));
        });
  }

  Result<bool> quarantine(std::string_view id, std::string_view reason,
                          std::string_view since) override {
    bool known = false;
    HEADROOM_TRY_VOID(transaction([&]() -> Result<> {
      HEADROOM_TRY(
          const Rows found,
          connection_.run("writing", "SELECT 1 FROM headroom.records WHERE id = $1::text", {id}));
      known = PQntuples(found.get()) == 1;
      if (!known) return {};
      return connection_
          .run("writing",
               "INSERT INTO headroom.quarantine AS q(record_id, reason, since) VALUES ($1::text, "
               "$2::text, $3::text) ON CONFLICT(record_id) DO UPDATE SET reason = q.reason || '; ' "
               "|| excluded.reason WHERE position(excluded.reason IN q.reason) = 0",
               {id, reason, since})
          .map([](Rows) {});
    }));
    return known;
  }

  /// The server checks its own pages (data checksums) when it reads them; verify() reads them all.
  Result<std::vector<std::string>> check() override { return std::vector<std::string>(); }

  Result<> vacuum() override {
    return command("VACUUM headroom.records").and_then([&] {
      return command("VACUUM headroom.quarantine");
    });
  }

  Result<> backup(const std::filesystem::path&) override {
    return fail(ErrorCode::kUnsupported,
                "{}: back it up with pg_dump --schema=headroom, or copy the records into a file "
                "with headroom export and import",
                name());
  }

  void set_busy_timeout_ms(int milliseconds) override {
    (void)command(fmt::format("SET lock_timeout = {}", milliseconds));
  }

  Result<> limit_pages(int64_t) override {
    return fail(ErrorCode::kUnsupported, "{}: has no limit of pages", name());
  }

 private:
  Result<> migrate(const std::vector<std::string>& steps, const std::string& now) {
    // "HdRm": one migration at a time.
    HEADROOM_TRY_VOID(command("SELECT pg_advisory_xact_lock(1214534253)"));
    HEADROOM_TRY(const int from, schema_version());
    HEADROOM_TRY_VOID(command("CREATE SCHEMA IF NOT EXISTS headroom"));
    HEADROOM_TRY_VOID(command("SET LOCAL search_path = headroom"));
    HEADROOM_TRY_VOID(
        command("CREATE TABLE IF NOT EXISTS schema_migrations(version integer PRIMARY KEY, "
                "applied text NOT NULL)"));
    for (auto version = static_cast<size_t>(from); version < steps.size(); ++version) {
      HEADROOM_TRY_VOID(script(steps[version]));
      HEADROOM_TRY_VOID(command(
          fmt::format("INSERT INTO schema_migrations VALUES ({}, '{}')", version + 1, now)));
    }
    return {};
  }

  Result<> command(const std::string& sql) {
    return connection_.run("opening", sql).map([](Rows) {});
  }

  /// Several statements; a DO block keeps them one command.
  Result<> script(const std::string& sql) {
    return command(fmt::format("DO $headroom$ BEGIN {} END $headroom$", sql));
  }

  Result<> transaction(const std::function<Result<>()>& work) {
    if (!writer_) return fail(ErrorCode::kIo, "{}: writing the store: opened read-only", name());
    return connection_.transaction(work);
  }

  Result<int> schema_version() {
    HEADROOM_TRY(const Rows there,
                 connection_.run("opening", "SELECT to_regclass('headroom.schema_migrations')"));
    if (PQgetisnull(there.get(), 0, 0) != 0) return 0;
    HEADROOM_TRY(
        const Rows rows,
        connection_.run("opening",
                        "SELECT coalesce(max(version), 0) FROM headroom.schema_migrations"));
    return std::atoi(PQgetvalue(rows.get(), 0, 0));
  }

  PostgresConnection connection_;
  bool writer_ = false;
};

}  // namespace

Result<std::unique_ptr<Backend>> open_postgres(const std::string& url, Store::Mode mode,
                                               const std::string& now) {
  HEADROOM_TRY(PostgresConnection connection, PostgresConnection::connect(url));
  auto backend = std::make_unique<PostgresBackend>(std::move(connection));
  HEADROOM_TRY_VOID(backend->prepare(mode != Store::Mode::kRead, now));
  return backend;
}

}  // namespace headroom::results
