// SPDX-License-Identifier: Apache-2.0
//
// State files in the safetensors layout (github.com/huggingface/safetensors): 8 bytes little-endian header
// length, a JSON header padded with spaces to a multiple of 8, the tensors' bytes without gaps. Tensors with
// larger elements lie first, so that each one is aligned for whoever maps the file into memory.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>

#include "base/atomic_file.h"
#include "halftone/train.h"
#include "op/memory_order.h"

namespace halftone::train {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxHeader = 100'000'000;  // as the reference implementation
constexpr std::string_view kMetadata = "__metadata__";

struct Code {
  DType dtype;
  std::string_view name;
};
constexpr Code kCodes[] = {{float64, "F64"},
                           {float32, "F32"},
                           {float16, "F16"},
                           {bfloat16, "BF16"},
                           {float8_e4m3fn, "F8_E4M3"},
                           {float8_e5m2, "F8_E5M2"},
                           {float8_e8m0fnu, "F8_E8M0"},
                           {int64, "I64"},
                           {int32, "I32"},
                           {uint8, "U8"},
                           {uint8, "BOOL"}};  // only read

// A format that safetensors does not know is written as unsigned integers, its codes, and named in the
// metadata under this prefix and the name of the tensor.
constexpr std::string_view kFormatOf = "halftone.format.";
constexpr std::string_view kUnsigned[] = {"", "U8", "U16", "", "U32", "", "", "", "U64"};  // by bytes

std::string_view code_of(DType dtype) {
  for (const Code& code : kCodes)
    if (code.dtype == dtype) return code.name;
  return "";
}

// Only a format that the reader can find again by its name.
void name_format(const Parameter& tensor, std::map<std::string, std::string>& metadata) {
  const DType dtype = tensor.value.dtype();
  try {
    if (find_dtype(dtype.name()) == dtype) {
      metadata[std::string(kFormatOf) + tensor.name] = dtype.name();
      return;
    }
  } catch (const DTypeError&) {
  }
  throw DTypeError("save_state", fmt::format("{} is {}", tensor.name, dtype.name()),
                   "a format that can be found by its name", "a systematic name such as e5m7 for it");
}

// Positions of the tensors in the order in which their bytes lie in the file.
std::vector<std::size_t> file_order(const std::vector<Parameter>& tensors) {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return tensors[a].value.dtype().bytes() > tensors[b].value.dtype().bytes();
  });
  return order;
}

std::string make_header(const State& state, const std::vector<std::size_t>& order) {
  std::vector<std::int64_t> begins(state.tensors.size());
  std::int64_t offset = 0;
  for (const std::size_t i : order) {
    begins[i] = offset;
    offset += state.tensors[i].value.bytes();
  }
  Json header = Json::object();
  std::map<std::string, std::string> metadata = state.metadata;
  for (const Parameter& tensor : state.tensors)
    if (code_of(tensor.value.dtype()).empty()) name_format(tensor, metadata);
  if (!metadata.empty()) header[std::string(kMetadata)] = metadata;
  for (std::size_t i = 0; i < state.tensors.size(); ++i) {
    const Parameter& tensor = state.tensors[i];
    if (tensor.name == kMetadata || header.contains(tensor.name))
      throw ValueError("save_state", fmt::format("the tensor name \"{}\"", tensor.name), "a name of its own");
    const Shape& shape = tensor.value.shape();
    const DType dtype = tensor.value.dtype();
    const std::string_view code = code_of(dtype);
    header[tensor.name] = {{"dtype", code.empty() ? kUnsigned[dtype.bytes()] : code},
                           {"shape", std::vector<std::int64_t>(shape.begin(), shape.end())},
                           {"data_offsets", {begins[i], begins[i] + tensor.value.bytes()}}};
  }
  std::string text;
  try {
    text = header.dump();
  } catch (const Json::exception&) {
    throw ValueError("save_state", "a name or metadata text that is not UTF-8", "UTF-8");
  }
  return text.append((8 - text.size() % 8) % 8, ' ');
}

// ---- Reading: a mistake anywhere is a FileError that says where.
// --------------------------------------------

// Finds a name at once, as the ordered one does not.
using Parsed = nlohmann::json;

