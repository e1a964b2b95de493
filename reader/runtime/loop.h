/*
 * A guard for following links that may lead back: Brent's method. It needs no memory and notices a
 * cycle within three times its length; what came before is seen at most that often.
 *
 *     struct clr_loop loop = {0};
 *     while (node != 0 && !clr_loop_again(&loop, node))
 *         node = next of node
 */
#ifndef CLR_RUNTIME_LOOP_H
#define CLR_RUNTIME_LOOP_H

#include <stdbool.h>
#include <stdint.h>

struct clr_loop {
    uint64_t mark, steps, power;
};

/* Whether ADDRESS, the next one of a list, has been seen. */
static inline bool clr_loop_again(struct clr_loop *loop, uint64_t address)
{
    if (loop->power != 0 && address == loop->mark)
        return true;
    if (loop->steps++ == loop->power) {
        loop->mark = address;
        loop->power = loop->power ? loop->power * 2 : 1;
        loop->steps = 0;
    }
    return false;
}

#endif
