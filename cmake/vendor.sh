#!/bin/sh
# vendor.sh - the members of inih and libsodium that Weft uses, under private
# names (wf_vendor_*):
#
#   OUTDIR/vendor.o         inih's reader, HMAC-SHA-256
#   OUTDIR/vendor_cipher.o  AES-256-GCM where libsodium has it, ChaCha20-Poly1305
#
#   vendor.sh OUTDIR LD NM OBJCOPY AR INIH_LIB SODIUM_ARCHIVE
#
# Members are found by the symbols they define, and followed by those that they
# need, so that any libsodium from 1.0.18 on will do. What would pull in the whole
# library is defined by Weft: core/crypto/vendor.c and core/crypto/cipher.c.
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

# Functions of libsodium that Weft defines.
ours="sodium_memzero sodium_memcmp sodium_misuse randombytes_buf"
for feature in aesni armcrypto avx avx2 avx512f neon pclmul rdrand sse2 sse3 sse41 \
    ssse3; do
    ours="$ours sodium_runtime_has_$feature"
done

# "symbol member archive" of everything that the archives define.
list_symbols()
{
    for archive; do
        "$nm" -A -g --defined-only "$archive" 2>/dev/null |
            sed -n "s|^.*:\([^:]*\):[0-9a-f]* [TDRBVW] \(.*\)\$|\2 \1 $archive|p"
    done
}

# Prints "member archive" of each that defines a symbol of the standard input,
# unless Weft does: the first that does.
find_members()
{
    awk -v ours="$ours" '
        BEGIN { n = split(ours, o, " "); while (n) skip[o[n--]] = 1 }
        NR == FNR {
            symbol = $1
            sub(/^[^ ]* /, "")
            if (!(symbol in at)) at[symbol] = $0
            next
        }
        ($0 in at) && !($0 in skip) && !seen[at[$0]]++ { print at[$0] }
    ' "$out/symbols" -
}

# The member that defines the symbol goes to $work; false: none does.
take()
{
    found=$(echo "$1" | find_members)
    [ -n "$found" ] || return 1
    extract "${found%% *}" "${found#* }"
}

# $1: the member, $2: the archive
extract()
{
    [ -f "$work/$1" ] || (cd "$work" && "$ar" x "$2" "$1")
}

# What lies in $work becomes $work/all.tmp, with what that needs in turn.
close()
{
    while :; do
        "$ld" -r $alias -o "$work/all.tmp" "$work"/*.o
        "$nm" -g -u "$work/all.tmp" | sed 's/.* //' | find_members \
            >"$work/needed.tmp"
        [ -s "$work/needed.tmp" ] || break
        while read -r member archive; do
            extract "$member" "$archive"
        done <"$work/needed.tmp"
    done
}

# The object $1 is made of the members that define the other arguments. Everything
# in it, and what Weft defines for it, is renamed; then everything is made local
# but those symbols, and $start if it came along. They are declared hidden in vendor.h and cipher.c, so a
# shared library does not export them either.
join()
{
    object=$1
    shift
    mkdir -p "$work" # it may hold a member already
    for symbol; do
        take "$symbol" && continue
        echo "vendor.sh: neither $inih nor $sodium has $symbol" >&2
        exit 1
    done
    close
    {
        "$nm" -g --defined-only "$work/all.tmp" | sed 's/.* //'
        printf '%s\n' $ours
    } | sort -u | sed 's/.*/& wf_vendor_&/' > "$work/rename"
    printf 'wf_vendor_%s\n' "$@" ${start:-none} > "$work/keep"
    "$objcopy" --redefine-syms="$work/rename" -g "$work/all.tmp" \
        "$work/named.tmp"
    "$objcopy" --keep-global-symbols="$work/keep" "$work/named.tmp" "$object"
    rm -rf "$work"
}

rm -rf "$work"
mkdir -p "$out"
list_symbols "$inih" "$sodium" > "$out/symbols"
alias= start=
join "$out/vendor.o" ini_parse_stream crypto_auth_hmacsha256 crypto_verify_32

# ChaCha20 is for pairs of which one side has no AES instructions. Processors
# with AVX2 have them, and the other side is no faster than with SSSE3.
# Libsodium's own look at the processor has to be asked for, where a member had it.
start=_sodium_runtime_get_cpu_features
dolbeau=crypto_stream_chacha20_dolbeau
if grep -q "^${dolbeau}_ssse3_implementation " "$out/symbols"; then
    for wide in avx2 avx512; do
        alias="$alias --defsym=${dolbeau}_${wide}_implementation="
        alias=$alias${dolbeau}_ssse3_implementation
    done
    mkdir -p "$work"
    take "${dolbeau}_ssse3_implementation"
fi
join "$out/vendor_cipher.o" \
    _crypto_stream_chacha20_pick_best_implementation \
    _crypto_onetimeauth_poly1305_pick_best_implementation \
    crypto_aead_chacha20poly1305_ietf_encrypt_detached \
    crypto_aead_chacha20poly1305_ietf_decrypt_detached \
    crypto_aead_aes256gcm_is_available crypto_aead_aes256gcm_statebytes \
    crypto_aead_aes256gcm_beforenm \
    crypto_aead_aes256gcm_encrypt_detached_afternm \
    crypto_aead_aes256gcm_decrypt_detached_afternm
