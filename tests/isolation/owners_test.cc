// Histories of owners at random: memory that is lent comes and goes with ops, plans, frames, caches
// and sessions in any order, and whoever is the last to hold it takes it away at once. A read of
// what has been taken ends the process, and says in which history: memory of a host becomes pages
// that nobody may read, and a file that no session has any more is cut.
//
// LK_TEST_OWNERS_HISTORIES says how many, LK_TEST_OWNERS_FIRST the seed of the first.
#include <fcntl.h>
#include <latchkey/session.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstring>
#include <memory>
#include <random>
#include <thread>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/environment.h"
#include "tests/harness/folder.h"
#include "tests/harness/owners.h"

namespace {

using lk::api;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(NDEBUG)
constexpr int kHistories = 60;
#else
constexpr int kHistories = 400;
#endif

// ---- which history it was

volatile sig_atomic_t history_now = -1;

void say_which(int number) {
  char text[64];
  const int length = snprintf(text, sizeof text, "\na bad read in history %d\n", int(history_now));
  (void)!write(STDERR_FILENO, text, size_t(length));
  (void)signal(number, SIG_DFL);
  (void)raise(number);
}

// ---- contents

constexpr int64_t kRows = 4096, kWidth = 64; // 1 MiB of f32: read where it lies
constexpr size_t kBytes = size_t(kRows * kWidth) * sizeof(float);
constexpr int kContents = 2;

float element(int content, int64_t row, int64_t column) {
  return float(row * kWidth + column) + 0.5f * float(content);
}

// A file of the process's own with the bytes of each content, to map.
int file_of(int content) {
  static std::array<int, kContents> files = {-1, -1};
  if (files[content] >= 0) return files[content];
  std::vector<float> bytes(kRows * kWidth);
  for (int64_t i = 0; i < kRows * kWidth; i++) {
    bytes[i] = element(content, i / kWidth, i % kWidth);
  }
  files[content] = memfd_create("content", MFD_CLOEXEC);
  EXPECT_EQ(write(files[content], bytes.data(), kBytes), ssize_t(kBytes));
  return files[content];
}

// Memory of a host with one content. The last one who holds it takes it away; its place stays taken
// until the history ends, so that no other memory gets its address.
class Memory {
public:
  Memory(int content, uint64_t origin) : content(content) {
    data = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file_of(content), 0);
    EXPECT_NE(data, MAP_FAILED);
    // mappings of one file, or memory of nobody else
    const uint64_t number = origin == 0 ? 0 : uint64_t(content) + 1;
    owner = {sizeof owner, this, retain, release, {number, 0}, data};
  }
  Memory(const Memory &) = delete;
  ~Memory() { munmap(data, kBytes); }
  static void retain(void *object) { static_cast<Memory *>(object)->holders_++; }
  static void release(void *object) {
    auto *self = static_cast<Memory *>(object);
    if (--self->holders_ == 0) self->take_away();
  }
  void take_away() const {
    EXPECT_EQ(mmap(data, kBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), data);
  }
  int holders() const { return holders_; }

  const int content;
  void *data;
  lk_owner owner;

private:
  std::atomic<int> holders_{1}; // whoever has made it
};

// ---- hosts of ops

struct Node {
  lk::Op op;
  int content;
  bool is_product;      // which reads a packed copy; else it gathers rows where they lie
  Memory *freed_behind; // by a host without owners, when the op has gone; or NULL
};

struct Bound {
  lk::Plan plan;
  int content;
  bool is_product;
  int64_t rows;
};

struct Slot {
  lk::Frame frame;
  int content;
  bool is_product;
  int64_t rows;
};

struct Host {
  lk::Executor executor;
  std::vector<Node> nodes;
  std::vector<Bound> plans;
  std::vector<Slot> slots; // a frame each
};

