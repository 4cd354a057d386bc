// Tensors in files beside the model, and files that cannot be opened.
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cinttypes>
#include <climits>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "tests/executor_glue/onnx/proto_writer.h"
#include "tests/harness/folder.h"

extern "C" {
#include "executor_glue/onnx/external.h"
#include "executor_glue/onnx/folders.h"
}

using namespace proto;
using ::testing::AllOf;
using ::testing::HasSubstr;

namespace {

namespace fs = std::filesystem;
using Entries = std::initializer_list<std::pair<std::string, std::string>>;

// A model of one external tensor of two floats.
std::string external_model(Entries entries, std::vector<int64_t> dims = {2}) {
  Graph g;
  g.in("x").out("y").init(external("w", LK_F32, dims, entries));
  return model(g.node(node("Add", {"x", "w"}, {"y"}))).bytes;
}

const std::string floats = raw(std::vector<float>{9, 8, 7, 6});

TEST(OnnxExternal, OffsetAndLength) {
  lk::Folder folder;
  folder.write("w.bin", floats);
  Loaded m;
  LK_ASSERT_OK(m.file(folder.write("m.onnx", external_model({{"location", "w.bin"}}))));
  EXPECT_EQ(m.constant<float>("w"), (std::vector<float>{9, 8}));
  EXPECT_EQ(m.value("w").constant_kind, LK_CONSTANT_MAPPED);
  const Entries all{{"location", "w.bin"}, {"offset", "8"}, {"length", "8"}, {"checksum", "x"}};
  LK_ASSERT_OK(m.file(folder.write("m.onnx", external_model(all))));
  EXPECT_EQ(m.constant<float>("w"), (std::vector<float>{7, 6}));
  lk_onnx_model_drop_pages(m.model);
  EXPECT_EQ(m.constant<float>("w"), (std::vector<float>{7, 6})) << "pages come back";
}

// Of the mappings of a file, in KiB.
uint64_t resident(const std::string &path) {
  std::ifstream maps("/proc/self/smaps");
  bool is_in = false;
  uint64_t sum = 0, kilobytes = 0;
  for (std::string line; std::getline(maps, line);) {
    if (std::sscanf(line.c_str(), "Rss: %" SCNu64, &kilobytes) == 1) {
      sum += is_in ? kilobytes : 0;
      is_in = false;
    } else if (line.size() > path.size() &&
               line.compare(line.size() - path.size(), path.size(), path) == 0) {
      is_in = true;
    }
  }
  return sum;
}

TEST(OnnxExternal, PagesOfAllFilesAreDropped) {
  lk::Folder folder;
  const std::string paths[] = {folder.write("a.bin", floats), folder.write("b.bin", floats)};
  Graph g;
  g.in("x").out("y");
  g.init(external("a", LK_F32, {2}, {{"location", "a.bin"}}));
  g.init(external("b", LK_F32, {2}, {{"location", "b.bin"}}));
  g.node(node("Sum", {"x", "a", "b"}, {"y"}));
  Loaded m;
  LK_ASSERT_OK(m.file(folder.write("m.onnx", model(g).bytes)));
  EXPECT_EQ(m.constant<float>("a"), m.constant<float>("b"));
  for (const std::string &path : paths) EXPECT_GT(resident(path), 0u) << path;
  lk_onnx_model_drop_pages(m.model);
  for (const std::string &path : paths) EXPECT_EQ(resident(path), 0u) << path;
}

TEST(OnnxExternal, CopiesStayWhenTheFileGoes) {
  lk::Folder folder;
  const std::string data = folder.write("w.bin", floats);
  const std::string path = folder.write("m.onnx", external_model({{"location", "w.bin"}}));
  lk::FailingAllocator allocator; // tells of copies that are not freed
  Loaded m;
  LK_ASSERT_OK(m.copied_file(path, allocator.get()));
  ASSERT_EQ(truncate(data.c_str(), 0), 0);
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  lk_onnx_model_drop_pages(m.model);
  EXPECT_EQ(m.constant<float>("w"), (std::vector<float>{9, 8}));
  m.reset();
}

TEST(OnnxExternal, AnEmptyFileIsASentenceAboutData) {
  lk::Folder folder;
  folder.write("w.bin", "");
  Loaded m;
  LK_EXPECT_STATUS(LK_MALFORMED,
                   m.file(folder.write("m.onnx", external_model({{"location", "w.bin"}}))));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'w.bin': the file is empty: a download or a copy was "
                                          "cut off"),
                                Not(HasSubstr("ONNX"))));
}

