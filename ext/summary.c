/*
 * A dump in one line, as clr_attach answers:
 *
 *   dump: .NET 11.0.0 linux-x64, workstation GC, regions, 126.7 MB, 2 problems
 *
 * Nothing is read for it that opening the dump has not read: no walk.
 */
#include "describe.h"

#include <string.h>

const char *clr_runtime_version(const struct clr_dump *dump, size_t *length)
{
    static const char folder[] = "/Microsoft.NETCore.App/";
    if (!dump->runtime)
        return NULL;
    const struct clr_descriptor *descriptor = dump->runtime->descriptor;
    const char *text = clr_descriptor_text(descriptor, "RuntimeProductVersionString");
    if (text && *text) {
        *length = strlen(text);
        return text;
    }
    /* 'libcoreclr.so' lies in '…/Microsoft.NETCore.App/9.0.1/'. */
    const struct clr_image *image = clr_descriptor_image(descriptor);
    text = image && image->path ? strstr(image->path, folder) : NULL;
    if (!text)
        return NULL;
    text += sizeof folder - 1;
    *length = strcspn(text, "/");
    return *text >= '0' && *text <= '9' && text[*length] == '/' ? text : NULL;
}

/* Of severity info are facts that take nothing from the tables. */
static size_t losses(const struct clr_problems *problems)
{
    size_t count = 0;
    for (size_t i = 0; i < clr_problems_count(problems); i++)
        count += clr_problems_at(problems, i)->severity != CLR_INFO;
    return count;
}

void clr_dump_summary(const struct clr_open_dump *open, struct clr_text *text)
{
    const struct clr_dump *dump = open->dump;
    const struct clr_process_info *info = clr_process_info(dump->process);
    size_t length, problems = losses(dump->problems);
    const char *version = clr_runtime_version(dump, &length);
    clr_text_format(text, "%s: .NET", open->schema ? open->schema : open->path);
    if (version) {
        clr_text_char(text, ' ');
        clr_text_utf8(text, (const uint8_t *)version, length);
    }
    clr_text_format(text, " linux-%s", info->arch);
    if (!dump->runtime)
        clr_text_put(text, ", runtime not readable");
    else if (!dump->gc)
        clr_text_put(text, ", GC not readable");
    else
        clr_text_format(text, ", %s GC, %s", dump->gc->server ? "server" : "workstation",
                        dump->gc->regions ? "regions" : "segments");
    clr_text_format(text, ", %.1f MB", (double)info->file_size / 1e6);
    if (info->cut)
        clr_text_put(text, " (the file is cut: copy it again if you can)");
    if (problems > 0)
        clr_text_format(text, ", %zu problem%s", problems, problems == 1 ? "" : "s");
}