// A product has rows of the identity as its input, and so rows of the table as its output.
void check_run(lk_frame *frame, int content, bool is_product, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> wanted(rows);
  for (int64_t &row : wanted) row = int64_t(random() % kRows);
  std::vector<float> unit(is_product ? size_t(rows * kRows) : 0), got(size_t(rows * kWidth), -1);
  for (int64_t i = 0; is_product && i < rows; i++) unit[size_t(i * kRows + wanted[i])] = 1;
  void *gather[] = {nullptr, wanted.data()}, *product[] = {unit.data(), nullptr};
  void *out[] = {got.data()};
  LK_ASSERT_OK(api()->op_run(frame, 0, is_product ? product : gather, out, LK_ERR));
  for (int64_t i = 0; i < rows; i++) {
    for (const int64_t column : {int64_t(0), kWidth - 1}) {
      ASSERT_EQ(got[size_t(i * kWidth + column)], element(content, wanted[i], column));
    }
  }
}

lk_tensor_desc desc_of(uint32_t dtype, std::initializer_list<int64_t> dims) {
  lk_tensor_desc desc = {};
  desc.dtype = dtype;
  for (const int64_t dim : dims) desc.dims[desc.rank++] = dim;
  return desc;
}

lk_status bind(const Node &node, int64_t rows, bool is_own, lk::Plan *plan, lk_error *error) {
  const lk_tensor table = {desc_of(LK_F32, {kRows, kWidth}), nullptr};
  const lk_tensor gather[] = {table, {desc_of(LK_I64, {rows}), nullptr}};
  const lk_tensor product[] = {{desc_of(LK_F32, {rows, kRows}), nullptr}, table};
  const lk_layout wish = LK_LAYOUT_PLAIN;
  lk_bind_desc desc = host_bind(node.is_product ? product : gather, 2);
  desc.wishes = &wish;
  desc.flags = is_own ? LK_BIND_OWN : 0;
  return lk::bind(node.op, desc, plan, error);
}

// ---- sessions of files

const lk_session_api *sessions_api() {
  return lk_get_session_api(LK_SESSION_API_VERSION);
}

std::string embedding() {
  proto::Graph g;
  g.in("i", LK_I64, {"N"}).out("y", LK_F32, {"N", std::to_string(kWidth)});
  g.init(proto::external("table", LK_F32, {kRows, kWidth}, {{"location", "table.bin"}}));
  g.node(proto::node("Gather", {"table", "i"}, {"y"}));
  return proto::model(g).bytes;
}

// A model with its table in a file beside it, which is cut when no session has it.
class ModelFile {
public:
  explicit ModelFile(int content) : content(content) {
    path = folder_.write("m.onnx", embedding());
    table_ = folder_.write("table.bin", "");
  }
  void open_one() {
    if (users_++ > 0) return;
    const int file = open(table_.c_str(), O_WRONLY | O_CLOEXEC);
    off_t from = 0;
    EXPECT_EQ(ftruncate(file, off_t(kBytes)), 0);
    EXPECT_EQ(sendfile(file, file_of(content), &from, kBytes), ssize_t(kBytes));
    ::close(file);
  }
  void close_one() {
    if (--users_ > 0) return;
    EXPECT_EQ(truncate(table_.c_str(), 0), 0);
  }

  const int content;
  std::string path;

private:
  lk::Folder folder_;
  std::string table_;
  int users_ = 0;
};

struct OpenSession {
  lk_session *session;
  ModelFile *file;
};

void check_session(lk_session *session, int content, int64_t rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<int64_t> wanted(rows);
  for (int64_t &row : wanted) row = int64_t(random() % kRows);
  std::vector<float> got(size_t(rows * kWidth), -1);
  const lk_named_tensor in = {"i", {desc_of(LK_I64, {rows}), wanted.data()}};
  lk_named_tensor out = {"y", {desc_of(LK_F32, {rows, kWidth}), got.data()}};
  LK_ASSERT_OK(sessions_api()->run(session, &in, 1, &out, 1, nullptr, LK_ERR));
  for (int64_t i = 0; i < rows; i++) {
    ASSERT_EQ(got[size_t(i * kWidth + kWidth - 1)], element(content, wanted[i], kWidth - 1));
  }
}

// ---- a history

class History {
public:
  History(uint64_t seed, std::vector<std::unique_ptr<ModelFile>> *files)
      : random_(seed), files_(*files),
        context_(lk::open(random_() % 4 == 0 ? LK_CACHE_THREAD : LK_CACHE_SHARED, 1)) {}
  ~History() { end(); }

