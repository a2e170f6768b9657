#!/bin/sh
# vendor.sh - the members of inih and libsodium that Weft uses, under private
# names (wf_vendor_*):
#
#   OUTDIR/vendor.o         inih's reader, HMAC-SHA-256
#   OUTDIR/vendor_cipher.o  AES-256-GCM where libsodium has it, ChaCha20-Poly1305
#
#   vendor.sh OUTDIR LD NM OBJCOPY AR INIH_LIB SODIUM_ARCHIVE
#
# Only the members named below are taken, never what they in turn would pull:
# libsodium's utils.o drags in the whole library. The few small functions that
# they need from it are defined in core/boot/vendor.c and core/boot/cipher.c.
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

# The archive member that defines a symbol goes to $work; false: none does.
take() {
    member=$("$nm" -A -g --defined-only "$1" 2>/dev/null |
        sed -n "s/^.*:\([^:]*\):[0-9a-f]* [TDR] $2\$/\1/p" | head -n 1)
    [ -n "$member" ] || { echo "vendor.sh: $1 has no $2" >&2; return 1; }
    [ -f "$work/$member" ] ||
        (cd "$work" && "$ar" x "$1" "$member")
}

# What is in $work becomes the object $1: everything that is defined there, and
# what Weft defines for it, is renamed; then everything is made local but the
# functions named after it. Those are declared hidden in vendor.h and cipher.c,
# so a shared library does not export them either.
join() {
    object=$1
    shift
    "$ld" -r $alias -o "$work/all.tmp" "$work"/*.o
    {
        "$nm" -g --defined-only "$work/all.tmp" | sed 's/.* //'
        printf '%s\n' sodium_memzero sodium_memcmp sodium_misuse \
            randombytes_buf sodium_runtime_has_aesni sodium_runtime_has_avx2 \
            sodium_runtime_has_pclmul sodium_runtime_has_sse2 \
            sodium_runtime_has_ssse3
    } | sort -u | sed 's/.*/& wf_vendor_&/' > "$work/rename"
    printf 'wf_vendor_%s\n' "$@" > "$work/keep"
    "$objcopy" --redefine-syms="$work/rename" -g "$work/all.tmp" \
        "$work/named.tmp"
    "$objcopy" --keep-global-symbols="$work/keep" "$work/named.tmp" "$object"
    rm -rf "$work"
}

rm -rf "$work"
mkdir -p "$work"
alias=
take "$inih" ini_parse_stream
take "$sodium" crypto_auth_hmacsha256
take "$sodium" crypto_hash_sha256_init
take "$sodium" crypto_verify_32
join "$out/vendor.o" ini_parse_stream crypto_auth_hmacsha256 crypto_verify_32

mkdir -p "$work"
take "$sodium" crypto_verify_16
take "$sodium" crypto_aead_chacha20poly1305_ietf_encrypt
take "$sodium" crypto_stream_chacha20
take "$sodium" crypto_onetimeauth_poly1305
# These are of the machine; the two files above name those that there are.
for part in crypto_stream_chacha20_ref crypto_stream_chacha20_dolbeau_ssse3 \
    crypto_onetimeauth_poly1305_donna crypto_onetimeauth_poly1305_sse2; do
    take "$sodium" "${part}_implementation" 2>/dev/null || true
done
# ChaCha20 is for pairs of which one side has no AES instructions. Processors
# with AVX2 have them, and the other side is no faster than with SSSE3.
dolbeau=crypto_stream_chacha20_dolbeau
if [ -n "$(find "$work" -name '*ssse3*')" ]; then
    alias="--defsym=${dolbeau}_avx2_implementation=${dolbeau}_ssse3_implementation"
fi
take "$sodium" crypto_aead_aes256gcm_beforenm
join "$out/vendor_cipher.o" \
    _crypto_stream_chacha20_pick_best_implementation \
    _crypto_onetimeauth_poly1305_pick_best_implementation \
    crypto_aead_chacha20poly1305_ietf_encrypt_detached \
    crypto_aead_chacha20poly1305_ietf_decrypt_detached \
    crypto_aead_aes256gcm_is_available crypto_aead_aes256gcm_statebytes \
    crypto_aead_aes256gcm_beforenm \
    crypto_aead_aes256gcm_encrypt_detached_afternm \
    crypto_aead_aes256gcm_decrypt_detached_afternm
