// Tensors of operator tests: plain values with their description, and layouts by plain loops that
// owe nothing to the code under test.
#pragma once

#include <gtest/gtest.h>
#include <latchkey/base.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace lk {

using Dims = std::vector<int64_t>;

template <typename T> struct DtypeOf;
template <> struct DtypeOf<float> { static constexpr lk_dtype value = LK_F32; };
template <> struct DtypeOf<double> { static constexpr lk_dtype value = LK_F64; };
template <> struct DtypeOf<int8_t> { static constexpr lk_dtype value = LK_I8; };
template <> struct DtypeOf<uint8_t> { static constexpr lk_dtype value = LK_U8; };
template <> struct DtypeOf<int16_t> { static constexpr lk_dtype value = LK_I16; };
template <> struct DtypeOf<uint16_t> { static constexpr lk_dtype value = LK_U16; };
template <> struct DtypeOf<int32_t> { static constexpr lk_dtype value = LK_I32; };
template <> struct DtypeOf<uint32_t> { static constexpr lk_dtype value = LK_U32; };
template <> struct DtypeOf<int64_t> { static constexpr lk_dtype value = LK_I64; };
template <> struct DtypeOf<uint64_t> { static constexpr lk_dtype value = LK_U64; };

inline size_t dtype_bytes(uint32_t dtype) {
  switch (dtype) {
#define LK_TEST_BYTES(symbol, value, bytes, name)                                                  \
  case symbol:                                                                                     \
    return bytes;
    LK_DTYPE_LIST(LK_TEST_BYTES)
#undef LK_TEST_BYTES
  default:
    return 0;
  }
}

inline int64_t count_of(const Dims &dims) {
  return std::accumulate(dims.begin(), dims.end(), int64_t{1}, std::multiplies<int64_t>());
}

inline lk_tensor_desc desc_of(uint32_t dtype, const Dims &dims,
                              lk_layout layout = LK_LAYOUT_PLAIN) {
  lk_tensor_desc desc{};
  desc.dtype = dtype;
  desc.rank = static_cast<uint32_t>(dims.size());
  desc.layout = layout;
  std::copy(dims.begin(), dims.end(), desc.dims);
  return desc;
}

inline Dims dims_of(const lk_tensor_desc &desc) {
  return Dims(desc.dims, desc.dims + desc.rank);
}

// 64-byte aligned memory with a guard behind it that is checked when it ends.
class Memory {
public:
  explicit Memory(size_t bytes = 0) : bytes_(bytes) {
    data_.reset(static_cast<uint8_t *>(std::aligned_alloc(64, (bytes + GUARD + 63) / 64 * 64)));
    std::memset(data_.get(), FILL, bytes + GUARD);
  }
  Memory(Memory &&) = default;
  Memory &operator=(Memory &&) = default;
  ~Memory() {
    if (!data_) return;
    const uint8_t *guard = data_.get() + bytes_;
    EXPECT_TRUE(std::all_of(guard, guard + GUARD, [](uint8_t byte) { return byte == FILL; }))
        << "written behind the end of " << bytes_ << " bytes";
  }
  void *data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

private:
  static constexpr size_t GUARD = 64;
  static constexpr uint8_t FILL = 0xcd;
  struct Free {
    void operator()(uint8_t *pointer) const { std::free(pointer); }
  };
  size_t bytes_;
  std::unique_ptr<uint8_t, Free> data_;
};

// Dimensions from the outermost one, as they lie in memory.
inline std::vector<size_t> order_in(lk_layout layout, size_t rank) {
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  if (layout == LK_LAYOUT_CHANNELS_LAST) std::rotate(&order[1], &order[2], order.data() + rank);
  if (layout == LK_LAYOUT_HEADS_INSIDE) std::swap(order[1], order[2]);
  return order;
}

