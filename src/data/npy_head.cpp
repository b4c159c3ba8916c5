// SPDX-License-Identifier: Apache-2.0
#include "data/npy_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace halftone::data {
namespace {

constexpr std::size_t kMostSizes = 32;  // numpy's limit on the rank

struct Name {
  std::string_view descr;  // without the mark of the byte order
  std::string_view format;
};
constexpr Name kNames[] = {{"f4", "float32"}, {"f8", "float64"}, {"f2", "float16"}, {"i1", "int8"},
                           {"i2", "int16"},   {"i4", "int32"},   {"i8", "int64"},   {"u1", "uint8"},
                           {"u2", "uint16"},  {"u4", "uint32"},  {"u8", "uint64"},  {"V1", "uint8"},
                           {"V2", "uint16"}};

// Reads the head from front to back. `fail` says where it stands.
class HeadReader {
 public:
  HeadReader(const std::filesystem::path& file, std::string_view text) : file_(file), text_(text) {}

  NpyHeader read() {
    bool has_descr = false, has_order = false, has_shape = false;
    NpyHeader head;
    expect('{');
    while (peek() != '}') {
      const std::string key = string();
      expect(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        head.dtype = descr();
        head.is_untyped = untyped_;
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        if (boolean())
          fail("an array in column-major order", "row-major order",
               "numpy.ascontiguousarray(...) before saving it");
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        head.shape = sizes();
      } else {
        fail(fmt::format("the key '{}'", key), "descr, fortran_order and shape, each once");
      }
      if (peek() != '}') expect(',');
    }
    expect('}');
    peek();
    if (at_ < text_.size()) fail("something behind the dictionary", "spaces and the end of the head");
    if (!has_descr || !has_order || !has_shape) fail("the end of the head", "descr, fortran_order and shape");
    return head;
  }

  [[noreturn]] void fail(const std::string& given, const std::string& expected,
                         const std::string& hint = "") const {
    throw FileError(file_.string(),
                    fmt::format("byte {}: {}", kNpyPrelude + static_cast<std::int64_t>(at_), given), expected,
                    hint);
  }

 private:
  // The next character that is not a space, without taking it; 0 at the end.
  char peek() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  void expect(char wanted) {
    if (peek() != wanted)
      fail(at_ < text_.size() ? "another character" : "the head ends", fmt::format("'{}'", wanted));
    ++at_;
  }

  std::string string() {
    const char quote = peek();
    if (quote == '[')
      fail("a structured type", "one of numpy's plain number types", "saving one field of it");
    if (quote != '\'' && quote != '"') fail("no quote", "a word in quotes");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("an open quote", "a word in quotes");
    const std::string word(text_.substr(at_ + 1, end - at_ - 1));
    for (const char c : word)
      if (c < ' ' || c > '~') fail("a character that is not plain text", "a word in quotes");
    at_ = end + 1;
    return word;
  }

  DType descr() {
    peek();
    const std::size_t begin = at_;
    const std::string word = string();
    const std::string_view rest = std::string_view(word).substr(std::min<std::size_t>(1, word.size()));
    at_ = begin;  // where an error lies
    for (const Name& row : kNames) {
      if (row.descr != rest) continue;
      if (word[0] == '>' && rest[1] != '1')
        fail(fmt::format("the big-endian type '{}'", word), "little-endian data",
             fmt::format(".astype('<{}') before saving it", rest));
      if (word[0] != '<' && word[0] != '|' && word[0] != '=' && word[0] != '>') break;
      at_ = begin + word.size() + 2;
      untyped_ = rest[0] == 'V';
      return find_dtype(row.format);
    }
    fail(fmt::format("the type '{}'", word), "a float or integer of 8 to 64 bits",
         ".astype(...) of such a type before saving it");
  }

  bool boolean() {
    peek();
    for (const std::string_view word : {"False", "True"})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    fail("neither True nor False", "one of them");
  }

  std::vector<std::int64_t> sizes() {
    std::vector<std::int64_t> sizes;
    expect('(');
    while (peek() != ')') {
      std::int64_t size = 0;
      const char* begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), size);
      if (error != std::errc() || size < 0) fail("no size", "a whole number of at most 63 bits");
      if (sizes.size() == kMostSizes) fail("more sizes", fmt::format("at most {} of them", kMostSizes));
      at_ += static_cast<std::size_t>(end - begin);
      sizes.push_back(size);
      if (peek() == ',')
        ++at_;
      else if (sizes.size() == 1)
        fail("a size without a comma behind it", "a tuple, as (3,)");
      else if (peek() != ')')
        fail("another character", "',' or ')'");
    }
    expect(')');
    return sizes;
  }

  const std::filesystem::path& file_;
  std::string_view text_;
  std::size_t at_ = 0;
  bool untyped_ = false;
};

std::string_view descr_of(DType dtype) {
  for (const Name& row : kNames)
    if (row.format == dtype.name() && find_dtype(row.format) == dtype) return row.descr;
  throw DTypeError("npy", std::string(dtype.name()),
                   "a format that numpy has: float16, float32, float64, int8 ... uint64");
}

}  // namespace

NpyHeader parse_npy_dictionary(const std::filesystem::path& file, std::string_view text) {
  return HeadReader(file, text).read();
}

std::string npy_dictionary(const std::vector<std::int64_t>& shape, DType dtype) {
  const std::string_view descr = descr_of(dtype);
  return fmt::format("{{'descr': '{}{}', 'fortran_order': False, 'shape': {}, }}",
                     descr[1] == '1' ? '|' : '<', descr, shape_text(shape));
}

}  // namespace halftone::data
