"""The layer itself: mounted once on a runtime, it covers every scope, and touches none."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from progressive.absence import Absences
from progressive.catalog import Catalog
from progressive.code.sdk import sdk_text
from progressive.names import DESCRIBE, INVOKE, RESERVED, RUN_CODE, SEARCH, text_order
from progressive.options import DisclosureOptions
from progressive.protocol import Mode, protocol_section
from progressive.surface import Surface
from progressive.toolset import discovery_tools
from tool_runtime import PromptSection, ScopeId, Tool, ToolRuntime, ToolSchema

__all__ = ["Disclosure", "SurfaceError"]

_NAMES_SHOWN_MAX: Final = 50
# A text of some kilobytes for every set of eager tools that scopes see; usually there is one.
_SDKS_KEPT_MAX: Final = 16


class SurfaceError(ValueError):
    """Raised when a scope does not see a tool that its surface has to declare."""


class Disclosure:
    """Shows a model few tools and lets it find the others. Presentation only: what may run is the runtime's matter."""

    def __init__(
        self, runtime: ToolRuntime, options: DisclosureOptions | None = None, *, absences: Absences | None = None
    ) -> None:
        """Mount the layer: register the discovery tools in the global scope, where no allow list hides them.

        Args:
            runtime: What it is mounted on.
            options: Settings.
            absences: Tells what is missing from the catalog for the moment, and why; calls of it say so too.

        Raises:
            DuplicateNameError: The global scope has a tool of a discovery tool's name, such as those of another layer.
        """
        self.options = options or DisclosureOptions()
        self._runtime = runtime
        self._catalog = Catalog(runtime, eager=frozenset(self.options.eager_tools))
        self._tools = {tool.name: tool for tool in discovery_tools(self._catalog, self.options, absences)}
        self._sdk_of = lru_cache(maxsize=_SDKS_KEPT_MAX)(_sdk_of)
        with ExitStack() as registered:
            for tool in self._tools.values():
                registered.callback(runtime.register(tool, needs_listing=False))
            if absences is not None:
                registered.callback(runtime.add_absence(absences.why_absent))
            self._registered = registered.pop_all()
        self._is_mounted = True

    def unmount(self) -> None:
        """Remove the discovery tools; surfaces show everything again. Doing it twice does nothing."""
        self._registered.close()
        self._is_mounted = False

    def surface(
        self,
        scope: ScopeId | None = None,
        *,
        mode: Mode = Mode.NATIVE,
        loads_tools: bool = False,
        complete_prompt: str | None = None,
    ) -> Surface:
        """Return what a model is to see of a scope, the same bytes while tools that are not eager come and go.

        Once the layer is unmounted that is everything, in native mode.

        Args:
            scope: By default the global one.
            mode: How the model calls tools.
            loads_tools: Whether the API can load a described tool in the middle of a conversation, so that invoke_tool
                is not needed. Matters in native mode only.
            complete_prompt: A system prompt that the agent brought itself; it stays as it is.

        Raises:
            SurfaceError: The scope does not see an eager tool, run_code in a mode that needs it, or a discovery tool
                of this layer, which was denied or shadowed there.
            UnknownScopeError: The scope is not open.
        """
        outer: tuple[PromptSection, ...] = ()
        if self._is_mounted:
            tools = self._declared(scope, mode, loads_tools=loads_tools)
            outer = (protocol_section(mode),)
        else:
            tools, mode = tuple(self._runtime.schemas(scope)), Mode.NATIVE
        prompt = self._runtime.prompt.text(scope, outer=outer) if complete_prompt is None else complete_prompt
        return Surface(mode=mode, scope=scope, tools=tools, prompt=prompt, runtime=self._runtime)

    def _declared(self, scope: ScopeId | None, mode: Mode, *, loads_tools: bool) -> tuple[ToolSchema, ...]:
        names = [SEARCH, DESCRIBE]
        if mode is Mode.NATIVE and not loads_tools:
            names.append(INVOKE)
        found = [*(self._own(name, scope) for name in names), *self._eager(scope)]
        declared = [] if mode is Mode.CODE else [tool.schema() for tool in found]
        if mode is not Mode.NATIVE:
            declared.append(self._run_code(scope, found))
        return tuple(sorted(declared, key=lambda schema: text_order(schema.name)))

    def _own(self, name: str, scope: ScopeId | None) -> Tool[Any]:
        own, seen = self._tools[name], self._runtime.get(name, scope)
        if seen is not own:
            what = "hidden" if seen is None else "shadowed by another tool of that name"
            raise SurfaceError(f"{name} is {what} in scope {scope or 0}; disclosure needs it there")
        return own

    def _eager(self, scope: ScopeId | None) -> list[Tool[Any]]:
        tools = {name: self._runtime.get(name, scope) for name in self.options.eager_tools}
        missing = [name for name, tool in tools.items() if tool is None]
        if missing:
            visible = [tool.name for tool in self._runtime.tools(scope) if tool.name not in RESERVED]
            raise SurfaceError(f"eager tools not visible: {', '.join(missing)}; visible here: {_shown(visible)}")
        return [tool for tool in tools.values() if tool is not None]

    def _run_code(self, scope: ScopeId | None, declared: Sequence[Tool[Any]]) -> ToolSchema:
        """Return run_code with the declarations of what its programs can call without looking for it."""
        tool = self._runtime.get(RUN_CODE, scope)
        if tool is None:
            raise SurfaceError(f"{RUN_CODE} is not visible in scope {scope or 0}; this mode needs it")
        schema = tool.schema()
        return replace(schema, description=f"{schema.description}\n\n{self._sdk_of(tuple(declared))}")


def _sdk_of(tools: tuple[Tool[Any], ...]) -> str:
    return sdk_text([tool.schema() for tool in tools])


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMES_SHOWN_MAX} more" if len(names) > _NAMES_SHOWN_MAX else ""
    return f"{', '.join(names[:_NAMES_SHOWN_MAX])}{more}" if names else "none"
