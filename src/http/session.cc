// One connection: read a request, let a handler answer it, write; then the next.
#include "http/session.h"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <optional>

#include "base/log.h"
#include "http/sse_writer.h"

namespace headroom::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using Clock = std::chrono::steady_clock;
using ErrorCode = boost::system::error_code;

// Bytes that a client may send ahead while an answer is under way; above, we stop reading.
constexpr size_t kReadAhead = 64 << 10;
// After a refusal the rest of the request is read and dropped, so that the peer sees our answer
// and not a reset.
constexpr std::chrono::milliseconds kLingerTime{1000};
constexpr size_t kLingerBytes = 4 << 20;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(Socket socket, std::string peer, std::shared_ptr<IoContext> context,
          std::shared_ptr<Shared> shared)
      : context_(std::move(context)),
        shared_(std::move(shared)),
        socket_(std::move(socket)),
        timer_(context_->io),
        peer_(std::move(peer)),
        buffer_(shared_->options.max_header_bytes + kReadAhead) {}

  void start() {
    ErrorCode ignored;
    socket_.non_blocking(true, ignored);
    shared_->connections.fetch_add(1);
    context_->sessions.insert(shared_from_this());
    read_head();
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    const auto self = shared_from_this();
    const auto gone = std::move(gone_);
    forget_exchange();
    timer_.cancel();
    ErrorCode ignored;
    socket_.shutdown(Socket::shutdown_both, ignored);
    socket_.close(ignored);
    shared_->connections.fetch_sub(1);
    context_->sessions.erase(self);
    if (gone) gone();
  }
  bool idle() const { return reading_ && !parser_->got_some() && buffer_.size() == 0; }

 private:
  friend class Exchange;
  using Parser = beast::http::request_parser<beast::http::string_body>;

  // --- Reading ---

  void read_head() {
    if (context_->closing) return close();
    reading_ = true;
    parser_.emplace();
    parser_->header_limit(shared_->options.max_header_bytes);
    parser_->body_limit(shared_->options.max_body_bytes);
    set_deadline(shared_->options.idle_timeout);
    beast::http::async_read_header(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](ErrorCode error, size_t) { self->on_head(error); });
  }

  void on_head(ErrorCode error) {
    if (closed_) return;
    if (error) return reading_failed(error);
    set_deadline(shared_->options.request_timeout);
    const auto expect = parser_->get()[beast::http::field::expect];
    if (expect.empty() || parser_->is_done()) return read_body();
    if (!beast::iequals(expect, "100-continue")) return refuse(417, "unknown Expect header");
    // Nothing else is being written now.
    static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
    asio::async_write(socket_, asio::buffer(kContinue),
                      [self = shared_from_this()](ErrorCode failed, size_t) {
                        if (self->closed_) return;
                        if (failed) return self->close();
                        self->read_body();
                      });
  }

  void read_body() {
    beast::http::async_read(
        socket_, buffer_, *parser_,
        [self = shared_from_this()](ErrorCode error, size_t) { self->on_request(error); });
  }

  void on_request(ErrorCode error) {
    if (closed_) return;
    if (error) return reading_failed(error);
    clear_deadline();
    auto message = parser_->release();
    keep_alive_ = message.keep_alive();
    http_1_0_ = message.version() < 11;
    IncomingRequest request;
    request.method = std::string(message.method_string());
    const std::string_view target(message.target().data(), message.target().size());
    auto parsed = parse_target(target);
    if (!parsed) return refuse(400, "malformed request target");
    request.path = std::move(parsed->path);
    request.query = std::move(parsed->query);
    for (const auto& field : message) {
      request.headers.emplace_back(lower({field.name_string().data(), field.name_string().size()}),
                                   std::string(field.value().data(), field.value().size()));
    }
    request.body = std::move(message.body());
    request.peer = peer_;
    answer(request);
  }

  void reading_failed(ErrorCode code) {
    using beast::http::error;
    if (code == asio::error::operation_aborted && timed_out_)
      return refuse(408, "the request did not arrive in time");
    if (code == error::header_limit || code == error::buffer_overflow)
      return refuse(431, fmt::format("the request head is larger than {} bytes",
                                     shared_->options.max_header_bytes));
    if (code == error::body_limit)
      return refuse(413, fmt::format("the request body is larger than {} bytes",
                                     shared_->options.max_body_bytes));
    const bool ours =
        code.category() == beast::http::make_error_code(error::end_of_stream).category();
    if (ours && code != error::end_of_stream && code != error::partial_message)
      return refuse(400, fmt::format("malformed HTTP request: {}", code.message()));
    close();
  }

  // --- Answering ---

  void answer(const IncomingRequest& request);

  void refuse(int status, const std::string& message) {
    reading_ = false;
    linger_ = true;
    keep_alive_ = false;
    head_only_ = false;
    reply(shared_->router.failure(status, message));
  }

  void reply(Reply reply) {
    const bool no_body = reply.status == 204;
    if (context_->closing) keep_alive_ = false;
    HeadFacts facts;
    facts.keep_alive = keep_alive_;
    facts.content_length = no_body ? -1 : static_cast<long long>(reply.body.size());
    facts.cors_origin = shared_->options.cors_origin;
    out_ += response_head(reply, facts);
    if (!no_body && !head_only_) out_ += reply.body;
    complete_ = true;
    pump();
  }

  void start_events() {
    Reply reply{200, "", "text/event-stream; charset=utf-8"};
    // Proxies that buffer would turn a stream into one late block.
    reply.headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}};
    if (http_1_0_ || context_->closing) keep_alive_ = false;
    HeadFacts facts;
    facts.keep_alive = keep_alive_;
    facts.chunked = !http_1_0_;
    facts.cors_origin = shared_->options.cors_origin;
    streaming_ = true;
    out_ += response_head(reply, facts);
    pump();
  }

  void send_event(std::string_view data) {
    event_.clear();
    append_event(event_, data);
    if (http_1_0_) {
      out_ += event_;
    } else {
      append_chunk(out_, event_);
    }
    pump();
  }

  void end_events() {
    if (!http_1_0_) out_ += "0\r\n\r\n";
    complete_ = true;
    pump();
    if (!writing_) next();  // HTTP/1.0: everything was written before
  }

  void pump() {
    if (writing_ || closed_ || out_.empty()) return;
    writing_ = true;
    std::swap(out_, in_flight_);
    out_.clear();
    set_deadline(shared_->options.write_timeout);
    asio::async_write(
        socket_, asio::buffer(in_flight_),
        [self = shared_from_this()](ErrorCode error, size_t) { self->on_written(error); });
  }

  void on_written(ErrorCode error) {
    writing_ = false;
    in_flight_.clear();
    if (closed_) return;
    if (error) return close();
    clear_deadline();
    pump();
    if (!writing_ && complete_) return next();
    if (has_room() && room_) {
      const auto room = std::move(room_);
      room_ = nullptr;
      room();
    }
  }

  bool has_room() const { return out_.size() + in_flight_.size() < shared_->options.room_bytes; }

  void next() {
    const auto self = shared_from_this();
    if (watching_) {
      ErrorCode ignored;
      socket_.cancel(ignored);
    }
    forget_exchange();
    if (linger_) return linger();
    if (!keep_alive_) return close();
    read_head();
  }

  void forget_exchange() {
    exchange_ = 0;
    gone_ = nullptr;
    room_ = nullptr;
    watching_ = streaming_ = complete_ = false;
  }

  // --- While the handler thinks: is the client still there? ---

  void watch() {
    watching_ = true;
    socket_.async_wait(Socket::wait_read,
                       [self = shared_from_this(), serial = exchange_](ErrorCode error) {
                         if (self->closed_ || self->exchange_ != serial) return;
                         self->watching_ = false;
                         if (!error) self->on_readable();
                       });
  }

  void on_readable() {
    ErrorCode error;
    const size_t room = kReadAhead - std::min(kReadAhead, buffer_.size());
    const size_t n = socket_.read_some(buffer_.prepare(std::min<size_t>(room, 4096)), error);
    if (error && error != asio::error::would_block) return close();
    buffer_.commit(error ? 0 : n);
    if (buffer_.size() < kReadAhead) watch();
  }

  // --- The end of a connection whose request was not read whole ---

  void linger() {
    ErrorCode ignored;
    socket_.shutdown(Socket::shutdown_send, ignored);
    set_deadline(kLingerTime);
    linger_again();
  }
  void linger_again() {
    lingered_ += buffer_.size();
    buffer_.clear();
    if (lingered_ > kLingerBytes) return close();
    socket_.async_read_some(buffer_.prepare(16 << 10),
                            [self = shared_from_this()](ErrorCode error, size_t n) {
                              if (self->closed_) return;
                              if (error) return self->close();
                              self->buffer_.commit(n);
                              self->linger_again();
                            });
  }

  // --- Time: one timer, moved lazily, so that a token's write costs no timer call ---

  void set_deadline(std::chrono::milliseconds after) {
    deadline_ = Clock::now() + after;
    if (armed_ && armed_until_ <= *deadline_) return;
    arm(*deadline_);
  }
  void clear_deadline() { deadline_.reset(); }
  void arm(Clock::time_point until) {
    armed_ = true;
    armed_until_ = until;
    timer_.expires_at(until);
    timer_.async_wait([self = shared_from_this()](ErrorCode error) {
      if (!error && !self->closed_) self->on_timer();
    });
  }
  void on_timer() {
    armed_ = false;
    if (!deadline_) return;
    if (Clock::now() < *deadline_) return arm(*deadline_);
    deadline_.reset();
    if (reading_ && !timed_out_ && (parser_->got_some() || buffer_.size() > 0)) {
      timed_out_ = true;
      ErrorCode ignored;
      socket_.cancel(ignored);  // reading_failed() answers 408
      return;
    }
    close();
  }

  // First, so that it goes last: a responder that outlives the server keeps the session alive, and
  // socket and timer need their io_context until the end.
  const std::shared_ptr<IoContext> context_;
  const std::shared_ptr<Shared> shared_;
  Socket socket_;
  asio::steady_timer timer_;
  const std::string peer_;
  beast::flat_buffer buffer_;
  std::optional<Parser> parser_;

  bool closed_ = false, reading_ = false, timed_out_ = false;
  bool keep_alive_ = true, http_1_0_ = false, head_only_ = false, linger_ = false;
  size_t lingered_ = 0;

  // The request being answered: 0 is none. An Exchange with another number is of the past.
  uint64_t exchange_ = 0, exchanges_ = 0;
  bool streaming_ = false, complete_ = false, watching_ = false;
  std::function<void()> gone_, room_;

  std::string out_, in_flight_, event_;
  bool writing_ = false;

  std::optional<Clock::time_point> deadline_;
  Clock::time_point armed_until_;
  bool armed_ = false;
};

