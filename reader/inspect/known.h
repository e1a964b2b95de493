/*
 * Private to reader/inspect: how value.c and known.c give a value.
 */
#ifndef CLR_INSPECT_KNOWN_H
#define CLR_INSPECT_KNOWN_H

#include "inspect/managed.h"

/* One value that is being read. */
struct clr_reading {
    struct clr_dump *dump;
    const struct clr_place *place;
    struct clr_layout *layout; /* of a struct or enum */
    struct clr_value *value;
    struct clr_error *error;
};

/* A struct of the runtime's library that has a value of its own. */
struct clr_known_kind {
    enum clr_managed_class class;
    enum clr_status (*read)(struct clr_reading *);
};

/* Looks for the kind of a struct, once: layout->known. A Nullable has one if what it holds is a
 * scalar. */
enum clr_status clr_find_known(struct clr_dump *dump, struct clr_layout *layout,
                               struct clr_error *error);

extern const char clr_not_saved[], clr_no_sense[]; /* for clr_value_unavailable */
/* There should be a value, and there is none: CLR_OK. */
enum clr_status clr_value_unavailable(struct clr_reading *r, const char *why);
/* What stands in value->text is the value. */
enum clr_status clr_give_text(struct clr_reading *r);
void clr_give_integer(struct clr_value *value, int64_t integer);
enum clr_status clr_give_unsigned(struct clr_reading *r, uint64_t number); /* text beyond 2^63-1 */
enum clr_status clr_give_real(struct clr_reading *r, double real);         /* text for NaN */
void clr_write_scalar(struct clr_text *text, uint32_t scalar);
/* An unsigned integer at OFFSET of the place. */
bool clr_reading_at(const struct clr_reading *r, uint64_t offset, size_t size, uint64_t *number);

#endif
