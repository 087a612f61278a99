"""Globs: which names below a directory a pattern means. Pure, and in linear time.

A pattern without `/` means names at any depth, as in a `.gitignore` and for `rg -g`; one with a `/` is relative to the
directory that is searched. `*` and `?` stay within a name, `**` as a whole name stands for any number of directories,
`[a-z]`, `[!a-z]` and `[^a-z]` for one character, `{a,b}` for either, and a backslash takes the meaning from what
follows. A pattern that ends with `/` means directories, any other means all but them. Hidden names are like others.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from fs_core.search._glob_names import ANY, NameMatcher, NamePattern
from fs_core.search._glob_parts import Part, PartKind, alternatives, parts_of
from fs_core.search.pattern import PatternError

__all__ = ["EVERYTHING", "Glob", "Reach", "parse_glob"]

STATES_KEPT_MAX: Final = 1_024
WILDCARD_DIRECTORIES_MAX: Final = 128
"""Names with wildcards, of directories, that one pattern may have: each is compared with every directory's name."""
_ANY_DEPTH: Final = None

Component = NamePattern | None
"""One name of a pattern; `None` stands for any number of directories."""


@dataclass(frozen=True, slots=True)
class _Alternative:
    """One spelling of a pattern: its names, and whether it means directories."""

    components: tuple[Component, ...]
    is_directory: bool


@dataclass(frozen=True, slots=True)
class Reach:
    """What a pattern means in one directory, whichever way that was reached.

    Attributes:
        files: Which names of anything but directories it means; `None` for none.
        directories: Which names of directories it means; `None` for none.
        stays: The state of every directory below.
        named: What plain names of directories add to that state.
        moves: What other names of directories add to it.
    """

    files: NameMatcher | None
    directories: NameMatcher | None
    stays: int
    named: Mapping[str, int]
    moves: Sequence[tuple[NamePattern, int]]

    @property
    def leads_further(self) -> bool:
        """Return whether anything can be meant in any directory below."""
        return bool(self.stays or self.named or self.moves)

    def below(self, names: Sequence[str]) -> Sequence[int]:
        """Return the states of the directories called `names` in this one; 0 where nothing below can be meant."""
        if not self.moves and not self.named:
            return [self.stays] * len(names)
        return [self._below(name) for name in names]

    def _below(self, name: str) -> int:
        state = self.stays | self.named.get(name, 0)
        for pattern, states in self.moves:
            if pattern.matches(name):
                state |= states
        return state


class Glob:
    """A pattern, relative to a directory. How far it is matched in a directory is its state there, a set of bits.

    Attributes:
        base: The directories that every match is below, by name, as the pattern begins with them.
        parents: How many directories up `base` starts.
        depth_max: How many names below `base` a match has at most; `None` for any number.
    """

    def __init__(self, spellings: Sequence[_Alternative], *, parents: int) -> None:
        self.parents = parents
        self.base = _common_base(spellings)
        self._spellings = tuple(
            _Alternative(spelling.components[len(self.base) :], spelling.is_directory) for spelling in spellings
        )
        self._reaches: dict[int, Reach] = {}

    @cached_property
    def depth_max(self) -> int | None:
        """Return how many names below `base` a match has at most; `None` for any number."""
        if any(_ANY_DEPTH in spelling.components for spelling in self._spellings):
            return None
        return max(len(spelling.components) for spelling in self._spellings)

    @cached_property
    def means_directories(self) -> bool:
        """Return whether directories may match."""
        return any(spelling.is_directory for spelling in self._spellings)

    @cached_property
    def start(self) -> int:
        """Return the state of the directory at `base`."""
        state = 0
        for first in self._firsts:
            state |= self._reached(first)
        return state

    def reach(self, state: int) -> Reach:
        """Return what is meant in a directory that has `state`."""
        reach = self._reaches.get(state)
        if reach is None:
            if len(self._reaches) >= STATES_KEPT_MAX:
                self._reaches.clear()
            reach = self._reaches[state] = self._reach(state)
        return reach

    @cached_property
    def _firsts(self) -> Sequence[int]:
        """Return the position of the first component of each spelling, of all components in a row."""
        firsts, position = [0], 0
        for spelling in self._spellings[:-1]:
            position += len(spelling.components)
            firsts.append(position)
        return firsts

    @cached_property
    def _components(self) -> Sequence[tuple[Component, bool, bool]]:
        """Return every component with whether it is the last of its spelling, and whether that means directories."""
        return [
            (component, index == len(spelling.components) - 1, spelling.is_directory)
            for spelling in self._spellings
            for index, component in enumerate(spelling.components)
        ]

    def _reached(self, position: int) -> int:
        """Return the bits of `position`, and of the next one where this one may stand for no directory at all."""
        component, is_last, _ = self._components[position]
        skips = component is _ANY_DEPTH and not is_last
        return 1 << position | (self._reached(position + 1) if skips else 0)

    def _reach(self, state: int) -> Reach:
        files: list[NamePattern] = []
        directories: list[NamePattern] = []
        named: dict[str, int] = {}
        moves: list[tuple[NamePattern, int]] = []
        stays = 0
        for position, (component, is_last, is_directory) in enumerate(self._components):
            if not state >> position & 1:
                continue
            if component is None:
                stays |= self._reached(position)
            elif not is_last and component.literal is not None:
                named[component.literal] = named.get(component.literal, 0) | self._reached(position + 1)
            elif not is_last:
                moves.append((component, self._reached(position + 1)))
            if is_last:
                (directories if is_directory else files).append(component or ANY)
        return Reach(
            files=NameMatcher(files) if files else None,
            directories=NameMatcher(directories) if directories else None,
            stays=stays,
            named=named,
            moves=moves,
        )


