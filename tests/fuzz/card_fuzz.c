/* Fuzz target: any bytes as the card of another process.
 *
 * Whatever comes is refused with a reason, or gives a host, addresses that fit
 * the buffer, and a comparison of configurations that ends; transports print
 * any address.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <stdlib.h>

#include "process/rank.h"
#include "route/location.h"
#include "config/config.h"
#include "boot/boot.h"
#include "os/dl.h"
#include "report/error.h"
#include "route/card.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t *card;
static size_t card_size;

static int get_value(struct wf_boot *boot, const char *key, void **value,
                     size_t *n)
{
    *value = malloc(card_size ? card_size : 1);
    if (card_size)
        memcpy(*value, card, card_size);
    *n = card_size;
    return 0;
}

static const struct wf_boot_ops ops = {.name = "fuzz", .get = get_value};
static struct wf_boot boot = {.ops = &ops, .size = 2};
static struct wf_rank wf_rank = {
    .boot = &boot,
    .job = {.size = 2, .cards = &wf_card_bootstrap},
    .host = "here"};
static struct wf_instance wf = {.rank = &wf_rank};

static void print_address(const weft_plugin *p, const void *address, size_t n)
{
    char text[64];

    if (WEFT_HAS(p->ops, weft_ops, addr_print) &&
        p->ops->addr_print(address, n, text, sizeof text) >= 0 &&
        strnlen(text, sizeof text) == sizeof text)
        abort();
}

static void ask_address(struct weft_loc *loc, const char *name)
{
    const struct wf_transport_config config = {.name = name};
    const struct weft_core core = {.config = &config};
    uint8_t address[100];
    size_t n = sizeof address;

    if (wf_card_address(loc, &core, address, &n) != 0)
        return;
    if (n > sizeof address)
        abort();
    for (const weft_plugin *const *p = weft_builtin; *p; p++)
        print_address(*p, address, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weft_loc loc = {.wf = &wf, .id = 1, .index = 1};
    int r;

    if (!wf.rank->config) {
        if (wf_config_from_text("[core]\neager = 4K\n", &wf_rank.config,
                                NULL) != 0)
            abort();
        wf.rank->options = wf_config_core(wf.rank->config);
    }
    card = data;
    card_size = size;
    r = wf_card_fetch(&loc);
    if (r < 0 && !wf_error_last()->text[0])
        abort();
    if (r == 0 && !loc.host)
        abort();
    ask_address(&loc, "tcp");
    ask_address(&loc, "shm");
    wf_card_release(&loc);
    return 0;
}