TEST(OnnxExternal, FoldersBelowTheModelAndRelativePaths) {
  lk::Folder folder;
  ASSERT_EQ(mkdir((folder.path() + "/data").c_str(), 0700), 0);
  folder.write("data/w.bin", floats);
  folder.write("m.onnx", external_model({{"location", "data/./w.bin"}}));
  Loaded m;
  LK_ASSERT_OK(m.file(folder.path() + "/m.onnx"));
  ASSERT_EQ(symlink("data", (folder.path() + "/link").c_str()), 0);
  folder.write("m.onnx", external_model({{"location", "link/w.bin"}}));
  LK_ASSERT_OK(m.file(folder.path() + "/m.onnx")) << "a link that stays within";
  // The model named without a folder.
  const int here = open(".", O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(chdir(folder.path().c_str()), 0);
  LK_EXPECT_OK(m.file("m.onnx"));
  ASSERT_EQ(fchdir(here), 0);
  close(here);
}

TEST(OnnxExternal, ManyTensorsShareOneMapping) {
  lk::Folder folder;
  folder.write("w.bin", floats);
  Graph g;
  g.in("x").out("y");
  for (int i = 0; i < 50; i++) {
    g.init(external("w" + std::to_string(i), LK_F32, {2},
                    {{"location", "w.bin"}, {"offset", i % 2 == 0 ? "0" : "8"}}));
  }
  g.node(node("Relu", {"x"}, {"y"}));
  Loaded m;
  LK_ASSERT_OK(m.file(folder.write("m.onnx", model(g).bytes)));
  EXPECT_EQ(m.value("w0").constant.data, m.value("w48").constant.data);
  EXPECT_EQ(static_cast<char *>(m.value("w0").constant.data) + 8, m.value("w49").constant.data);
}

TEST(OnnxExternal, PathsThatLeaveTheFolderAreRefused) {
  lk::Folder outside, folder;
  const std::string secret = outside.write("w.bin", floats);
  ASSERT_EQ(symlink(secret.c_str(), (folder.path() + "/link.bin").c_str()), 0);
  ASSERT_EQ(symlink(outside.path().c_str(), (folder.path() + "/dir").c_str()), 0);
  const std::string up = "../" + outside.path().substr(5) + "/w.bin";
  folder.write("w.bin", floats);
  for (const std::string &location :
       {secret, up, std::string("a/../w.bin"), std::string(".."), std::string("./../x"),
        std::string("link.bin"), std::string("dir/w.bin"), std::string()}) {
    Loaded m;
    const auto path = folder.write("m.onnx", external_model({{"location", location}}));
    LK_EXPECT_STATUS(LK_MALFORMED, m.file(path));
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'w'"), HasSubstr("folder"))) << location;
  }
  // A folder whose name only begins like the model's.
  const std::string sibling = folder.path() + "x";
  ASSERT_EQ(mkdir(sibling.c_str(), 0700), 0);
  folder.write("../" + sibling.substr(5) + "/w.bin", floats);
  ASSERT_EQ(symlink((sibling + "/w.bin").c_str(), (folder.path() + "/near.bin").c_str()), 0);
  Loaded m;
  LK_EXPECT_STATUS(LK_MALFORMED,
                   m.file(folder.write("m.onnx", external_model({{"location", "near.bin"}}))));
  ASSERT_EQ(unlink((sibling + "/w.bin").c_str()), 0);
  ASSERT_EQ(rmdir(sibling.c_str()), 0);
}

TEST(OnnxExternal, BadReferences) {
  lk::Folder folder;
  folder.write("w.bin", floats);
  folder.write("empty.bin", "");
  ASSERT_EQ(mkdir((folder.path() + "/sub").c_str(), 0700), 0);
  ASSERT_EQ(mkfifo((folder.path() + "/pipe").c_str(), 0600), 0);
  struct {
    Entries entries;
    lk_status status;
    const char *word;
  } const cases[] = {
      {.entries = {}, .status = LK_MALFORMED, .word = "no location"},
      {.entries = {{"location", "gone.bin"}}, .status = LK_NOT_FOUND, .word = "gone.bin"},
      {.entries = {{"location", "w.bin/x"}}, .status = LK_NOT_FOUND, .word = "w.bin/x"},
      {.entries = {{"location", "sub"}}, .status = LK_IO, .word = "directory"},
      {.entries = {{"location", "pipe"}}, .status = LK_IO, .word = "regular"},
      {.entries = {{"location", "empty.bin"}}, .status = LK_MALFORMED, .word = "empty"},
      {.entries = {{"location", "w.bin"}, {"offset", "9"}},
       .status = LK_OUT_OF_RANGE,
       .word = "16"},
      {.entries = {{"location", "w.bin"}, {"offset", "18446744073709551615"}},
       .status = LK_OUT_OF_RANGE,
       .word = "offset"},
      {.entries = {{"location", "w.bin"}, {"offset", "18446744073709551616"}},
       .status = LK_MALFORMED,
       .word = "offset"},
      {.entries = {{"location", "w.bin"}, {"offset", "-1"}}, .status = LK_MALFORMED, .word = "-1"},
      {.entries = {{"location", "w.bin"}, {"offset", ""}},
       .status = LK_MALFORMED,
       .word = "offset"},
      {.entries = {{"location", "w.bin"}, {"offset", "0x8"}},
       .status = LK_MALFORMED,
       .word = "0x8"},
      {.entries = {{"location", "w.bin"}, {"length", "16"}}, .status = LK_MALFORMED, .word = "16"},
      {.entries = {{"location", "w.bin"}, {"length", "4"}},
       .status = LK_MALFORMED,
       .word = "requires 8"},
  };
  for (const auto &c : cases) {
    Loaded m;
    LK_EXPECT_STATUS(c.status, m.file(folder.write("m.onnx", external_model(c.entries))));
    EXPECT_THAT(LK_MESSAGE, HasSubstr(c.word));
  }
  Loaded m;
  LK_EXPECT_STATUS(LK_OUT_OF_RANGE,
                   m.file(folder.write("m.onnx", external_model({{"location", "w.bin"}}, {1000}))));
}

TEST(OnnxExternal, FilesOver2GB) {
  lk::Folder folder;
  const std::string data = folder.path() + "/w.bin";
  const int64_t offset = int64_t{5} << 30;
  const int file = open(data.c_str(), O_CREAT | O_WRONLY, 0600);
  ASSERT_GE(file, 0);
  ASSERT_EQ(ftruncate(file, offset), 0);
  ASSERT_EQ(pwrite(file, floats.data(), floats.size(), offset), 16);
  close(file);
  Graph g;
  g.in("x").out("y").node(node("Relu", {"x"}, {"y"}));
  g.init(external("end", LK_F32, {4},
                  {{"location", "w.bin"}, {"offset", std::to_string(offset)}, {"length", "16"}}));
  g.init(external("all", LK_F32, {offset / 4}, {{"location", "w.bin"}}));
  lk::FailingAllocator allocator;
  {
    Loaded m;
    LK_ASSERT_OK(m.file(folder.write("m.onnx", model(g).bytes), allocator.get()));
    EXPECT_EQ(m.constant<float>("end"), (std::vector<float>{9, 8, 7, 6}));
    const auto *all = static_cast<const float *>(m.value("all").constant.data);
    EXPECT_EQ(all[offset / 4 - 1], 0.f);
    EXPECT_EQ(all[offset / 4], 9.f) << "the same mapping";
  }
  EXPECT_LT(allocator.peak_bytes(), size_t{1} << 20);
}

TEST(OnnxExternal, ModelsHavePathsOfUpTo4095Bytes) {
  static_assert(PATH_MAX == 4096, "one of them is for the NUL");
  lk::FailingAllocator allocator;
  lk_onnx_external *external = nullptr;
  const std::string longest = std::string(4095 - 6, '/') + "m.onnx"; // another name of "/m.onnx"
  LK_ASSERT_OK(lk_onnx_external_create(allocator.get(), longest.c_str(), false, &external, LK_ERR));
  lk_onnx_external_destroy(external);
  LK_EXPECT_STATUS(
      LK_OUT_OF_RANGE,
      lk_onnx_external_create(allocator.get(), ("/" + longest).c_str(), false, &external, LK_ERR));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("the path is longer than 4095 bytes"));
  EXPECT_EQ(external, nullptr);
}

