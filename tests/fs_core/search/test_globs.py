"""Which paths a glob means."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.search.globs import Glob, parse_glob
from fs_core.search.pattern import PatternError


def means(pattern: str, path: str) -> bool:
    """Tell whether a pattern means a path below the directory that is searched; a directory's ends with `/`."""
    return glob_means(parse_glob(pattern), path)


def glob_means(glob: Glob, path: str) -> bool:
    *parents, name = path.removesuffix("/").split("/")
    assert not glob.parents
    if tuple(parents[: len(glob.base)]) != glob.base:
        return False
    state = glob.start
    for parent in parents[len(glob.base) :]:
        state = glob.reach(state).below([parent])[0]
        if not state:
            return False
    reach = glob.reach(state)
    names = reach.directories if path.endswith("/") else reach.files
    return names is not None and [*names.meant([name])] == [name]


MEANT = [
    ("*.py", "a.py"),
    ("*.py", "deep/er/a.py"),
    ("*.py", ".py"),
    ("a.py", "x/a.py"),
    ("./*.py", "a.py"),
    ("src/*.py", "src/a.py"),
    ("src/**/*.py", "src/a.py"),
    ("src/**/*.py", "src/b/c/a.py"),
    ("**/*.py", "a.py"),
    ("**", "a/b/c"),
    ("**/**/**", "a"),
    ("src/**", "src/a/b"),
    ("**/a/**/b", "x/a/b"),
    ("**/a/**/b", "a/c/d/b"),
    ("*/a", "b/a"),
    ("*", ".hidden"),
    ("a?c", "abc"),
    ("a?c", "a\nc"),
    ("?", "é"),
    ("[abc]", "x/b"),
    ("[!abc]", "d"),
    ("[^abc]", "d"),
    ("[a-cx]", "b"),
    ("[]]", "]"),
    ("[!]]", "a"),
    ("[a-]", "-"),
    ("[]-a]", "_"),
    ("[\\]", "\\"),
    ("*a*b*c", "xaxbxcxbc"),
    ("a**b", "axxb"),
    ("*.{ts,tsx}", "q/x.tsx"),
    ("{a,b/c}.py", "b/c.py"),
    ("{a,b/c}.py", "x/a.py"),
    ("{a,{b,c}d}", "cd"),
    ("{,a}b", "b"),
    ("{a}", "a"),
    ("a,b", "a,b"),
    ("x\\*", "x*"),
    ("\\{a,b\\}", "{a,b}"),
    ("\\!a", "!a"),
    ("a\\,b", "a,b"),
    ("src/", "src/"),
    ("src/", "x/src/"),
    ("x/*/", "x/y/"),
    ("**/", "a/b/"),
    ("a//b", "a/b"),
    ("a/./b", "a/b"),
    ("a/../b/c", "b/c"),
]
NOT_MEANT = [
    ("*.py", "a.pyc"),
    ("*.py", "a.py/"),
    ("./*.py", "x/a.py"),
    ("src/*.py", "x/src/a.py"),
    ("src/*.py", "src/b/a.py"),
    ("src/**", "src"),
    ("src/**", "src2/a"),
    ("*/a", "a"),
    ("*/a", "b/c/a"),
    ("a?c", "ac"),
    ("a?c", "a/c"),
    ("[!a]", "a"),
    ("[a-c]", "B"),
    ("*a*b*c", "xaxcxb"),
    ("*.{ts,tsx}", "a.tsxx"),
    ("{a,b/c}.py", "x/b/c.py"),
    ("x\\*", "xy"),
    ("src/", "src"),
    ("A.py", "a.py"),
    ("**/", "a"),
]


@pytest.mark.parametrize(("pattern", "path"), MEANT)
def test_a_pattern_means_a_path(pattern: str, path: str) -> None:
    assert means(pattern, path)


@pytest.mark.parametrize(("pattern", "path"), NOT_MEANT)
def test_a_pattern_does_not_mean_a_path(pattern: str, path: str) -> None:
    assert not means(pattern, path)


