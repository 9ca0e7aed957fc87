#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The message catalog explains each record of the table of events, and names only fields that such
a record may carry.

usage: catalog.py SOURCE-TREE | catalog.py --self-test
"""

import os
import re
import sys

COLUMNS = 100
ROW = re.compile(r'\b(?:ROW|LIMITED)\((\w+),\s*"[a-z-]+",\s*\w+,\s*"([0-9a-f]{32})"(.*?)\),\n', re.S)
HEADERS = ["Subject", "Defined-By", "Documentation"]


def table(source):
    """{MESSAGE_ID: (name, fields)} of events.c."""
    macros = {name: set(re.findall(r"\bB\((\w+)\)", text)) for name, text in re.findall(
        r"#define (FIELDS_\w+)((?:[^\n]*\\\n)*[^\n]*)", source)}
    rows = {}
    for name, message_id, rest in ROW.findall(source):
        fields = set(re.findall(r"\bB\((\w+)\)", rest + ")"))
        for macro in re.findall(r"FIELDS_\w+", rest):
            fields |= macros[macro]
        rows[message_id] = (name, fields)
    return rows


def entries(catalog):
    """[(MESSAGE_ID, head, text)] of a catalog."""
    found = []
    for part in re.split(r"^-- ", catalog, flags=re.M)[1:]:
        first, _, rest = part.partition("\n")
        head, _, text = rest.partition("\n\n")
        found.append((first.strip(), head, text.strip()))
    return found


def complaints(source, catalog):
    rows, wrong, seen = table(source), [], []
    if len(rows) != len(re.findall(r"^ +(?:ROW|LIMITED)\(", source, re.M)):
        wrong.append("events.c: not every row was understood")
    for message_id, head, text in entries(catalog):
        name, fields = rows.get(message_id, (message_id, None))
        seen.append(message_id)
        if fields is None:
            wrong.append(f"{message_id}: no record has this MESSAGE_ID")
            continue
        if re.findall(r"^([A-Za-z-]+): .", head, re.M) != HEADERS:
            wrong.append(f"{name}: its head should be {', '.join(HEADERS)}")
        if not text:
            wrong.append(f"{name}: nothing is explained")
        for field in re.findall(r"@([A-Z_]+)@", head + text):
            if field not in fields:
                wrong.append(f"{name}: such a record has no {field}")
        wrong += [f"{name}: longer than {COLUMNS} columns: {line}"
                  for line in text.split("\n") if len(line) > COLUMNS]
    wrong += [f"{rows[i][0]}: is not in the catalog" for i in rows if i not in seen]
    wrong += [f"{i}: twice" for i in sorted(set(seen)) if seen.count(i) > 1]
    if not wrong and seen != list(rows):
        wrong.append("the catalog has another order than the table")
    return wrong, len(rows)


# --- self-test -----------------------------------------------------------------------------------

A, B = "a" * 32, "b" * 32
SOURCE = f"""#define FIELDS_BOTH (B(ONE) | \\
    B(TWO))
    ROW(FIRST, "first", NOTICE, "{A}",
        FIELDS_BOTH | B(THREE)),
    LIMITED(SECOND, "second", ERR, "{B}",
            LIMIT, "things", 0),
"""


def entry(message_id, text="Text.", head="Subject: S\nDefined-By: x\nDocumentation: man:x(8)"):
    return f"-- {message_id}\n{head}\n\n{text}\n\n"


CASES = [
    ("good", entry(A, "@ONE@ @TWO@ @THREE@") + entry(B), []),
    ("one is missing", entry(A), ["SECOND: is not in"]),
    ("one too many", entry(A) + entry(B) + entry("c" * 32), ["no record has"]),
    ("twice", entry(A) + entry(B) + entry(B), ["twice"]),
    ("a field of another record", entry(A) + entry(B, "@ONE@"), ["no ONE"]),
    ("a head without a subject", entry(A) + entry(B, head="Defined-By: x"), ["its head"]),
    ("no text", entry(A, "") + entry(B), ["nothing is explained"]),
    ("a long line", entry(A, "x" * 101) + entry(B), ["longer than"]),
    ("another order", entry(B) + entry(A), ["another order"]),
]


def self_test():
    failed = 0
    for what, catalog, expected in CASES:
        wrong, _ = complaints(SOURCE, catalog)
        if len(wrong) != len(expected) or any(e not in w for e, w in zip(expected, wrong)):
            failed += 1
            print(f"{what}: expected {expected}, got {wrong}")
    print(f"{len(CASES)} cases, {failed} wrong")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2:
        sys.exit("usage: catalog.py SOURCE-TREE | catalog.py --self-test")
    texts = []
    for path in ("src/report/events.c", "packaging/catalog/xautoclaimd.catalog"):
        with open(os.path.join(sys.argv[1], path), encoding="utf-8") as file:
            texts.append(file.read())
    wrong, count = complaints(*texts)
    print("\n".join(wrong + [f"{count} records"]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
