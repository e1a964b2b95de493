/*
 * One CLR in the process: contracts turned into facts. Pure look-up: give an address, get a fact.
 * Nothing here needs or walks the heap; the list of all types is made by heap/shapes.c.
 *
 * A contract is a name and a version that the descriptor announces. What we speak stands as rows in
 * contracts.c: (name, version, bindings, flags). Binding a row fills its layout struct with offsets
 * once, at open; a missing required name makes that contract absent, with a problem.
 *
 * Layouts are immutable after open; caches (names, metadata, modules) grow and belong to the
 * connection's thread. Workers may call only functions that take a const struct clr_runtime.
 */
#ifndef CLR_RUNTIME_RUNTIME_H
#define CLR_RUNTIME_RUNTIME_H

#include "base/map.h"
#include "base/text.h"
#include "descriptor/descriptor.h"

struct clr_runtime;
struct clr_module_cache;
struct clr_name_cache;

enum clr_contract_id {
    CLR_CONTRACT_OBJECT,
    CLR_CONTRACT_TYPES, /* RuntimeTypeSystem */
    CLR_CONTRACT_LOADER,
    CLR_CONTRACT_METADATA, /* EcmaMetadata */
    CLR_CONTRACT_GC,
    CLR_CONTRACT_THREAD,
    CLR_CONTRACT_SYNC_BLOCK,
    CLR_CONTRACT_METHODS,  /* RuntimeTypeSystem: its MethodDescs */
    CLR_CONTRACT_CODE,     /* ExecutionManager */
    CLR_CONTRACT_VERSIONS, /* CodeVersions */
    CLR_CONTRACT_PRECODE,  /* PrecodeStubs */
    CLR_CONTRACT_DEBUG_INFO,
    CLR_CONTRACT_EXCEPTION,
    CLR_CONTRACT_STATICS,        /* RuntimeTypeSystem: where static fields are */
    CLR_CONTRACT_THREAD_STATICS, /* Thread: where thread statics are */
    CLR_CONTRACT_GC_FRAMES,      /* Thread: what native code of the runtime protects */
    CLR_CONTRACT_WRAPPERS,       /* ComWrappers: counts of ref_counted handles */
    CLR_CONTRACTS
};

/* One version of one contract that we implement. */
struct clr_contract_row {
    enum clr_contract_id id;
    const char *name, *version;
    const struct clr_binding *bindings;
    uint32_t flags; /* what differs from the other versions; see the contract's file */
};
extern const struct clr_contract_row clr_contract_rows[]; /* contracts.c; ends at name == NULL */

enum { /* flags of rows */
       CLR_THREAD_LINKS_ARE_MEMBERS =
           1, /* Thread 1: links point at the link member, not at Thread */
       CLR_THREAD_THROWN_IS_HANDLE = 2, /* Thread 1: ExceptionInfo.ThrownObject is a handle */
       CLR_LOADER_DOMAIN_ASSEMBLIES =
           1, /* Loader 1: list elements are DomainAssembly, first word Assembly */
       CLR_TYPES_RID_HIGH_HALF = 1, /* .NET 8: MTFlags2 >> 16 is the row id */
       CLR_TYPES_HANDLES_HOLD_STATICS =
           2,                    /* .NET 8: statics, of threads too, lie in arrays of handles */
       CLR_CODE_LINEAR_MAP = 1,  /* ExecutionManager 1: nibble maps hold no pointers */
       CLR_DEBUG_NIBBLES = 1,    /* DebugInfo s8: JIT blobs in the nibble form */
       CLR_DEBUG_VERSION_1 = 2,  /* DebugInfo 1, s10: a flag byte, two source bits */
       CLR_DEBUG_VERSION_2 = 3,  /* DebugInfo 2: slim and fat headers, two or three bits */
       CLR_DEBUG_VERSION_C1 = 4, /* DebugInfo c1: the same, three bits */
};

/* Layouts. Every member is a uint64_t filled by clr_bind: an offset, size, literal or the address
 * of a variable, CLR_ABSENT if the runtime does not publish it. */