// The cache of huggingface_hub: links from a folder of names into one of contents.
struct HubCache {
  HubCache() {
    for (const char *name : {"/blobs", "/snapshots", "/snapshots/rev", "/snapshots/rev/onnx"}) {
      EXPECT_EQ(mkdir((folder.path() + name).c_str(), 0700), 0);
    }
    folder.write("blobs/aaaa", external_model({{"location", "model.onnx_data"}}));
    folder.write("blobs/bbbb", floats);
    link("../../../blobs/aaaa", snapshot("model.onnx"));
    link("../../../blobs/bbbb", snapshot("model.onnx_data"));
  }
  static void link(const std::string &target, const std::string &at) {
    EXPECT_EQ(symlink(target.c_str(), at.c_str()), 0) << at;
  }
  std::string snapshot(const std::string &name) const {
    return folder.path() + "/snapshots/rev/onnx/" + name;
  }
  lk::Folder folder;
};

TEST(OnnxExternal, LinksMayLeadToTheFolderOfTheRealFile) {
  const HubCache hub;
  Loaded m;
  LK_ASSERT_OK(m.file(hub.snapshot("model.onnx")));
  EXPECT_EQ(m.constant<float>("w"), (std::vector<float>{9, 8}));
  // Other links to it: to the file of the snapshot, to its folder, and the file itself.
  lk::Folder other;
  HubCache::link(hub.snapshot("model.onnx"), other.path() + "/mine.onnx");
  LK_EXPECT_OK(m.file(other.path() + "/mine.onnx"));
  HubCache::link(other.path() + "/mine.onnx", other.path() + "/again.onnx");
  LK_EXPECT_OK(m.file(other.path() + "/again.onnx"));
  HubCache::link(hub.snapshot(""), other.path() + "/folder");
  LK_EXPECT_OK(m.file(other.path() + "/folder/model.onnx"));
  hub.folder.write("blobs/model.onnx_data", floats);
  LK_EXPECT_OK(m.file(hub.folder.path() + "/blobs/aaaa"));
}

