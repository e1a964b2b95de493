/*
 * Modules and types of the fake process.
 */
#include "clr_builder_private.h"

#include <string.h>

#include "metadata_builder.h"
#include "runtime/types.h"

enum {
    TYPE_ROWS = 32, /* of a TypeDef map, unless asked for otherwise */
    CHAINS = 3,     /* of a table of instantiations */
    MAPPED = 1,     /* PEImageLayout.Flags */
    GENERIC_INSTANCE = 0x10,
    KIND_VALUE = 0x00040000,
    KIND_ENUM = 0x00060000,
    KIND_PRIMITIVE = 0x00070000,
    KIND_SZARRAY = 0x000a0000,
    ATTRIBUTE_ABSTRACT = 0x80,
    ATTRIBUTE_SEALED = 0x100,
    ELEMENT_CLASS = 0x12,
    ELEMENT_VALUE = 0x11,
    ELEMENT_I4 = 8,
};

/* --- Modules ---------------------------------------------------------------------------------- */

uint64_t fake_slot(struct fake *fake, uint64_t object)
{
    uint64_t slot = fake_memory(fake, fake->word);
    fake_put_word(fake, slot, object);
    return slot;
}

/* A structure of which not every release describes anything. */
static uint64_t place(struct fake *fake, const char *type)
{
    return fake_memory(fake, fake_find_name(fake, type, "!") ? fake_size(fake, type) : 64);
}

uint64_t fake_allocator(struct fake *fake, uint64_t object)
{
    uint64_t allocator = place(fake, "LoaderAllocator");
    if (fake_find_name(fake, "LoaderAllocator", "IsCollectible"))
        fake_set(fake, allocator, "LoaderAllocator", "IsCollectible", 1);
    if (fake_find_name(fake, "LoaderAllocator", "ObjectHandle"))
        fake_set(fake, allocator, "LoaderAllocator", "ObjectHandle", fake_slot(fake, object));
    return allocator;
}

uint64_t fake_binder(struct fake *fake, uint64_t object)
{
    uint64_t binder = place(fake, "AssemblyBinder");
    if (fake_find_name(fake, "AssemblyBinder", "AssemblyLoadContext"))
        fake_set(fake, binder, "AssemblyBinder", "AssemblyLoadContext", fake_slot(fake, object));
    return binder;
}

/* Sets a field that not every release has. */
static void set_if(struct fake *fake, uint64_t address, const char *type, const char *field,
                   uint64_t value)
{
    if (fake_find_name(fake, type, field))
        fake_set(fake, address, type, field, value);
}

/* Appends to the assembly list of the domain; a full block is followed by a new one. */
static void add_assembly(struct fake *fake, uint64_t assembly)
{
    const char *list_field = fake->release >= 11 ? "AssemblyList" : "DomainAssemblyList";
    struct fake_private *own = fake->own;
    uint64_t element = assembly;
    uint64_t domain = fake_word(fake, fake_variable(fake, "AppDomain"));
    uint64_t list = domain + fake_offset(fake, "AppDomain", list_field);
    uint32_t room = (uint32_t)fake_get(fake, own->list_block, "ArrayListBlock", "Size");
    if (own->list_count == room) {
        uint64_t block = fake_memory(fake, fake_size(fake, "ArrayListBlock"));
        fake_set(fake, block, "ArrayListBlock", "Size", 4);
        fake_set(fake, own->list_block, "ArrayListBlock", "Next", block);
        own->list_block = block;
        own->list_count = 0;
    }
    if (fake->release < 11) {
        element = fake_memory(fake, fake_size(fake, "DomainAssembly"));
        fake_set(fake, element, "DomainAssembly", "Assembly", assembly);
    }
    fake_put_word(fake,
                  own->list_block + fake_offset(fake, "ArrayListBlock", "ArrayStart") +
                      (uint64_t)own->list_count++ * fake->word,
                  element);
    fake_set(fake, list, "ArrayListBase", "Count",
             fake_get(fake, list, "ArrayListBase", "Count") + 1);
}

