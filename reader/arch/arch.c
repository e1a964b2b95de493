/*
 * The machines that are known, each by its file, and look-up among them.
 */
#include "arch/arch.h"

#define MACHINES(row) row(x64) row(arm64) row(x86) row(arm)

#define DECLARE(name) extern const struct clr_arch clr_arch_##name;
#define ADDRESS(name) &clr_arch_##name,
MACHINES(DECLARE)

static const struct clr_arch *const machines[] = {MACHINES(ADDRESS) NULL};

const struct clr_arch *clr_arch_at(size_t index)
{
    return index < sizeof machines / sizeof *machines ? machines[index] : NULL;
}

const struct clr_arch *clr_arch_find(uint16_t machine, uint8_t word_size)
{
    for (size_t i = 0; machines[i]; i++)
        if (machines[i]->machine == machine && machines[i]->word_size == word_size)
            return machines[i];
    return NULL;
}

const struct clr_register *clr_arch_register(const struct clr_arch *arch, uint32_t number)
{
    for (uint8_t i = 0; arch && i < arch->register_count; i++)
        if (arch->registers[i].dotnet >= 0 && (uint32_t)arch->registers[i].dotnet == number)
            return &arch->registers[i];
    return NULL;
}
