#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py NAME FILE.lua...: C source with the script's text (the files, one after the other) and
the SHA1 by which a server knows it. Comments and indentation stay here."""

import hashlib
import re
import sys


def script_text(paths):
    lines = []
    for path in paths:
        with open(path) as file:
            lines += [re.sub(r"\s*--.*$", "", line).strip() for line in file]
    return "\n".join(line for line in lines if line) + "\n"


def main(name, *paths):
    text = script_text(paths)
    print("/* Generated from", *(path.rpartition("/")[2] for path in paths), "*/")
    print(f"extern const char {name}_sha1[];\nextern const char {name}_text[];")
    print(f'const char {name}_sha1[] = "{hashlib.sha1(text.encode()).hexdigest()}";')
    print(f"const char {name}_text[] =")
    quoted = [line.replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines()]
    print("\n".join(f'    "{line}\\n"' for line in quoted) + ";")


if __name__ == "__main__":
    main(*sys.argv[1:])
