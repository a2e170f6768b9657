/* This key-value store is a hash table of strings that doubles when it is three
 * quarters full.
 * SPDX-License-Identifier: BSD-3-Clause
 */
#include "kvs.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct pair {
    char *key, *value;
};

struct kvs {
    struct pair *slots; /* open addressing; key NULL: free */
    size_t room, used;  /* room is a power of two */
};

enum { KVS_FIRST = 256 };

static uint32_t hash_key(const char *s)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (; *s; s++)
        h = (h ^ (uint8_t)*s) * 16777619u;
    return h;
}

static struct pair *find_slot(const struct kvs *k, const char *key)
{
    size_t i = hash_key(key);
    while (k->slots[i & (k->room - 1)].key &&
           strcmp(k->slots[i & (k->room - 1)].key, key) != 0)
        i++;
    return &k->slots[i & (k->room - 1)];
}

struct kvs *wf_kvs_create(void)
{
    struct kvs *k = calloc(1, sizeof(*k));
    if (!k)
        return NULL;
    k->room = KVS_FIRST;
    k->slots = calloc(k->room, sizeof(*k->slots));
    if (!k->slots) {
        free(k);
        return NULL;
    }
    return k;
}

void wf_kvs_destroy(struct kvs *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < k->room; i++) {
        free(k->slots[i].key);
        free(k->slots[i].value);
    }
    free(k->slots);
    free(k);
}

static int grow_table(struct kvs *k)
{
    struct kvs bigger = {calloc(k->room * 2, sizeof(*k->slots)), k->room * 2,
                         k->used};
    if (!bigger.slots)
        return -1;
    for (size_t i = 0; i < k->room; i++)
        if (k->slots[i].key)
            *find_slot(&bigger, k->slots[i].key) = k->slots[i];
    free(k->slots);
    *k = bigger;
    return 0;
}

int wf_kvs_put(struct kvs *k, const char *key, const char *value, size_t n)
{
    if (k->used * 4 >= k->room * 3 && grow_table(k) < 0)
        return -1;
    struct pair *p = find_slot(k, key);
    char *copy = malloc(n + 1);
    char *name = p->key ? p->key : strdup(key);
    if (!copy || !name) {
        free(copy);
        if (!p->key)
            free(name);
        return -1;
    }
    memcpy(copy, value, n);
    copy[n] = 0;
    if (!p->key)
        k->used++;
    free(p->value);
    p->key = name;
    p->value = copy;
    return 0;
}

const char *wf_kvs_get(const struct kvs *k, const char *key)
{
    return find_slot(k, key)->value;
}
