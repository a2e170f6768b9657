#!/bin/sh
# vendor.sh - make OUTDIR/vendor.o: the members of inih and libsodium that Weft
# uses, under private names (wf_vendor_*).
#
#   vendor.sh OUTDIR LD NM OBJCOPY AR INIH_LIB SODIUM_ARCHIVE
#
# Only the members named below are taken, never what they in turn would pull:
# libsodium's utils.o drags in the whole library. The three small functions
# that they need from it are defined in core/boot/vendor.c.
# SPDX-License-Identifier: BSD-3-Clause
set -eu

[ $# -eq 7 ] || { echo "usage: $0 OUTDIR LD NM OBJCOPY AR INIH SODIUM" >&2; exit 2; }
out=$1 ld=$2 nm=$3 objcopy=$4 ar=$5 inih=$6 sodium=$7

case $inih in
*.a) ;;
*) inih=$(dirname "$inih")/libinih.a ;;
esac
for archive in "$inih" "$sodium"; do
    [ -f "$archive" ] && continue
    echo "vendor.sh: no static library $archive" \
         "(Debian: apt-get install libinih-dev libsodium-dev)" >&2
    exit 1
done

work=$out/work
rm -rf "$work"
mkdir -p "$work"

# The archive member that defines a symbol goes to $work.
take() {
    member=$("$nm" -A -g --defined-only "$1" 2>/dev/null |
        sed -n "s/^.*:\([^:]*\):[0-9a-f]* T $2\$/\1/p" | head -n 1)
    [ -n "$member" ] || { echo "vendor.sh: $1 has no $2" >&2; exit 1; }
    [ -f "$work/$member" ] ||
        (cd "$work" && "$ar" x "$1" "$member")
}

take "$inih" ini_parse_stream
take "$sodium" crypto_auth_hmacsha256
take "$sodium" crypto_hash_sha256_init
take "$sodium" crypto_verify_32

"$ld" -r -o "$work/all.tmp" "$work"/*.o

# Rename what is defined here, and what vendor.c defines for it; then make
# everything local but the functions of vendor.h. Those are declared hidden
# there, so a shared library does not export them either.
{
    "$nm" -g --defined-only "$work/all.tmp" | sed 's/.* //'
    printf '%s\n' sodium_memzero sodium_memcmp randombytes_buf
} | sort -u | sed 's/.*/& wf_vendor_&/' > "$work/rename"
printf 'wf_vendor_%s\n' ini_parse_stream crypto_auth_hmacsha256 \
    crypto_verify_32 > "$work/keep"
"$objcopy" --redefine-syms="$work/rename" -g "$work/all.tmp" "$work/named.tmp"
"$objcopy" --keep-global-symbols="$work/keep" "$work/named.tmp" "$out/vendor.o"
rm -rf "$work"
