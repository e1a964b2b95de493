/*
 * Runs a fuzz target without a fuzzer: every file given, and every file of every folder given (not
 * deeper), goes through LLVMFuzzerTestOneInput once, in the order of the names. With it an ordinary
 * build replays the corpora as tests. A corpus that is not there, or is empty, is a failure.
 */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned long runs;

static int replay_file(const char *path)
{
    FILE *file = fopen(path, "rb");
    struct stat st;
    if (!file || fstat(fileno(file), &st) != 0) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        if (file)
            fclose(file);
        return 1;
    }
    /* A block of exactly the size, so that a sanitizer sees a read behind it. */
    size_t size = (size_t)st.st_size;
    uint8_t *data = malloc(size ? size : 1);
    int failed = !data || fread(data, 1, size, file) != size;
    fclose(file);
    if (failed) {
        fprintf(stderr, "%s: cannot be read\n", path);
    } else {
        LLVMFuzzerTestOneInput(data, size);
        runs++;
    }
    free(data);
    return failed;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static int replay(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0 || !S_ISDIR(st.st_mode))
        return replay_file(path);
    struct dirent **names;
    int count = scandir(path, &names, visible, alphasort), failed = count <= 0;
    if (failed)
        fprintf(stderr, "%s: no files\n", path);
    for (int i = 0; i < count; i++) {
        char *name = malloc(strlen(path) + strlen(names[i]->d_name) + 2);
        if (name) {
            sprintf(name, "%s/%s", path, names[i]->d_name);
            if (stat(name, &st) == 0 && S_ISREG(st.st_mode))
                failed |= replay_file(name);
        }
        failed |= !name;
        free(name);
        free(names[i]);
    }
    if (count >= 0)
        free(names);
    return failed;
}

int main(int argc, char **argv)
{
    int failed = argc < 2;
    if (failed)
        fprintf(stderr, "usage: %s FILE_OR_FOLDER...\n", argv[0]);
    for (int i = 1; i < argc; i++)
        failed |= replay(argv[i]);
    printf("%lu inputs\n", runs);
    return failed;
}
