"""Java's patterns and replacements in Python: the results of `java.util.regex` itself, or a refusal that says why."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
import pytest
from hypothesis import given
from hypothesis import strategies as st
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError
from strategies import examples

from ggfmt.java.regex import ATOMIC_GROUPS, translate
from ggfmt.java.replacement import Replacement
from ggfmt.java.text import InvalidValueError
from ggfmt.spark.installations import find_java

# A pattern, a replacement, and texts to replace in.
CORPUS: list[tuple[str, str, list[str]]] = [
    # The manual's own
    (r"[$]", "", ["A$B$", "$", "AB"]),
    (r"[\n]", " ", ["a\nb", "\n\n", "a\r\nb"]),
    (r"^\s+|\s+$", "", ["  a b \t", "a\n", " \u00a0a\u2028", "\x0ba\x1c"]),
    # Groups and references
    (r"(\w+)@(\w+)", "$2 at $1", ["joe@home x@y", "é@b", "a@"]),
    (r"(?<user>\w+)@(?<host>\w+)", "${host}:${user}", ["joe@home"]),
    (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)", "$10$1$11", ["abcdefghij"]),
    (r"(a)", "$10-$0", ["bab"]),
    (r"(a)|(b)", "<$1|$2>", ["abc"]),
    (r"(a)?b", "[$1]", ["ab b"]),
    (r"a", r"\$\\\x", ["banana"]),
    (r"(.)\1", "<$1>", ["aabbc", "😀😀"]),
    (r"(?<q>['\"])(.*?)\k<q>", "$2", ["'a' \"b'\""]),
    (r"(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)\11", "x", ["abcdefghija1", "abcdefghijj"]),
    (r"(?i)(a)\1", "x", ["aA AA éÉ"]),
    # Empty matches
    (r"a*", "x", ["baac", "", "aaa"]),
    (r"a??", "x", ["aa"]),
    (r"|a", "x", ["aba"]),
    (r"\b", "|", ["ab cd_1-2"]),
    (r"\B", "|", ["ab cd"]),
    (r"(?=b)", "-", ["abb"]),
    # Line ends
    (r".", "x", ["a\nb\rc\u0085d\u2028e\u2029f", "😀"]),
    (r"(?s).", "x", ["a\n\r\u0085"]),
    (r"(?d).", "x", ["a\n\r\u0085"]),
    (r"$", "!", ["a\n", "a\r\n", "a\r", "a\u0085", "a\u2028", "a\n\n", "", "\n"]),
    (r"(?d)$", "!", ["a\n", "a\r\n", "a\u0085"]),
    (r"(?m)$", "!", ["a\nb\r\nc\rd", "\n", ""]),
    (r"(?m)^", "!", ["a\nb\r\nc\rd\n", "\n", ""]),
    (r"(?md)^", "!", ["a\nb\r\nc\rd\n", ""]),
    (r"(?md)$", "!", ["a\nb\r\nc\n"]),
    (r"^", "!", ["a\nb", ""]),
    (r"\A", "!", ["a\nb"]),
    (r"\Z", "!", ["a\n", "a\r\n", "a\u2029"]),
    (r"\z", "!", ["a\n", "a"]),
    (r"\R", "|", ["a\r\nb\nc\rd\u0085e\u2028f\x0bg\x0c"]),
    (r"\R\R", "|", ["a\r\n\r\nb"]),
    (r"a$", "x", ["a\n", "ba"]),
    # Predefined classes are ASCII
    (r"\d", "#", ["1\u0661\u00b2a"]),
    (r"\D", "#", ["1\u0661a"]),
    (r"\w", "#", ["aé_1-ß"]),
    (r"\W", "#", ["aé_1-ß"]),
    (r"\s", "#", [" \t\n\x0b\f\r\x1c\u00a0\u2003\u0085"]),
    (r"\S", "#", [" \t\n\x0b\x1c\u00a0"]),
    (r"\h", "#", [" \t\u00a0\u180e\u2003\u3000\n"]),
    (r"\H", "#", [" \ta"]),
    (r"\v", "#", ["\n\x0b\f\r\u0085\u2028\u2029 "]),
    (r"\V", "#", ["\nab"]),
    # Properties
    (r"\p{Alpha}", "#", ["aZé1"]),
    (r"\p{Lower}", "#", ["aZé"]),
    (r"\p{Upper}", "#", ["aZÉ"]),
    (r"\p{ASCII}", "#", ["a\x7fé"]),
    (r"\p{Digit}", "#", ["1\u0661"]),
    (r"\p{Alnum}", "#", ["a1é"]),
    (r"\p{Punct}", "#", ["!/@[`{~ a§"]),
    (r"\p{Graph}", "#", ["!a \x7f"]),
    (r"\p{Print}", "#", ["!a \t"]),
    (r"\p{Blank}", "#", ["a \t\n"]),
    (r"\p{Cntrl}", "#", ["\x00\x1f \x7f"]),
    (r"\p{XDigit}", "#", ["09afAFgG"]),
    (r"\p{Space}", "#", ["a \x0b\u00a0"]),
    (r"\P{Alpha}", "#", ["a1é"]),
    (r"\p{L}", "#", ["aéß中1\u0301"]),
    (r"\pL\PL", "#", ["a1aa"]),
    (r"\p{Lu}", "#", ["aAÉ"]),
    (r"\p{IsLu}", "#", ["aAÉ"]),
    (r"\p{gc=Nd}", "#", ["1\u0661\u00b2"]),
    (r"\p{Sc}", "#", ["$€x"]),
    (r"\p{M}", "", ["e\u0301"]),
    (r"[\p{L}&&[^a-z]]", "#", ["aAé"]),
    # Classes
    (r"[a-c]", "#", ["abcd"]),
    (r"[^a-c]", "#", ["abc\n😀"]),
    (r"[a-z&&[def]]", "#", ["abcdefg"]),
    (r"[a-z&&[^bc]]", "#", ["abcd"]),
    (r"[a-z&&[^m-p]&&[^x]]", "#", ["almpqxz"]),
    (r"[a-z&&b-y&&c-d]", "#", ["abcde"]),
    (r"[a-d[m-p]]", "#", ["aemq"]),
    (r"[a[b[c]]]", "#", ["abcd"]),
    (r"[]a]", "#", ["]a["]),
    (r"[^]a]", "#", ["]a["]),
    (r"[a-]", "#", ["a-b"]),
    (r"[-a]", "#", ["a-b"]),
    (r"[a^]", "#", ["a^b"]),
    (r"[\d-z]", "#", ["1-z"]),
    (r"[&a]", "#", ["&a"]),
    (r"[a&b]", "#", ["&ab"]),
    (r"[\\\]\[]", "#", ["\\[]"]),
    (r"[.$|()*+?{}]", "#", [".$|()*+?{}a"]),
    (r"[\w.]+", "#", ["a.b c"]),
    (r"[\x41-\x43]", "#", ["ABCD"]),
    (r"[😀-😂]", "#", ["😁a"]),
    (r"[^\s\d]", "#", ["a 1"]),
    (r"[\S\s]", "#", ["a\n"]),
    (r"[a&&b]", "#", ["ab"]),
    (r"[\h\v]", "#", ["a \n"]),
    (r"[\p{Lu}\p{Punct}]", "#", ["aA!"]),
    # Characters
    (r"\t\n\r\f\a\e", "#", ["\t\n\r\f\x07\x1b"]),
    (r"\07\012\0101", "#", ["\x07\nA"]),
    (r"\0400", "#", ["\x200"]),
    (r"\x41\u0042\x{43}\x{1F600}", "#", ["ABC😀"]),
    (r"\uD83D\uDE00", "#", ["😀"]),
    (r"\cA\c?\c[", "#", ["\x01\x7f\x1b"]),
    (r"\.\*\-\/\_\é\ ", "#", [".*-/_é "]),
    (r"]}", "#", ["]}"]),
    (r"a\|b", "#", ["a|b"]),
    (r"#a b", "x", ["#a b"]),
    (r"\Q.*\E+", "#", [".***"]),
    (r"\Qa\b", "#", ["a\\b"]),
    (r"\\Qa", "#", ["\\Qa"]),
    (r"[\Q^-]\E]", "#", ["^-]a"]),
    (r"\Q\E|b", "#", ["ab"]),
    ("\\Qa\n", "#", ["a\n", "a"]),
    # Case
    (r"(?i)abc", "#", ["aBC"]),
    (r"(?i)é", "#", ["éÉ"]),
    (r"(?i)[a-c]", "#", ["aBCd"]),
    (r"(?i)[^a]", "#", ["aAb"]),
    (r"(?i)[Z-a]", "#", ["Zz[aA"]),
    (r"(?i)k", "#", ["kK\u212a"]),
    (r"(?i:a)b", "#", ["Ab AB"]),
    (r"a(?i)b|c", "#", ["aB C A"]),
    (r"(a(?i)b)c", "#", ["aBc aBC"]),
    (r"(?i)a(?-i)b", "#", ["Ab AB"]),
    (r"(?is-m:a.)b", "#", ["A\nb"]),
    # Quantifiers
    (r"a{2}", "#", ["aaaaa"]),
    (r"a{2,}", "#", ["a aa aaa"]),
    (r"a{1,2}", "#", ["aaa"]),
    (r"a{1,2}?", "#", ["aaa"]),
    (r"<.+?>", "", ["<a><b>"]),
    (r"<.*>", "", ["<a>x<b>"]),
    (r"(?:ab)+", "#", ["ababa"]),
    (r"(?:ab){2}", "#", ["ababa"]),
    (r"(ab)?c", "<$1>", ["abcc"]),
    (r"[ab]{2,3}", "#", ["abab"]),
    (r"0+(?=[0-9])", "", ["007", "0"]),
    # Looking around
    (r"(?<=a)b", "#", ["abb"]),
    (r"(?<!a)b", "#", ["abb"]),
    (r"a(?=b)", "#", ["abac"]),
    (r"a(?!b)", "#", ["abac"]),
    (r"(?<=^|,)(?=,|$)", "NULL", [",a,,", ""]),
    (r"(?<!^|a|bc)b", "#", ["bbcbab"]),
    (r"(?<=\d)(?=(?:\d{3})+$)", ",", ["1234567"]),
    (r"a|ab|abc", "#", ["abc"]),
    (r"(?:a|b)|c", "#", ["abc"]),
    (r"a||b", "#", ["b"]),
]
CORPUS_ATOMIC = [
    (r"a++b", "#", ["aab"]),
    (r"a*+a", "#", ["aa"]),
    (r"(?>a|ab)c", "#", ["abc ac"]),
    (r"a?+a", "#", ["a aa"]),
    (r"a{1,2}+a", "#", ["aa aaa"]),
]
EVERYWHERE = ["", "aA1 é\r\n", "$1.b-[c]_&^\n", "aab\u2028ßcab "]  # Java tears other planes apart at empty matches
TRIPLES = [(pattern, text, value) for pattern, text, values in CORPUS for value in [*values, *EVERYWHERE]]
# \b of Java 8 to 18 knows letters beyond ASCII, and combining marks.
BOUNDARIES = [
    ("é b", "|é| |b|"),
    ("e\u0301 b", "|e\u0301| |b|"),
    ("_\u0301", "|_|\u0301"),
    ("\u0301a", "\u0301|a|"),
    ("a\u0301\u0302\u0303-", "|a\u0301\u0302\u0303|-"),
    ("\u00b2x\u0663", "\u00b2|x\u0663|"),
]


def of(pattern: str, text: str) -> Replacement:
    return Replacement(translate(pattern), text)


@pytest.fixture(scope="module")
def replace_all() -> Iterator[Callable[[str, str, str], str | None]]:
    """`Pattern.compile(pattern).matcher(value).replaceAll(text)`; None where Java refuses pattern or text."""
    (jar,) = Path(pyspark.__file__).parent.glob("jars/py4j-*.jar")
    port = launch_gateway(jarpath=str(jar), java_path=str(find_java().executable), die_on_exit=True)
    gateway: Any = JavaGateway(gateway_parameters=GatewayParameters(port=port))

    def java(pattern: str, text: str, value: str) -> str | None:
        try:
            found = gateway.jvm.java.util.regex.Pattern.compile(pattern).matcher(value).replaceAll(text)
        except Py4JJavaError:
            return None
        assert isinstance(found, str)
        return found

    yield java
    gateway.shutdown()


def test_the_corpus_is_large() -> None:
    assert len(set(TRIPLES)) >= 500


Java = Callable[[str, str, str], str | None]


def is_told_alike(pattern: str, value: str) -> bool:
    """Whether the Java at hand has the meaning that is followed: from 19 on, `\\b` knows no letters beyond ASCII."""
    return find_java().major < 19 or value.isascii() or not re.search(r"\\[bB]", pattern)


def test_the_results_are_those_of_java(replace_all: Java) -> None:
    triples = list(TRIPLES)
    if ATOMIC_GROUPS:
        triples += [(pattern, text, value) for pattern, text, values in CORPUS_ATOMIC for value in values]
    triples = [item for item in triples if is_told_alike(item[0], item[2])]
    assert len(triples) > 450
    wrong = [
        (pattern, text, value, found, wanted)
        for pattern, text, value in triples
        if (found := of(pattern, text).apply(value)) != (wanted := replace_all(pattern, text, value))
    ]
    assert wrong == []


def test_what_re2_does_is_the_same() -> None:
    served = [(pattern, text, value) for pattern, text, value in TRIPLES if of(pattern, text).re2]
    assert len(served) > 100
    for pattern, text, value in served:
        replacement = of(pattern, text)
        assert replacement.re2 is not None
        (found,) = pc.replace_substring_regex(pa.array([value]), *replacement.re2).to_pylist()
        assert (pattern, value, found) == (pattern, value, replacement.apply(value))


@pytest.mark.parametrize(("value", "wanted"), BOUNDARIES)
def test_word_boundaries_beyond_ascii(value: str, wanted: str, replace_all: Java) -> None:
    assert of(r"\b", "|").apply(value) == wanted
    if find_java().major < 19:
        assert replace_all(r"\b", "|", value) == wanted


_PLAIN = "a b A 1 é 😀 _ & - ] } \\n ^ $ \\A \\z \\Z . \\d \\w \\s \\W \\h \\v \\R \\p{Lu} \\P{Alpha} [ab] [^a]"
_BUILT = "\\x{1F600} [a-c&&[^b]] [\\w-] [-a] \\Q*\\E (?<=a) (?<!\\n) (?<!a|b1|^) (?i:b) (?i) (?s) (?m) (?d) \\1"
_units = st.sampled_from([*_PLAIN.split(" "), *_BUILT.split(" ")])
_counts = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,2}", "*?", "+?", "??"])


def _larger(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    sequence = st.lists(st.builds("{}{}".format, inner, _counts), min_size=1, max_size=3).map("".join)
    either = st.builds("{}|{}".format, sequence, sequence)
    opening = st.sampled_from(["(", "(?:", "(?=", "(?!"])
    return sequence | st.builds("{}{}){}".format, opening, sequence | either, _counts) | either


_values = st.lists(st.sampled_from([*"abAB1_ \n\r-]^&*cé", "\r\n", "\x85", "\u2028", "\u0301", "ß"]), max_size=7).map(
    "".join
)


@examples(400)
@given(st.recursive(_units, _larger, max_leaves=8), st.sampled_from(["x", "<$0>", "", "<$1>"]), _values)
def test_whatever_is_translated_does_what_java_does(replace_all: Java, pattern: str, text: str, value: str) -> None:
    try:
        replacement = of(pattern, text)
    except InvalidValueError:
        return
    found = replacement.apply(value)
    assert found == replace_all(pattern, text, value)
    if replacement.re2:
        assert pc.replace_substring_regex(pa.array([value]), *replacement.re2).to_pylist() == [found]


def refusal(pattern: str, text: str = "", **options: bool) -> str:
    with pytest.raises(InvalidValueError) as caught:
        Replacement(translate(pattern, **options), text)
    return f"{caught.value}; {caught.value.help}"


OTHERWISE = "write it in another way"
VERSIONS = "which Java releases read differently"
CORRECT = "correct it; a backslash is written `\\\\` in a handler file"
EMPTY = "an expression that can be empty"
NOT = "is not a Java pattern"
PROPERTY = "give a general category such as `\\p{L}`, a POSIX class such as `\\p{Alpha}`, or a range"
APART = "which Java and Python keep differently; write `(?:` for `(`"

# What Java takes, and ggfmt does not.
REFUSED = {
    r"\R+": f"has `\\R` inside of the repetition `+`, which Java and Python match differently; {OTHERWISE}",
    r"(a\R){2}": f"has `\\R` inside of the repetition `{{2}}`, which Java and Python match differently; {OTHERWISE}",
    r"\Ga": f"has `\\G` (the end of the match before), which has no exact equal in Python; {OTHERWISE}",
    r"\X": f"has `\\X` (a grapheme cluster), which has no exact equal in Python; {OTHERWISE}",
    r"\b{g}": f"has `\\b{{...}}`, which has no exact equal in Python; {OTHERWISE}",
    r"\p{IsLatin}": f"has `\\p{{IsLatin}}`, which has no exact equal in Python; {PROPERTY}",
    r"\p{InGreek}": f"has `\\p{{InGreek}}`, which has no exact equal in Python; {PROPERTY}",
    r"\p{javaLowerCase}": f"has `\\p{{javaLowerCase}}`, which has no exact equal in Python; {PROPERTY}",
    r"[\p{IsAlphabetic}]": f"has `\\p{{IsAlphabetic}}`, which has no exact equal in Python; {PROPERTY}",
    r"(?i)\p{Lu}": f"has `\\p{{Lu}}` under `(?i)`, {VERSIONS}; {OTHERWISE}",
    r"(?u)a": f"has the flag `(?u)` (case of Unicode), which is not supported; {OTHERWISE}",
    r"(?iU:a)": f"has the flag `(?U)` (classes of Unicode), which is not supported; {OTHERWISE}",
    r"(?x)a b": f"has the flag `(?x)` (comments), which is not supported; {OTHERWISE}",
    r"[^a[b]]": f"has a class inside of `[^...]`, {VERSIONS}; negate the classes inside",
    r"[^a&&a]": f"has `&&` inside of `[^...]`, {VERSIONS}; negate the classes inside",
    r"[a-z&&[def]g]": f"has `[def]g` beside `&&`, {VERSIONS}; put this part into separate brackets",
    r"[a[b]&&b]": f"has `a[b]` beside `&&`, {VERSIONS}; put this part into separate brackets",
    r"[&&a]": f"has `&&` without a class on both sides, {VERSIONS}; {OTHERWISE}",
    r"[a&&^b]": f"has `&&` without a class on both sides, {VERSIONS}; {OTHERWISE}",
    r"(a*)*": f"has `*` after {EMPTY}, which Java and Python repeat differently; {OTHERWISE}",
    r"(?:a?){2}": f"has `{{2}}` after {EMPTY}, which Java and Python repeat differently; {OTHERWISE}",
    r"\1(a)": "has `\\1`, which names no group that is closed before it; number groups by their `(`",
    r"(?:(a)|b)+\1": "has `\\1`, which names a group inside of a repetition; put the group around it",
    r"(?<=ab?)d": f"is refused by Python: look-behind requires fixed-width pattern; {OTHERWISE}",
}
# What Java does not take either.
WRONG = {
    "": "is empty; give a regular expression, or remove it",
    "(a": f"{NOT}: a `(` is not closed; {CORRECT}",
    "a)": f"{NOT}: a `)` closes no group; {CORRECT}",
    "[a": f"{NOT}: it ends where `]` should follow; {CORRECT}",
    "*a": f"{NOT}: `*` repeats nothing; {CORRECT}",
    "a**": f"{NOT}: `*` repeats nothing; {CORRECT}",
    "a{": f"{NOT}: `{{` must be followed by numbers and `}}`; write `\\{{` for the character; {CORRECT}",
    "{a}": f"{NOT}: `{{` repeats nothing; write `\\{{` for the character; {CORRECT}",
    "a{2,1}": f"{NOT}: `{{2,1}}` ends before it starts; {CORRECT}",
    "a{9999999999}": f"{NOT}: `{{9999999999}}` is too large; {CORRECT}",
    "a\\": f"{NOT}: it ends where an escaped character should follow; {CORRECT}",
    r"\y": f"{NOT}: `\\y` is not an escape here; {CORRECT}",
    r"[\b]": f"{NOT}: `\\b` is not an escape here; {CORRECT}",
    r"\E": f"{NOT}: `\\E` is not an escape here; {CORRECT}",
    r"\xG1": f"{NOT}: `\\x` is not followed by its digits; {CORRECT}",
    r"\x{110000}": f"{NOT}: `\\x{{110000}}` is not a character; {CORRECT}",
    r"\p": f"{NOT}: `\\p` is not followed by the name of a property; {CORRECT}",
    r"\k<a>": f"{NOT}: `\\k` names no group before it; {CORRECT}",
    "[z-a]": f"{NOT}: a range in a class ends before it starts; {CORRECT}",
    r"[a-\d]": f"{NOT}: a range in a class ends before it starts; {CORRECT}",
    "(?<1>a)": f"{NOT}: a group's name is not letters and digits between `<` and `>`; {CORRECT}",
    "(?<a>b)(?<a>c)": f"{NOT}: two groups have the name `a`; {CORRECT}",
    "(?y)": f"{NOT}: `y` is not a flag; {CORRECT}",
    "(?P<a>b)": f"{NOT}: `P` is not a flag; {CORRECT}",
}


@pytest.mark.parametrize("pattern", [*REFUSED, *WRONG])
def test_what_is_not_taken_is_told(pattern: str) -> None:
    assert refusal(pattern) == {**REFUSED, **WRONG}[pattern]


def test_java_takes_what_is_refused_and_not_what_is_wrong(replace_all: Java) -> None:
    assert [pattern for pattern in REFUSED if replace_all(pattern, "", "") is None] == []
    assert [pattern for pattern in WRONG if pattern and replace_all(pattern, "", "") is not None] == []


def test_what_old_pythons_lack_is_told() -> None:
    help = "run ggfmt with Python 3.11 or newer"
    assert refusal("a++", atomic=False) == f"has the possessive quantifier `++`, which Python has from 3.11 on; {help}"
    assert refusal("(?>a)", atomic=False) == f"has the atomic group `(?>`, which Python has from 3.11 on; {help}"


@pytest.mark.skipif(not ATOMIC_GROUPS, reason="needs Python 3.11")
def test_groups_inside_of_atomic_ones_are_told() -> None:
    assert refusal("(a)++") == f"has a group inside of the possessive quantifier `++`, {APART}"
    assert refusal("(?>(a))") == f"has a group inside of the atomic group `(?>`, {APART}"


DOLLAR = "write `\\\\$` for a dollar sign"


@pytest.mark.parametrize(
    ("pattern", "text", "told"),
    [
        ("a", "$", f"is not a Java replacement: `$` is not followed by a group; {DOLLAR}"),
        ("a", "$x", f"is not a Java replacement: `$` is not followed by a group; {DOLLAR}"),
        ("a", "${", f"is not a Java replacement: `$` is not followed by a group; {DOLLAR}"),
        ("a", "x\\", "is not a Java replacement: it ends with `\\`; write `\\\\\\\\` for a backslash"),
        ("(a)", "$2", f"refers to group 2 of 1; {DOLLAR}"),
        ("(?<n>a)", "${m}", f"refers to the group `m`, which the pattern does not have; {DOLLAR}"),
    ],
)
def test_a_replacement_that_java_does_not_take_is_told(pattern: str, text: str, told: str, replace_all: Java) -> None:
    assert refusal(pattern, text) == told
    assert replace_all(pattern, text, "a") is None


def test_a_group_whose_content_is_not_certain_cannot_be_referred_to() -> None:
    assert refusal("(a)+", "$1") == "refers to group 1, which is inside of a repetition; put the group around it"


def test_a_character_beyond_the_basic_plane_stays_whole(replace_all: Java) -> None:
    assert of("x*", "-").apply("😀") == "-😀-"
    assert replace_all("x*", "-", "😀") != "-😀-"


def test_a_deep_pattern_is_an_error_and_no_crash() -> None:
    assert refusal("(" * 5000 + ")" * 5000) == f"is refused by Python: it is too large; {OTHERWISE}"


@given(st.text(max_size=12) | st.lists(_units | _counts, max_size=6).map("".join), st.text("$1{}a\\n", max_size=4))
def test_any_text_is_a_pattern_or_an_illegal_value(pattern: str, text: str) -> None:
    try:
        replacement = of(pattern, text)
    except InvalidValueError as error:
        assert str(error)
        return
    assert pickle.loads(pickle.dumps(replacement)) == replacement
