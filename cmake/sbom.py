#!/usr/bin/env python3
"""Writes the list of components of a build (SBOM) as CycloneDX 1.5.

  sbom.py FILE VERSION_OF_WEFT [NAME VERSION ARCHIVE]...

"-" stands for a version that is not known and for an archive that there is not.
Of an archive the list has the SHA-256, which says of which bytes the members
were taken.
SPDX-License-Identifier: BSD-3-Clause
"""
import hashlib
import json
import sys

INSIDE = "Members are inside libmpi.a, libmpi_abi.so and static programs."
IN_PROGRAMS = "It is inside the programs that are linked statically."
# licence, origin, scope, how it is used
KNOWN = {
    "inih": ("BSD-3-Clause", "https://github.com/benhoyt/inih", "required",
             INSIDE),
    "libsodium": ("ISC AND BSD-2-Clause",
                  "https://github.com/jedisct1/libsodium", "required", INSIDE),
    "usrsctp": ("BSD-3-Clause", "https://github.com/sctplab/usrsctp",
                "optional", "It is not inside: the sctp transport loads "
                "libusrsctp.so.2 where it is installed; the version is that of "
                "the header."),
    "pmix": ("BSD-3-Clause", "https://github.com/openpmix/openpmix", "optional",
             "It is not inside: the bootstrap for PMIx servers is linked with "
             "libpmix.so.2; the version is that of the header."),
    "glibc": ("LGPL-2.1-or-later", "https://sourceware.org/glibc", "required",
              IN_PROGRAMS),
    "musl": ("MIT", "https://musl.libc.org", "required", IN_PROGRAMS),
}


def reference(name, version):
    return name if version == "-" else f"{name}@{version}"


def sha256(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def component(name, version, archive):
    licence, origin, scope, how = KNOWN[name]
    out = {"type": "library", "bom-ref": reference(name, version),
           "name": name, "description": how, "scope": scope}
    if version != "-":
        out["version"] = version
    if archive != "-":
        out["hashes"] = [{"alg": "SHA-256", "content": sha256(archive)}]
    out["licenses"] = [{"expression": licence}]
    out["purl"] = "pkg:generic/" + reference(name, version)
    out["externalReferences"] = [{"type": "website", "url": origin}]
    return out


def bom(version, components):
    weft = reference("weft", version)
    listed = [component(*c) for c in components]
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": {"component": {
            "type": "library", "bom-ref": weft, "name": "weft",
            "version": version, "licenses": [{"expression": "BSD-3-Clause"}],
            "purl": "pkg:generic/" + weft}},
        "components": listed,
        "dependencies": [
            {"ref": weft, "dependsOn": [c["bom-ref"] for c in listed]},
            *({"ref": c["bom-ref"]} for c in listed)],
    }


def main():
    path, version, *words = sys.argv[1:]
    components = zip(words[::3], words[1::3], words[2::3])
    with open(path, "w", encoding="ascii") as f:
        json.dump(bom(version, components), f, indent=2)
        f.write("\n")


main()
