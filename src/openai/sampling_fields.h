// Fields that every generating endpoint reads the same way: model, sampling, stops.
#pragma once

#include "engine/request.h"
#include "openai/fields.h"
#include "openai/service.h"

namespace headroom::openai {

/// 404 model_not_found for another model's name; a missing name means the served model.
void check_model(FieldReader& reader, const ServedModel& model);

/// temperature, top_p, top_k, min_tokens, stop, stop_token_ids, ignore_eos … but not max_tokens,
/// whose name and default differ between endpoints. `seed` stays 0 when not given.
engine::SamplingOptions read_sampling(FieldReader& reader, const ServedModel& model,
                                      bool& seed_given);

/// 400 for fields that ask for what this server can't do; their neutral values pass.
void refuse_unsupported(FieldReader& reader);

}  // namespace headroom::openai