TEST(OnnxExternal, LinksMayNotLeadElsewhere) {
  const HubCache hub;
  const std::string data = hub.snapshot("model.onnx_data");
  lk::Folder outside;
  outside.write("w.bin", floats);
  Loaded m;
  for (const std::string &target :
       {outside.path() + "/w.bin", std::string("../../../snapshots/rev/w.bin"),
        std::string("/etc/hostname"), std::string("/proc/self/environ")}) {
    hub.folder.write("snapshots/rev/w.bin", floats);
    ASSERT_EQ(unlink(data.c_str()), 0);
    HubCache::link(target, data);
    LK_EXPECT_STATUS(LK_MALFORMED, m.file(hub.snapshot("model.onnx"))) << target;
    EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'w'"), HasSubstr("leaves the model's folder")));
  }
  ASSERT_EQ(unlink(data.c_str()), 0);
  LK_EXPECT_STATUS(LK_NOT_FOUND, m.file(hub.snapshot("model.onnx")));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'model.onnx_data'"), HasSubstr("snapshots/rev/onnx/'"),
                                HasSubstr("blobs/'")));
  ASSERT_EQ(mkfifo(data.c_str(), 0600), 0);
  LK_EXPECT_STATUS(LK_IO, m.file(hub.snapshot("model.onnx"))) << "and does not wait";
  EXPECT_THAT(LK_MESSAGE, HasSubstr("not a regular file"));
  ASSERT_EQ(unlink(data.c_str()), 0);
  ASSERT_EQ(mkdir(data.c_str(), 0700), 0);
  LK_EXPECT_STATUS(LK_IO, m.file(hub.snapshot("model.onnx")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("a directory, not a file"));
}

