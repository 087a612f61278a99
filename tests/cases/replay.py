"""Replays one case through the tool runtime and keeps what came back and what the store held before and after."""

import json
from dataclasses import asdict, dataclass
from itertools import count

from fs_core.filesystem import BackedFileSystem
from fs_core.policy import MemoryObservations, OwnerId, ReadBeforeWrite, Unguarded
from fs_core.session import FileSession
from tests.cases.case_root import CaseRoot, Tree
from tests.cases.case_table import Call, Case, External, Parallel
from tool_fs.limits import ReadLimits
from tool_fs.toolset import file_tools
from tool_runtime import AbortSignal, ToolCall, ToolResult, ToolRuntime

__all__ = ["Played", "Replay", "replay"]


@dataclass(frozen=True)
class Played:
    """One step as it went: what its calls came back with, and the store before and after."""

    results: tuple[ToolResult, ...]
    before: Tree
    after: Tree


@dataclass(frozen=True)
class Replay:
    """A whole case as it went. `root` is how the workspace's root is named to the model."""

    root: str
    steps: tuple[Played, ...]

    @property
    def transcript(self) -> str:
        """Everything that the calls came back with, byte for byte but for the name of the root."""
        results = [json.dumps(asdict(result), ensure_ascii=False) for step in self.steps for result in step.results]
        return "\n".join(results).replace(self.root, "ROOT")


async def replay(case: Case, root: CaseRoot) -> Replay:
    """Prepare the root, open it once, and take the case's steps."""
    for item in case.setup:
        root.prepare(item)
    backend = await root.workspace.open()
    try:
        agent = _Agent(case, BackedFileSystem(backend))
        steps: list[Played] = []
        before = root.look()
        for step in case.steps:
            results: tuple[ToolResult, ...] = ()
            match step:
                case External():
                    root.change(step)
                case Call():
                    results = (await agent.call(step),)
                case Parallel():
                    results = await agent.turn(step)
            after = root.look()
            steps.append(Played(results, before, after))
            before = after
        return Replay(backend.root.url, tuple(steps))
    finally:
        await backend.aclose()


class _Agent:
    """Calls the tools as the owners that a case names."""

    def __init__(self, case: Case, files: BackedFileSystem) -> None:
        self._files = files
        self._is_bare = case.policy == "bare"
        self._observations = MemoryObservations()
        self._ids = (str(number) for number in count(1))
        self._runtime = ToolRuntime()
        for tool in file_tools(limits=_limits(case)):
            self._runtime.register(tool)

    async def call(self, step: Call) -> ToolResult:
        signal = AbortSignal()
        if step.abort == "before":
            signal.abort()
        return await self._runtime.execute(self._tool_call(step), owner=self._owner(step), abort=signal)

    async def turn(self, step: Parallel) -> tuple[ToolResult, ...]:
        calls = [self._tool_call(call) for call in step.parallel]
        return tuple(await self._runtime.run_turn(calls, owner=self._owner(step.parallel[0])))

    def _tool_call(self, step: Call) -> ToolCall:
        root = self._files.root.url.rstrip("/")
        arguments = {
            key: value.replace("${ROOT}", root) if isinstance(value, str) else value for key, value in step.args.items()
        }
        return ToolCall(step.tool, arguments, id=next(self._ids))

    def _owner(self, step: Call) -> FileSession:
        if self._is_bare:
            return FileSession(self._files, policy=Unguarded())
        owner = OwnerId(f"nobody else {next(self._ids)}" if step.session is None else step.session)
        return FileSession(self._files, policy=ReadBeforeWrite(owner=owner, store=self._observations))


def _limits(case: Case) -> ReadLimits:
    given = {"max_lines": case.config.read_limit, "max_page_bytes": case.config.read_max_bytes}
    return ReadLimits(**{name: limit for name, limit in given.items() if limit is not None})
