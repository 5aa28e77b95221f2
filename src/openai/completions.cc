// POST /v1/completions: from the body to engine requests, and from tokens to chunks or one answer.
#include "openai/completions_json.h"
#include "openai/completions_request.h"
#include "openai/service.h"

#include "base/clock.h"

namespace headroom::openai {
namespace {

int64_t code_points(std::string_view text) {
  int64_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

// Above it JSON and tokens take long enough that other connections of the I/O thread would notice.
constexpr size_t kInlineBody = 8 << 10;

struct Prepared {
  CompletionsRequest request;
  std::vector<std::vector<int32_t>> ids;  // of each prompt
};

base::Result<std::vector<int32_t>> prompt_ids(const Prompt& prompt, const ServedModel& model,
                                              bool add_special) {
  if (const auto* ids = std::get_if<std::vector<int32_t>>(&prompt)) return *ids;
  if (!model.encode)
    return base::fail(base::ErrorCode::kInvalidArgument,
                      "the served model has no tokenizer: the prompt must be token ids");
  const auto& text = std::get<std::string>(prompt);
  if (model.longest_token > 0) {
    const size_t least = (text.size() + model.longest_token - 1) / model.longest_token;
    if (least > static_cast<size_t>(model.max_context))
      return base::fail(base::ErrorCode::kInvalidArgument,
                        "the prompt has {} bytes, which are {} tokens at least; the context holds "
                        "{}",
                        text.size(), least, model.max_context);
  }
  return model.encode(text, add_special);
}

ApiError in_prompt(size_t index, size_t count, const base::Error& error) {
  ApiError out = api_error(error);
  if (count > 1) out.message = fmt::format("prompt[{}]: {}", index, out.message);
  if (out.status == 400) out.param = "prompt";
  return out;
}

/// Any thread.
ApiResult<Prepared> prepare(std::string_view body, const ServedModel& model) {
  auto request = parse_completions(body, model);
  if (!request) return tl::unexpected(request.error());
  Prepared out{std::move(*request), {}};
  for (const Prompt& prompt : out.request.prompts) {
    auto ids = prompt_ids(prompt, model, out.request.add_special_tokens);
    if (!ids)
      return tl::unexpected(in_prompt(out.ids.size(), out.request.prompts.size(), ids.error()));
    out.ids.push_back(std::move(*ids));
  }
  return out;
}

/// One call, on the connection's I/O thread. The responder's on_gone holds it until the answer is
/// complete; the engine's streams know it weakly.
class CompletionsCall : public std::enable_shared_from_this<CompletionsCall> {
 public:
  CompletionsCall(std::shared_ptr<Service> service, std::shared_ptr<http::Responder> responder,
                  Prepared prepared)
      : service_(std::move(service)),
        responder_(std::move(responder)),
        request_(std::move(prepared.request)),
        ids_(std::move(prepared.ids)) {}

  void start() {
    facts_.id = service_->new_id("cmpl");
    facts_.model = service_->model().name;
    facts_.created = base::unix_ns() / 1'000'000'000;
    facts_.logprobs = request_.sampling.logprobs.has_value();
    facts_.token_ids = request_.return_token_ids;
    if (auto error = submit_all()) {
      cancel_all();
      responder_->reply(error_reply(*error));
      return;
    }
    responder_->on_gone([self = shared_from_this()] { self->cancel_all(); });
    if (request_.stream) responder_->start_events();
  }

 private:
  struct Choice {
    std::vector<int32_t> prompt_ids;  // kept when they, or their scores, are to be shown
    bool scored = false;              // the prompt's scores are in `part`
    std::shared_ptr<engine::RequestStream> stream;
    ChoicePart part;  // not sent yet
    uint64_t seed = 0;
    int64_t offset = 0;
    bool begun = false, done = false;
  };

  std::optional<ApiError> submit_all() {
    choices_.resize(request_.prompts.size());
    for (size_t i = 0; i < choices_.size(); ++i) {
      std::vector<int32_t>& ids = ids_[i];
      Choice& choice = choices_[i];
      choice.part.index = static_cast<int32_t>(i);
      if (request_.echo) choice.part.text = echo_of(request_.prompts[i], ids);
      if (facts_.token_ids || request_.sampling.prompt_logprobs) choice.prompt_ids = ids;
      usage_.prompt += static_cast<int64_t>(ids.size());
      choice.stream = std::make_shared<engine::RequestStream>(
          [weak = weak_from_this(), responder = responder_, i] {
            responder->post([weak, i] {
              if (const auto self = weak.lock()) self->pump(i);
            });
          });
      engine::Request request{fmt::format("{}-{}", facts_.id, i), std::move(ids),
                              request_.sampling};
      // Drawn for each: equal prompts of one request are different samples.
      if (!request_.seed_given) request.sampling.seed = service_->new_seed();
      choice.seed = request.sampling.seed;
      if (auto submitted = service_->engine().submit(std::move(request), choice.stream);
          !submitted) {
        choice.stream = nullptr;
        return in_prompt(i, choices_.size(), submitted.error());
      }
    }
    return std::nullopt;
  }

  std::string echo_of(const Prompt& prompt, const std::vector<int32_t>& ids) const {
    if (const auto* text = std::get_if<std::string>(&prompt)) return *text;
    std::string bytes;
    if (service_->model().token_bytes) {
      for (const int32_t id : ids) {
        if (id >= 0 && id < service_->model().vocab) bytes += service_->model().token_bytes(id);
      }
    }
    return bytes;
  }

  void cancel_all() {
    for (const Choice& choice : choices_) {
      if (choice.stream) choice.stream->cancel();
    }
  }

  void pump(size_t index) {
    if (ended_) return;
    Choice& choice = choices_[index];
    if (request_.stream && !responder_->has_room()) {
      // The tokens stay in the engine's stream until the client has taken what was sent.
      if (!waiting_) {
        waiting_ = true;
        responder_->on_room([self = shared_from_this()] {
          self->waiting_ = false;
          for (size_t i = 0; i < self->choices_.size(); ++i) self->pump(i);
        });
      }
      return;
    }
    if (choice.done) return;
    choice.stream->drain(batch_);
    if (batch_.finish || !batch_.tokens.empty()) add_prompt(choice);
    for (size_t i = 0; i < batch_.tokens.size(); ++i) {
      add(choice, batch_.tokens[i]);
      const bool last = i + 1 == batch_.tokens.size() && batch_.finish;
      if (request_.stream && !batch_.tokens[i].held && !last) send(choice);
    }
    if (batch_.finish) finish(choice, std::move(*batch_.finish));
  }

  /// Once, in front of the choice's first token.
  void add_prompt(Choice& choice) {
    if (choice.scored || !request_.sampling.prompt_logprobs) return;
    choice.scored = true;
    const std::vector<int32_t>& ids = choice.prompt_ids;
    if (batch_.prompt_scores.size() + 1 != ids.size()) return;  // the request failed
    if (request_.echo && facts_.logprobs) {
      // A BOS that the tokenizer put in front is a token but no text.
      size_t at = 0;
      const std::string_view echoed = choice.part.text;
      for (size_t i = 0; i < ids.size(); ++i) {
        const model::TokenScore* score = i == 0 ? nullptr : &batch_.prompt_scores[i - 1];
        choice.part.logprobs.add_prompt(ids[i], score, choice.offset, service_->model());
        const std::string_view bytes =
            service_->model().token_bytes ? service_->model().token_bytes(ids[i]) : "";
        if (!echoed.substr(at).starts_with(bytes)) continue;
        at += bytes.size();
        choice.offset += code_points(bytes);
      }
    }
    if (request_.echo) choice.offset = code_points(choice.part.text);
    if (request_.prompt_logprobs)
      choice.part.prompt = PromptScores{ids, std::move(batch_.prompt_scores)};
  }

  void add(Choice& choice, engine::TokenOutput& token) {
    if (facts_.logprobs) choice.part.logprobs.add(token, choice.offset, service_->model());
    choice.offset += code_points(token.text);
    choice.part.text += token.text;
    if (facts_.token_ids) choice.part.ids.push_back(token.id);
  }

  void send(Choice& choice) {
    json_.clear();
    begin_answer(json_, facts_);
    write_choice(json_, facts_, choice.part, choice.begun ? nullptr : &choice.prompt_ids,
                 service_->model());
    json_.end_array();
    if (request_.include_usage) json_.key("usage").null();
    json_.end_object();
    responder_->send_event(json_.text());
    choice.begun = true;
    const int32_t index = choice.part.index;
    choice.part = {};
    choice.part.index = index;
  }

  void finish(Choice& choice, engine::Finish finish) {
    choice.done = true;
    if (finish.reason == engine::FinishReason::kError ||
        finish.reason == engine::FinishReason::kCancelled) {
      fail(finish);
      return;
    }
    usage_.completion += finish.completion_tokens;
    choice.part.finish = std::move(finish);
    if (request_.sampling.temperature > 0) choice.part.seed = choice.seed;
    if (request_.stream) send(choice);
    for (const Choice& other : choices_) {
      if (!other.done) return;
    }
    ended_ = true;
    if (request_.stream) {
      end_stream();
    } else {
      reply_whole();
    }
  }

  void fail(const engine::Finish& finish) {
    ended_ = true;
    cancel_all();
    const bool cancelled = finish.reason == engine::FinishReason::kCancelled;
    const ApiError error = api_error(cancelled ? 503 : 500, finish.error);
    if (request_.stream) {
      // The status is long gone; the client learns by an event, and [DONE] does not follow.
      responder_->send_event(error_json(error));
      responder_->end_events();
    } else {
      responder_->reply(error_reply(error));
    }
  }

  void end_stream() {
    if (request_.include_usage) {
      json_.clear();
      begin_answer(json_, facts_);
      json_.end_array();
      usage_.write(json_);
      json_.end_object();
      responder_->send_event(json_.text());
    }
    responder_->send_event("[DONE]");
    responder_->end_events();
  }

  void reply_whole() {
    json_.clear();
    begin_answer(json_, facts_);
    for (const Choice& choice : choices_)
      write_choice(json_, facts_, choice.part, &choice.prompt_ids, service_->model());
    json_.end_array();
    usage_.write(json_);
    json_.end_object();
    responder_->reply({200, json_.take()});
  }

  const std::shared_ptr<Service> service_;
  const std::shared_ptr<http::Responder> responder_;
  CompletionsRequest request_;
  std::vector<std::vector<int32_t>> ids_;  // moved to the engine one by one
  AnswerFacts facts_;
  Usage usage_;
  std::vector<Choice> choices_;
  engine::RequestStream::Batch batch_;
  base::JsonWriter json_;
  bool waiting_ = false;  // for the client to take what was sent
  bool ended_ = false;
};

void answer(const std::shared_ptr<Service>& service, std::shared_ptr<http::Responder> responder,
            ApiResult<Prepared> prepared) {
  if (!prepared) {
    responder->reply(error_reply(prepared.error()));
    return;
  }
  std::make_shared<CompletionsCall>(service, std::move(responder), std::move(*prepared))->start();
}

/// Prepares on the worker and comes back to the I/O thread.
void answer_later(const std::shared_ptr<Service>& service,
                  const std::shared_ptr<http::Responder>& responder, const std::string& body) {
  // The service outlives its worker's jobs, but must not die on the worker's thread.
  const bool taken = service->worker().run(
      [weak = std::weak_ptr<Service>(service), model = &service->model(), responder, body] {
        auto prepared = std::make_shared<ApiResult<Prepared>>(prepare(body, *model));
        responder->post([weak, responder, prepared] {
          if (const auto alive = weak.lock()) answer(alive, responder, std::move(*prepared));
        });
      });
  if (!taken)
    responder->reply(error_reply(api_error(503, "too many large requests are waiting already")));
}

}  // namespace

void add_completions(http::Router& router, std::shared_ptr<Service> service) {
  router.add(
      "POST", "/v1/completions",
      [service](const http::IncomingRequest& request, std::shared_ptr<http::Responder> responder) {
        if (request.body.size() > kInlineBody)
          answer_later(service, responder, request.body);
        else
          answer(service, std::move(responder), prepare(request.body, service->model()));
      });
}

}  // namespace headroom::openai
