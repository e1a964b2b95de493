/*
 * A file from nowhere opened as a core: whatever it is, the answer is an error with a message or a
 * process whose every run, region, image, thread and symbol can be asked for. All memory must come
 * back.
 */
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "core/process.h"
#include "core_builder.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
    if (!holds)
        abort();
}

static void use_memory(const struct clr_process *process)
{
    const struct clr_run *runs;
    const struct clr_region *regions;
    uint64_t got, end = 0, saved = 0;
    size_t count = clr_process_runs(process, &runs);
    for (size_t i = 0; i < count; i++) {
        check(runs[i].start >= end && runs[i].end > runs[i].start);
        end = runs[i].end;
        saved += end - runs[i].start;
        check(clr_view(process, runs[i].start, UINT64_MAX, &got) && got == end - runs[i].start);
        check(clr_saved_bytes(process, 0, end) == saved);
        uint64_t next;
        check(clr_next_saved(process, runs[i].start, &next) && next == runs[i].start);
    }
    end = 0;
    count = clr_process_regions(process, &regions);
    for (size_t i = 0; i < count; i++) {
        check(regions[i].start >= end && regions[i].saved_size <= regions[i].size);
        end = regions[i].start;
    }
}

static void use_images(const struct clr_process *process)
{
    const struct clr_image *images;
    size_t count = clr_process_images(process, &images);
    for (size_t i = 0; i < count; i++) {
        uint64_t address, size;
        uint8_t bytes[40];
        check(images[i].path && (i == 0 || images[i - 1].start <= images[i].start));
        clr_image_symbol(process, &images[i], "alpha", &address, &size);
        clr_file_relocated(process, &images[i], images[i].dynamic, bytes, sizeof bytes);
        const struct clr_image *at = clr_image_at(process, images[i].start);
        check(!at || at->start == images[i].start);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct clr_options options = {.unpack_limit = 1 << 20};
    char path[CORE_PATH];
    struct clr_process *process;
    struct clr_error error = {0};
    uint64_t live = clr_alloc_live();
    struct clr_problems *problems = clr_problems_create();
    int fd = core_open_bytes(data, size, path);
    if (clr_process_open(path, &options, NULL, problems, &process, &error) == CLR_OK) {
        const struct clr_os_thread *threads;
        use_memory(process);
        use_images(process);
        clr_process_threads(process, &threads);
        check(clr_process_info(process)->arch != NULL);
        check(clr_process_check(process, &error) == CLR_OK);
    } else {
        check(error.text[0] && !process);
    }
    clr_process_close(process);
    clr_problems_destroy(problems);
    close(fd);
    check(clr_alloc_live() == live);
    return 0;
}
