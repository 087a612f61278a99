"""Sessions as documents: what goes out comes in again, and nothing else does."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fs_core.policy import Absent, Observation, Present
from fs_core.types import Digest, TargetKey, Version
from seamfs import session_document
from seamfs.session_document import BadSessionError, dump_session, load_session

ROOT = "/srv/repo"
# Names of files may hold bytes that are no text, which Python shows as lone surrogates.
TEXTS = st.text(st.characters(), max_size=30)
PRESENT = st.builds(
    Present,
    st.builds(Version, TEXTS, st.none() | TEXTS.map(Digest), settled=st.booleans()),
    is_text=st.booleans(),
)
STATES = st.dictionaries(TEXTS.map(TargetKey), st.just(Absent()) | PRESENT, max_size=8)


def facts(observation: Observation) -> object:
    if isinstance(observation, Absent):
        return observation
    version = observation.version
    return version.token, version.digest, version.settled, observation.is_text


@given(state=STATES, root=TEXTS)
def test_what_is_exported_is_imported_in_the_same_order(state: dict[TargetKey, Observation], root: str) -> None:
    text = dump_session(state, root_url=root)
    assert text.isascii()
    loaded = load_session(text, root_url=root)
    assert [(key, facts(seen)) for key, seen in loaded.items()] == [(key, facts(seen)) for key, seen in state.items()]


VERSION = {"token": "t", "digest": "d", "settled": True}


def document(**changes: object) -> str:
    base: dict[str, Any] = {
        "format": "seamfs-session",
        "version": 1,
        "root": ROOT,
        "observations": [{"key": "a.txt", "version": VERSION, "is_text": True}],
    }
    return json.dumps({**base, **changes})


def test_the_document_that_the_others_below_are_spoiled_from_is_good() -> None:
    assert load_session(document(), root_url=ROOT) == {TargetKey("a.txt"): Present(Version("t", Digest("d")))}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        pytest.param("", "no session: it is no JSON", id="nothing"),
        pytest.param("{", "no session: it is no JSON", id="cut"),
        pytest.param("[" * 200_000, "no session: it is no JSON, or nested too deeply", id="deep"),
        pytest.param('{"version": ' + "9" * 10_000 + "}", "no session: it is no JSON", id="a number without end"),
        pytest.param("null", "document: Input should be a valid dictionary", id="null"),
        pytest.param("[]", "document: Input should be a valid dictionary", id="list"),
        pytest.param("{}", "root: Field required", id="empty"),
        pytest.param(document(format="other"), "format: Input should be 'seamfs-session'", id="format"),
        pytest.param(document(version=2), "version: this is version 2, known is 1", id="newer version"),
        pytest.param(document(version="1"), "version: Input should be a valid integer", id="version as text"),
        pytest.param(document(version=True), "version: Input should be a valid integer", id="version as truth"),
        pytest.param(document(more=1), "more: Extra inputs are not permitted", id="unknown field"),
        pytest.param(
            document(**{"a\nb\x1b": 1}), r"'a\nb\x1b': Extra inputs", id="unknown field with control characters"
        ),
        pytest.param(
            document(root="/srv/other"), "a session of /srv/other; here are the files of /srv/repo", id="root"
        ),
        pytest.param(document(root=5), "root: Input should be a valid string", id="root as number"),
        pytest.param(document(observations={}), "observations: Input should be a valid list", id="no list"),
        pytest.param(
            document(observations=[{"key": "a", "version": None}] * 2),
            "document: a file is named twice",
            id="named twice",
        ),
        pytest.param(
            document(observations=[{"key": "a", "version": None}] * 10_001), "at most 10000 items", id="too many"
        ),
        pytest.param(document(observations=[{"key": "a"}]), "observations.0.version: Field required", id="no version"),
        pytest.param(
            document(observations=[{"key": "a", "version": "t"}]),
            "observations.0.version: Input should be a valid dictionary",
            id="version is no object",
        ),
        pytest.param(
            document(observations=[{"key": "a", "version": {**VERSION, "settled": 1}}]),
            "observations.0.version.settled: Input should be a valid boolean",
            id="number as truth",
        ),
        pytest.param(
            document(observations=[{"key": "a", "version": {"token": "t", "settled": True}}]),
            "observations.0.version.digest: Field required",
            id="no digest",
        ),
    ],
)
def test_a_document_that_is_no_session_is_refused_on_one_line(text: str, reason: str) -> None:
    with pytest.raises(BadSessionError) as caught:
        load_session(text, root_url=ROOT)
    line = str(caught.value)
    assert reason in line
    assert line.isprintable()
    assert len(line) < 1_500


def test_a_document_is_bounded_in_both_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session_document, "DOCUMENT_CHARS_MAX", 100)
    with pytest.raises(BadSessionError, match="a session has at most 100 characters, this one"):
        load_session(document(), root_url=ROOT)
    with pytest.raises(BadSessionError, match="a session has at most 100 characters, this one"):
        dump_session({TargetKey("a" * 100): Absent()}, root_url=ROOT)


def test_of_more_than_a_session_keeps_the_latest_are_exported() -> None:
    state = {TargetKey(str(number)): Absent() for number in range(10_002)}
    loaded = load_session(dump_session(state, root_url=ROOT), root_url=ROOT)
    assert list(loaded) == list(state)[2:]