struct clr_object_layout {
    uint64_t method_table;           /* Object.m_pMethTab */
    uint64_t unmask;                 /* ObjectToMethodTableUnmask */
    uint64_t header_size;            /* ObjectHeader's size, or ObjectHeaderSize */
    uint64_t header_size_global;     /* ObjectHeaderSize: use header_size */
    uint64_t header_value_to_object; /* SyncBlockValueToObjectOffset, u16 literal */
    uint64_t string_length, string_first_char;
    uint64_t array_size, array_count; /* size of Array; Array.m_NumComponents */
    /* contract SyncBlock */
    uint64_t sync_table, sync_entry_size, sync_entry_block, sync_entry_object;
    uint64_t sync_block_cache, sync_cache_free;
    uint64_t is_hash_or_index, is_hash, index_mask, hash_mask, lock_thread_mask,
        lock_recursion_mask, lock_recursion_shift; /* literals of 11, optional: constants before */
    uint64_t sync_block_hash, sync_block_lock, sync_block_thin;
};
struct clr_types_layout {
    uint64_t mt_flags, mt_base_size, mt_flags2, mt_virtuals, mt_interfaces, mt_parent, mt_module,
        mt_auxiliary, mt_class, mt_per_inst, mt_size;
    uint64_t class_mt, class_attr, class_norm_type, class_methods, class_fields,
        class_instance_fields, class_static_fields, class_thread_statics, class_chunk,
        class_padding;
    /* .NET 8: the counts are u32 at class + FixedFieldsSize + these; see clr_class_counts */
    uint64_t class_fixed_size, class_are_packed, packed_instance_fields, packed_static_fields,
        packed_thread_statics;
    uint64_t dict_args, dict_dicts;
    uint64_t type_desc_flags, param_type_arg, var_module, var_token, var_index, fn_args,
        fn_call_conv, fn_types;
    uint64_t aux_flags, aux_loader_module;
    uint64_t array_rank;      /* ArrayClass.Rank, before 11 */
    uint64_t array_base_size; /* ArrayBaseSize, literal: base size of an array of rank 0 */
    /* FieldDesc, read by fields.c; and the marks that stand in for an offset */
    uint64_t field_size, field_enclosing, field_dword1, field_dword2, field_big_rva,
        field_dynamic_rva, field_new_enc;
    uint64_t collectible_flag;     /* literal of a supplement, .NET 8; else absent */
    uint64_t module_override_flag; /* the same: of MTFlags2, see find_module in types.c */
    uint64_t rid_shift;            /* literal of a supplement: MTFlags2 >> this is the row id */
    /* variables: the well-known types */
    uint64_t free_type, object_type, string_type, object_array_type, exception_type, canon_type,
        continuation_type, continuation_class, delegate_type;
};
struct clr_loader_layout {
    uint64_t app_domain, system_domain;
    uint64_t domain_assemblies;        /* AppDomain.AssemblyList or .DomainAssemblyList */
    uint64_t domain_assemblies_1;      /* .DomainAssemblyList: use domain_assemblies */
    uint64_t domain_assembly_assembly; /* DomainAssembly.Assembly */
    uint64_t list_count, list_first, block_next, block_size, block_items;
    uint64_t assembly_module, assembly_collectible, assembly_dynamic, assembly_loaded,
        assembly_level, assembly_error;
    uint64_t module_assembly, module_pe_assembly, module_base, module_flags, module_allocator,
        module_dynamic_metadata, module_path, module_file_name, module_simple_name, module_r2r,
        module_type_defs, module_method_defs, module_type_params;
    uint64_t map_next, map_table, map_count, map_mask;
    uint64_t pe_image, pe_binder, pe_edited, image_loaded, image_flat, image_path, image_path_size,
        layout_base, layout_size, layout_flags, layout_format;
    uint64_t pe_host, host_binder; /* PEAssembly.HostAssembly, BinderAssembly.Binder: until 9 */
    uint64_t binder_context;       /* AssemblyBinder.AssemblyLoadContext */
    uint64_t allocator_handle, allocator_references, allocator_collectible;
    uint64_t hash_buckets, hash_count, hash_value, hash_next; /* EETypeHashTable */
    /* contract EcmaMetadata: DynamicMetadata; 8.0: of modules made at run time alone */
    uint64_t dynamic_size, dynamic_data, dynamic_pointer, emitted_metadata;
};
struct clr_thread_layout {
    uint64_t store; /* ThreadStore variable */
    uint64_t store_first, store_count, store_unstarted, store_background, store_pending, store_dead;
    uint64_t finalizer_thread, gc_thread; /* variables */
    uint64_t id, os_id, state, preemptive_disabled, locals, frame, tracker, exposed, last_thrown,
        link, stack_base, stack_limit, static_data, gc_frame;
    uint64_t exposed_1;      /* Thread.GCHandle, its name before 11: use exposed */
    uint64_t inline_context; /* Thread.AllocContext, .NET 8 */
    uint64_t locals_context; /* RuntimeThreadLocals.AllocContext */
    uint64_t ee_context;     /* EEAllocContext.GCAllocationContext; absent: 0 */
    uint64_t context_pointer, context_limit, context_bytes, context_bytes_uoh;
    uint64_t global_context; /* GlobalAllocContext: address of the structure */
    uint64_t exception_object, exception_previous; /* ExceptionInfo */
};
struct clr_gc_layout {
    uint64_t identifiers_heap_type; /* unused by 11: kept for supplements */
    uint64_t total_generations, max_generation, invalid_count, current_state, heap_count, heaps,
        cpu_count, adaptation_mode;
    /* workstation: variables */
    uint64_t w_mark_array, w_next_sweep, w_bg_low, w_bg_high, w_alloc_allocated, w_ephemeral,
        w_finalize, w_generations, w_sweep_segment, w_sweep_start, w_oom;
    /* server: offsets in GCHeap */
    uint64_t s_mark_array, s_next_sweep, s_bg_low, s_bg_high, s_alloc_allocated, s_ephemeral,
        s_finalize, s_generations, s_sweep_segment, s_sweep_start, s_oom;
    uint64_t generation_size, generation_context, generation_start, generation_allocation;
    uint64_t seg_allocated, seg_committed, seg_reserved, seg_used, seg_mem, seg_flags, seg_next,
        seg_bg_allocated, seg_heap;
    uint64_t fill_pointers, fill_count;
    uint64_t oom_reason, oom_alloc_size;
    /* handle tables */
    uint64_t handle_map, map_buckets, map_next, bucket_table, table_segments, seg_allocation,
        seg_user_data, seg_tail, seg_next_segment, seg_values, initial_array_size, segment_size,
        blocks_per_segment, max_types, handles_per_block, block_invalid, destroyed_value;
    uint64_t lowest, highest; /* GCLowestAddress, GCHighestAddress */
};

