/*
 * One object by its address.
 *
 *     address - word .. address    header; its last 4 bytes are the sync-block value
 *     address                      MethodTable, low bits used by the GC
 *     address + word ...           fields; a u32 count for arrays and strings
 *
 *   what                             name                                     since
 *   MethodTable word                 Object.m_pMethTab, ObjectToMethodTableUnmask   9
 *   string length, u32               String.m_StringLength                     9
 *   first UTF-16 unit                String.m_FirstChar (not aligned to a word) 9
 *   number of elements, u32          Array.m_NumComponents                     9
 *   header word, u32                 address - SyncBlockValueToObjectOffset    9
 *   meaning of the header word       SyncBlock... literals                    11, supplements
 *   sync table, entries by index     SyncTableEntries, SyncTableEntry          9; .Object 11
 *
 * The header word is one of: nothing; a thin lock (owner and recursion); a hash code; the index of
 * a sync block, which then holds lock and hash. Two bits stand beside that. An entry of the sync
 * table points back at its object: a block whose entry does not is not believed.
 *
 * Knowledge: the runtime's docs/design/datacontracts/Object.md and SyncBlock.md, syncblk.h.
 */
#include "runtime/object.h"

#include <stddef.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "runtime/contracts.h"

enum {
    HEADER_FINALIZER_DONE = 0x40000000, /* the finalizer has run or is suppressed */
    SYNC_ENTRY_FREE = 1,                /* bit of SyncTableEntry.Object */
};

#define AT(m) offsetof(struct clr_object_layout, m)

const struct clr_binding clr_object_bindings[] = {
    {AT(method_table), CLR_FIELD, 0, false, "Object", "m_pMethTab"},
    {AT(unmask), CLR_LITERAL, 1, false, NULL, "ObjectToMethodTableUnmask"},
    {AT(header_size), CLR_SIZE, 0, true, "ObjectHeader", NULL},
    {AT(header_size_global), CLR_LITERAL, 8, true, NULL, "ObjectHeaderSize"},
    {AT(header_value_to_object), CLR_LITERAL, 2, false, NULL, "SyncBlockValueToObjectOffset"},
    {AT(string_length), CLR_FIELD, 4, false, "String", "m_StringLength"},
    {AT(string_first_char), CLR_FIELD, CLR_INLINE, false, "String", "m_FirstChar"},
    {AT(array_size), CLR_SIZE, 0, false, "Array", NULL},
    {AT(array_count), CLR_FIELD, 4, false, "Array", "m_NumComponents"},
    {AT(is_hash_or_index), CLR_LITERAL, 4, true, NULL, "SyncBlockIsHashOrSyncBlockIndex"},
    {AT(is_hash), CLR_LITERAL, 4, true, NULL, "SyncBlockIsHashCode"},
    {AT(index_mask), CLR_LITERAL, 4, true, NULL, "SyncBlockIndexMask"},
    {AT(hash_mask), CLR_LITERAL, 4, true, NULL, "SyncBlockHashCodeMask"},
    {AT(lock_thread_mask), CLR_LITERAL, 4, true, NULL, "SyncBlockMaskLockThreadId"},
    {AT(lock_recursion_mask), CLR_LITERAL, 4, true, NULL, "SyncBlockMaskLockRecursionLevel"},
    {AT(lock_recursion_shift), CLR_LITERAL, 4, true, NULL, "SyncBlockRecursionLevelShift"},
    CLR_BINDINGS_END,
};

const struct clr_binding clr_sync_block_bindings[] = {
    {AT(sync_table), CLR_VARIABLE, 0, false, NULL, "SyncTableEntries"},
    {AT(sync_entry_size), CLR_SIZE, 0, false, "SyncTableEntry", NULL},
    {AT(sync_entry_block), CLR_FIELD, 0, false, "SyncTableEntry", "SyncBlock"},
    {AT(sync_entry_object), CLR_FIELD, 0, true, "SyncTableEntry", "Object"},
    {AT(sync_block_cache), CLR_VARIABLE, 0, true, NULL, "SyncBlockCache"},
    {AT(sync_cache_free), CLR_FIELD, 4, true, "SyncBlockCache", "FreeSyncTableIndex"},
    {AT(sync_block_hash), CLR_FIELD, 4, true, "SyncBlock", "HashCode"},
    {AT(sync_block_lock), CLR_FIELD, 0, true, "SyncBlock", "Lock"},
    {AT(sync_block_thin), CLR_FIELD, 4, true, "SyncBlock", "ThinLock"},
    CLR_BINDINGS_END,
};

bool clr_object_type(const struct clr_runtime *runtime, uint64_t address, uint64_t *type)
{
    uint64_t word;
    if (!clr_field_word(runtime, address, runtime->object.method_table, &word))
        return false;
    *type = word & ~runtime->object.unmask;
    return true;
}

bool clr_object_string(const struct clr_runtime *runtime, uint64_t address, uint32_t *length,
                       uint64_t *characters)
{
    if (!clr_field_u32(runtime, address, runtime->object.string_length, length))
        return false;
    *characters = address + runtime->object.string_first_char;
    return true;
}

/* The text's bytes in one piece: a view of the dump, or a copy that the caller frees (*COPY) when
 * they lie in several runs. NULL if some are not saved, or memory ran out (*NOMEM). */
