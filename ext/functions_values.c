/*
 * Functions on what is in objects.
 */
#include "functions.h"

#include "base/text.h"
#include "cache.h"
#include "inspect/describe.h"
#include "results.h"

static enum clr_status text(struct clr_call *call, struct clr_error *error)
{
    CLR_TRY(clr_object_text(call->dump, call->job, (uint64_t)call->number[0], &call->text, error));
    call->has_text = call->text.data != NULL;
    return CLR_OK;
}

/* A value; the address that a reference holds, unless it is a string's; a struct as one line. */
static enum clr_status field(struct clr_call *call, struct clr_error *error)
{
    struct clr_value value = {0};
    struct clr_place place;
    bool found;
    CLR_TRY(clr_path_place(call->dump, (uint64_t)call->number[0], call->argument[1], &place, &found,
                           error));
    if (!found)
        return CLR_OK;
    enum clr_status status = clr_value_read(call->dump, &place, &value, error);
    if (status == CLR_OK && value.lost)
        clr_problem_once(call->dump->problems, CLR_WARNING, "field_values", false, place.address, 0,
                         "object 0x%llx: the value at 0x%llx is not known: %s",
                         (unsigned long long)(uint64_t)call->number[0],
                         (unsigned long long)place.address, value.lost);
    if (status == CLR_OK && value.kind == CLR_VALUE_STRUCT)
        status = clr_place_text(call->dump, &place, &call->text, error);
    else if (status == CLR_OK && value.is_reference && place.element != CLR_ELEMENT_STRING)
        clr_result_u64(call->context, value.target);
    else if (status == CLR_OK)
        clr_result_value(call->context, call->dump, "field_values", place.address, &value);
    call->has_text = value.kind == CLR_VALUE_STRUCT;
    clr_value_deinit(&value);
    return status;
}

const struct clr_function clr_value_functions[] = {
    {
        .name = "clr_text",
        .parameters = {{"object", CLR_NUMBER_PARAMETER, false, "The object.", "objects.address"}},
        .needs = CLR_PART_INDEX,
        .contract = -1,
        .call = text,
        .doc = "An object as one readable line.",
        .example = "SELECT clr_text(address) FROM objects WHERE type_name = 'Zoo.Node' LIMIT 3",
    },
    {
        .name = "clr_field",
        .parameters = {{"object", CLR_NUMBER_PARAMETER, false, "The object.", "objects.address"},
                       {"path", CLR_TEXT_PARAMETER, false,
                        "Names of fields, with elements of arrays: 'Next.Name', 'items[3].Key', "
                        "'[0,-1]'; a base class in front of '::' says whose: 'Zoo.Base::Name'.",
                        NULL}},
        .needs = CLR_PART_INDEX,
        .contract = -1,
        .call = field,
        .doc = "The value of a field, also of objects that it leads to; of a reference the "
               "address. An "
               "index out of range is an error.",
        .example = "SELECT clr_field(address, 'Next.Name') FROM objects WHERE type_name = "
                   "'Zoo.Node' LIMIT 3",
    },
    {.name = NULL},
};