  void run() {
    const bool has_files = one_in(4);
    for (int64_t steps = 10 + draw(30); steps > 0 && !::testing::Test::HasFatalFailure(); steps--) {
      if (one_in(12)) {
        std::thread([&] { act(has_files); }).join(); // whose tables go with it
      } else {
        act(has_files);
      }
    }
  }

private:
  int64_t draw(int64_t count) { return int64_t(random_() % uint64_t(count)); }
  bool one_in(int64_t count) { return draw(count) == 0; }
  template <class T> T &any(std::vector<T> &of) { return of[size_t(draw(int64_t(of.size())))]; }
  template <class T> static void drop(std::vector<T> &of, const T &which) {
    of.erase(of.begin() + (&which - of.data()));
  }

  void act(bool has_files) {
    if (hosts_.empty() || one_in(30)) {
      hosts_.emplace_back(std::make_unique<Host>());
      hosts_.back()->executor = lk::executor_in(context_);
    }
    Host &host = *any(hosts_);
    switch (draw(has_files ? 29 : 13)) {
    case 0:
    case 1:
      return create(host);
    case 2:
      if (!host.nodes.empty()) destroy(host, any(host.nodes));
      return;
    case 3:
    case 4:
    case 5:
      return bind_one(host);
    case 6:
      if (!host.plans.empty()) attach(host, any(host.plans));
      return;
    case 7:
    case 8:
    case 9:
      if (host.slots.empty()) return;
      return run_slot(any(host.slots));
    case 10:
      if (!host.plans.empty()) drop(host.plans, any(host.plans));
      return;
    case 11:
      if (!host.slots.empty()) drop(host.slots, any(host.slots));
      return;
    case 12:
      return change_caches(host);
    case 13:
    case 14:
    case 15:
      return open_session();
    case 16:
      if (!sessions_.empty()) clone(any(sessions_));
      return;
    case 17:
    case 18:
    case 19:
      if (!sessions_.empty()) close_session(any(sessions_));
      return;
    default:
      if (sessions_.empty()) return;
      return run_session(any(sessions_));
    }
  }

  // Owners of one origin, of none, no owner, and a copy.
  void create(Host &host) {
    memories_.push_back(std::make_unique<Memory>(int(draw(kContents)), uint64_t(draw(2))));
    Memory *memory = memories_.back().get();
    const bool has_owner = !one_in(3), is_copied = one_in(5);
    Node node = {{}, memory->content, one_in(4), nullptr};
    const lk_tensor table = {desc_of(LK_F32, {kRows, kWidth}), memory->data};
    lk_node_input inputs[2] = {};
    const size_t constant = node.is_product ? 1 : 0;
    inputs[constant] = {&table, is_copied ? uint32_t(LK_INPUT_COPY) : 0, 0};
    const lk_owner *owners[2] = {};
    owners[constant] = &memory->owner;
    lk_node_desc desc = host_node(node.is_product ? "MatMul" : "Gather", inputs, 2);
    desc.output_name = one_in(2) ? "y" : "z";
    if (has_owner) desc.owners = owners;
    LK_ASSERT_OK(api()->op_create(host.executor, &desc, node.op.out(), LK_ERR));
    if (has_owner || is_copied) {
      Memory::release(memory); // whoever needs it holds it
    } else {
      node.freed_behind = memory;
    }
    host.nodes.push_back(std::move(node));
  }

  static void destroy(Host &host, Node &node) {
    Memory *memory = node.freed_behind;
    drop(host.nodes, node);
    if (memory != nullptr) Memory::release(memory);
  }

  void bind_one(Host &host) {
    if (host.nodes.empty()) return;
    const Node &node = any(host.nodes);
    Bound bound = {{}, node.content, node.is_product, 1 + draw(3)};
    LK_ASSERT_OK(bind(node, bound.rows, one_in(3), &bound.plan, LK_ERR));
    if (one_in(2)) attach(host, bound);
    if (one_in(2)) host.plans.push_back(std::move(bound));
  }

  void attach(Host &host, const Bound &bound) {
    Slot slot = {{}, bound.content, bound.is_product, bound.rows};
    uint32_t number = 0;
    LK_ASSERT_OK(api()->frame_create(host.executor, slot.frame.out(), LK_ERR));
    LK_ASSERT_OK(api()->frame_attach(slot.frame, bound.plan, &number, LK_ERR));
    host.slots.push_back(std::move(slot));
    run_slot(host.slots.back());
  }