struct clr_method_layout { /* methods.c */
    uint64_t index, slot, flags, flags3, code_data, size;
    uint64_t chunk_type, chunk_next, chunk_size, chunk_count, chunk_range, chunk_bytes;
    uint64_t alignment, remainder_bits; /* literals */
    uint64_t fcall_size, pinvoke_size, impl_size, array_size, instantiated_size, dynamic_size;
    uint64_t own_slot_size, method_impl_size, native_slot_size, async_size;
    uint64_t inst_arguments, inst_flags2, inst_count;
    uint64_t sig, sig_size, extended_flags, name;
    uint64_t table, hash_buckets, hash_value, hash_next; /* Module.InstMethodHashTable */
};
struct clr_code_layout {         /* code.c, r2r.c */
    uint64_t range_map, map_top; /* address of the map; its table of the highest level */
    uint64_t fragment_next, fragment_begin, fragment_end, fragment_section;
    uint64_t section_begin, section_end, section_flags, section_dying, section_heap, section_module;
    uint64_t heap_end, heap_map_base, heap_map;
    uint64_t header_method, header_debug, header_gc, header_unwind_count, header_unwinds;
    uint64_t stub_last, gc_info_version; /* literals */
    uint64_t function_size, function_begin, function_end, function_unwind;
    uint64_t r2r_header, r2r_composite, r2r_functions, r2r_count, r2r_hot_cold, r2r_hot_cold_count,
        r2r_entries, r2r_debug, r2r_thunks;
    uint64_t r2r_major, r2r_minor, core_header, core_size, core_count, part_size, part_type,
        part_where;
    uint64_t directory_rva, directory_size;
    uint64_t hash_buckets, bucket_size, bucket_keys, bucket_values, bucket_slots, value_mask;
};
struct clr_versions_layout { /* versions.c */
    uint64_t data_state, data_tier, state_nodes, state_flags;
    uint64_t node_next, node_code, node_flags, node_tier, node_il_version;
};
struct clr_precode_layout {     /* precode.c */
    uint64_t platform, machine; /* variable PlatformMetadata; its embedded descriptor */
    uint64_t stub_size, stub_bytes, stub_ignored, stub_type, pinvoke_type, this_type, fixup_size,
        fixup_bytes, fixup_ignored, fixup_offset, page_size;
    uint64_t data_secret, data_type, fixup_method, this_method;
};
struct clr_debug_layout { /* debuginfo.c */
    uint64_t patchpoint_size, patchpoint_locals;
};
struct clr_exception_layout { /* inspect/exceptions.c reads it, bound in object.c's manner */
    uint64_t message, inner, trace, hresult, header_size, trace_count, element_size, element_ip,
        element_method, element_flags;
};