static uint64_t place_image(struct fake *fake, const struct fake_module *module)
{
    uint64_t base = fake_image_base(fake) + (uint64_t)fake->own->image_count++ * 0x100000;
    fake_block(fake, base, module->image_size);
    fake_put(fake, base, module->image, module->image_size);
    uint64_t layout = fake_memory(fake, fake_size(fake, "PEImageLayout"));
    fake_set(fake, layout, "PEImageLayout", "Base", base);
    fake_set(fake, layout, "PEImageLayout", "Size", module->image_size);
    fake_set(fake, layout, "PEImageLayout", "Flags", module->mapped ? MAPPED : 0x172);
    return layout;
}

static uint64_t place_pe_assembly(struct fake *fake, const struct fake_module *module,
                                  uint64_t address)
{
    uint64_t pe_assembly = fake_memory(fake, fake_size(fake, "PEAssembly")), image = 0;
    if (module->image) {
        uint64_t layout = place_image(fake, module);
        image = fake_memory(fake, fake_size(fake, "PEImage"));
        fake_set(fake, image, "PEImage", module->mapped ? "LoadedImageLayout" : "FlatImageLayout",
                 layout);
        set_if(fake, address, "Module", "Base", fake_get(fake, layout, "PEImageLayout", "Base"));
        if (module->path)
            set_if(fake, image, "PEImage", "Path", fake_utf16(fake, module->path));
    }
    fake_set(fake, pe_assembly, "PEAssembly", "PEImage", image);
    uint64_t binder = module->binder ? module->binder : fake->known.binder;
    if (fake->release >= 10 || module->is_dynamic) {
        fake_set(fake, pe_assembly, "PEAssembly", "AssemblyBinder", binder);
    } else { /* there only the binder's own assembly knows it */
        uint64_t host = fake_memory(fake, fake_size(fake, "BinderAssembly"));
        fake_set(fake, host, "BinderAssembly", "Binder", binder);
        fake_set(fake, pe_assembly, "PEAssembly", "HostAssembly", host);
    }
    return pe_assembly;
}

static void place_tables(struct fake *fake, const struct fake_module *module, uint64_t address)
{
    uint32_t rows = module->type_rows ? module->type_rows : TYPE_ROWS;
    uint64_t map = address + fake_offset(fake, "Module", "TypeDefToMethodTableMap");
    fake_set(fake, map, "ModuleLookupMap", "TableData",
             fake_memory(fake, (uint64_t)rows * fake->word));
    fake_set(fake, map, "ModuleLookupMap", "Count", rows);
    set_if(fake, map, "ModuleLookupMap", "SupportedFlagsMask", 1);
    uint64_t table = fake_memory(fake, fake_size(fake, "EETypeHashTable"));
    uint64_t buckets = fake_memory(fake, (uint64_t)(3 + CHAINS) * fake->word);
    fake_put_word(fake, buckets, CHAINS);
    for (unsigned i = 0; i < CHAINS; i++)
        fake_put_word(fake, buckets + (uint64_t)(3 + i) * fake->word, 1); /* the end */
    fake_set(fake, table, "EETypeHashTable", "Buckets", buckets);
    fake_set(fake, address, "Module", "AvailableTypeParams", table);
}

uint64_t fake_module(struct fake *fake, const struct fake_module *module)
{
    uint64_t address = fake_memory(fake, fake_size(fake, "Module"));
    uint64_t assembly = fake_memory(fake, fake_size(fake, "Assembly"));
    fake_set(fake, address, "Module", "Assembly", assembly);
    fake_set(fake, assembly, "Assembly", "Module", address);
    set_if(fake, assembly, "Assembly", "IsCollectible", module->is_collectible);
    set_if(fake, assembly, "Assembly", "IsDynamic", module->is_dynamic);
    set_if(fake, assembly, "Assembly", "IsLoaded", 1);
    set_if(fake, assembly, "Assembly", "Level", 4);
    set_if(fake, address, "Module", "Flags", module->is_dynamic ? 0x40 : 0);
    set_if(fake, address, "Module", "LoaderAllocator",
           module->allocator ? module->allocator : fake->known.allocator);
    set_if(fake, address, "Module", "Path", fake_utf16(fake, module->path ? module->path : ""));
    if (module->simple_name)
        fake_set(fake, address, "Module", "SimpleName", fake_utf8(fake, module->simple_name));
    if (module->metadata) {
        uint64_t at = fake_offset(fake, "DynamicMetadata", "Data");
        uint64_t snapshot = fake_memory(fake, at + module->metadata_size);
        fake_set(fake, snapshot, "DynamicMetadata", "Size", module->metadata_size);
        fake_put(fake, snapshot + at, module->metadata, module->metadata_size);
        set_if(fake, address, "Module", "DynamicMetadata", snapshot);
    }
    fake_set(fake, address, "Module", "PEAssembly", place_pe_assembly(fake, module, address));
    place_tables(fake, module, address);
    if (!module->unlisted)
        add_assembly(fake, assembly);
    return address;
}

