/* Cards: what two processes with different configurations are told about it.
 *
 * One instance publishes its card, another one reads it; the key-value space of
 * the launcher is a variable here.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "process/rank.h"
#include "route/links.h"
#include "route/location.h"
#include "config/config.h"
#include "boot/boot.h"
#include "report/error.h"
#include "route/card.h"

static uint8_t card[8192];
static size_t card_size;

static int put_data(struct wf_boot *boot, const char *key, const void *value,
               size_t n)
{
    assert_string_equal(key, "weft.card.1");
    assert_in_range(n, 1, sizeof card);
    memcpy(card, value, n);
    card_size = n;
    return 0;
}

static int get_value(struct wf_boot *boot, const char *key, void **value,
                     size_t *n)
{
    assert_string_equal(key, "weft.card.1");
    *value = malloc(card_size);
    assert_non_null(*value);
    memcpy(*value, card, card_size);
    *n = card_size;
    return 0;
}

static const struct wf_boot_ops ops = {
    .name = "test", .get = get_value, .put = put_data};
static struct wf_boot boot = {.ops = &ops, .size = 2};

static struct wf_links links; /* no endpoint */

static void configure_case(struct wf_instance *wf, struct wf_rank *rank,
                           uint32_t id, const char *text)
{
    *rank = (struct wf_rank){.home = wf,
                             .boot = &boot,
                             .job = {.size = 2, .cards = &wf_card_bootstrap},
                             .id = id,
                             .host = "somewhere"};
    *wf = (struct wf_instance){.rank = rank, .links = &links};
    assert_int_equal(wf_config_from_text(text, &wf->rank->config, stderr), 0);
    wf->rank->options = wf_config_core(wf->rank->config);
}

/* Rank 0, of configuration `here`, reads the card of rank 1. Returns the text
 * of the error, or NULL if there is none. */
static const char *compare_items(const char *here, const char *there)
{
    struct wf_rank ranks[2];
    struct wf_instance reader, writer;
    struct weft_loc loc = {.wf = &reader, .id = 1, .index = 1};
    int rc;

    configure_case(&writer, &ranks[1], 1, there);
    configure_case(&reader, &ranks[0], 0, here);
    assert_int_equal(wf_card_publish(&writer), 0);
    rc = wf_card_fetch(&loc);
    assert_string_equal(loc.host, "somewhere");
    wf_card_release(&loc);
    wf_config_free(ranks[1].config);
    wf_config_free(ranks[0].config);
    assert_true(rc == 0 || rc == WEFT_EINVAL);
    return rc ? wf_error_last()->text : NULL;
}

static void is_named(const char *error, const char *what)
{
    assert_non_null(error);
    if (!strstr(error, what))
        fail_msg("'%s' is not in: %s", what, error);
}

static void equal_configurations_are_silent(void **state)
{
    static const char text[] = "[core]\neager = 4K\nrndv = push\n";

    assert_null(compare_items(NULL, NULL));
    assert_null(compare_items(text, text));
}

static void two_values_of_a_key_are_named(void **state)
{
    is_named(compare_items("[core]\neager = 4K\n", "[core]\neager = 8K\n"),
             "core.eager is '8K' there and '4K' here");
    is_named(compare_items("[core]\neager = 4K\nrndv = push\n",
                     "[core]\neager = 4K\nrndv = pull\n"),
             "core.rndv is 'pull' there and 'push' here");
}

static void a_key_that_only_one_has_is_named(void **state)
{
    is_named(compare_items("[core]\nrndv = push\n", NULL),
             "core.rndv is 'push' here and not set there");
    is_named(compare_items(NULL, "[core]\nrndv = push\n"),
             "core.rndv is 'push' there and not set here");
}

/* The difference stands behind lines that are equal. */
static void a_key_behind_equal_ones_is_named(void **state)
{
    static const char fewer[] = "[core]\neager = 4K\n",
                      more[] = "[core]\neager = 4K\nrndv = push\n";

    is_named(compare_items(fewer, more),
             "core.rndv is 'push' there and not set");
    is_named(compare_items(more, fewer),
             "core.rndv is 'push' here and not set");
}

/* So many settings that a card has no room for them: none is named. */
static void more_settings_than_fit_are_not_named(void **state)
{
    char text[2000] = "[core]\n";
    size_t n = strlen(text);

    for (int i = 0; i < 9; i++)
        n += (size_t)snprintf(text + n, sizeof text - n,
                              "[transport a-name-of-%d-which-is-so-long-that-"
                              "it-fills-the-card]\nplugin = tcp\n", i);
    is_named(compare_items(NULL, text),
             "compare what weft-info prints on both");
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_configurations_are_silent),
        cmocka_unit_test(two_values_of_a_key_are_named),
        cmocka_unit_test(a_key_that_only_one_has_is_named),
        cmocka_unit_test(a_key_behind_equal_ones_is_named),
        cmocka_unit_test(more_settings_than_fit_are_not_named),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
