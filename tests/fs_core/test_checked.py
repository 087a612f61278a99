"""Options that pydantic checks: what is refused, what is converted, and the same inside a model."""

import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, field
from pathlib import Path

import pytest
from pydantic import BaseModel, ValidationError

from fs_core.checked import CheckedOptions


@dataclass(frozen=True, kw_only=True)
class Pace(CheckedOptions):
    steps_max: int = field(default=4, metadata={"gt": 0})
    directory: Path | None = None
    is_quick: bool = True


class Walk(BaseModel):
    pace: Pace = Pace()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"steps_max": 0}, "Input should be greater than 0"),
        ({"steps_max": "many"}, "Input should be a valid integer"),
        ({"is_quick": "perhaps"}, "Input should be a valid boolean"),
    ],
)
def test_a_wrong_value_is_refused_in_the_same_words_on_its_own_and_inside_a_model(
    given: dict[str, object], told: str
) -> None:
    for make in (lambda: Pace(**given), lambda: Walk.model_validate({"pace": given})):  # pyright: ignore[reportArgumentType] - wrong on purpose
        with pytest.raises(ValidationError, match=told):
            make()


def test_an_unknown_name_is_refused_on_its_own_and_inside_a_model() -> None:
    with pytest.raises(TypeError, match="stride"):
        Pace(stride=1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(ValidationError) as caught:
        Walk.model_validate({"pace": {"stride": 1}})
    (detail,) = caught.value.errors()
    assert detail["loc"] == ("pace", "stride")
    assert detail["type"] == "unexpected_keyword_argument"


def test_values_are_converted_and_stay_as_they_are_from_then_on() -> None:
    given = {"steps_max": "5", "directory": "/tmp", "is_quick": 0}
    expected = Pace(steps_max=5, directory=Path("/tmp"), is_quick=False)
    pace = Pace(**given)  # pyright: ignore[reportArgumentType] - converted on purpose
    assert pace == expected == Walk.model_validate({"pace": given}).pace == Walk(pace=expected).pace
    assert pace.is_quick is False
    with pytest.raises(FrozenInstanceError):
        pace.steps_max = 1  # pyright: ignore[reportAttributeAccessIssue]


def test_defaults_load_no_pydantic() -> None:
    program = (
        "import sys\nfrom backends.local_options import LocalOptions\nfrom tool_fs.limits import ReadLimits\n"
        "LocalOptions(), ReadLimits()\nprint('pydantic' in sys.modules)\nReadLimits(max_lines=1)\n"
        "print('pydantic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.split() == ["False", "True"]