@pytest.mark.parametrize(
    ("pattern", "position", "words"),
    [
        ("", None, "is blank"),
        ("  ", None, "is blank"),
        ("a" * 4_097, None, "4097 characters; at most 4096"),
        ("a\0", 1, "NUL"),
        ("a\ud800", 1, "surrogate"),
        ("!*.py", 0, "cannot exclude"),
        ("a[bc", 1, "[ is not closed"),
        ("[a/b]", 0, "[ is not closed"),
        ("[!]", 0, "[ is not closed"),
        ("x/[z-a]", 3, "runs backwards"),
        ("a{b,c", 1, "{ is not closed"),
        ("a{b{c}", 1, "{ is not closed"),
        ("ab}", 2, "} closes no {"),
        ("a\\", 1, "nothing follows"),
        ("{" * 9 + "}" * 9, 8, "more than 8 braces"),
        ("{a,b}" * 9, None, "more than 256 patterns"),
        ("*/../a", 2, ".. behind a wildcard"),
        ("{a,../b}/c", None, "lead up by different numbers"),
        ("*a/" * 129 + "b", None, "more than 128 names of directories have wildcards"),
        (".", None, "names no file"),
        ("/", None, "names no file"),
        ("a/..", None, "names no file"),
    ],
)
def test_a_bad_pattern_is_refused_in_one_line_with_the_place(pattern: str, position: int | None, words: str) -> None:
    with pytest.raises(PatternError) as refusal:
        parse_glob(pattern)
    assert words in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert refusal.value.position == position
    assert position is None or str(refusal.value).endswith(f"at position {position}")


@pytest.mark.parametrize(
    ("pattern", "base", "parents", "depth_max"),
    [
        ("src/app/*.py", ("src", "app"), 0, 1),
        ("src/app.py", ("src",), 0, 1),
        ("src/*/a", ("src",), 0, 2),
        ("src/**/a", ("src",), 0, None),
        ("src/{a,b}/c", ("src",), 0, 2),
        ("{src,lib}/a", (), 0, 2),
        ("*.py", (), 0, None),
        ("./*.py", (), 0, 1),
        ("../../x/a", ("x",), 2, 1),
        ("../a", (), 1, 1),
    ],
)
def test_a_pattern_tells_where_to_look(
    pattern: str, base: tuple[str, ...], parents: int, depth_max: int | None
) -> None:
    glob = parse_glob(pattern)
    assert (glob.base, glob.parents, glob.depth_max) == (base, parents, depth_max)


def test_directories_below_which_nothing_can_be_meant_are_not_walked() -> None:
    glob = parse_glob("{src,lib}/*.py")
    states = glob.reach(glob.start).below(["src", "doc", "lib"])
    assert [bool(state) for state in states] == [True, False, True]
    assert list(glob.reach(states[0]).below(["deeper"])) == [0]


_PIECES = st.sampled_from(["a", "b", "*", "?", "[ab]", "[!a]", "/", "**"])
_NAMES = st.lists(st.text("ab.", min_size=1, max_size=4), min_size=1, max_size=4)


@given(st.lists(_PIECES, min_size=1, max_size=7).map("".join), _NAMES)
def test_a_pattern_means_what_trying_all_ways_says(pattern: str, names: list[str]) -> None:
    try:
        glob = parse_glob(pattern)
    except PatternError:
        return
    if "/" not in pattern.removesuffix("/"):
        pattern = f"**/{pattern}"
    components = [component for component in pattern.split("/") if component]
    for is_directory in (False, True):
        expected = is_directory == pattern.endswith("/") and _tried(components, names)
        assert glob_means(glob, "/".join(names) + "/" * is_directory) == expected


def _tried(components: list[str], names: list[str]) -> bool:
    """Match component by component, and character by character, trying everything."""
    if not components or not names:
        return not components and not names
    first, *others = components
    if first == "**":
        if not others:
            return True
        return any(_tried(others, names[skipped:]) for skipped in range(len(names)))
    return _tried_name(first, names[0]) and _tried(others, names[1:])


def _tried_name(pattern: str, name: str) -> bool:
    if not pattern:
        return not name
    if pattern[0] == "*":
        return any(_tried_name(pattern[1:], name[skipped:]) for skipped in range(len(name) + 1))
    if not name:
        return False
    if pattern[0] == "[":
        inner, _, rest = pattern[1:].partition("]")
        fits = (name[0] in inner.lstrip("!")) != inner.startswith("!")
        return fits and _tried_name(rest, name[1:])
    return pattern[0] in {"?", name[0]} and _tried_name(pattern[1:], name[1:])


@pytest.mark.parametrize(
    "pattern",
    [
        "*a" * 1_000 + "b",
        "**/" * 1_300 + "*",
        "**/a/" * 800 + "b",
        "?" * 4_000,
        "{a,b,c,d}" * 4,
        "*?" * 1_500,
        "[!b]*" * 800,
    ],
)
def test_a_pattern_that_explodes_elsewhere_takes_little_time(pattern: str) -> None:
    names = ["a" * 250 + str(number) for number in range(20)]

    def seconds() -> float:
        began = time.thread_time()
        glob = parse_glob(pattern)
        state = glob.start
        for _ in range(20):
            reach = glob.reach(state)
            if reach.files is not None:
                reach.files.meant(names)
            state = max(reach.below(["a", *names]))
        return time.thread_time() - began

    # What else a machine does can make it longer, though hardly every time.
    assert any(seconds() < 2.0 for _ in range(10))
