/*
 * The layout of the fake runtime: one table of names. Offsets follow from the order in the table,
 * with a word of nothing in front of most structures, so that none is the real one by accident.
 */
#include "clr_builder_private.h"

#include <string.h>

#define W 0
#define IN FAKE_INLINE

struct row {
    const char *type, *field; /* FIELD in parentheses: takes room and has no name */
    uint8_t width;            /* 0 a word; 1, 2, 4, 8; IN: COUNT times INNER */
    uint16_t count;
    const char *inner; /* a type of this table, or NULL: words, or "u8" */
    uint8_t from, to;  /* releases; 0: no bound */
    bool exact;        /* no room around it */
};

static const struct row rows[] = {
    {"MethodTable", "Module", W, 0, NULL, 0, 0, true},
    {"MethodTable", "MTFlags", 4, 0, NULL, 0, 0, true},
    {"MethodTable", "BaseSize", 4, 0, NULL, 0, 0, true},
    {"MethodTable", "MTFlags2", 4, 0, NULL, 0, 0, true},
    {"MethodTable", "NumVirtuals", 2, 0, NULL, 0, 0, true},
    {"MethodTable", "NumInterfaces", 2, 0, NULL, 0, 0, true},
    {"MethodTable", "ParentMethodTable", W, 0, NULL, 0, 0, true},
    {"MethodTable", "EEClassOrCanonMT", W, 0, NULL, 0, 0, true},
    {"MethodTable", "AuxiliaryData", W, 0, NULL, 0, 0, true},
    {"MethodTable", "PerInstInfo", W, 0, NULL, 0, 0, true},
    {"MethodTable", "(interface map)", W, 0, NULL, 0, 0, true},
    {"MethodTableAuxiliaryData", "Flags", 4, 0, NULL, 0, 0, false},
    {"MethodTableAuxiliaryData", "LoaderModule", W, 0, NULL, 9, 0, false},
    {"DynamicStaticsInfo", "NonGCStatics", W, 0, NULL, 0, 0, true},
    {"DynamicStaticsInfo", "GCStatics", W, 0, NULL, 0, 0, true},
    {"DynamicStaticsInfo", "(type)", W, 0, NULL, 0, 0, true},
    {"TLSIndex", "TLSIndexRawIndex", 4, 0, NULL, 10, 0, true},
    {"ThreadStaticsInfo", "GCTlsIndex", IN, 1, "TLSIndex", 10, 0, true},
    {"ThreadStaticsInfo", "NonGCTlsIndex", IN, 1, "TLSIndex", 10, 0, true},
    {"ThreadStaticsInfo", "(statics)", IN, 1, "DynamicStaticsInfo", 10, 0, true},
    {"EEClass", "MethodTable", W, 0, NULL, 0, 0, false},
    {"EEClass", "CorTypeAttr", 4, 0, NULL, 0, 0, false},
    {"EEClass", "InternalCorElementType", 1, 0, NULL, 0, 0, false},
    {"EEClass", "BaseSizePadding", 1, 0, NULL, 0, 0, false},
    {"EEClass", "NumMethods", 2, 0, NULL, 9, 0, false},
    {"EEClass", "NumInstanceFields", 2, 0, NULL, 9, 0, false},
    {"EEClass", "NumStaticFields", 2, 0, NULL, 9, 0, false},
    {"EEClass", "NumThreadStaticFields", 2, 0, NULL, 9, 0, false},
    {"EEClass", "NumNonVirtualSlots", 2, 0, NULL, 9, 0, false},
    {"EEClass", "FixedFieldsSize", 1, 0, NULL, 0, 8, false},
    {"EEClass", "FieldsArePacked", 1, 0, NULL, 0, 8, false},
    {"EEClass", "FieldDescList", W, 0, NULL, 0, 0, false},
    {"EEClass", "MethodDescChunk", W, 0, NULL, 0, 0, false},
    {"ArrayClass", "(class)", IN, 1, "EEClass", 0, 10, true},
    {"ArrayClass", "Rank", 1, 0, NULL, 0, 10, true},
    {"EEClassPackedFields", "NumInstanceFields", 4, 0, NULL, 0, 8, true},
    {"EEClassPackedFields", "NumStaticFields", 4, 0, NULL, 0, 8, true},
    {"EEClassPackedFields", "NumThreadStaticFields", 4, 0, NULL, 0, 8, true},
    {"FieldDesc", "MTOfEnclosingClass", W, 0, NULL, 0, 0, true},
    {"FieldDesc", "DWord1", 4, 0, NULL, 0, 0, true},
    {"FieldDesc", "DWord2", 4, 0, NULL, 0, 0, true},
    {"MethodDesc", "Flags3AndTokenRemainder", 2, 0, NULL, 0, 0, true},
    {"MethodDesc", "ChunkIndex", 1, 0, NULL, 0, 0, true},
    {"MethodDesc", "EntryPointFlags", 1, 0, NULL, 10, 0, true},
    {"MethodDesc", "Slot", 2, 0, NULL, 0, 0, true},
    {"MethodDesc", "Flags", 2, 0, NULL, 0, 0, true},
    {"MethodDesc", "CodeData", W, 0, NULL, 10, 0, true},
    {"MethodDescChunk", "MethodTable", W, 0, NULL, 0, 0, true},
    {"MethodDescChunk", "Next", W, 0, NULL, 0, 0, true},
    {"MethodDescChunk", "Size", 1, 0, NULL, 0, 0, true},
    {"MethodDescChunk", "Count", 1, 0, NULL, 0, 0, true},
    {"MethodDescChunk", "FlagsAndTokenRange", 2, 0, NULL, 0, 0, true},
    {"InstantiatedMethodDesc", "(desc)", IN, 1, "MethodDesc", 0, 0, true},
    {"InstantiatedMethodDesc", "PerInstInfo", W, 0, NULL, 0, 0, true},
    {"InstantiatedMethodDesc", "Flags2", 2, 0, NULL, 0, 0, true},
    {"InstantiatedMethodDesc", "NumGenericArgs", 2, 0, NULL, 0, 0, true},
    {"StoredSigMethodDesc", "(desc)", IN, 1, "MethodDesc", 0, 0, true},
    {"StoredSigMethodDesc", "Sig", W, 0, NULL, 0, 0, true},
    {"StoredSigMethodDesc", "cSig", 4, 0, NULL, 0, 0, true},
    {"StoredSigMethodDesc", "ExtendedFlags", 4, 0, NULL, 0, 0, true},
    {"DynamicMethodDesc", "(stored)", IN, 1, "StoredSigMethodDesc", 0, 0, true},
    {"DynamicMethodDesc", "MethodName", W, 0, NULL, 0, 0, true},
    {"FCallMethodDesc", "(all)", IN, 1, "StoredSigMethodDesc", 10, 0, true},
    {"PInvokeMethodDesc", "(all)", IN, 2, "StoredSigMethodDesc", 10, 0, true},
    {"EEImplMethodDesc", "(all)", IN, 1, "StoredSigMethodDesc", 10, 0, true},
    {"ArrayMethodDesc", "(all)", IN, 1, "StoredSigMethodDesc", 10, 0, true},
    {"NonVtableSlot", "(all)", IN, 1, NULL, 10, 0, true},
    {"MethodImpl", "(all)", IN, 2, NULL, 10, 0, true},
    {"NativeCodeSlot", "(all)", IN, 1, NULL, 10, 0, true},
    {"AsyncMethodData", "(all)", IN, 3, NULL, 11, 0, true},
    {"Exception", "(type)", W, 0, NULL, 0, 0, true},
    {"Exception", "_message", W, 0, NULL, 0, 0, true},
    {"Exception", "_innerException", W, 0, NULL, 0, 0, true},
    {"Exception", "_stackTrace", W, 0, NULL, 0, 0, true},
    {"Exception", "_HResult", 4, 0, NULL, 0, 0, true},
    {"Exception", "_xcode", 4, 0, NULL, 0, 0, true},
    {"TypeDesc", "TypeAndFlags", 4, 0, NULL, 0, 0, false},
    {"ParamTypeDesc", "(desc)", IN, 1, "TypeDesc", 0, 0, true},
    {"ParamTypeDesc", "TypeArg", W, 0, NULL, 0, 0, true},
    {"TypeVarTypeDesc", "(desc)", IN, 1, "TypeDesc", 0, 0, true},
    {"TypeVarTypeDesc", "Module", W, 0, NULL, 0, 0, true},
    {"TypeVarTypeDesc", "Token", 4, 0, NULL, 0, 0, true},
    {"TypeVarTypeDesc", "Index", 4, 0, NULL, 11, 0, true},
    {"FnPtrTypeDesc", "(desc)", IN, 1, "TypeDesc", 0, 0, true},
    {"FnPtrTypeDesc", "NumArgs", 4, 0, NULL, 0, 0, true},
    {"FnPtrTypeDesc", "CallConv", 4, 0, NULL, 0, 0, true},
    {"FnPtrTypeDesc", "RetAndArgTypes", IN, 8, NULL, 0, 0, true},

    {"ArrayListBlock", "Size", 4, 0, NULL, 0, 0, false},
    {"ArrayListBlock", "Next", W, 0, NULL, 0, 0, false},
    {"ArrayListBlock", "ArrayStart", IN, 4, NULL, 0, 0, false},
    {"ArrayListBase", "Count", 4, 0, NULL, 0, 0, false},
    {"ArrayListBase", "FirstBlock", IN, 1, "ArrayListBlock", 0, 0, false},
    {"AppDomain", "AssemblyList", IN, 1, "ArrayListBase", 11, 0, false},
    {"AppDomain", "DomainAssemblyList", IN, 1, "ArrayListBase", 0, 10, false},
    {"DomainAssembly", "Assembly", W, 0, NULL, 0, 10, true},
    {"Assembly", "Module", W, 0, NULL, 0, 0, false},
    {"Assembly", "IsCollectible", 1, 0, NULL, 10, 0, false},
    {"Assembly", "IsDynamic", 1, 0, NULL, 11, 0, false},
    {"Assembly", "IsLoaded", 1, 0, NULL, 11, 0, false},
    {"Assembly", "Level", 4, 0, NULL, 10, 10, false},
    {"Assembly", "Error", W, 0, NULL, 10, 0, false},
    {"ModuleLookupMap", "Count", 4, 0, NULL, 0, 0, false},
    {"ModuleLookupMap", "TableData", W, 0, NULL, 0, 0, false},
    {"ModuleLookupMap", "SupportedFlagsMask", W, 0, NULL, 10, 0, false},
    {"ModuleLookupMap", "Next", W, 0, NULL, 0, 0, false},
    {"EETypeHashTable", "Buckets", W, 0, NULL, 0, 0, false},
    {"EETypeHashTable", "Count", 4, 0, NULL, 0, 0, false},
    {"EETypeHashTable", "VolatileEntryValue", W, 0, NULL, 0, 0, false},
    {"EETypeHashTable", "VolatileEntryNextEntry", W, 0, NULL, 0, 0, false},
    {"InstMethodHashTable", "Buckets", W, 0, NULL, 10, 0, false},
    {"InstMethodHashTable", "Count", 4, 0, NULL, 10, 0, false},
    {"InstMethodHashTable", "VolatileEntryValue", W, 0, NULL, 10, 0, false},
    {"InstMethodHashTable", "VolatileEntryNextEntry", W, 0, NULL, 10, 0, false},
    {"DynamicMetadata", "Size", 4, 0, NULL, 0, 0, true},
    {"DynamicMetadata", "Data", IN, 0, "u8", 0, 0, true},
    {"Module", "Path", W, 0, NULL, 9, 0, false},
    {"Module", "FileName", W, 0, NULL, 10, 0, false},
    {"Module", "SimpleName", W, 0, NULL, 0, 0, false},
    {"Module", "Assembly", W, 0, NULL, 0, 0, false},
    {"Module", "PEAssembly", W, 0, NULL, 0, 0, false},
    {"Module", "Base", W, 0, NULL, 9, 0, false},
    {"Module", "Flags", 4, 0, NULL, 9, 0, false},
    {"Module", "LoaderAllocator", W, 0, NULL, 0, 0, false},
    {"Module", "DynamicMetadata", W, 0, NULL, 9, 0, false},
    {"Module", "ReadyToRunInfo", W, 0, NULL, 0, 0, false},
    {"Module", "MethodDefToDescMap", IN, 1, "ModuleLookupMap", 0, 0, false},
    {"Module", "TypeDefToMethodTableMap", IN, 1, "ModuleLookupMap", 0, 0, false},
    {"Module", "FieldDefToDescMap", IN, 1, "ModuleLookupMap", 0, 0, false},
    {"Module", "AvailableTypeParams", W, 0, NULL, 0, 0, false},
    {"Module", "InstMethodHashTable", W, 0, NULL, 10, 0, false},
    {"BinderAssembly", "Binder", W, 0, NULL, 0, 9, false},
    {"PEAssembly", "HostAssembly", W, 0, NULL, 0, 9, false},
    {"PEAssembly", "AssemblyBinder", W, 0, NULL, 0, 0, false},
    {"PEAssembly", "PEImage", W, 0, NULL, 0, 0, false},
    {"PEAssembly", "MDImportIsRW", 1, 0, NULL, 11, 0, false},
    {"PEImage", "FlatImageLayout", W, 0, NULL, 0, 0, false},
    {"PEImage", "LoadedImageLayout", W, 0, NULL, 0, 0, false},
    {"PEImage", "Path", W, 0, NULL, 0, 10, false},
    {"PEImage", "PathSize", 4, 0, NULL, 0, 10, false},
    {"PEImageLayout", "Flags", 4, 0, NULL, 0, 0, false},
    {"PEImageLayout", "Size", 4, 0, NULL, 0, 0, false},
    {"PEImageLayout", "Base", W, 0, NULL, 0, 0, false},
    {"PEImageLayout", "Format", 4, 0, NULL, 11, 0, false},
    {"AssemblyBinder", "AssemblyLoadContext", W, 0, NULL, 0, 0, false},
    {"LoaderAllocator", "IsCollectible", 1, 0, NULL, 11, 0, false},
    {"LoaderAllocator", "ReferenceCount", 4, 0, NULL, 10, 0, false},
    {"LoaderAllocator", "ObjectHandle", W, 0, NULL, 0, 0, false},

    {"GCAllocContext", "Limit", W, 0, NULL, 0, 0, false},
    {"GCAllocContext", "Pointer", W, 0, NULL, 0, 0, false},
    {"GCAllocContext", "AllocBytes", 8, 0, NULL, 11, 0, false},
    {"GCAllocContext", "AllocBytesLoh", 8, 0, NULL, 11, 0, false},
    {"EEAllocContext", "GCAllocationContext", IN, 1, "GCAllocContext", 10, 0, false},
    {"RuntimeThreadLocals", "AllocContext", IN, 1, "EEAllocContext", 10, 0, false},
    {"RuntimeThreadLocals", "AllocContext", IN, 1, "GCAllocContext", 9, 9, false},
    {"Thread", "AllocContext", IN, 1, "GCAllocContext", 0, 8, false},
    {"Thread", "Id", 4, 0, NULL, 0, 0, false},
    {"Thread", "State", 4, 0, NULL, 0, 0, false},
    {"Thread", "OSId", W, 0, NULL, 0, 0, false},
    {"Thread", "PreemptiveGCDisabled", 4, 0, NULL, 0, 0, false},
    {"Thread", "LinkNext", W, 0, NULL, 0, 0, false},
    {"Thread", "RuntimeThreadLocals", W, 0, NULL, 9, 0, false},
    {"Thread", "ExposedObject", W, 0, NULL, 11, 0, false},
    {"Thread", "GCHandle", W, 0, NULL, 0, 10, false},
    {"Thread", "LastThrownObject", W, 0, NULL, 0, 0, false},
    {"Thread", "ExceptionTracker", W, 0, NULL, 0, 0, false},
    {"Thread", "Frame", W, 0, NULL, 0, 0, false},
    {"Thread", "GCFrame", W, 0, NULL, 11, 0, false},
    {"Thread", "CachedStackBase", W, 0, NULL, 11, 0, false},
    {"Thread", "CachedStackLimit", W, 0, NULL, 11, 0, false},
    {"Thread", "ThreadLocalDataPtr", W, 0, NULL, 10, 0, false},
    {"ThreadLocalData", "NonCollectibleTlsDataCount", 4, 0, NULL, 10, 0, false},
    {"ThreadLocalData", "CollectibleTlsDataCount", 4, 0, NULL, 10, 0, false},
    {"ThreadLocalData", "NonCollectibleTlsArrayData", W, 0, NULL, 10, 0, false},
    {"ThreadLocalData", "CollectibleTlsArrayData", W, 0, NULL, 10, 0, false},
    {"ThreadLocalData", "InFlightData", W, 0, NULL, 10, 0, false},
    {"InFlightTLSData", "Next", W, 0, NULL, 10, 0, false},
    {"InFlightTLSData", "TlsIndex", IN, 1, "TLSIndex", 10, 0, false},
    {"InFlightTLSData", "TLSData", W, 0, NULL, 10, 0, false},
    {"GCFrame", "Next", W, 0, NULL, 11, 0, false},
    {"GCFrame", "ObjRefs", W, 0, NULL, 11, 0, false},
    {"GCFrame", "NumObjRefs", 4, 0, NULL, 11, 0, false},
    {"GCFrame", "GCFlags", 4, 0, NULL, 11, 0, false},
    {"ThreadStore", "ThreadCount", 4, 0, NULL, 0, 0, false},
    {"ThreadStore", "UnstartedCount", 4, 0, NULL, 0, 0, false},
    {"ThreadStore", "BackgroundCount", 4, 0, NULL, 0, 0, false},
    {"ThreadStore", "PendingCount", 4, 0, NULL, 0, 0, false},
    {"ThreadStore", "DeadCount", 4, 0, NULL, 0, 0, false},
    {"ThreadStore", "FirstThreadLink", W, 0, NULL, 0, 0, false},
    {"ExceptionInfo", "PreviousNestedInfo", W, 0, NULL, 0, 0, false},
    {"ExceptionInfo", "ThrownObject", W, 0, NULL, 0, 0, false},

    {"SyncTableEntry", "Object", W, 0, NULL, 0, 0, true},
    {"SyncTableEntry", "SyncBlock", W, 0, NULL, 0, 0, true},
    {"SyncBlock", "Lock", W, 0, NULL, 11, 0, false},
    {"SyncBlock", "ThinLock", 4, 0, NULL, 11, 0, false},
    {"SyncBlock", "HashCode", 4, 0, NULL, 11, 0, false},
    {"SyncBlockCache", "FreeSyncTableIndex", 4, 0, NULL, 11, 0, false},

    {"Generation", "StartSegment", W, 0, NULL, 0, 0, false},
    {"Generation", "AllocationContext", IN, 1, "GCAllocContext", 0, 0, false},
    {"Generation", "AllocationStart", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Mem", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Allocated", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Committed", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Reserved", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Used", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Flags", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Next", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "BackgroundAllocated", W, 0, NULL, 0, 0, false},
    {"HeapSegment", "Heap", W, 0, NULL, 0, 0, false},
    {"OomHistory", "Reason", 4, 0, NULL, 0, 0, false},
    {"OomHistory", "AllocSize", W, 0, NULL, 0, 0, false},
    {"CFinalize", "FillPointers", IN, FAKE_FILL_POINTERS, NULL, 0, 0, false},
    {"CFinalize", "(array)", W, 0, NULL, 0, 0, false}, /* right behind the fill pointers */
    {"GCHeap", "MarkArray", W, 0, NULL, 0, 0, false},
    {"GCHeap", "NextSweepObj", W, 0, NULL, 0, 0, false},
    {"GCHeap", "BackgroundMinSavedAddr", W, 0, NULL, 0, 0, false},
    {"GCHeap", "BackgroundMaxSavedAddr", W, 0, NULL, 0, 0, false},
    {"GCHeap", "AllocAllocated", W, 0, NULL, 0, 0, false},
    {"GCHeap", "EphemeralHeapSegment", W, 0, NULL, 0, 0, false},
    {"GCHeap", "FinalizeQueue", W, 0, NULL, 0, 0, false},
    {"GCHeap", "GenerationTable", IN, FAKE_GENERATIONS, "Generation", 0, 0, false},
    {"GCHeap", "SavedSweepEphemeralSeg", W, 0, NULL, 0, 0, false},
    {"GCHeap", "SavedSweepEphemeralStart", W, 0, NULL, 0, 0, false},
    {"GCHeap", "OomData", IN, 1, "OomHistory", 0, 0, false},
    {"HandleTableMap", "BucketsPtr", W, 0, NULL, 0, 0, false},
    {"HandleTableMap", "Next", W, 0, NULL, 0, 0, false},
    {"HandleTableBucket", "Table", W, 0, NULL, 0, 0, false},
    {"HandleTable", "SegmentList", W, 0, NULL, 0, 0, false},
    {"ManagedObjectWrapperHolderObject", "(type)", W, 0, NULL, 11, 0, true},
    {"ManagedObjectWrapperHolderObject", "Wrapper", W, 0, NULL, 11, 0, true},
    {"ManagedObjectWrapperLayout", "(handle)", IN, 1, NULL, 11, 0, true},
    {"ManagedObjectWrapperLayout", "RefCount", 8, 0, NULL, 11, 0, true},
    {"TableSegment", "RgAllocation", IN, FAKE_HANDLE_BLOCKS, "u8", 0, 0, false},
    {"TableSegment", "RgUserData", IN, FAKE_HANDLE_BLOCKS, "u8", 0, 0, false},
    {"TableSegment", "RgTail", IN, FAKE_HANDLE_TYPES, "u8", 0, 0, false},
    {"TableSegment", "NextSegment", W, 0, NULL, 0, 0, false},
    {"TableSegment", "(table)", W, 0, NULL, 0, 0, false}, /* right behind NextSegment */
    {"TableSegment", "RgValue", IN, FAKE_HANDLE_BLOCKS *FAKE_HANDLES_PER_BLOCK, NULL, 0, 0, false},
};

static void add_name(struct fake *fake, const char *type, const char *field, uint64_t value,
                     uint8_t width)
{
    struct fake_private *own = fake->own;
    if (own->name_count == FAKE_NAMES_MAX)
        fake_die("too many names");
    own->names[own->name_count++] = (struct fake_name){type, field, value, width, false};
}

struct fake_name *fake_find_name(const struct fake *fake, const char *type, const char *field)
{
    struct fake_private *own = fake->own;
    for (size_t i = 0; i < own->name_count; i++)
        if (strcmp(own->names[i].type, type) == 0 && strcmp(own->names[i].field, field) == 0)
            return &own->names[i];
    return NULL;
}

static bool exists(const struct fake *fake, const struct row *row)
{
    return (row->from == 0 || fake->release >= row->from) &&
           (row->to == 0 || fake->release <= row->to);
}

static uint64_t round_up(uint64_t value, uint64_t to)
{
    return (value + to - 1) / to * to;
}

static uint64_t row_size(const struct fake *fake, const struct row *row, uint64_t *alignment)
{
    *alignment = row->width == W || row->width == IN ? fake->word : row->width;
    if (row->width == 8 && fake->word == 4)
        *alignment = 4;
    if (row->width != IN)
        return row->width == W ? fake->word : row->width;
    if (!row->inner)
        return row->count * (uint64_t)fake->word;
    if (strcmp(row->inner, "u8") == 0) {
        *alignment = 1;
        return row->count;
    }
    if (strcmp(row->inner, "TLSIndex") == 0)
        *alignment = 4;
    return row->count * fake_size(fake, row->inner);
}

/* Lays out the type that starts at row FIRST; the row after its last. */
static size_t lay_out_type(struct fake *fake, size_t first)
{
    const char *type = rows[first].type;
    uint64_t at = rows[first].exact ? 0 : fake->word, alignment, size;
    bool any = false;
    size_t i = first;
    for (; i < sizeof rows / sizeof rows[0] && strcmp(rows[i].type, type) == 0; i++) {
        if (!exists(fake, &rows[i]))
            continue;
        any = true;
        size = row_size(fake, &rows[i], &alignment);
        at = round_up(at, alignment);
        if (rows[i].field[0] != '(')
            add_name(fake, type, rows[i].field, at, rows[i].width);
        at += size;
    }
    /* Of the smallest structures the end matters: no room is added. */
    if (any)
        add_name(fake, type, "!", strcmp(type, "TLSIndex") == 0 ? at : round_up(at, fake->word), 0);
    return i;
}

/* What the GC's algorithms or the language fix. */
static void lay_out_fixed(struct fake *fake)
{
    const uint64_t word = fake->word;
    add_name(fake, "Object", "m_pMethTab", 0, 0);
    add_name(fake, "Object", "!", word, 0);
    add_name(fake, "ObjectHeader", "SyncBlockValue", word - 4, 4);
    add_name(fake, "ObjectHeader", "!", word, 0);
    add_name(fake, "String", "m_StringLength", word, 4);
    add_name(fake, "String", "m_FirstChar", word + 4, FAKE_INLINE);
    add_name(fake, "Array", "m_NumComponents", word, 4);
    add_name(fake, "Array", "!", word * 2, 0);
    add_name(fake, "ObjectHandle", "!", word, 0);
    add_name(fake, "GenericsDictInfo", "NumDicts", word - 4, 2);
    add_name(fake, "GenericsDictInfo", "NumTypeArgs", word - 2, 2);
    add_name(fake, "GenericsDictInfo", "!", word, 0);
}

static void add_contract(struct fake *fake, const char *name, const char *version)
{
    struct fake_private *own = fake->own;
    own->contracts[own->contract_count].name = name;
    own->contracts[own->contract_count++].version = version;
}

static void add_literals(struct fake *fake)
{
    const uint64_t word = fake->word;
    const struct {
        const char *name;
        uint64_t value;
    } literals[] = {
        {"ObjectToMethodTableUnmask", word - 1},
        {"SyncBlockValueToObjectOffset", 4},
        {"ArrayBaseSize", 3 * word},
        {"SyncBlockIsHashOrSyncBlockIndex", 0x08000000},
        {"SyncBlockIsHashCode", 0x04000000},
        {"SyncBlockIndexMask", 0x03ffffff},
        {"SyncBlockHashCodeMask", 0x03ffffff},
        {"StaticsPointerMask", word == 4 ? 0xfffffffe : ~(uint64_t)1},
        {"PtrArrayOffsetToDataArray", 2 * word},
        {"NumberOfTlsOffsetsNotUsedInNoncollectibleArray", 2},
        {"FieldOffsetNewEnc", 0x7fffffb},
        {"FieldOffsetBigRVA", 0x7fffffa},
        {"FieldOffsetDynamicRVA", 0x7fffff9},
        {"MethodDescAlignment", word},
        {"MethodDescTokenRemainderBitCount", 12},
        {"TotalGenerationCount", FAKE_GENERATIONS},
        {"CFinalizeFillPointersLength", FAKE_FILL_POINTERS},
        {"InitialHandleTableArraySize", FAKE_HANDLE_BUCKETS},
        {"DebugDestroyedHandleValue", 0},
        {"HandleSegmentSize", FAKE_HANDLE_SEGMENT},
        {"HandleBlocksPerSegment", FAKE_HANDLE_BLOCKS},
        {"HandleMaxInternalTypes", FAKE_HANDLE_TYPES},
        {"HandlesPerBlock", FAKE_HANDLES_PER_BLOCK},
        {"BlockInvalid", 0xff},
    };
    for (size_t i = 0; i < sizeof literals / sizeof literals[0]; i++)
        fake_add_global(fake, literals[i].name, FAKE_LITERAL, literals[i].value);
    if (fake->release > 8) {
        fake_add_global(fake, "SyncBlockMaskLockThreadId", FAKE_LITERAL, 0xffff);
        fake_add_global(fake, "SyncBlockMaskLockRecursionLevel", FAKE_LITERAL, 0x3f0000);
        fake_add_global(fake, "SyncBlockRecursionLevelShift", FAKE_LITERAL, 16);
    }
    if (fake->release < 11)
        fake_add_global(fake, "ObjectHeaderSize", FAKE_LITERAL, word);
    if (fake->release == 8) {
        fake_add_global(fake, "MethodTableRidShift", FAKE_LITERAL, 16);
        fake_add_global(fake, "MethodTableCollectibleFlag", FAKE_LITERAL, 0x10000000);
        fake_add_global(fake, "MethodTableModuleOverrideFlag", FAKE_LITERAL, 0x10);
    }
}

void fake_lay_out(struct fake *fake)
{
    bool new_names = fake->release >= 11;
    lay_out_fixed(fake);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0];)
        i = lay_out_type(fake, i);
    if (new_names) /* its size is that of the header, and ObjectHeaderSize is gone */
        add_literals(fake);
    else {
        fake_find_name(fake, "ObjectHeader", "!")->hidden = true;
        fake_find_name(fake, "ObjectHeader", "SyncBlockValue")->hidden = true;
        add_literals(fake);
    }
    if (!fake->own->options.segments)
        fake_find_name(fake, "Generation", "AllocationStart")->hidden = true;
    add_contract(fake, "Object", new_names ? "c1" : "1");
    add_contract(fake, "RuntimeTypeSystem", new_names ? "c1" : fake->release == 8 ? "s8" : "1");
    add_contract(fake, "Loader", new_names ? "c1" : fake->release == 8 ? "s8" : "1");
    add_contract(fake, "EcmaMetadata", new_names ? "c1" : "1");
    add_contract(fake, "Thread", new_names ? "c1" : "1");
    add_contract(fake, "GC", "c1");
    add_contract(fake, "SyncBlock", "c1");
}
