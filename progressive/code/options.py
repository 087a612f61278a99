"""What a program is allowed, and how many run."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

__all__ = ["CodeOptions"]

_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_Count = Annotated[int, Field(gt=0)]
# Below this the interpreter has no room for itself.
_Memory = Annotated[int, Field(ge=4 * 1024 * 1024)]


class CodeOptions(BaseModel):
    """Bounds on every program; no program can catch that it reached one.

    Raises:
        ValidationError: On construction: an unknown key, or a bound that is not positive.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    timeout_s: _Seconds = Field(default=60.0, description="one run by the clock on the wall, nested calls included")
    memory_bytes_max: _Memory = Field(default=256 * 1024 * 1024, description="what a program holds at one moment")
    output_bytes_max: _Count = Field(
        default=1_000_000, description="what it prints and what it returns as JSON, together, as UTF-8"
    )
    code_bytes_max: _Count = Field(default=256 * 1024, description="its own text, as UTF-8")
    overlap_max: _Count = Field(default=10, description="nested calls of one program at once")
    calls_max: _Count = Field(default=1_000, description="nested calls of one program in all")
    workers_max: _Count = Field(default=4, description="programs at once, each in a process; more wait")
    check_types: bool = Field(default=False, description="check a program against the tools' types before it runs")