void fake_type_def(struct fake *fake, uint64_t module, uint32_t rid, uint64_t method_table)
{
    uint64_t map = module + fake_offset(fake, "Module", "TypeDefToMethodTableMap");
    if (rid >= fake_get(fake, map, "ModuleLookupMap", "Count"))
        fake_die("row %u is outside the TypeDef map", rid);
    fake_put_word(fake,
                  fake_get(fake, map, "ModuleLookupMap", "TableData") + (uint64_t)rid * fake->word,
                  method_table);
}

uint64_t fake_instantiation(struct fake *fake, uint64_t module, uint64_t handle)
{
    uint64_t table = fake_get(fake, module, "Module", "AvailableTypeParams");
    uint64_t head = fake_get(fake, table, "EETypeHashTable", "Buckets") +
                    (3 + handle / 16 % CHAINS) * fake->word;
    uint64_t entry = fake_memory(fake, fake_size(fake, "EETypeHashTable"));
    fake_set(fake, entry, "EETypeHashTable", "VolatileEntryValue", handle);
    fake_set(fake, entry, "EETypeHashTable", "VolatileEntryNextEntry", fake_word(fake, head));
    fake_put_word(fake, head, entry);
    fake_set(fake, table, "EETypeHashTable", "Count",
             fake_get(fake, table, "EETypeHashTable", "Count") + 1);
    return entry;
}

/* --- Types ------------------------------------------------------------------------------------ */

/* Room for a MethodTable with its GCDesc below, and two pieces and an optional word behind; the MethodTable's address. */
static uint64_t place_table(struct fake *fake, const struct fake_type *type)
{
    const uint64_t word = fake->word;
    int64_t n = (int64_t)type->series_count;
    uint64_t below = type->raw_desc ? type->raw_count : n ? 1 + 2 * (uint64_t)n : 0;
    uint64_t lead = (below * word + 15) / 16 * 16;
    uint64_t address = fake_memory(fake, lead + fake_size(fake, "MethodTable") + 3 * word) + lead;
    uint64_t size = type->base_size ? type->base_size : 3 * word;
    for (size_t i = 0; i < type->raw_count; i++)
        fake_put_word(fake, address - word * (i + 1), (uint64_t)type->raw_desc[i]);
    if (type->raw_desc || n == 0)
        return address;
    fake_put_word(fake, address - word, (uint64_t)n);
    for (size_t i = 0; i < type->series_count; i++) {
        uint64_t at = address - word - 2 * word * (i + 1);
        fake_put_word(fake, at, type->series[i].bytes - size); /* biased by the base size */
        fake_put_word(fake, at + word, type->series[i].offset);
    }
    return address;
}

static uint64_t place_class(struct fake *fake, const struct fake_type *type, uint64_t address)
{
    uint64_t size = fake_size(fake, "EEClass");
    if (fake_find_name(fake, "ArrayClass", "!"))
        size = fake_size(fake, "ArrayClass");
    uint64_t packed = fake_find_name(fake, "EEClassPackedFields", "!")
                          ? fake_size(fake, "EEClassPackedFields")
                          : 0;
    uint64_t at = fake_memory(fake, size + packed);
    fake_set(fake, at, "EEClass", "MethodTable", address);
    fake_set(fake, at, "EEClass", "CorTypeAttr", type->attributes);
    fake_set(fake, at, "EEClass", "InternalCorElementType",
             type->norm_type ? type->norm_type : ELEMENT_CLASS);
    set_if(fake, at, "EEClass", "NumInstanceFields", type->instance_fields);
    set_if(fake, at, "EEClass", "NumStaticFields", type->static_fields);
    if (packed) {
        fake_set(fake, at, "EEClass", "FixedFieldsSize", size);
        fake_set(fake, at + size, "EEClassPackedFields", "NumInstanceFields",
                 type->instance_fields);
        fake_set(fake, at + size, "EEClassPackedFields", "NumStaticFields", type->static_fields);
    }
    if ((type->flags & CLR_MT_IS_ARRAY_MASK) == CLR_MT_IS_ARRAY)
        set_if(fake, at, "ArrayClass", "Rank",
               (type->base_size - 3 * fake->word) / 8 ? (type->base_size - 3 * fake->word) / 8 : 1);
    return at;
}

