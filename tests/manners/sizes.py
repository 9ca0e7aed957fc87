#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""How long files and functions are, and how much of the code is comment; prints the figures.

    no .c file over 500 lines; 90% of the functions under 75 lines and none over 150;
    5 to 25% of the lines comment; the first line of each file names the licence

usage: sizes.py SOURCE-TREE | sizes.py --self-test
"""

import os
import re
import statistics
import sys
import tempfile

FILE_MAX = 500
FUNCTION_USUAL, FUNCTION_USUAL_SHARE = 75, 0.9
FUNCTION_MAX = 150
COMMENT_MIN, COMMENT_MAX = 5.0, 25.0
LICENCE = "SPDX-License-Identifier: BSD-3-Clause"

TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def split_comments(text):
    """(the text with comments and the insides of strings blanked, lines that hold a comment)."""
    commented = set()

    def replace(match):
        token = match[0]
        if token[0] == "/":
            first = text.count("\n", 0, match.start())
            commented.update(range(first, first + token.count("\n") + 1))
            return blank(token)
        return token[0] + blank(token[1:-1]) + token[-1]

    return TOKEN.sub(replace, text), commented


def without_directives(code):
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda m: blank(m[0]), code, flags=re.M)


def functions(code):
    """(name, lines from the first of its head to its closing brace) of each function."""
    code = without_directives(code)
    depth, head, out, name = 0, 0, [], None
    for at, char in enumerate(code):
        if depth == 0 and char in ";}":
            head = at + 1
        if char == "{":
            if depth == 0:
                before = code[head:at]
                plain = re.sub(r"__attribute__\s*\(\(.*?\)\)", "", before)
                called = re.search(r"(\w+)\s*\(", plain)
                is_function = before.rstrip().endswith(")") and "=" not in before and called
                name = called[1] if is_function else None
            depth += 1
        elif char == "}":
            depth -= 1
            if depth == 0:
                if name:
                    start = head + len(code[head:]) - len(code[head:].lstrip())
                    out.append((name, code.count("\n", start, at) + 1))
                head, name = at + 1, None
    if depth != 0:
        raise ValueError("braces do not match")
    return out


def measure(tree):
    files, heads = [], []
    for top in ("src", "include"):
        for directory, _, names in sorted(os.walk(os.path.join(tree, top))):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                path = os.path.join(directory, name)
                shown = os.path.relpath(path, tree)
                with open(path, encoding="utf-8") as file:
                    text = file.read()
                if LICENCE not in text.split("\n", 1)[0]:
                    heads.append(shown)
                if name.endswith(".c"):
                    files.append((shown, text))
    return files, heads


def complaints(tree):
    files, heads = measure(tree)
    wrong = [f"{path}: the first line does not name the licence" for path in heads]
    lengths, all_functions, lines, commented = [], [], 0, 0
    for path, text in files:
        code, comment_lines = split_comments(text)
        size = text.count("\n")
        lengths.append(size)
        if size > FILE_MAX:
            wrong.append(f"{path}: {size} lines, at most {FILE_MAX}")
        try:
            all_functions += [(length, path, name) for name, length in functions(code)]
        except ValueError as error:
            wrong.append(f"{path}: {error}")
        lines += sum(1 for line in text.split("\n") if line.strip())
        commented += len(comment_lines)
    if not all_functions:
        return wrong + ["no function was found"], []

    for length, path, name in all_functions:
        if length > FUNCTION_MAX:
            wrong.append(f"{path}: {name}() has {length} lines, at most {FUNCTION_MAX}")
    usual = sum(1 for f in all_functions if f[0] < FUNCTION_USUAL) / len(all_functions)
    if usual < FUNCTION_USUAL_SHARE:
        wrong.append(f"only {usual:.1%} of the functions are under {FUNCTION_USUAL} lines")
    share = 100 * commented / lines
    if not COMMENT_MIN <= share <= COMMENT_MAX:
        wrong.append(f"{share:.1f}% of the lines are comment, "
                     f"should be {COMMENT_MIN:.0f} to {COMMENT_MAX:.0f}")
    longest = max(all_functions)
    return wrong, [
        f"files: {len(files)}, {sum(lengths)} lines, median {statistics.median(lengths):.0f}, "
        f"longest {max(lengths)}",
        f"functions: {len(all_functions)}, median "
        f"{statistics.median(f[0] for f in all_functions):.0f} lines, {usual:.1%} under "
        f"{FUNCTION_USUAL}, longest {longest[0]} ({longest[2]} in {longest[1]})",
        f"comment: {share:.1f}% of the lines",
    ]


# --- self-test -----------------------------------------------------------------------------------

HEAD = f"/* {LICENCE} */\n"


def function(name, lines):
    return f"static int {name}(int a) {{\n" + "    a++;\n" * (lines - 2) + "}\n"


def comment(lines):
    return "/* why\n" + " * why\n" * (lines - 2) + " */\n"


GOOD = HEAD + comment(8) + function("one", 20) + function("two", 30)
CASES = [
    ("good", GOOD, []),
    ("braces in strings and comments",
     GOOD + 'const char *s = "}{{"; /* { */ char c = \'{\'; // {\n', []),
    ("a table and a macro are no function",
     GOOD + "#define LONG(x) { \\\n" + "  x; \\\n" * 160 + "}\nstatic const int t[] = {\n"
     + "    1,\n" * 160 + "};\n" + comment(20), []),
    ("a long file", HEAD + "int a;\n" * 450 + comment(60) + function("one", 9), ["at most 500"]),
    ("a long function", HEAD + comment(20) + function("long_one", 151)
     + "".join(function(f"f{i}", 3) for i in range(20)), ["long_one() has 151 lines"]),
    ("attributes before a long function", HEAD + comment(20)
     + "static __attribute__((noinline)) " + function("long_one", 151)[7:]
     + "".join(function(f"f{i}", 3) for i in range(20)), ["long_one() has 151 lines"]),
    ("many longish functions", HEAD + comment(30) + "".join(function(f"f{i}", 3) for i in range(8))
     + function("g", 75), ["under 75 lines"]),
    ("no comment", HEAD + "int a;\n" * 40 + function("one", 20), ["are comment"]),
    ("much comment", HEAD + comment(20) + function("one", 20), ["are comment"]),
    ("no licence", GOOD[len(HEAD):], ["licence"]),
    ("braces that do not match", GOOD + "int f(void) {\n", ["do not match", "no function"]),
    ("nothing", HEAD, ["no function"]),
]


def self_test():
    failed = 0
    for what, text, expected in CASES:
        with tempfile.TemporaryDirectory() as tree:
            os.makedirs(os.path.join(tree, "src", "base"))
            with open(os.path.join(tree, "src", "base", "x.c"), "w", encoding="utf-8") as file:
                file.write(text)
            wrong, _ = complaints(tree)
        if len(wrong) != len(expected) or any(e not in w for e, w in zip(expected, wrong)):
            failed += 1
            print(f"{what}: expected {expected}, got {wrong}")
    print(f"{len(CASES)} cases, {failed} wrong")
    return 1 if failed else 0


def main():
    if sys.argv[1:] == ["--self-test"]:
        return self_test()
    if len(sys.argv) != 2 or not os.path.isdir(os.path.join(sys.argv[1], "src")):
        sys.exit("usage: sizes.py SOURCE-TREE | sizes.py --self-test")
    wrong, figures = complaints(sys.argv[1])
    print("\n".join(figures + wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