class Reader {
 public:
  explicit Reader(const std::filesystem::path& file) : file_(file), stream_(file, std::ios::binary) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(file, error))
      throw FileError(file.string(), error ? error.message() : "not a regular file", "a state file");
    size_ = std::filesystem::file_size(file, error);
    if (error || !stream_) throw FileError(file.string(), "can not be opened", "a readable state file");
  }

  State read() {
    read_header();
    State state;
    struct Extent {
      std::uint64_t begin, end;
      std::size_t tensor;
    };
    std::vector<Extent> extents;
    if (header_.contains(kMetadata)) state.metadata = read_metadata(header_[kMetadata]);
    take_formats(state.metadata);
    for (const std::string& name : names_) {
      const Entry entry = read_entry(name, header_[name]);
      extents.push_back({entry.begin, entry.end, entries_.size()});
      entries_.push_back(entry);
    }
    std::sort(extents.begin(), extents.end(), [](const Extent& a, const Extent& b) {
      return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
    });
    std::uint64_t next = 0;
    for (const Extent& extent : extents) {
      if (extent.begin != next)
        fail(fmt::format("tensor \"{}\" begins at data byte {}", names_[extent.tensor], extent.begin),
             fmt::format("{}: tensors lie one after the other", next));
      next = extent.end;
    }
    if (next != data_size())
      fail(fmt::format("the tensors end at data byte {}", next),
           fmt::format("the end of the file, {}", data_size()));

    state.tensors.reserve(names_.size());
    for (std::size_t i = 0; i < names_.size(); ++i)
      state.tensors.push_back({names_[i], empty(entries_[i].shape, entries_[i].dtype)});
    for (const Extent& extent : extents) read_bytes(extent.begin, state.tensors[extent.tensor]);
    return state;
  }

 private:
  struct Entry {
    DType dtype = float32;
    Shape shape;
    std::uint64_t begin = 0, end = 0;
  };

  [[noreturn]] void fail(const std::string& given, const std::string& expected) const {
    throw FileError(file_.string(), given, expected);
  }

  std::uint64_t data_size() const { return size_ - 8 - length_; }

  void read_header() {
    unsigned char word[8] = {};
    if (size_ < 8 || !stream_.read(reinterpret_cast<char*>(word), 8))
      fail(fmt::format("the file has {} bytes", size_),
           "a state file: at least the 8 bytes of the header's length");
    for (int i = 7; i >= 0; --i) length_ = length_ << 8 | word[i];
    if (length_ > std::min(kMaxHeader, size_ - 8))
      fail(fmt::format("byte 0: a header of {} bytes", length_),
           fmt::format("at most {}, as the file has {} bytes", std::min(kMaxHeader, size_ - 8), size_));
    std::string text(length_, '\0');
    if (!stream_.read(text.data(), static_cast<std::streamsize>(length_)))
      fail("byte 8: unreadable", "the header");
    if (text.empty() || text.front() != '{') fail("byte 8: no JSON object", "the header, beginning with {");
    // JSON lets a later duplicate win in silence; here it would hide a tensor.
    std::vector<std::set<std::string>> open;
    const auto watch = [&](int depth, Parsed::parse_event_t event, Parsed& parsed) {
      if (depth > 4) fail("header: nested too deeply", "objects of tensors");
      if (event == Parsed::parse_event_t::object_start) open.emplace_back();
      if (event == Parsed::parse_event_t::object_end) open.pop_back();
      if (event != Parsed::parse_event_t::key) return true;
      const auto name = parsed.get<std::string>();
      if (!open.back().insert(name).second)
        fail(fmt::format("header: the name \"{}\" comes twice", name), "each name once");
      if (open.size() == 1 && name != kMetadata) names_.push_back(name);
      return true;
    };
    try {
      header_ = Parsed::parse(text, watch);
    } catch (const Parsed::parse_error& error) {
      fail(fmt::format("byte {}: the header is not JSON", 8 + error.byte), "JSON");
    } catch (const Parsed::exception& error) {
      fail(fmt::format("header: {}", error.what()), "JSON");
    }
    if (!header_.is_object()) fail("byte 8: no JSON object", "the header, an object");
  }

  std::map<std::string, std::string> read_metadata(const Parsed& value) const {
    std::map<std::string, std::string> metadata;
    if (!value.is_object()) fail(fmt::format("header: {} is no object", kMetadata), "an object of strings");
    for (const auto& item : value.items()) {
      if (!item.value().is_string())
        fail(fmt::format("header: {} \"{}\" is no string", kMetadata, item.key()), "an object of strings");
      metadata[item.key()] = item.value().get<std::string>();
    }
    return metadata;
  }

  // Moves the names of formats out of the metadata.
  void take_formats(std::map<std::string, std::string>& metadata) {
    for (auto it = metadata.lower_bound(std::string(kFormatOf));
         it != metadata.end() && it->first.rfind(kFormatOf, 0) == 0; it = metadata.erase(it))
      formats_[it->first.substr(kFormatOf.size())] = it->second;
  }

  // The format of a tensor whose safetensors dtype is `code`.
  std::optional<DType> format_of(const std::string& name, std::string_view code) const {
    if (const auto named = formats_.find(name); named != formats_.end()) {
      try {
        const DType dtype = find_dtype(named->second);
        if (kUnsigned[dtype.bytes()] == code) return dtype;
      } catch (const DTypeError&) {
      }
      fail(fmt::format("header: tensor \"{}\": format {} in {}", name, named->second, code),
           "a format that halftone has, in as many bytes");
    }
    for (const Code& row : kCodes)
      if (row.name == code) return row.dtype;
    return std::nullopt;
  }

  Entry read_entry(const std::string& name, const Parsed& value) const {
    const auto wrong = [&](const std::string& what, const std::string& expected) {
      fail(fmt::format("header: tensor \"{}\": {}", name, what), expected);
    };
    if (!value.is_object() || value.size() != 3 || !value.contains("dtype") || !value.contains("shape") ||
        !value.contains("data_offsets"))
      wrong("other fields", "dtype, shape and data_offsets");
    const Parsed &dtype = value["dtype"], &shape = value["shape"], &offsets = value["data_offsets"];

    Entry entry;
    const std::string code = dtype.is_string() ? dtype.get<std::string>() : "";
    const std::optional<DType> format = format_of(name, code);
    if (!format) wrong(fmt::format("dtype {}", dtype.dump()), "a dtype that halftone has");
    entry.dtype = *format;

    const auto is_size = [](const Parsed& number) { return number.is_number_unsigned(); };
    if (!offsets.is_array() || offsets.size() != 2 || !std::all_of(offsets.begin(), offsets.end(), is_size))
      wrong(fmt::format("data_offsets {}", offsets.dump()), "[begin, end]");
    entry.begin = offsets[0], entry.end = offsets[1];
    if (entry.begin > entry.end || entry.end > data_size())
      wrong(fmt::format("data_offsets {}", offsets.dump()),
            fmt::format("a range within {} bytes of data", data_size()));

    if (!shape.is_array() || shape.size() > kMaxRank || !std::all_of(shape.begin(), shape.end(), is_size))
      wrong(fmt::format("shape {}", shape.dump()), fmt::format("up to {} sizes, none negative", kMaxRank));
    const std::uint64_t most = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
    std::uint64_t bytes = static_cast<std::uint64_t>(entry.dtype.bytes());
    std::vector<std::int64_t> sizes;
    for (const Parsed& number : shape) {
      const auto size = number.get<std::uint64_t>();
      if (size > most || (size != 0 && bytes > most / size))
        wrong(fmt::format("shape {}", shape.dump()), "sizes whose product fits into 63 bits");
      bytes *= size;
      sizes.push_back(static_cast<std::int64_t>(size));
    }
    entry.shape = Shape(std::span<const std::int64_t>(sizes));
    if (bytes != entry.end - entry.begin)
      wrong(fmt::format("{} bytes for shape {} of {}", entry.end - entry.begin, shape.dump(), code),
            fmt::format("{}", bytes));
    return entry;
  }

  void read_bytes(std::uint64_t begin, const Parameter& tensor) {
    if (!stream_.read(static_cast<char*>(tensor.value.raw_mutable()), tensor.value.bytes()))
      fail(fmt::format("data byte {}: unreadable", begin), fmt::format("tensor \"{}\"", tensor.name));
  }

  std::filesystem::path file_;
  std::ifstream stream_;
  std::uint64_t size_ = 0, length_ = 0;
  Parsed header_;
  std::vector<std::string> names_;              // in the order of the header
  std::map<std::string, std::string> formats_;  // by tensor
  std::vector<Entry> entries_;
};

}  // namespace

void save_state(const std::filesystem::path& file, const State& state) {
  const std::vector<std::size_t> order = file_order(state.tensors);
  const std::string header = make_header(state, order);
  AtomicFile out(file);
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(header.size() >> 8 * i);
  out.write(length, sizeof length);
  out.write(header.data(), header.size());
  for (const std::size_t i : order) {
    const Tensor bytes = contiguous(*thread_state().backend, state.tensors[i].value);
    out.write(bytes.raw(), static_cast<std::size_t>(bytes.bytes()));
  }
  out.commit();
}

State load_state(const std::filesystem::path& file) { return Reader(file).read(); }

}  // namespace halftone::train
