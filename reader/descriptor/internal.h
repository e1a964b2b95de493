/*
 * What the files of descriptor/ share: the descriptor while it is gathered.
 *
 * Gathering appends rows part by part, in the order of precedence (the target's own descriptor, its
 * sub-descriptors in the order they are found, the user's supplement, a shipped one). A row's number
 * is therefore its rank: of rows with one name the lowest wins. clr_merge then sorts by name and
 * drops the others. Names are borrowed from the JSON documents, which live with the descriptor.
 */
#ifndef CLR_DESCRIPTOR_INTERNAL_H
#define CLR_DESCRIPTOR_INTERNAL_H

#include "base/arena.h"
#include "base/array.h"
#include "base/json.h"
#include "descriptor/descriptor.h"

enum {
    CLR_DESCRIPTOR_JSON_MAX = 4 << 20,     /* bytes of one text; shipped ones take 20 KB */
    CLR_DESCRIPTOR_JSON_SUM = 8 << 20,     /* bytes of all texts of one target */
    CLR_DESCRIPTOR_TRIES_MAX = 32,         /* structures read, good or bad */
    CLR_DESCRIPTOR_DEPTH_MAX = 8,          /* of sub-descriptors; one level is known */
    CLR_DESCRIPTOR_NUMBER_MAX = INT32_MAX, /* an offset or size above this is damage */
};

struct clr_descriptor {
    const struct clr_process *process;
    const struct clr_image *image;
    struct clr_problems *problems; /* of clr_descriptor_open's caller; NULL afterwards */
    enum clr_descriptor_flavor flavor;
    bool from_file;   /* some of the target's own text came from the image file */
    size_t own_parts; /* parts [0, own_parts) are the target's own */
    unsigned tries;   /* structures read so far, against CLR_DESCRIPTOR_TRIES_MAX */
    size_t text_read; /* bytes of JSON read so far, against CLR_DESCRIPTOR_JSON_SUM */

    CLR_ARRAY(struct clr_part) parts;
    CLR_ARRAY(struct clr_contract) contracts;
    CLR_ARRAY(struct clr_global) globals;
    CLR_ARRAY(struct clr_described_type) types;
    CLR_ARRAY(struct clr_described_field) fields;
    CLR_ARRAY(clr_json *) documents; /* whose texts the rows borrow */
    struct clr_arena texts;          /* of our own making */
};

/* --- locate.c ------------------------------------------------------------------------------- */

/* The runtime that OPTIONS asks for. */
enum clr_status clr_runtime_choose(const struct clr_process *process,
                                   const struct clr_options *options,
                                   struct clr_runtime_image *chosen, struct clr_error *error);

/* A contract descriptor structure, as numbers. */
struct clr_structure {
    uint64_t address;
    const char *name; /* of the part, for messages */
    uint8_t pointer_size;
    bool little_endian;
    uint64_t json;
    uint32_t json_size;
    uint64_t slots; /* address of the array of pointers */
    uint32_t slot_count;
};

/* Reads the structure at ADDRESS from the dump, or else from the image's file, relocated. */
enum clr_status clr_structure_read(struct clr_descriptor *d, uint64_t address,
                                   struct clr_structure *structure, struct clr_error *error);
/* Its text, terminated; *TEXT is freed with clr_free. */
enum clr_status clr_structure_text(struct clr_descriptor *d, const struct clr_structure *structure,
                                   char **text, struct clr_error *error);
/* Slot INDEX of its array of pointers; the index was checked against slot_count. */
bool clr_structure_slot(struct clr_descriptor *d, const struct clr_structure *structure,
                        uint32_t index, uint64_t *value);

/* --- parse.c -------------------------------------------------------------------------------- */

struct clr_anchors; /* anchor.c: where the names of a supplement lead */

struct clr_parse {
    struct clr_descriptor *d;
    uint32_t part;
    const struct clr_structure *structure; /* NULL for a supplement */
    const struct clr_anchors *anchors;     /* NULL for the target's own */
};