/* Words in a row in native memory; their address. */
static uint64_t place_words(struct fake *fake, const uint64_t *words, size_t count)
{
    uint64_t at = fake_memory(fake, (count ? count : 1) * (uint64_t)fake->word);
    for (size_t i = 0; i < count; i++)
        fake_put_word(fake, at + i * fake->word, words[i]);
    return at;
}

/* Counts, dictionaries' addresses, and the type's own dictionary, as PerInstInfo points at them. */
static uint64_t place_generics(struct fake *fake, const struct fake_type *type)
{
    const uint64_t word = fake->word;
    uint64_t dictionaries = (uint64_t)type->inherited_dictionaries + 1;
    uint64_t info = fake_memory(fake, word + dictionaries * word);
    uint64_t per_inst = info + fake_size(fake, "GenericsDictInfo");
    fake_set(fake, info, "GenericsDictInfo", "NumDicts", dictionaries);
    fake_set(fake, info, "GenericsDictInfo", "NumTypeArgs", type->argument_count);
    for (uint64_t i = 0; i + 1 < dictionaries; i++)
        fake_put_word(fake, per_inst + i * word, fake_memory(fake, word));
    fake_put_word(fake, per_inst + (dictionaries - 1) * word,
                  place_words(fake, type->arguments, type->argument_count));
    return per_inst;
}

uint64_t fake_type(struct fake *fake, const struct fake_type *type)
{
    const uint64_t word = fake->word;
    uint64_t module = type->module ? type->module : fake->known.core;
    uint64_t address = place_table(fake, type), per_inst = type->element;
    uint32_t flags = type->flags;
    if (type->series_count || type->raw_desc)
        flags |= CLR_MT_CONTAINS_POINTERS;
    if (type->component_size)
        flags |= 0x80000000 | type->component_size;
    if (type->is_collectible)
        flags |= fake->release == 8 ? 0x10000000 : CLR_MT_COLLECTIBLE;
    if (type->argument_count) {
        if (!(flags & CLR_MT_GENERICS))
            flags |= GENERIC_INSTANCE;
        per_inst = place_generics(fake, type);
    }
    fake_set(fake, address, "MethodTable", "MTFlags", flags);
    fake_set(fake, address, "MethodTable", "BaseSize",
             type->base_size ? type->base_size : 3 * word);
    fake_set(fake, address, "MethodTable", "MTFlags2",
             fake->release == 8 ? type->rid << 16 : type->rid << 8);
    fake_set(fake, address, "MethodTable", "Module", module);
    if (fake->release == 8 && type->loader_module) {
        enum { HAS_FIXED_WORDS = 3, OVERRIDES_MODULE = 0x10, TWO_PIECES = 9 };
        fake_set(fake, address, "MethodTable", "MTFlags2",
                 type->rid << 16 | OVERRIDES_MODULE | HAS_FIXED_WORDS);
        fake_set(fake, address, "MethodTable", "Module", type->loader_module);
        fake_set(fake, address, "MethodTable", "NumVirtuals", TWO_PIECES);
        fake_put_word(fake, address + fake_size(fake, "MethodTable") + 2 * word, module);
    }
    fake_set(fake, address, "MethodTable", "ParentMethodTable",
             type->parent == FAKE_NONE ? 0
             : type->parent            ? type->parent
                                       : fake->known.object);
    fake_set(fake, address, "MethodTable", "PerInstInfo", per_inst);
    fake_set(fake, address, "MethodTable", "NumInterfaces", type->interface_count);
    if (type->interface_count)
        fake_put_word(fake, address + fake_size(fake, "MethodTable") - word,
                      place_words(fake, type->interfaces, type->interface_count));
    if (type->canonical)
        fake_set(fake, address, "MethodTable", "EEClassOrCanonMT", type->canonical | 1);
    else
        fake_set(fake, address, "MethodTable", "EEClassOrCanonMT",
                 type->type_class ? type->type_class : place_class(fake, type, address));
    uint64_t auxiliary = fake_memory(fake, 64 + fake_size(fake, "MethodTableAuxiliaryData")) + 64;
    set_if(fake, auxiliary, "MethodTableAuxiliaryData", "LoaderModule",
           type->loader_module ? type->loader_module : module);
    fake_set(fake, address, "MethodTable", "AuxiliaryData", auxiliary);
    bool array = (flags & CLR_MT_IS_ARRAY_MASK) == CLR_MT_IS_ARRAY;
    if (type->rid && !type->instance_of)
        fake_type_def(fake, module, type->rid, address);
    else if (type->instance_of || array)
        fake_instantiation(fake, module, address);
    return address;
}