def parse_glob(pattern: str) -> Glob:
    """Return what `pattern` means.

    Raises:
        PatternError: it is blank or too long, a bracket or brace is not closed, it has too many alternatives, or it
            leads up behind a wildcard.
    """
    spelled = [_spelling(parts) for parts in alternatives(parts_of(pattern))]
    parents = {up for up, _ in spelled}
    if len(parents) > 1:
        raise PatternError("glob: the alternatives of {} lead up by different numbers of directories")
    spellings = [spelling for _, spelling in spelled]
    if sum(_wildcard_directories(spelling) for spelling in spellings) > WILDCARD_DIRECTORIES_MAX:
        raise PatternError(f"glob: more than {WILDCARD_DIRECTORIES_MAX} names of directories have wildcards")
    return Glob(spellings, parents=parents.pop())


def _wildcard_directories(spelling: _Alternative) -> int:
    return sum(component is not None and component.literal is None for component in spelling.components[:-1])


def _spelling(parts: Sequence[Part]) -> tuple[int, _Alternative]:
    """Return how many directories up one spelling begins, and the spelling itself."""
    names: list[list[Part]] = [[]]
    for part in parts:
        if part.kind is PartKind.SLASH:
            names.append([])
        else:
            names[-1].append(part)
    is_directory = len(names) > 1 and not names[-1]
    is_anywhere = len(names) == 1 or (len(names) == 2 and is_directory)  # noqa: PLR2004 - a name, and nothing after /
    parents = 0
    components: list[Component] = [_ANY_DEPTH] if is_anywhere else []
    for name in names:
        text = _plain(name)
        if text == "..":
            if components and not _is_literal(components[-1]):
                raise PatternError(
                    f"glob: .. behind a wildcard, at position {name[0].position}", position=name[0].position
                )
            parents += not components
            del components[-1:]
        elif _is_any_depth(name):
            if components[-1:] != [_ANY_DEPTH]:
                components.append(_ANY_DEPTH)
        elif text not in {"", "."}:
            components.append(NamePattern(name))
    if components in ([], [_ANY_DEPTH]) and not any(_is_any_depth(name) for name in names):
        raise PatternError("glob: the pattern names no file; * means all names, ** all files at any depth")
    return parents, _Alternative(tuple(components), is_directory)


def _plain(name: Sequence[Part]) -> str | None:
    """Return the text of a name without wildcards."""
    return "".join(part.text for part in name) if all(part.kind is PartKind.CHARACTER for part in name) else None


def _is_any_depth(name: Sequence[Part]) -> bool:
    return [part.kind for part in name] == [PartKind.STAR, PartKind.STAR]


def _is_literal(component: Component) -> bool:
    return component is not None and component.literal is not None


def _common_base(spellings: Sequence[_Alternative]) -> tuple[str, ...]:
    """Return the leading plain names that all spellings share, without the last name of any."""
    base: list[str] = []
    for position in range(min(len(spelling.components) for spelling in spellings) - 1):
        shared = {_literal(spelling.components[position]) for spelling in spellings}
        name = shared.pop()
        if shared or name is None:
            break
        base.append(name)
    return tuple(base)


def _literal(component: Component) -> str | None:
    return None if component is None else component.literal


EVERYTHING: Final = parse_glob("**")
"""Every file at any depth."""