TEST(OnnxExternal, APathWithALinkInItIsNotOpened) {
  lk::Folder folder;
  const std::string file = folder.write("w.bin", floats);
  ASSERT_EQ(mkdir((folder.path() + "/d").c_str(), 0700), 0);
  folder.write("d/w.bin", floats);
  HubCache::link("d", folder.path() + "/to_d");
  HubCache::link("w.bin", folder.path() + "/to_w");
  auto opens = [](const std::string &path) {
    const int opened = lk_onnx_open_without_links(path.c_str());
    if (opened >= 0) close(opened);
    return opened >= 0;
  };
  EXPECT_TRUE(opens(file));
  EXPECT_TRUE(opens(folder.path() + "/d/w.bin"));
  EXPECT_FALSE(opens(folder.path() + "/to_w"));
  EXPECT_EQ(errno, ELOOP);
  EXPECT_FALSE(opens(folder.path() + "/to_d/w.bin"));
  EXPECT_FALSE(opens(folder.path() + "/none"));
  EXPECT_EQ(errno, ENOENT);
  EXPECT_FALSE(opens("w.bin"));
  EXPECT_FALSE(opens("/tmp/" + std::string(300, 'x') + "/y"));
  EXPECT_EQ(errno, ENAMETOOLONG);
}

// Folders with links at random between them, models reached over links, and locations of any
// components: what is read lies below a folder that the model's path leads over, and what lies in
// the first of them is found.
class LinkedFolders {
public:
  explicit LinkedFolders(unsigned seed) : random_(seed), root_(fs::canonical(folder_.path())) {
    for (const char *name : {"", "a", "b", "a/c", "b/d"}) {
      dirs_.push_back(root_ / name);
      fs::create_directories(dirs_.back());
      places_.push_back(dirs_.back());
      write(dirs_.back() / "w.bin");
    }
    for (int i = 0; i < 6; i++) link(any(places_), dirs_[draw(5)] / ("l" + std::to_string(i)));
    model = dirs_[draw(5)] / "m.onnx";
    file_ = model;
    for (unsigned i = draw(4); i > 0; i--) {
      const fs::path next = dirs_[draw(5)] / ("m" + std::to_string(i));
      link(model, next);
      model = next;
    }
  }
  // What a model may call a file.
  std::string any_location() {
    const char *names[] = {"a", "b", "c", "d", "l0", "l1", "l2", "l3", "l4", "l5", "w.bin", ".."};
    std::string location;
    for (unsigned i = draw(4); i > 0; i--) location += std::string(names[draw(12)]) + "/";
    return location + (draw(3) == 0 ? names[draw(10)] : "w.bin");
  }
  void write_model(const std::string &location) {
    std::ofstream(file_, std::ios::binary) << external_model({{"location", location}});
  }
  // The folders that the path of the model leads over.
  std::vector<fs::path> allowed() const {
    std::vector<fs::path> all;
    for (fs::path at = model;; at = at.parent_path() / fs::read_symlink(at)) {
      all.push_back(fs::canonical(at.parent_path()));
      if (!fs::is_symlink(at)) return all;
    }
  }
  static bool lies_in(const fs::path &file, const std::vector<fs::path> &folders) {
    return std::any_of(folders.begin(), folders.end(), [&](const fs::path &each) {
      return file.string().compare(0, each.string().size() + 1, each.string() + "/") == 0;
    });
  }
  const fs::path &file_of(float number) const { return files_[size_t(number)]; }

  fs::path model;

private:
  unsigned draw(unsigned count) { return unsigned(random_()) % count; }
  const fs::path &any(const std::vector<fs::path> &of) { return of[draw(unsigned(of.size()))]; }
  void write(const fs::path &path) {
    const auto number = float(files_.size());
    std::ofstream(path, std::ios::binary) << raw(std::vector<float>{number, number});
    files_.push_back(path);
    places_.push_back(path);
  }
  void link(const fs::path &target, const fs::path &path) {
    const bool is_relative = draw(2) == 0;
    fs::create_symlink(is_relative ? fs::relative(target.parent_path(), path.parent_path()) /
                                         target.filename()
                                   : target,
                       path);
    places_.push_back(path);
  }

  lk::Folder folder_;
  std::mt19937 random_;
  fs::path root_, file_;
  std::vector<fs::path> dirs_, files_, places_;
};