// Where elements lie when the tensor lies in a layout. Steps are found once: tests ask of millions.
class Places {
public:
  Places(lk_layout layout, const Dims &dims) : dims_(dims), steps_(dims.size()) {
    const std::vector<size_t> order = order_in(layout, dims.size());
    int64_t step = 1;
    for (size_t i = order.size(); i-- > 0;) {
      steps_[order[i]] = step;
      step *= dims[order[i]];
    }
  }
  // Position in memory, in elements, of plain element `index`.
  int64_t of(int64_t index) const {
    int64_t position = 0;
    for (size_t i = dims_.size(); i-- > 0;) {
      position += index % dims_[i] * steps_[i];
      index /= dims_[i];
    }
    return position;
  }

private:
  const Dims dims_;
  Dims steps_;
};

// A tensor by value, plain.
struct Value {
  lk_tensor_desc desc{};
  std::vector<uint8_t> bytes;

  template <typename T> std::vector<T> as() const {
    std::vector<T> values(bytes.size() / sizeof(T));
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  Dims dims() const { return dims_of(desc); }
  int64_t count() const { return count_of(dims()); }

  // The bytes as they lie in `layout`.
  Memory in(lk_layout layout) const {
    Memory memory(bytes.size());
    copy_elements(layout, [&](size_t plain, size_t placed, size_t size) {
      std::memcpy(static_cast<uint8_t *>(memory.data()) + placed, &bytes[plain], size);
    });
    return memory;
  }
  static Value from(const lk_tensor_desc &desc, const void *memory) {
    Value value;
    value.desc = desc;
    value.desc.layout = LK_LAYOUT_PLAIN;
    value.bytes.resize(static_cast<size_t>(value.count()) * dtype_bytes(desc.dtype));
    value.copy_elements(desc.layout, [&](size_t plain, size_t placed, size_t size) {
      std::memcpy(&value.bytes[plain], static_cast<const uint8_t *>(memory) + placed, size);
    });
    return value;
  }

private:
  // Calls `copy` with offsets in `bytes` and in memory, and how many bytes go together.
  template <typename Copy> void copy_elements(lk_layout layout, const Copy &copy) const {
    if (bytes.empty()) return;
    if (layout == LK_LAYOUT_PLAIN) return copy(0, 0, bytes.size());
    const size_t size = dtype_bytes(desc.dtype);
    const Places places(layout, dims());
    for (int64_t i = 0, n = count(); i < n; i++) {
      copy(static_cast<size_t>(i) * size, static_cast<size_t>(places.of(i)) * size, size);
    }
  }
};

// tensor<float>({2, 2}, {1, 2, 3, 4}); another dtype of the same C type as third argument
// (LK_BOOL of uint8_t, LK_F16 of uint16_t).
template <typename T>
Value tensor(const Dims &dims, const std::vector<T> &values, uint32_t dtype = DtypeOf<T>::value) {
  Value value;
  value.desc = desc_of(dtype, dims);
  EXPECT_EQ(static_cast<int64_t>(values.size()), count_of(dims)) << "values for the shape";
  value.bytes.resize(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(value.bytes.data(), values.data(), value.bytes.size());
  return value;
}
inline Value ints(const std::vector<int64_t> &values) {
  return tensor<int64_t>({static_cast<int64_t>(values.size())}, values);
}
inline Value floats(const Dims &dims, const std::vector<float> &values) {
  return tensor<float>(dims, values);
}
// 0, 1, 2, ... of any number type.
template <typename T> Value iota(const Dims &dims) {
  std::vector<T> values(static_cast<size_t>(count_of(dims)));
  for (size_t i = 0; i < values.size(); i++) values[i] = static_cast<T>(i);
  return tensor<T>(dims, values);
}
// Uniform in [low, high), the same for the same seed.
inline Value random(const Dims &dims, unsigned seed, float low = -1, float high = 1) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> draw(low, high);
  std::vector<float> values(static_cast<size_t>(count_of(dims)));
  for (float &value : values) value = draw(engine);
  return tensor<float>(dims, values);
}

inline std::string text_of(const lk_tensor_desc &desc) {
  std::string text = "type " + std::to_string(desc.dtype) + " [";
  for (uint32_t i = 0; i < desc.rank; i++) {
    text += (i > 0 ? ", " : "") + std::to_string(desc.dims[i]);
  }
  return text + "]";
}

} // namespace lk