static const uint8_t *string_bytes(const struct clr_runtime *runtime, uint64_t address,
                                   uint32_t *length, void **copy, bool *nomem)
{
    uint64_t start, got;
    *copy = NULL;
    *nomem = false;
    if (!clr_object_string(runtime, address, length, &start))
        return NULL;
    uint64_t size = (uint64_t)*length * 2;
    if (size == 0)
        return (const uint8_t *)"";
    const uint8_t *bytes = clr_view(runtime->process, start, size, &got);
    if (bytes && got == size)
        return bytes;
    if (start + size < start || clr_saved_bytes(runtime->process, start, start + size) != size)
        return NULL;
    if (!(*copy = clr_alloc((size_t)size, 1))) {
        *nomem = true;
        return NULL;
    }
    if (clr_read(runtime->process, start, *copy, (size_t)size))
        return *copy;
    clr_free(*copy);
    *copy = NULL;
    return NULL;
}

bool clr_object_string_text(const struct clr_runtime *runtime, uint64_t address,
                            struct clr_text *text)
{
    uint32_t length;
    void *copy;
    bool nomem;
    const uint8_t *bytes = string_bytes(runtime, address, &length, &copy, &nomem);
    if (bytes)
        clr_text_utf16(text, bytes, length, clr_process_info(runtime->process)->swapped);
    else if (nomem)
        text->failed = true;
    clr_free(copy);
    return bytes != NULL;
}

bool clr_object_string_hash(const struct clr_runtime *runtime, uint64_t address, uint64_t *hash)
{
    uint32_t length;
    void *copy;
    bool nomem;
    const uint8_t *bytes = string_bytes(runtime, address, &length, &copy, &nomem);
    if (!bytes)
        return false;
    bool host_is_little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;
    *hash = CLR_FNV_START;
    if (host_is_little != clr_process_info(runtime->process)->swapped)
        *hash = clr_hash_bytes(*hash, bytes, (size_t)length * 2);
    else
        for (size_t i = 0; i < (size_t)length * 2; i++)
            *hash = clr_hash_bytes(*hash, &bytes[i ^ 1], 1);
    clr_free(copy);
    return true;
}

bool clr_object_count(const struct clr_runtime *runtime, uint64_t address, uint32_t *count)
{
    return clr_field_u32(runtime, address, runtime->object.array_count, count);
}

/* Fills in what the sync block says; leaves sync_block 0 if the table does not confirm it. */
static void read_sync_block(const struct clr_runtime *runtime, uint64_t address,
                            struct clr_header *header)
{
    const struct clr_object_layout *o = &runtime->object;
    uint64_t table, back, block;
    if (!runtime->contract[CLR_CONTRACT_SYNC_BLOCK] || header->sync_index == 0 ||
        !clr_variable_word(runtime, o->sync_table, &table) || table == 0)
        return;
    uint64_t entry = table + header->sync_index * o->sync_entry_size;
    if (clr_has(o->sync_entry_object) &&
        (!clr_field_word(runtime, entry, o->sync_entry_object, &back) || (back & SYNC_ENTRY_FREE) ||
         back != address))
        return;
    if (!clr_field_word(runtime, entry, o->sync_entry_block, &block) || block == 0)
        return;
    header->sync_block = block;
    clr_field_u32(runtime, block, o->sync_block_hash, &header->hash);
}

bool clr_object_header(const struct clr_runtime *runtime, uint64_t address,
                       struct clr_header *header)
{
    const struct clr_object_layout *o = &runtime->object;
    uint32_t word;
    *header = (struct clr_header){.kind = CLR_HEADER_NONE};
    if (!clr_has(o->header_value_to_object) ||
        !clr_read_u32(runtime->process, address - o->header_value_to_object, &word))
        return false;
    header->word = word;
    header->finalizer_done = (word & HEADER_FINALIZER_DONE) != 0;
    if (!clr_has(o->is_hash_or_index) || !clr_has(o->is_hash))
        return true;
    if ((word & o->is_hash_or_index) && (word & o->is_hash)) {
        header->kind = CLR_HEADER_HASH;
        header->hash = clr_has(o->hash_mask) ? word & (uint32_t)o->hash_mask : 0;
    } else if (word & o->is_hash_or_index) {
        header->kind = CLR_HEADER_SYNC_BLOCK;
        header->sync_index = clr_has(o->index_mask) ? word & (uint32_t)o->index_mask : 0;
        read_sync_block(runtime, address, header);
    } else if (clr_has(o->lock_thread_mask) && clr_has(o->lock_recursion_mask) &&
               clr_has(o->lock_recursion_shift) && o->lock_recursion_shift < 32 &&
               (word & o->lock_thread_mask) != 0) {
        header->kind = CLR_HEADER_THIN_LOCK;
        header->owner = word & (uint32_t)o->lock_thread_mask;
        header->recursion = (word & (uint32_t)o->lock_recursion_mask) >> o->lock_recursion_shift;
    }
    return true;
}

bool clr_handle_object(const struct clr_runtime *runtime, uint64_t handle, uint64_t *object)
{
    return handle != 0 && clr_read_word(runtime->process, handle, object);
}