TEST(OnnxExternal, IsReadFromBelowWhatThePathLeadsOverWhateverLinksThereAre) {
  int n_opened = 0, n_refused = 0;
  for (unsigned seed = 0; seed < 40; seed++) {
    LinkedFolders folders(seed);
    for (int i = 0; i < 25; i++) {
      const std::string location = folders.any_location();
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + location);
      folders.write_model(location);
      const std::vector<fs::path> allowed = folders.allowed();
      std::error_code none;
      const fs::path first = fs::canonical(allowed[0] / location, none);
      const bool is_there = !none && fs::is_regular_file(first) &&
                            LinkedFolders::lies_in(first, allowed) &&
                            location.find("..") == std::string::npos;
      Loaded m;
      if (m.file(folders.model) != LK_OK) {
        lk::test_error().passed = false;
        EXPECT_FALSE(is_there) << LK_MESSAGE;
        n_refused++;
        continue;
      }
      n_opened++;
      const fs::path &read = folders.file_of(m.constant<float>("w")[0]);
      EXPECT_TRUE(LinkedFolders::lies_in(read, allowed)) << read;
      EXPECT_TRUE(!is_there || read == first) << read;
    }
  }
  EXPECT_GT(n_opened, 100);
  EXPECT_GT(n_refused, 100);
}

// Somebody who may write to the model's folder changes a link while models are opened.
TEST(OnnxExternal, ALinkThatChangesNeverLeadsOut) {
  lk::Folder folder, outside;
  outside.write("w.bin", raw(std::vector<float>{666, 666}));
  ASSERT_EQ(mkdir((folder.path() + "/real").c_str(), 0700), 0);
  folder.write("real/w.bin", floats);
  const std::string path = folder.write("m.onnx", external_model({{"location", "d/w.bin"}}));
  const std::string here = folder.path() + "/d", away = folder.path() + "/away";
  ASSERT_EQ(rename((folder.path() + "/real").c_str(), here.c_str()), 0);
  HubCache::link(outside.path(), away);
  std::atomic<bool> stop{false};
  std::thread swapper([&] {
    while (!stop) {
      EXPECT_EQ(renameat2(AT_FDCWD, here.c_str(), AT_FDCWD, away.c_str(), RENAME_EXCHANGE), 0);
    }
  });
  for (int i = 0; i < 2000; i++) {
    Loaded m;
    if (m.file(path) != LK_OK) continue;
    EXPECT_EQ(m.constant<float>("w"), (std::vector<float>{9, 8}));
  }
  stop = true;
  swapper.join();
}

TEST(OnnxExternal, APointerOfGitLfsIsNoWeights) {
  lk::Folder folder;
  const std::string pointer =
      "version https://git-lfs.github.com/spec/v1\n"
      "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24\n"
      "size 12345\n";
  folder.write("w.bin", pointer);
  Loaded m;
  const std::string small = folder.write("m.onnx", external_model({{"location", "w.bin"}}));
  LK_EXPECT_STATUS(LK_MALFORMED, m.file(small));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("'w.bin'"), HasSubstr("git lfs pull")));
  folder.write("w.bin", "<!DOCTYPE html><html>404</html>");
  LK_EXPECT_STATUS(LK_MALFORMED, m.file(small));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("an HTML page"));
}

TEST(OnnxFile, ThatCannotBeOpened) {
  lk::Folder folder;
  Loaded m;
  LK_EXPECT_STATUS(LK_NOT_FOUND, m.file(folder.path() + "/none.onnx"));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("none.onnx"));
  LK_EXPECT_STATUS(LK_NOT_FOUND, m.file(""));
  LK_EXPECT_STATUS(LK_IO, m.file(folder.path()));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("directory"));
  LK_EXPECT_STATUS(LK_MALFORMED, m.file(folder.write("empty.onnx", "")));
  EXPECT_THAT(LK_MESSAGE, HasSubstr("empty"));
  LK_EXPECT_STATUS(LK_IO, m.file("/dev/null"));
  LK_EXPECT_STATUS(LK_MALFORMED, m.file(folder.write("bad.onnx", "\xff\xff\xff")));
  EXPECT_THAT(LK_MESSAGE, AllOf(HasSubstr("bad.onnx"), HasSubstr("byte 0")));
}

} // namespace
