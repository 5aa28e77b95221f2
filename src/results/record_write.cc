// A record as canonical JSON, and its digest.
#include <openssl/evp.h>

#include <array>
#include <cmath>

#include "base/check.h"
#include "base/json_writer.h"
#include "results/fields.h"

namespace headroom::results {
namespace {

using base::JsonWriter;

// Writers return false, and write nothing, for what is absent.

template <Fielded T>
bool write_struct(JsonWriter& json, const char* name, const T& value);

bool write(JsonWriter& json, const char* name, const std::string& text) {
  if (text.empty()) return false;
  json.field(name, text);
  return true;
}

template <typename T>
bool write(JsonWriter& json, const char* name, const std::optional<T>& maybe) {
  if (!maybe) return false;
  if constexpr (Fielded<T>) {
    // Kept even when nothing inside is known: the struct being there says something.
    if (!write_struct(json, name, *maybe)) json.key(name).begin_object().end_object();
  } else if constexpr (std::is_same_v<T, base::Histogram>) {
    json.field(name, maybe->encode());
  } else if constexpr (std::is_same_v<T, Printed>) {
    json.field(name, maybe->text);
  } else if constexpr (std::is_same_v<T, double>) {
    if (!std::isfinite(*maybe)) return false;
    json.field(name, *maybe + 0.0);  // -0 reads back as 0, so it is written as 0
  } else {
    json.field(name, *maybe);
  }
  return true;
}

template <typename T>
bool write(JsonWriter& json, const char* name, const std::map<std::string, T>& map) {
  if (map.empty()) return false;
  json.key(name).begin_object();
  for (const auto& [key, value] : map)
    if constexpr (std::is_same_v<T, Printed>)
      json.field(key, value.text);
    else
      json.field(key, value);
  json.end_object();
  return true;
}

template <Fielded T>
bool write(JsonWriter& json, const char* name, const T& value) {
  return write_struct(json, name, value);
}

template <Fielded T>
bool write_fields(JsonWriter& json, const T& value);

template <Fielded T>
bool write(JsonWriter& json, const char* name, const std::vector<T>& list) {
  if (list.empty()) return false;
  json.key(name).begin_array();
  for (const T& entry : list) {
    json.begin_object();
    write_fields(json, entry);
    json.end_object();
  }
  json.end_array();
  return true;
}

template <Fielded T>
bool write_fields(JsonWriter& json, const T& value) {
  bool any = false;
  each_field(value, [&](const char* name, const auto& field) { any |= write(json, name, field); });
  return any;
}

template <Fielded T>
bool write_struct(JsonWriter& json, const char* name, const T& value) {
  JsonWriter inner;
  inner.begin_object();
  if (!write_fields(inner, value)) return false;
  inner.end_object();
  json.key(name).raw(inner.text());
  return true;
}

}  // namespace

std::string to_json(const Record& record) {
  JsonWriter json;
  json.begin_object();
  write_fields(json, record);
  json.end_object();
  return json.take();
}

std::string record_id(const Record& record) {
  const std::string text = to_json(record);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned int size = 0;
  const int ok = EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  HEADROOM_CHECK(ok == 1 && size == 32, "SHA-256 failed");
  std::string hex;
  for (unsigned int i = 0; i < size; ++i)
    fmt::format_to(std::back_inserter(hex), "{:02x}", digest[i]);
  return hex;
}

}  // namespace headroom::results
