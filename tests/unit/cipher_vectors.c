/* The ciphers: the published values, and nothing opens that was changed.
 *
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* */
#include <cmocka.h>

#include "crypto/cipher.h"

static struct wf_cipher_key *key_of(enum wf_cipher_kind kind, const void *bytes)
{
    struct wf_cipher_key *k = weft_cipher.key(kind, bytes);

    assert_non_null(k);
    return k;
}

/* RFC 8439, appendix A.5. */
static void chacha20_poly1305_gives_the_published_tag(void **state)
{
    static const unsigned char key[32] = {
        0x1c, 0x92, 0x40, 0xa5, 0xeb, 0x55, 0xd3, 0x8a, 0xf3, 0x33, 0x88,
        0x86, 0x04, 0xf6, 0xb5, 0xf0, 0x47, 0x39, 0x17, 0xc1, 0x40, 0x2b,
        0x80, 0x09, 0x9d, 0xca, 0x5c, 0xbc, 0x20, 0x70, 0x75, 0xc0};
    static const unsigned char ad[12] = {0xf3, 0x33, 0x88, 0x86, 0, 0,
                                         0,    0,    0,    0,    0x4e, 0x91};
    static const unsigned char first[8] = {0x64, 0xa0, 0x86, 0x15,
                                           0x75, 0x86, 0x1a, 0xf4};
    static const unsigned char expected[16] = {
        0xee, 0xad, 0x9d, 0x67, 0x89, 0x0c, 0xbb, 0x22,
        0x39, 0x23, 0x36, 0xfe, 0xa1, 0x85, 0x1f, 0x38};
    static const char text[] =
        "Internet-Drafts are draft documents valid for a maximum of six months "
        "and may be updated, replaced, or obsoleted by other documents at any "
        "time. It is inappropriate to use Internet-Drafts as reference "
        "material "
        "or to cite them other than as /\xe2\x80\x9cwork in progress./\xe2\x80"
        "\x9d";
    unsigned char out[sizeof text], tag[16];
    struct wf_cipher_key *k = key_of(WF_CIPHER_CHACHA20, key);
    struct wf_cipher_text t = {.ad = ad, .ad_n = sizeof ad, .in = text,
                               .out = out, .n = sizeof text - 1};

    weft_cipher.seal(k, 0x0807060504030201u, &t, tag);
    assert_memory_equal(out, first, sizeof first);
    assert_memory_equal(tag, expected, sizeof tag);
    weft_cipher.free(k);
}

/* The GCM specification, test cases 13 and 14. */
static void aes_256_gcm_gives_the_published_values(void **state)
{
    static const unsigned char zero[32];
    static const unsigned char empty[16] = {0x53, 0x0f, 0x8a, 0xfb, 0xc7, 0x45,
                                            0x36, 0xb9, 0xa9, 0x63, 0xb4, 0xf1,
                                            0xc4, 0xcb, 0x73, 0x8b};
    static const unsigned char text[16] = {0xce, 0xa7, 0x40, 0x3d, 0x4d, 0x60,
                                           0x6b, 0x6e, 0x07, 0x4e, 0xc5, 0xd3,
                                           0xba, 0xf3, 0x9d, 0x18};
    static const unsigned char tag16[16] = {0xd0, 0xd1, 0xc8, 0xa7, 0x99, 0x99,
                                            0x6b, 0xf0, 0x26, 0x5b, 0x98, 0xb5,
                                            0xd4, 0x8a, 0xb9, 0x19};
    unsigned char out[16], tag[16];
    struct wf_cipher_text t = {.in = zero, .out = out, .n = 0};
    struct wf_cipher_key *k;

    if (!weft_cipher.has_aes()) {
        print_message("skipped: this processor has no instructions for AES\n");
        skip();
    }
    k = key_of(WF_CIPHER_AES256, zero);
    weft_cipher.seal(k, 0, &t, tag);
    assert_memory_equal(tag, empty, sizeof tag);
    t.n = 16;
    weft_cipher.seal(k, 0, &t, tag);
    assert_memory_equal(out, text, sizeof out);
    assert_memory_equal(tag, tag16, sizeof tag);
    weft_cipher.free(k);
}

static void has_changed(const struct wf_cipher_key *k, uint64_t counter,
                    struct wf_cipher_text *t, const unsigned char *tag)
{
    unsigned char out[200];

    t->out = out;
    assert_false(weft_cipher.open(k, counter, t, tag));
}

static void only_what_was_sealed_opens(enum wf_cipher_kind kind)
{
    unsigned char bytes[32] = {1}, text[200], ad[24] = {2}, out[200], tag[16];
    struct wf_cipher_key *k = key_of(kind, bytes), *other;
    struct wf_cipher_text to = {.ad = ad, .ad_n = sizeof ad, .in = text,
                                .out = text, .n = sizeof text};
    struct wf_cipher_text from = to;

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)i;
    weft_cipher.seal(k, 7, &to, tag);
    from.out = out;
    assert_true(weft_cipher.open(k, 7, &from, tag));
    for (size_t i = 0; i < sizeof out; i++)
        assert_int_equal(out[i], (unsigned char)i);
    has_changed(k, 8, &from, tag);
    bytes[31] = 1;
    other = key_of(kind, bytes);
    has_changed(other, 7, &from, tag);
    for (size_t i = 0; i < 8 * sizeof text; i++) {
        text[i / 8] ^= (unsigned char)(1 << i % 8);
        has_changed(k, 7, &from, tag);
        text[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t i = 0; i < 8 * sizeof ad; i++) {
        ad[i / 8] ^= (unsigned char)(1 << i % 8);
        has_changed(k, 7, &from, tag);
        ad[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    for (size_t i = 0; i < 8 * sizeof tag; i++) {
        tag[i / 8] ^= (unsigned char)(1 << i % 8);
        has_changed(k, 7, &from, tag);
        tag[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    weft_cipher.free(other);
    weft_cipher.free(k);
}

static void a_change_of_any_bit_is_refused(void **state)
{
    only_what_was_sealed_opens(WF_CIPHER_CHACHA20);
    if (weft_cipher.has_aes())
        only_what_was_sealed_opens(WF_CIPHER_AES256);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chacha20_poly1305_gives_the_published_tag),
        cmocka_unit_test(aes_256_gcm_gives_the_published_values),
        cmocka_unit_test(a_change_of_any_bit_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
