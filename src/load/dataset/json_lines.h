// JSON lines: a file of one object a line, for the datasets that are kept so.
#pragma once

#include <simdjson.h>

#include <functional>
#include <string_view>

#include "base/result.h"

namespace headroom::load {

/// Calls `take` for the object of every line with something in it. The first error ends it, with
/// file and line in front; a line that is no object is kDataLoss.
base::Result<> for_each_object(std::string_view where, std::string_view text,
                               const std::function<base::Result<>(simdjson::dom::object)>& take);

}  // namespace headroom::load
