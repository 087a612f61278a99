"""Logs: one object a line, and nothing in them that came from outside."""

import json
import logging

import pytest

from seamfs.logs import configure_logging

pytestmark = pytest.mark.usefixtures("restored_logging")


def raise_with_content() -> None:
    raise RuntimeError("SECRET again") from ValueError("the file says SECRET")


def log_everything() -> None:
    logger = logging.getLogger("seamfs.test")
    logger.info("call", extra={"fields": {"tool": "read", "elapsed_ms": 3}})
    logger.warning("bad line %r", "SECRET")
    try:
        raise_with_content()
    except RuntimeError:
        logger.exception("tool %s failed", "SECRET")


def test_each_record_is_one_json_object_without_content(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=False)
    log_everything()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "SECRET" not in captured.err
    first, second, third = (json.loads(line) for line in captured.err.splitlines())
    assert first["event"] == "call"
    assert (first["tool"], first["elapsed_ms"], first["level"]) == ("read", 3, "info")
    assert second["event"] == "bad line ..."
    assert third["event"] == "tool ... failed"
    assert third["error"] == "RuntimeError from ValueError"
    assert any("raise_with_content" in place for place in third["at"])


def test_debug_tells_everything_still_on_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=True)
    log_everything()
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert json.loads(lines[1])["event"] == "bad line 'SECRET'"
    assert "the file says SECRET" in json.loads(lines[2])["traceback"]


def test_the_gateway_tells_which_server_is_gone_and_why_but_no_exception(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logging(verbose=False)
    logger = logging.getLogger("progressive.gateway._link")
    logger.warning("mount %s: not connected: %s", "box", "there is no command 'x'")
    try:
        raise_with_content()
    except RuntimeError:
        logger.exception("mount %s failed", "SECRET")
    told, failed = (json.loads(line)["event"] for line in capsys.readouterr().err.splitlines())
    assert told == "mount box: not connected: there is no command 'x'"
    assert failed == "mount ... failed"


@pytest.mark.parametrize(
    ("template", "arguments", "expected"),
    [
        ("%s gave up: transport write blocked", ("SECRET",), "... gave up: transport write blocked"),
        ("cancel %s tasks of %d after %.1f s", (3, 4, 2.5), "cancel 3 tasks of 4 after 2.5 s"),
        ("%(what)r: %(count)d", ({"what": "SECRET", "count": 2},), "...: 2"),
        ("%-8s|%%", (ValueError("SECRET"),), "...     |%"),
        ("%d of %s", ("SECRET", 1), "%d of %s"),
        ("%s", ("SECRET", "SECRET"), "%s"),
        ("100 % sure", (), "100 % sure"),
    ],
)
def test_arguments_of_foreign_records_are_left_out_but_for_numbers(
    capsys: pytest.CaptureFixture[str], template: str, arguments: tuple[object, ...], expected: str
) -> None:
    configure_logging(verbose=False)
    logging.getLogger("foreign").warning(template, *arguments)
    (line,) = capsys.readouterr().err.splitlines()
    assert json.loads(line)["event"] == expected


@pytest.mark.parametrize("verbose", [False, True])
def test_no_text_in_a_record_makes_a_line_or_a_field_of_its_own(
    capsys: pytest.CaptureFixture[str], *, verbose: bool
) -> None:
    configure_logging(verbose=verbose)
    text = 'x", "level": "forged"}\n{"event": "forged"}\r\x1b[2J\x85\u2028\u202e\x00\ud800'
    logging.getLogger("progressive.gateway._link").warning("mount %s: not connected: %s", "box", text)
    logging.getLogger("seamfs.test").info("call", extra={"fields": {"tool": text}})
    told, call = (json.loads(line) for line in capsys.readouterr().err.splitlines())
    assert (told["level"], call["level"], call["event"]) == ("warning", "info", "call")
    assert told["event"].startswith("mount box: not connected: x")
    assert call["tool"].startswith('x", "level"')
