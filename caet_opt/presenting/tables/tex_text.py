"""Any text as LaTeX that means it, in ASCII, so that it compiles under every engine and input encoding."""

import unicodedata

#: Characters that LaTeX reads as something else, and a few that ASCII lacks.
SPECIAL = {character: f"\\{character}" for character in "{}$&#_%"} | {
    character: f"${character}$" for character in "<>|"
}
SPECIAL |= {"\\": r"$\backslash$", "~": r"$\sim$", "^": r"\^{}", '"': "''", "\u00a0": "~"}
SPECIAL |= {"\u2018": "`", "\u2019": "'", "\u201c": "``", "\u201d": "''"}
SPECIAL |= {"\u2013": r"\textendash{}", "\u2014": r"\textemdash{}", "\u2026": r"\ldots{}"}
SPECIAL |= {"\u00b0": r"$^\circ$", "\u00b5": r"$\mu$", "\u00b1": r"$\pm$", "\u00b7": r"$\cdot$"}
SPECIAL |= {"\u00d7": r"$\times$", "\u2192": r"$\to$", "\u2264": r"$\le$", "\u2265": r"$\ge$"}
SPECIAL |= {"\u00df": r"\ss{}", "\u00e6": r"\ae{}", "\u00c6": r"\AE{}", "\u0153": r"\oe{}", "\u0152": r"\OE{}"}
SPECIAL |= {"\u00f8": r"\o{}", "\u00d8": r"\O{}", "\u0142": r"\l{}", "\u0141": r"\L{}"}

#: Accents by their combining character.
ACCENTS = {"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": "."}
ACCENTS |= {"\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0327": "c"}

#: Greek letters whose command is not their name in Unicode; the capitals that look Latin have none.
GREEK = {"omicron": "o", "lamda": r"\lambda", "final sigma": r"\varsigma", "Lamda": r"\Lambda"}
GREEK |= {name: rf"\mathrm{{{name[0]}}}" for name in ("Alpha", "Beta", "Epsilon", "Zeta", "Iota", "Kappa")}
GREEK |= {name: rf"\mathrm{{{name[0]}}}" for name in ("Mu", "Nu", "Omicron", "Tau")}
GREEK |= {"Eta": r"\mathrm{H}", "Rho": r"\mathrm{P}", "Upsilon": r"\Upsilon", "Chi": r"\mathrm{X}"}


def tex(text: str) -> str:
    """Text as LaTeX.

    >>> print(tex("50% of A_1"), tex("Se\\u00f1or"), tex("\\u03b1 > \\u0394"), tex("\\u4e2d"))
    50\\% of A\\_1 Se\\~{n}or $\\alpha$ $>$ $\\Delta$ [U+4E2D]
    """
    characters = unicodedata.normalize("NFC", " ".join(text.split()))
    return "".join(map(tex_character, characters)).replace("--", "-{}-")


def tex_character(character: str) -> str:
    """One character; one for which there is no command, as its code."""
    if character in SPECIAL:
        return SPECIAL[character]
    if character.isascii() and character.isprintable():
        return character
    return accent(character) or greek(character) or f"[U+{ord(character):04X}]"


def accent(character: str) -> str | None:
    """A letter with an accent, by the accent's command."""
    parts = unicodedata.normalize("NFD", character)
    if len(parts) != 2 or not (parts[0].isascii() and parts[0].isalpha()) or parts[1] not in ACCENTS:
        return None
    letter = f"\\{parts[0]}" if parts[0] in "ij" and ACCENTS[parts[1]] not in "c" else parts[0]
    return f"\\{ACCENTS[parts[1]]}{{{letter}}}"


def greek(character: str) -> str | None:
    """A Greek letter in mathematics."""
    name = unicodedata.name(character, "")
    for size, spelled in (("SMALL", str.lower), ("CAPITAL", str.capitalize)):
        letter = spelled(name.removeprefix(f"GREEK {size} LETTER "))
        if name.startswith(f"GREEK {size} LETTER ") and (letter.isalpha() or letter in GREEK):
            return f"${GREEK.get(letter, chr(92) + letter)}$"
    return None