struct clr_statics_layout { /* statics.c */
    uint64_t auxiliary, info_size, gc_base, non_gc_base, pointer_mask;
};
struct clr_thread_statics_layout { /* statics.c */
    uint64_t data;                 /* Thread.ThreadLocalDataPtr */
    uint64_t info_size, gc_index, non_gc_index, raw_index;
    uint64_t plain_count, plain_array, collectible_count, collectible_array, in_flight;
    uint64_t flight_next, flight_index, flight_data;
    uint64_t array_data, unused_offsets;
};
struct clr_gc_frame_layout { /* thread.c; read where roots are */
    uint64_t next, slots, count, flags;
};
struct clr_wrappers_layout { /* handles.c */
    uint64_t holder_wrapper, wrapper_count;
};

struct clr_code_cache;

struct clr_runtime {
    const struct clr_process *process;
    struct clr_descriptor *descriptor; /* owned */
    struct clr_problems *problems;     /* the dump's */
    uint8_t word;
    uint64_t alignment_mask;                                /* word - 1 */
    const struct clr_contract_row *contract[CLR_CONTRACTS]; /* NULL: not served */
    char *refusal[CLR_CONTRACTS];                           /* why not; NULL when served */
    struct clr_object_layout object;
    struct clr_types_layout types;
    struct clr_loader_layout loader;
    struct clr_thread_layout thread;
    struct clr_gc_layout gc;
    struct clr_method_layout methods;
    struct clr_code_layout code;
    struct clr_versions_layout versions;
    struct clr_precode_layout precode;
    struct clr_debug_layout debug;
    struct clr_exception_layout exception;
    struct clr_statics_layout statics;
    struct clr_thread_statics_layout thread_statics;
    struct clr_gc_frame_layout gc_frames;
    struct clr_wrappers_layout wrappers;
    /* Well-known MethodTables, read once; 0 if not readable. delegate_type: MulticastDelegate. */
    uint64_t free_type, object_type, string_type, object_array_type, exception_type, canon_type,
        continuation_type, continuation_class, delegate_type;
    uint32_t word_bits;
    struct clr_module_cache *modules; /* loader.c */
    struct clr_name_cache *names;     /* typename.c */
    struct clr_code_cache *codes;     /* code.c */
};

/* Takes over DESCRIPTOR, also on failure. */
enum clr_status clr_runtime_open(const struct clr_process *process,
                                 struct clr_descriptor *descriptor, struct clr_problems *problems,
                                 struct clr_runtime **runtime, struct clr_error *error);
void clr_runtime_close(struct clr_runtime *runtime);

/* CLR_OK if CONTRACT is served; else CLR_UNSUPPORTED with the reason: what TABLE cannot be given. */
enum clr_status clr_runtime_require(const struct clr_runtime *runtime, enum clr_contract_id id,
                                    const char *table, struct clr_error *error);

/* The version of ours that serves an announced contract, NULL if none does (table contracts). */
const char *clr_contract_served(const char *name, const char *version);

/* Reads the field at ADDRESS + OFFSET; false if the offset is absent or the bytes are not saved. */
static inline bool clr_field_word(const struct clr_runtime *r, uint64_t address, uint64_t offset,
                                  uint64_t *value)
{
    return clr_has(offset) && clr_read_word(r->process, address + offset, value);
}
static inline bool clr_field_u32(const struct clr_runtime *r, uint64_t address, uint64_t offset,
                                 uint32_t *value)
{
    return clr_has(offset) && clr_read_u32(r->process, address + offset, value);
}
static inline bool clr_field_u16(const struct clr_runtime *r, uint64_t address, uint64_t offset,
                                 uint16_t *value)
{
    return clr_has(offset) && clr_read_u16(r->process, address + offset, value);
}
static inline bool clr_field_u8(const struct clr_runtime *r, uint64_t address, uint64_t offset,
                                uint8_t *value)
{
    return clr_has(offset) && clr_read_u8(r->process, address + offset, value);
}
/* The word in the runtime's variable (a bound CLR_VARIABLE). */
static inline bool clr_variable_word(const struct clr_runtime *r, uint64_t variable,
                                     uint64_t *value)
{
    return clr_has(variable) && variable != 0 && clr_read_word(r->process, variable, value);
}

#endif