uint64_t fake_class(struct fake *fake, uint32_t rid, unsigned words, uint64_t references)
{
    const uint64_t word = fake->word;
    struct fake_series series[32];
    size_t count = 0;
    for (unsigned i = 0; i < words; i++) {
        if (!(references >> i & 1))
            continue;
        if (i == 0 || !(references >> (i - 1) & 1))
            series[count++] = (struct fake_series){word * (i + 1), 0};
        series[count - 1].bytes += word;
    }
    return fake_type(fake,
                     &(struct fake_type){.rid = rid,
                                         .base_size = (uint32_t)(word * (2 + (words ? words : 1))),
                                         .series = series,
                                         .series_count = count});
}

uint64_t fake_array(struct fake *fake, uint64_t element, uint32_t component_size, bool references)
{
    const uint64_t word = fake->word;
    struct fake_series all = {.offset = 2 * word, .bytes = 0}; /* grows with the object */
    return fake_type(fake, &(struct fake_type){.flags = KIND_SZARRAY,
                                               .component_size = component_size,
                                               .base_size = (uint32_t)(3 * word),
                                               .parent = fake->known.array,
                                               .element = element,
                                               .series = &all,
                                               .series_count = references});
}

/* --- What every process has ------------------------------------------------------------------- */

static const struct {
    const char *space, *name;
} core_types[] = {
    {"", "<Module>"},        {"System", "Object"},
    {"System", "String"},    {"System", "Array"},
    {"System", "Exception"}, {"System", "__Canon"},
    {"System", "Delegate"},  {"System", "MulticastDelegate"},
    {"System", "ValueType"}, {"System", "Enum"},
    {"System", "Int32"},     {"System.Runtime.CompilerServices", "Continuation"},
};
enum { /* rows of the above */
       ROW_OBJECT = 2,
       ROW_STRING,
       ROW_ARRAY,
       ROW_EXCEPTION,
       ROW_CANON,
       ROW_DELEGATE,
       ROW_MULTICAST,
       ROW_VALUE,
       ROW_ENUM,
       ROW_INT32,
       ROW_CONTINUATION
};

static void create_core(struct fake *fake)
{
    static const uint8_t guid[16] = {0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88,
                                     0x99, 0xaa, 0xbb, 0xcc, 0xdd, 0xee, 0xff, 0x10};
    struct metadata_builder *m = metadata_builder_create();
    fake->own->core_metadata = m;
    METADATA_ROW(m, CLR_MODULE, 0, metadata_string(m, "System.Private.CoreLib.dll"),
                 metadata_guid(m, guid), 0, 0);
    for (size_t i = 0; i < sizeof core_types / sizeof core_types[0]; i++)
        METADATA_ROW(m, CLR_TYPEDEF, 0, metadata_string(m, core_types[i].name),
                     metadata_string(m, core_types[i].space), 0, 1, 1);
    METADATA_ROW(m, CLR_ASSEMBLY, 0x8004, fake->release, 0, 1, 2, 0, 0,
                 metadata_string(m, "System.Private.CoreLib"), 0);
    size_t size;
    const uint8_t *image = metadata_build_image(m, true, fake->word == 8, &size);
    fake->known.core =
        fake_module(fake, &(struct fake_module){.path = "/runtime/System.Private.CoreLib.dll",
                                                .simple_name = "System.Private.CoreLib",
                                                .image = image,
                                                .image_size = size,
                                                .mapped = true});
}

