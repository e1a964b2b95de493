/*
 * What we speak: one row per version of a contract.
 *
 * The next version of a contract is a row here; it needs code only if the algorithm differs, and
 * then a flag (runtime.h) says so to the contract's file. Versions are compared as text: numbering
 * restarted between .NET 10 ('1', '2') and 11 ('c1'), so a number alone says nothing.
 *
 *   version   announced by
 *   '1'       .NET 9 and 10
 *   'c1'      .NET 11; in supplements for what is the same before
 *   's8'      our supplement for .NET 8, where the algorithm is that runtime's own
 *
 * Knowledge: the runtime's docs/design/datacontracts, and dumps of each release.
 */
#include "runtime/contracts.h"

#include <string.h>

const struct clr_contract_row clr_contract_rows[] = {
    {CLR_CONTRACT_OBJECT, "Object", "c1", clr_object_bindings, 0},
    {CLR_CONTRACT_OBJECT, "Object", "1", clr_object_bindings, 0},
    {CLR_CONTRACT_TYPES, "RuntimeTypeSystem", "c1", clr_types_bindings, 0},
    {CLR_CONTRACT_TYPES, "RuntimeTypeSystem", "1", clr_types_bindings, 0},
    {CLR_CONTRACT_TYPES, "RuntimeTypeSystem", "s8", clr_types_bindings,
     CLR_TYPES_RID_HIGH_HALF | CLR_TYPES_HANDLES_HOLD_STATICS},
    {CLR_CONTRACT_LOADER, "Loader", "c1", clr_loader_bindings, 0},
    {CLR_CONTRACT_LOADER, "Loader", "1", clr_loader_bindings, CLR_LOADER_DOMAIN_ASSEMBLIES},
    {CLR_CONTRACT_LOADER, "Loader", "s8", clr_loader_bindings, CLR_LOADER_DOMAIN_ASSEMBLIES},
    {CLR_CONTRACT_METADATA, "EcmaMetadata", "c1", clr_metadata_bindings, 0},
    {CLR_CONTRACT_METADATA, "EcmaMetadata", "1", clr_metadata_bindings, 0},
    {CLR_CONTRACT_GC, "GC", "c1", clr_gc_bindings, 0},
    {CLR_CONTRACT_THREAD, "Thread", "c1", clr_thread_bindings, 0},
    {CLR_CONTRACT_THREAD, "Thread", "1", clr_thread_bindings,
     CLR_THREAD_LINKS_ARE_MEMBERS | CLR_THREAD_THROWN_IS_HANDLE},
    {CLR_CONTRACT_SYNC_BLOCK, "SyncBlock", "c1", clr_sync_block_bindings, 0},
    {CLR_CONTRACT_METHODS, "RuntimeTypeSystem", "c1", clr_method_bindings, 0},
    {CLR_CONTRACT_METHODS, "RuntimeTypeSystem", "1", clr_method_bindings, 0},
    {CLR_CONTRACT_METHODS, "RuntimeTypeSystem", "s8", clr_method_bindings, 0},
    {CLR_CONTRACT_CODE, "ExecutionManager", "c1", clr_code_bindings, 0},
    {CLR_CONTRACT_CODE, "ExecutionManager", "2", clr_code_bindings, 0},
    {CLR_CONTRACT_CODE, "ExecutionManager", "1", clr_code_bindings, CLR_CODE_LINEAR_MAP},
    {CLR_CONTRACT_VERSIONS, "CodeVersions", "c1", clr_versions_bindings, 0},
    {CLR_CONTRACT_VERSIONS, "CodeVersions", "1", clr_versions_bindings, 0},
    {CLR_CONTRACT_PRECODE, "PrecodeStubs", "c1", clr_precode_bindings, 0},
    {CLR_CONTRACT_PRECODE, "PrecodeStubs", "3", clr_precode_bindings, 0},
    {CLR_CONTRACT_DEBUG_INFO, "DebugInfo", "c1", clr_debug_bindings, CLR_DEBUG_VERSION_C1},
    {CLR_CONTRACT_DEBUG_INFO, "DebugInfo", "2", clr_debug_bindings, CLR_DEBUG_VERSION_2},
    {CLR_CONTRACT_DEBUG_INFO, "DebugInfo", "1", clr_debug_bindings, CLR_DEBUG_VERSION_1},
    {CLR_CONTRACT_DEBUG_INFO, "DebugInfo", "s10", clr_debug_bindings, CLR_DEBUG_VERSION_1},
    {CLR_CONTRACT_DEBUG_INFO, "DebugInfo", "s8", clr_debug_bindings, CLR_DEBUG_NIBBLES},
    {CLR_CONTRACT_EXCEPTION, "Exception", "c1", clr_exception_bindings, 0},
    {CLR_CONTRACT_EXCEPTION, "Exception", "1", clr_exception_bindings, 0},
    {CLR_CONTRACT_STATICS, "RuntimeTypeSystem", "c1", clr_statics_bindings, 0},
    {CLR_CONTRACT_STATICS, "RuntimeTypeSystem", "1", clr_statics_bindings, 0},
    {CLR_CONTRACT_STATICS, "RuntimeTypeSystem", "s8", clr_statics_bindings, 0},
    {CLR_CONTRACT_THREAD_STATICS, "Thread", "c1", clr_thread_statics_bindings, 0},
    {CLR_CONTRACT_THREAD_STATICS, "Thread", "1", clr_thread_statics_bindings, 0},
    {CLR_CONTRACT_GC_FRAMES, "Thread", "c1", clr_gc_frame_bindings, 0},
    {CLR_CONTRACT_GC_FRAMES, "Thread", "1", clr_gc_frame_bindings, 0},
    {CLR_CONTRACT_WRAPPERS, "ComWrappers", "c1", clr_wrappers_bindings, 0},
    {CLR_CONTRACTS, NULL, NULL, NULL, 0},
};

const char *clr_contract_served(const char *name, const char *version)
{
    for (const struct clr_contract_row *row = clr_contract_rows; row->name; row++)
        if (strcmp(row->name, name) == 0 && strcmp(row->version, version) == 0)
            return row->version;
    return NULL;
}