  void run_slot(const Slot &slot) {
    const uint64_t seed = random_();
    if (!one_in(300)) {
      check_run(slot.frame, slot.content, slot.is_product, slot.rows, seed);
      return;
    }
    const pid_t child = fork();
    if (child == 0) {
      check_run(slot.frame, slot.content, slot.is_product, slot.rows, seed);
      _exit(::testing::Test::HasFatalFailure() ? 1 : 0);
    }
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  }

  void change_caches(const Host &host) {
    switch (draw(4)) {
    case 0:
      LK_EXPECT_OK(api()->cache_clear(context_, host.executor, LK_ERR));
      break;
    case 1:
      LK_EXPECT_OK(api()->cache_clear(context_, nullptr, LK_ERR));
      break;
    case 2:
      LK_EXPECT_OK(
          api()->cache_set_capacity(context_, nullptr, uint64_t(draw(4)), LK_UNLIMITED, LK_ERR));
      break;
    default:
      LK_EXPECT_OK(
          api()->cache_set_capacity(context_, nullptr, LK_UNLIMITED, LK_UNLIMITED, LK_ERR));
    }
  }

  void open_session() {
    ModelFile *file = any(files_).get();
    OpenSession opened = {nullptr, file};
    lk_session_options options = LK_SESSION_OPTIONS_INIT;
    options.copy_model = one_in(6) ? 1 : 0;
    options.run_plans = one_in(4) ? 0 : -1;
    file->open_one();
    LK_ASSERT_OK(
        sessions_api()->open(context_, file->path.c_str(), &options, &opened.session, LK_ERR));
    sessions_.push_back(opened);
  }

  void clone(const OpenSession &from) {
    OpenSession opened = {nullptr, from.file};
    LK_ASSERT_OK(sessions_api()->clone(from.session, &opened.session, LK_ERR));
    opened.file->open_one();
    sessions_.push_back(opened);
  }

  void run_session(const OpenSession &of) {
    const int64_t rows = 1 + draw(3);
    check_session(of.session, of.file->content, rows, random_());
  }

  void close_session(OpenSession &which) {
    sessions_api()->close(which.session);
    which.file->close_one();
    drop(sessions_, which);
  }

  void end() {
    while (!sessions_.empty()) close_session(any(sessions_));
    while (!hosts_.empty()) {
      Host &host = *any(hosts_);
      host.slots.clear();
      host.plans.clear();
      while (!host.nodes.empty()) destroy(host, any(host.nodes));
      hosts_.erase(std::find_if(hosts_.begin(), hosts_.end(),
                                [&](const auto &each) { return each.get() == &host; }));
    }
    const lk_stats stats = host_stats(context_, nullptr);
    EXPECT_EQ(stats.weights_lent_bytes, 0u);
    context_.reset();
    for (const auto &memory : memories_) EXPECT_EQ(memory->holders(), 0);
  }

  std::mt19937_64 random_;
  std::vector<std::unique_ptr<Memory>> memories_;
  std::vector<std::unique_ptr<ModelFile>> &files_;
  lk::Context context_;
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<OpenSession> sessions_;
};

TEST(Owners, OfWhatIsReadAreThereInAnyHistory) {
  const int first = int(lk::number_of_variable("LK_TEST_OWNERS_FIRST", 0));
  const int count = int(lk::number_of_variable("LK_TEST_OWNERS_HISTORIES", kHistories));
  for (const int number : {SIGSEGV, SIGBUS}) (void)signal(number, say_which);
  std::vector<std::unique_ptr<ModelFile>> files;
  for (const int content : {0, 0, 1}) files.push_back(std::make_unique<ModelFile>(content));
  for (int seed = first; seed < first + count; seed++) {
    history_now = seed;
    SCOPED_TRACE("history " + std::to_string(seed));
    History(uint64_t(seed), &files).run();
    if (HasFailure()) break;
  }
  for (const int number : {SIGSEGV, SIGBUS}) (void)signal(number, SIG_DFL);
}

} // namespace
