"""Draws a screen with the escape sequences of a terminal as SVG: terminal-picture.py light|dark COLUMNS < SCREEN"""

import re
import sys
from html import escape

THEMES = {
    "light": {"page": "#ffffff", "text": "#0f172a", "dim": "#64748b", 31: "#b91c1c", 32: "#15803d", 33: "#b45309", 34: "#1d4ed8", 35: "#7e22ce", 36: "#0369a1"},
    "dark": {"page": "#0b1120", "text": "#e5e7eb", "dim": "#8391a7", 31: "#f87171", 32: "#4ade80", 33: "#fbbf24", 34: "#60a5fa", 35: "#c084fc", 36: "#38bdf8"},
}
# Colours of members beyond those that have names.
EXTRA = {208: 33, 211: 35}
WIDTH, HEIGHT, MARGIN = 8.4, 20, 12


def pieces(line):
    """Yields the pieces of a line, each with how it looks."""
    state = {"colour": None, "bold": False, "dim": False, "italic": False, "struck": False, "turned": False}
    for part in re.split(r"(\x1b\[[0-9;]*m)", line):
        sequence = re.fullmatch(r"\x1b\[([0-9;]*)m", part)
        if not sequence:
            if part:
                yield part, dict(state)
            continue
        codes = [int(code or 0) for code in sequence[1].split(";")]
        while codes:
            code = codes.pop(0)
            if code == 38 and codes[:1] == [5]:
                # A colour by its number: the first eight are those that have names, the next eight the same, brighter.
                code, codes = 30 + codes[1] % 8 if codes[1] < 16 else EXTRA.get(codes[1], 39), codes[2:]
            if code == 0:
                state.update(colour=None, bold=False, dim=False, italic=False, struck=False, turned=False)
            elif code in (1, 2, 3, 9):
                state[{1: "bold", 2: "dim", 3: "italic", 9: "struck"}[code]] = True
            elif code in (7, 27):
                state["turned"] = code == 7
            elif code == 22:
                state.update(bold=False, dim=False)
            elif code == 39:
                state["colour"] = None
            elif 31 <= code <= 36:
                state["colour"] = code


def main():
    theme, columns = THEMES[sys.argv[1]], int(sys.argv[2])
    lines = sys.stdin.read().rstrip("\n").split("\n")
    width, height = columns * WIDTH + 2 * MARGIN, len(lines) * HEIGHT + 2 * MARGIN
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}">')
    print(f'<rect width="100%" height="100%" rx="6" fill="{theme["page"]}"/>')
    print(f'<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,\'DejaVu Sans Mono\',monospace" font-size="14" fill="{theme["text"]}">')
    for row, line in enumerate(lines):
        column = 0
        for text, look in pieces(line):
            colour = theme[look["colour"]] if look["colour"] else theme["dim"] if look["dim"] else None
            x, y = MARGIN + column * WIDTH, MARGIN + row * HEIGHT + 15
            if look["turned"]:
                print(f'<rect x="{x:.1f}" y="{y - 15}" width="{len(text) * WIDTH:.1f}" height="{HEIGHT}" fill="{colour or theme["text"]}"/>')
                colour = theme["page"]
            marks = f' fill="{colour}"' if colour else ""
            marks += ' font-weight="700"' if look["bold"] else ""
            marks += ' font-style="italic"' if look["italic"] else ""
            marks += ' text-decoration="line-through"' if look["struck"] else ""
            if text.strip():
                print(f'<text x="{x:.1f}" y="{y}" textLength="{len(text) * WIDTH:.1f}" xml:space="preserve"{marks}>{escape(text)}</text>')
            column += len(text)
    print("</g>\n</svg>")


main()
