#include "tests/stress/recycler.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "tests/stress/report.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define HIDE(at, bytes) __asan_poison_memory_region(at, bytes)
#define SHOW(at, bytes) __asan_unpoison_memory_region(at, bytes)
#else
#define HIDE(at, bytes) (void)0
#define SHOW(at, bytes) (void)0
#endif

namespace stress {
namespace {

constexpr uint8_t kFreed = 0xdb, kGuard = 0xa7, kNew = 0x5e;
constexpr size_t kGuardBytes = 64, kLine = 64;
// Longer blocks are looked at in their first and last part only.
constexpr size_t kLooked = 16 << 10;

// Few classes, so that blocks of other kinds of objects are reused too: powers of two and the
// middles between them.
unsigned class_of(size_t size) {
  unsigned index = 0;
  for (size_t room = 64; room < size; room = index % 2 == 1 ? room / 2 * 3 : room / 3 * 4) index++;
  return index;
}
size_t room_of(unsigned index) {
  size_t room = 64;
  for (unsigned i = 1; i <= index; i++) room = i % 2 == 1 ? room / 2 * 3 : room / 3 * 4;
  return room;
}

bool all_are(const uint8_t *at, size_t bytes, uint8_t value) {
  return std::all_of(at, at + bytes, [value](uint8_t byte) { return byte == value; });
}

} // namespace

// One line of memory; the data follows, then the guard.
struct alignas(64) Recycler::Block {
  size_t room, size; // of the class; as asked for
  unsigned index;
  bool live;
  uint8_t *data() { return reinterpret_cast<uint8_t *>(this + 1); }
  uint8_t *behind() { return data() + size; }

  void overwrite() {
    const size_t part = std::min(room, kLooked);
    std::memset(data(), kFreed, part);
    std::memset(data() + room - part, kFreed, part);
  }
  bool is_overwritten() {
    const size_t part = std::min(room, kLooked);
    return all_are(data(), part, kFreed) && all_are(data() + room - part, part, kFreed);
  }
};

void *Recycler::alloc(void *user, size_t size, size_t alignment) {
  auto *self = static_cast<Recycler *>(user);
  STRESS_CHECK(alignment <= 64, "memory aligned to %zu is asked for, the recycler has 64",
               alignment);
  const unsigned index = class_of(size);
  const std::lock_guard<std::mutex> lock(self->mutex_);
  if (self->free_.size() <= index) self->free_.resize(index + 1);
  Block *block = nullptr;
  if (self->free_[index].empty()) {
    const size_t room = room_of(index);
    block = static_cast<Block *>(std::aligned_alloc(
        kLine, (sizeof(Block) + room + kGuardBytes + kLine - 1) / kLine * kLine));
    if (block == nullptr) return nullptr;
    block->room = room;
    block->index = index;
    self->all_.push_back(block);
  } else {
    block = self->free_[index].back();
    self->free_[index].pop_back();
    SHOW(block->data(), block->room + kGuardBytes);
    STRESS_CHECK(block->is_overwritten(), "%zu bytes were written to after they were freed",
                 block->size);
    self->reused_++;
  }
  block->size = size;
  block->live = true;
  std::memset(block->data(), kNew, std::min(size, kLooked));
  std::memset(block->behind(), kGuard, kGuardBytes);
  HIDE(block->behind(), kGuardBytes);
  self->live_++;
  return block->data();
}

void Recycler::free(void *user, void *pointer) {
  if (pointer == nullptr) return;
  auto *self = static_cast<Recycler *>(user);
  Block *block = static_cast<Block *>(pointer) - 1;
  const std::lock_guard<std::mutex> lock(self->mutex_);
  STRESS_CHECK(block->live, "%zu bytes were freed twice", block->size);
  SHOW(block->behind(), kGuardBytes);
  STRESS_CHECK(all_are(block->behind(), kGuardBytes, kGuard),
               "memory behind a block of %zu bytes was written to", block->size);
  block->overwrite();
  block->live = false;
  HIDE(block->data(), block->room + kGuardBytes);
  self->free_[block->index].push_back(block);
  self->live_--;
}

uint64_t Recycler::live_blocks() {
  const std::lock_guard<std::mutex> lock(mutex_);
  return live_;
}

void Recycler::check() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (const auto &blocks : free_) {
    for (Block *block : blocks) {
      SHOW(block->data(), block->room);
      STRESS_CHECK(block->is_overwritten(), "%zu bytes were written to after they were freed",
                   block->size);
      HIDE(block->data(), block->room);
    }
  }
}

Recycler::~Recycler() {
  for (Block *block : all_) {
    SHOW(block->data(), block->room + kGuardBytes);
    std::free(block);
  }
}

} // namespace stress
