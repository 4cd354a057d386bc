/* Runs a target on files that are given, or on all in folders that are given: without libFuzzer. */
#include <dirent.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/fuzz/fuzz.h"

static int n_files;

static void replay_file(const char *path) {
  FILE *file = fopen(path, "rb");
  FUZZ_CHECK(file != NULL);
  FUZZ_CHECK(fseek(file, 0, SEEK_END) == 0);
  const long size = ftell(file);
  FUZZ_CHECK(size >= 0 && fseek(file, 0, SEEK_SET) == 0);
  uint8_t *data = malloc((size_t)size + 1); /* nothing may read behind: sanitizers see the end */
  FUZZ_CHECK(data != NULL);
  uint8_t *exact = realloc(data, size > 0 ? (size_t)size : 1);
  FUZZ_CHECK(exact != NULL && fread(exact, 1, (size_t)size, file) == (size_t)size);
  (void)fclose(file);
  (void)LLVMFuzzerTestOneInput(exact, (size_t)size);
  free(exact);
  n_files++;
}

static void replay_folder(const char *path) {
  DIR *folder = opendir(path);
  FUZZ_CHECK(folder != NULL);
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char name[4096];
    if (entry->d_name[0] == '.') continue;
    FUZZ_CHECK(snprintf(name, sizeof name, "%s/%s", path, entry->d_name) < (int)sizeof name);
    printf("%s\n", entry->d_name); /* the last one is the one that fails */
    (void)fflush(stdout);
    replay_file(name);
  }
  (void)closedir(folder);
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) {
    struct stat found;
    FUZZ_CHECK(stat(argv[i], &found) == 0);
    S_ISDIR(found.st_mode) ? replay_folder(argv[i]) : replay_file(argv[i]);
  }
  printf("%d files\n", n_files);
  return n_files > 0 ? 0 : 1;
}