struct clr_described_value {
    bool indirect;    /* number is a slot's word, the address of a variable */
    uint64_t number;  /* CLR_ABSENT: none */
    const char *text; /* NULL: none */
    const char *type; /* NULL: not given */
};

/* What became of a value that was asked for. */
enum clr_outcome {
    CLR_VALUE_OK,
    CLR_VALUE_ABSENT, /* this runtime has no such thing: no row, nothing to report */
    CLR_VALUE_FAULT,  /* left out and reported */
    CLR_VALUE_NOMEM,
};

/* Entries of `globals` or `subDescriptors`, in both forms. Start with zeroes and LIST. */
struct clr_entry_walk {
    const clr_json *list;
    void *iterator;
    size_t index;
};
/* The next entry; *FAULT is static text if the outcome is CLR_VALUE_FAULT. */
bool clr_entry_next(const struct clr_parse *parse, struct clr_entry_walk *walk, const char **name,
                    struct clr_described_value *value, enum clr_outcome *outcome,
                    const char **fault);

/* Adds types, globals and contracts of ROOT to the gathered rows. */
enum clr_status clr_parse_rows(const struct clr_parse *parse, const clr_json *root,
                               struct clr_error *error);

/* Adds a part with its JSON text (copied) and takes over ROOT, that text parsed, in any case. */
enum clr_status clr_part_add(struct clr_descriptor *d, const struct clr_part *part,
                             const char *text, size_t length, clr_json *root,
                             struct clr_error *error);

/* --- merge.c -------------------------------------------------------------------------------- */

/* Applies precedence and sorts; nothing may be gathered afterwards. */
enum clr_status clr_merge(struct clr_descriptor *d, struct clr_error *error);

/* --- supplement.c --------------------------------------------------------------------------- */

/* A text that was embedded when the library was built; the array ends at name == NULL. */
struct clr_embedded {
    const char *name; /* the file's, without .json */
    const char *text;
    size_t length;
};
extern const struct clr_embedded clr_supplements[];

/* Adds the user's supplement and the shipped one that fits. OWN_ERROR says why the target's own
 * descriptor could not be read, or is empty if it was. */
enum clr_status clr_supplement_apply(struct clr_descriptor *d, const struct clr_options *options,
                                     const struct clr_embedded *shipped, bool needed,
                                     struct clr_error *own_error, struct clr_error *error);

/* --- anchor.c ------------------------------------------------------------------------------- */

enum { CLR_ANCHORS_MAX = 16 };

struct clr_anchor {
    const char *name;
    uint64_t address, stride, count; /* COUNT 0: no array */
    bool absent;                     /* the process has not set it up */
};

struct clr_anchors {
    struct clr_descriptor *d;
    const char *name; /* the supplement's */
    const clr_json *root;
    struct clr_anchor items[CLR_ANCHORS_MAX];
    size_t count;
    unsigned skipped; /* probes that could not be made */
};

/* The table behind a "symbol": its address and number of entries. */
bool clr_anchor_table(const struct clr_descriptor *d, const clr_json *form,
                      struct clr_anchor *anchor);
/* Whether a table of COUNT entries is one that the form is written for. */
bool clr_anchor_counts(const clr_json *form, uint64_t count);

/* In this order: finds and checks the anchors; checks that every global leads to where variables
 * can be; makes the probes. CLR_UNSUPPORTED: the supplement is not for this process. */
enum clr_status clr_anchors_resolve(struct clr_anchors *anchors, struct clr_error *error);
enum clr_status clr_anchors_check(const struct clr_anchors *anchors, struct clr_error *error);
enum clr_status clr_anchors_probe(struct clr_anchors *anchors, struct clr_error *error);

/* A value that is an object: what it leads to in this process. */
enum clr_outcome clr_anchor_value(const struct clr_anchors *anchors, const clr_json *form,
                                  struct clr_described_value *value, const char **fault);

#endif