/// The handler's end of one request. It may outlive the connection.
class Exchange final : public Responder {
 public:
  Exchange(std::shared_ptr<Session> session, uint64_t serial)
      : session_(std::move(session)), serial_(serial) {}

  void reply(Reply reply) override {
    if (open() && !session_->streaming_) session_->reply(std::move(reply));
  }
  void start_events() override {
    if (open() && !session_->streaming_) session_->start_events();
  }
  void send_event(std::string_view data) override {
    if (open() && session_->streaming_) session_->send_event(data);
  }
  void end_events() override {
    if (open() && session_->streaming_) session_->end_events();
  }
  void on_gone(std::function<void()> fn) override {
    if (open()) {
      session_->gone_ = std::move(fn);
    } else if (session_->closed_ && fn) {
      fn();
    }
  }
  bool has_room() const override { return session_->has_room(); }
  void on_room(std::function<void()> fn) override {
    if (open()) session_->room_ = std::move(fn);
  }
  void post(std::function<void()> fn) override {
    asio::post(session_->context_->io, std::move(fn));
  }

 private:
  bool open() const {
    return !session_->closed_ && session_->exchange_ == serial_ && !session_->complete_;
  }
  const std::shared_ptr<Session> session_;
  const uint64_t serial_;
};

void Session::answer(const IncomingRequest& request) {
  reading_ = false;
  head_only_ = request.method == "HEAD";
  exchange_ = ++exchanges_;
  const uint64_t serial = exchange_;
  shared_->router.dispatch(request, std::make_shared<Exchange>(shared_from_this(), serial));
  if (!closed_ && exchange_ == serial && !complete_) watch();
}

void start_session(Socket socket, std::string peer, std::shared_ptr<IoContext> context,
                   std::shared_ptr<Shared> shared) {
  std::make_shared<Session>(std::move(socket), std::move(peer), std::move(context),
                            std::move(shared))
      ->start();
}

void close_sessions(IoContext& context, bool now) {
  context.closing = true;
  const std::vector<std::shared_ptr<Session>> open(context.sessions.begin(),
                                                   context.sessions.end());
  for (const auto& session : open) {
    if (now || session->idle()) session->close();
  }
}

}  // namespace headroom::http
