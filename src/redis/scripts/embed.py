#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""embed.py NAME FILE.lua...: C source with the script's text (the files, one after the other) and
the SHA1 by which a server knows it. Comments and indentation stay here."""

import hashlib
import re
import sys

name, *paths = sys.argv[1:]
lines = []
for path in paths:
    with open(path) as file:
        lines += [re.sub(r"\s*--.*$", "", line).strip() for line in file]
text = "\n".join(line for line in lines if line) + "\n"
print("/* Generated from", *(path.rpartition("/")[2] for path in paths), "*/")
print(f"extern const char {name}_sha1[];\nextern const char {name}_text[];")
print(f'const char {name}_sha1[] = "{hashlib.sha1(text.encode()).hexdigest()}";')
print(f"const char {name}_text[] =")
quoted = [line.replace("\\", "\\\\").replace('"', '\\"') for line in text.splitlines()]
print("\n".join(f'    "{line}\\n"' for line in quoted) + ";")
