// The load client's loop without its measurements.
#include "eval/asker.h"

#include "base/clock.h"
#include "http/load_client.h"

namespace headroom::eval {
namespace {

constexpr size_t kMostBytes = size_t{256} << 20;

std::string failure_kind(http::StreamEnd end) {
  switch (end) {
    case http::StreamEnd::kComplete:
      return "";
    case http::StreamEnd::kConnect:
      return "connect";
    case http::StreamEnd::kReset:
      return "reset";
    case http::StreamEnd::kCut:
      return "cut";
    case http::StreamEnd::kBadResponse:
      return "bad response";
    case http::StreamEnd::kDeadline:
      return "timeout";
  }
  return "bad response";
}

class Handler final : public http::LoadHandler {
 public:
  Handler(const Asker& asker, size_t count, const std::function<std::string(size_t)>& body,
          const std::function<void(size_t, Answer)>& done, const std::atomic<bool>* stop)
      : asker_(asker), count_(count), body_(body), done_(done), stop_(stop) {}

  bool stopping() const { return stop_ != nullptr && stop_->load(); }
  bool ended() const { return stopping() || answered_ == count_; }
  void run(http::LoadClient& client) {
    client_ = &client;
    slots_.resize(client.slots());
    for (size_t slot = 0; slot < slots_.size(); ++slot) next(slot);
    // Short, so that a stop is noticed.
    while (!ended()) client.poll(base::now_ns() + 100'000'000);
  }

  void on_sent(size_t, int64_t, bool) override {}
  void on_head(size_t slot, const http::ResponseHead& head, int64_t) override {
    slots_[slot].answer.status = head.status;
  }
  void on_body(size_t slot, std::string_view bytes, int64_t) override {
    std::string& body = slots_[slot].answer.body;
    if (body.size() + bytes.size() <= kMostBytes) body += bytes;
  }
  void on_end(size_t slot, http::StreamEnd end, const std::string& why, int64_t at) override {
    Slot& s = slots_[slot];
    s.answer.seconds = static_cast<double>(at - s.started_ns) * 1e-9;
    s.answer.failure = failure_kind(end);
    s.answer.why = why;
    if (s.answer.failure.empty() && s.answer.status != 200) {
      s.answer.failure = fmt::format("http {}", s.answer.status);
      s.answer.why = excerpt(s.answer.body);
    }
    ++answered_;
    done_(s.index, std::move(s.answer));
    if (!stopping()) next(slot);
  }

 private:
  struct Slot {
    size_t index = 0;
    int64_t started_ns = 0;
    Answer answer;
  };
  void next(size_t slot) {
    if (sent_ == count_) return;
    Slot& s = slots_[slot];
    s = {sent_++, base::now_ns(), {}};
    client_->start(slot,
                   http::post_request(asker_.url, asker_.path, asker_.headers, body_(s.index)));
    client_->set_deadline(slot, s.started_ns + static_cast<int64_t>(asker_.timeout_s * 1e9));
  }

  const Asker& asker_;
  const size_t count_;
  const std::function<std::string(size_t)>& body_;
  const std::function<void(size_t, Answer)>& done_;
  const std::atomic<bool>* stop_;
  http::LoadClient* client_ = nullptr;
  std::vector<Slot> slots_;
  size_t sent_ = 0, answered_ = 0;
};

}  // namespace

base::Result<> Asker::ask(size_t count, const std::function<std::string(size_t)>& body,
                          const std::function<void(size_t, Answer)>& done,
                          const std::atomic<bool>* stop) const {
  if (count == 0) return {};
  Handler handler(*this, count, body, done, stop);
  http::LoadClientOptions options{.url = url, .kernel_stamps = false};
  HEADROOM_TRY(http::LoadClient client,
               http::LoadClient::create(std::move(options), std::min(concurrency, count), handler));
  handler.run(client);
  return {};
}

base::Result<Answer> Asker::ask_one(std::string body) const {
  Answer answer;
  HEADROOM_TRY_VOID(ask(
      1, [&](size_t) { return std::move(body); },
      [&](size_t, Answer got) { answer = std::move(got); }, nullptr));
  return answer;
}

std::string excerpt(std::string_view body) {
  std::string line;
  for (const char c : body.substr(0, 200)) line += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  if (body.size() > 200) line += "…";
  return line;
}

}  // namespace headroom::eval
