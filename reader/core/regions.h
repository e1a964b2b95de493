/*
 * What the headers of the dump announce, and what of it is there. Private to core/.
 */
#ifndef CLR_CORE_REGIONS_H
#define CLR_CORE_REGIONS_H

#include "core/private.h"

/* What the file holds of the ranges. */
enum clr_status clr_ranges_extents(const struct clr_process *process, struct clr_extents *extents,
                                   struct clr_error *error);
/* Fills the table of regions, and the flags of mappings. */
enum clr_status clr_regions_build(struct clr_process *process, struct clr_error *error);
/* Counts what is missing and reports it, and what is odd. Call when the runs are final. */
enum clr_status clr_ranges_report(struct clr_process *process, uint64_t overlapped,
                                  struct clr_problems *problems, struct clr_error *error);
/* The mapping that holds ADDRESS, or NULL. */
const struct clr_mapping *clr_mapping_at(const struct clr_process *process, uint64_t address);

#endif