static void create_free(struct fake *fake)
{
    uint64_t free = fake_memory(fake, fake_size(fake, "MethodTable"));
    fake_set(fake, free, "MethodTable", "MTFlags", 0x80000001);
    fake_set(fake, free, "MethodTable", "BaseSize", 3 * fake->word);
    fake->known.free = free;
}

static uint64_t simple(struct fake *fake, uint32_t rid, uint64_t parent, uint32_t flags,
                       uint32_t attributes)
{
    return fake_type(fake,
                     &(struct fake_type){
                         .rid = rid, .parent = parent, .flags = flags, .attributes = attributes});
}

static void create_known_types(struct fake *fake)
{
    struct fake_known *k = &fake->known;
    const uint32_t word = fake->word;
    create_free(fake);
    k->object = simple(fake, ROW_OBJECT, FAKE_NONE, 0, 0);
    k->array = simple(fake, ROW_ARRAY, 0, 0, ATTRIBUTE_ABSTRACT);
    k->canon = simple(fake, ROW_CANON, 0, 0, 0);
    k->exception = fake_class(fake, ROW_EXCEPTION, 5, 7); /* message, inner, trace; numbers */
    k->delegate = fake_class(fake, ROW_DELEGATE, 4, 3);
    k->value_type = simple(fake, ROW_VALUE, 0, 0, ATTRIBUTE_ABSTRACT);
    k->enumeration = simple(fake, ROW_ENUM, k->value_type, 0, ATTRIBUTE_ABSTRACT);
    struct fake_series delegate = {word, 2 * word};
    k->multicast_delegate = fake_type(fake, &(struct fake_type){.rid = ROW_MULTICAST,
                                                                .parent = k->delegate,
                                                                .base_size = 8 * word,
                                                                .series = &delegate,
                                                                .series_count = 1});
    k->string = fake_type(fake, &(struct fake_type){.rid = ROW_STRING,
                                                    .component_size = 2,
                                                    .base_size = 2 * word + 4 + 2,
                                                    .attributes = ATTRIBUTE_SEALED});
    k->int32 = fake_type(fake, &(struct fake_type){.rid = ROW_INT32,
                                                   .parent = k->value_type,
                                                   .flags = KIND_PRIMITIVE,
                                                   .norm_type = ELEMENT_I4});
    k->object_array = fake_array(fake, k->object, word, true);
    struct fake_series next = {word, word};
    k->continuation = fake_type(fake, &(struct fake_type){.rid = ROW_CONTINUATION,
                                                          .base_size = 5 * word,
                                                          .series = &next,
                                                          .series_count = 1});
    k->continuation_class = fake_memory(fake, fake_size(fake, "EEClass"));
    fake_set(fake, k->continuation_class, "EEClass", "MethodTable", k->continuation);
}

void fake_create_domain(struct fake *fake)
{
    struct fake_known *k = &fake->known;
    uint64_t domain = fake_memory(fake, fake_size(fake, "AppDomain"));
    fake_set_variable(fake, "AppDomain", domain);
    uint64_t list =
        domain +
        fake_offset(fake, "AppDomain", fake->release >= 11 ? "AssemblyList" : "DomainAssemblyList");
    fake->own->list_block = list + fake_offset(fake, "ArrayListBase", "FirstBlock");
    fake_set(fake, fake->own->list_block, "ArrayListBlock", "Size", 4);
    k->allocator = place(fake, "LoaderAllocator");
    k->binder = fake_binder(fake, 0);
    create_core(fake);
    create_known_types(fake);
    const struct {
        const char *name;
        uint64_t type;
        unsigned from;
    } known[] = {
        {"FreeObjectMethodTable", k->free, 8},
        {"ObjectMethodTable", k->object, 8},
        {"StringMethodTable", k->string, 8},
        {"ObjectArrayMethodTable", k->object_array, 8},
        {"ExceptionMethodTable", k->exception, 8},
        {"CanonMethodTable", k->canon, 8},
        {"MulticastDelegateMethodTable", k->multicast_delegate, 10},
        {"ContinuationMethodTable", k->continuation, 11},
        {"ContinuationSingletonEEClass", k->continuation_class, 11},
    };
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (fake->release >= known[i].from) {
            fake_add_variable(fake, known[i].name, fake->word);
            fake_set_variable(fake, known[i].name, known[i].type);
        }
}
