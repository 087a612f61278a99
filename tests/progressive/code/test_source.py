"""Programs as the interpreter is given them: each line where it was, and nothing else changed."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from progressive.code._lexer import layout
from progressive.code._source import CHECKED_LINES_BEFORE, LINES_BEFORE, attribute_names, checked_source, whole_source
from tests.support.growth import growth

CAUGHT = "_sandbox_caught"


def body(code: str) -> str:
    """Return what became of a program, without the indent of its first line."""
    lines = whole_source(code).split("\n")[LINES_BEFORE:]
    return "\n".join(lines[: code.count("\n") + 1])[1:]


@pytest.mark.parametrize(
    ("code", "adapted"),
    [
        ("e.code", "C(e).code"),
        ("e.code.message", "C(C(e).code).message"),
        ("a.b(c)[1].code", "C(a.b(c)[1]).code"),
        ("(a, b)[0].tool", "C((a, b)[0]).tool"),
        ("{1: e}[1].tool", "C({1: e}[1]).tool"),
        ("[e][0] . code", "C([e][0] ). code"),
        ("f(e\n.code)", "f(C(e\n ).code)"),
        ("-e.code ** 2", "-C(e).code ** 2"),
        ("await e.code", "await C(e).code"),
        ("not e.code", "not C(e).code"),
        ("return e.code if e.tool else None", "return C(e).code if C(e).tool else None"),
        ("lambda e: e.code", "lambda e: C(e).code"),
        ("'a' 'b'.code", "C('a' 'b').code"),
        ('f"{e.code}"', 'f"{C(e).code}"'),
        ('f"{{e.code}} {e.code!r:>{e.tool}}"', 'f"{{e.code}} {C(e).code!r:>{C(e).tool}}"'),
        ('f"{d["a"].code}"', 'f"{C(d["a"]).code}"'),
        ("f'''{\ne.code}\n'''", "f'''{\n C(e).code}\n'''"),
        ('rf"\\{e.code}"', 'rf"\\{C(e).code}"'),
        ('f"\\N{DASH}{e.code}"', 'f"\\N{DASH}{C(e).code}"'),
        ('f"{(lambda: 1)()}" + e.code', 'f"{(lambda: 1)()}" + C(e).code'),
        ('f"{a:{b}}" + e.code', 'f"{a:{b}}" + C(e).code'),
        ("x = 1\nif x: y = e.code", "x = 1\n if x: y = C(e).code"),
        ("x = \\\ne.code", "x = \\\nC(e).code"),
        ("x\n\fe.code\n\f\fx", "x\n\f C(e).code\n\f\f x"),
        ("import json; e.code", "import json; C(e).code"),
        ("match x:\n case 1: e.code", "match x:\n  case 1: C(e).code"),
        ("match x:\n case {'a': a.b} if e.code: pass", "match x:\n  case {'a': a.b} if C(e).code: pass"),
    ],
)
def test_attributes_of_a_failure_are_found(code: str, adapted: str) -> None:
    assert body(code) == adapted.replace("C(", f"{CAUGHT}(")


@pytest.mark.parametrize(
    "code",
    [
        "code",
        "code.x",
        "f(code=1, tool=2)",
        "# e.code",
        "'e.code'",
        '"e.code"',
        'r"\\".code"',
        "b'e.code'",
        "'''\ne.code\n'''",
        'f"e.code"',
        'f"{{e.code}}"',
        "self.code = self.message",
        "import a.code",
        "from a.code import b",
        "match x:\n case e.code: pass",
        "match x:\n case {'a': e.code} | [e.tool]: pass",
        "...",
        "1.5",
        "x.codes",
        "x.mycode",
    ],
)
def test_what_is_no_such_attribute_stays(code: str) -> None:
    assert CAUGHT not in body(code)


PROGRAMS = st.lists(
    st.sampled_from(
        [
            *"\n\n\n   ()[]{}:;.,=+-'\"\\#fr",
            '"""',
            "'''",
            'f"',
            "rb'",
            "e",
            "x",
            "code",
            "tool",
            "if",
            "def",
            "{{",
            "1",
            "é",
            "\f",
            "\t",
            "\u2028",
        ]
    ),
    max_size=60,
).map("".join)


@given(PROGRAMS)
def test_any_text_keeps_its_lines(code: str) -> None:
    source = whole_source(code).split("\n")[LINES_BEFORE:]
    for line, adapted in zip(code.split("\n"), source, strict=False):
        assert adapted.replace(f"{CAUGHT}(", "").replace(")", "").strip() == line.replace(")", "").strip()


@given(PROGRAMS)
def test_any_program_that_python_reads_means_the_same_when_it_is_a_body(code: str) -> None:
    try:
        wanted = ast.parse(f"{code}\n")
    except (SyntaxError, ValueError):
        return
    if any(isinstance(node, ast.JoinedStr) for node in ast.walk(wanted)):
        return  # the newer Python of the sandbox reads some of them differently
    function = ast.parse(checked_source(code)).body[-1]
    assert isinstance(function, ast.AsyncFunctionDef)
    assert list(map(ast.dump, function.body[1:])) == list(map(ast.dump, wanted.body))
    assert [node.lineno - CHECKED_LINES_BEFORE for node in function.body[1:]] == [node.lineno for node in wanted.body]


@pytest.mark.parametrize(
    "unit",
    [
        "a.code",
        ".#",
        ".\\\n",
        " \t\f",
        "(",
        ")",
        '"',
        "'",
        '"""',
        'f"{',
        'f"""{a:',
        "\\",
        "\n",
        "x.",
        "{",
        "a(.code",
        "f'{e.code}'",
        "'\\",
    ],
)
def test_the_cost_grows_with_the_length(unit: str) -> None:
    def read(times: int) -> None:
        layout(unit * times, frozenset({"code"}))
        attribute_names(unit * times)
        whole_source(unit * times)

    # Eight times the length: eight times the time, sixty-four times if anything were quadratic.
    assert growth(lambda: read(1_000), lambda: read(8_000), enough=32, least_s=0.0005) < 32


def test_names_after_a_dot_are_attributes_of_tools() -> None:
    assert attribute_names("tools.read({})\nt .  write({})\nx._hidden.ключ.1") == ["read", "write", "ключ"]
    assert attribute_names("tools.\\\nread({})\ntools.\\\r\n\ufb01le({})") == ["file", "read"]
