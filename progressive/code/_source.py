"""The text that the interpreter is given: what every program finds there, then the program as an async function."""

import re
from operator import itemgetter
from typing import Final
from unicodedata import normalize

from progressive.code._lexer import layout

__all__ = [
    "CALL",
    "CHECKED_LINES_BEFORE",
    "LINES_BEFORE",
    "TOOL_CALL_ERROR",
    "attribute_names",
    "checked_source",
    "whole_source",
]

CALL: Final = "_sandbox_call"
"""Name of the one host function: it takes a tool's name and its arguments as JSON text, and gives JSON text back."""

SUCCEEDED: Final = "+"
FAILED: Final = "-"
"""How its answer begins: the value follows as JSON, or an array of code and message."""
TOOL_CALL_ERROR: Final = "Incomplete"
"""What the interpreter calls the exception that programs know as ToolCallError."""

# Everything crosses as JSON text: values that cross as they are lose what they were (a cycle becomes a string).
_PRELUDE: Final = f"""\
import json as _sandbox_json
from binascii import {TOOL_CALL_ERROR} as ToolCallError


class _SandboxFailure:
    def __init__(self, tool, code, message):
        self.tool = tool
        self.code = code
        self.message = message


_sandbox_failures = {{}}
_sandbox_counts = {{"made": 0, "started": 0}}


def _sandbox_caught(value):
    if isinstance(value, ToolCallError):
        return _sandbox_failures.get(str(value)) or _SandboxFailure("", "", str(value))
    return value


def _sandbox_fail(tool, code, message):
    text = f"{{tool}}: {{code}}: {{message}}"
    _sandbox_failures[text] = _SandboxFailure(tool, code, message)
    raise ToolCallError(text)


def _sandbox_fault(value, path):
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"{{path}}: the key {{key!r}} is no string"
            fault = _sandbox_fault(item, f"{{path}}[{{key!r}}]")
            if fault:
                return fault
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            fault = _sandbox_fault(item, f"{{path}}[{{index}}]")
            if fault:
                return fault
    return None


def _sandbox_encoded(value, what):
    try:
        text = _sandbox_json.dumps(value, allow_nan=False, ensure_ascii=False)
    except RecursionError:
        return "", f"{{what}}: nested too deep"
    except (TypeError, ValueError) as error:
        return "", f"{{what}}: {{error}}"
    try:
        is_same = _sandbox_json.loads(text) == value
    except ValueError:
        return "", f"{{what}}: nested too deep"
    return text, None if is_same else _sandbox_fault(value, what)


async def _sandbox_run(name, arguments):
    _sandbox_counts["started"] += 1
    text, fault = _sandbox_encoded(arguments, "arguments")
    if fault:
        _sandbox_fail(name, "INVALID_ARGS", fault)
    # One character says which it is, so that a value may nest as deep as it may anywhere.
    answer = await {CALL}(name, text)
    value = _sandbox_json.loads(answer[1:])
    if answer[0] == "{FAILED}":
        _sandbox_fail(name, value[0], value[1])
    return value


class Tools:
    def __getitem__(self, name):
        if not isinstance(name, str):
            raise TypeError("the name of a tool is a string")

        def call(*arguments, **named):
            if named or len(arguments) != 1:
                raise TypeError(f"{{name}} takes one dictionary: await tools[{{name!r}}]({{{{...}}}})")
            _sandbox_counts["made"] += 1
            return _sandbox_run(name, arguments[0])

        return call


tools = Tools()
for _sandbox_name in _sandbox_names:
    setattr(tools, _sandbox_name, tools[_sandbox_name])


def _sandbox_ended(value):
    text, fault = _sandbox_encoded(value, "the returned value")
    return [text, fault, _sandbox_counts["made"] - _sandbox_counts["started"]]


"""
# The interpreter knows no classes derived from another, and its exceptions hold one text and no attributes. So
# ToolCallError is one of its own that nothing else raises, and reading one of these names of anything asks first
# whether it is such an exception.
_FAILURE_FIELDS: Final = frozenset({"tool", "code", "message"})
# A program may be nothing but comments. What makes calls overlap is there without an import.
_HEAD: Final = "import asyncio\n\n\nasync def _sandbox_program():\n pass\n"
# The empty line keeps a backslash at the end of a program from drawing more into it.
_TAIL: Final = "\n\n_sandbox_ended(await _sandbox_program())\n"

LINES_BEFORE: Final = _PRELUDE.count("\n") + _HEAD.count("\n")
"""Lines in front of the program in what runs."""
CHECKED_LINES_BEFORE: Final = _HEAD.count("\n")
"""Lines in front of the program in what is checked."""

_ATTRIBUTE: Final = re.compile(r"\.(?:\s|\\\n)*([^\W\d_]\w*)")
_BEFORE_INDENT: Final = re.compile(r"(?:[ \t]*\f)*")
"""A form feed begins the indent of its line anew."""


def attribute_names(code: str) -> list[str]:
    """Return every name that a program could read as an attribute of `tools`."""
    # Python reads other forms of the same letters as one name.
    return sorted({normalize("NFKC", name) for name in _ATTRIBUTE.findall(_with_plain_breaks(code))})


def whole_source(code: str) -> str:
    """Return the text to run."""
    return f"{_PRELUDE}{_HEAD}{_body(code, _FAILURE_FIELDS)}{_TAIL}"


def checked_source(code: str) -> str:
    """Return the text to check: the program alone, defined and not run."""
    return f"{_HEAD}{_body(code, frozenset())}\n"


def _body(code: str, fields: frozenset[str]) -> str:
    """Return a program as the body of a function, each line where it was."""
    code = _with_plain_breaks(code)
    found = layout(code, fields)
    insertions = [(match.end(), " ") for start in found.lines if (match := _BEFORE_INDENT.match(code, start))]
    for attribute in found.attributes:
        # The attributes that a class of the program gives to its own instances are the only ones usually written.
        if code[attribute.start : min(attribute.dot, attribute.start + len("self."))] != "self":
            insertions += [(attribute.start, "_sandbox_caught("), (attribute.dot, ")")]
    parts: list[str] = []
    end = 0
    for position, text in sorted(insertions, key=itemgetter(0)):
        parts += [code[end:position], text]
        end = position
    return "".join([*parts, code[end:]])


def _with_plain_breaks(code: str) -> str:
    return code.replace("\r\n", "\n").replace("\r", "\n")
