"""Two real agents in one workspace: one is overtaken by the other, is told so, and recovers.

Not part of the suite, since the two take 740 MB: `make clients` installs and runs them. Each gets what the recipe for
it says, word for word but for the root and the port. Only the model is a script.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.docs.blocks import Block, blocks_of
from tests.seamfs.clients.conftest import AgentClient
from tests.seamfs.clients.scripted_model import ScriptedModel, Step, running
from tests.seamfs.processes import http_server
from tests.support.s3_servers import S3Server

PAGE: Final = "docs/recipes/mcp-clients.md"
ROOT: Final = "/home/me/repo"
SERVER: Final = "http://127.0.0.1:8000/mcp"

BEFORE: Final = "timeout = 10\r\nretries = 3\r\n"
AFTER: Final = "timeout = 30\r\nretries = 5\r\n"


def edit(old: str, new: str) -> dict[str, Any]:
    return {"file_path": "src/main.py", "old_string": old, "new_string": new}


LOOK: Final = Step("grep", {"pattern": "timeout"})
READ: Final = Step("read", {"file_path": "src/main.py"})
RAISE: Final = edit("timeout = 10", "timeout = 30")

FOUND: Final = """\
src/main.py
1: timeout = 10
(1 matching line in 1 file; 1 file searched.)"""
FIRST_PAGE: Final = """\
<path>src/main.py</path>
<type>file</type>
<content>
1: timeout = 10
2: retries = 3
</content>
(End of file: lines 1 to 2 of 2.)"""
OVERTAKEN: Final = """\
FS_STALE_VERSION: src/main.py: changed since it was read; nothing was written; old_string still occurs exactly once. \
Read the file again, then retry.
What changed since:
@@ -1,2 +1,2 @@
 timeout = 10\r
-retries = 3\r
+retries = 5"""
RAISED: Final = """\
Edited src/main.py: 1 place replaced.
@@ -1,2 +1,2 @@
-timeout = 10\r
+timeout = 30\r
 retries = 5"""
UNREAD: Final = "FS_NOT_OBSERVED: src/main.py"

TOOLS: Final = ["edit", "glob", "grep", "list_dir", "read", "write"]

SHOWN_TO_THE_OVERTAKEN: Final = [
    (FOUND, False),
    (FIRST_PAGE, False),
    (OVERTAKEN, True),
    (FIRST_PAGE.replace("retries = 3", "retries = 5"), False),
    (RAISED, False),
]


@dataclass(frozen=True, slots=True)
class Place:
    """How the words of the recipe are to be read, and what the clients find in their environment."""

    words: dict[str, str]
    variables: dict[str, str]

    def here(self, text: str) -> str:
        for word, meaning in self.words.items():
            text = text.replace(word, meaning)
        return text


def blocks(heading: str) -> Sequence[Block]:
    return [block for block in blocks_of(PAGE) if block.heading == heading]


def prepare(client: AgentClient, heading: str, place: Place) -> None:
    """Lay down the client's file of the recipe; Claude Code has a command instead."""
    if client.name == "opencode":
        (block,) = [block for block in blocks(heading) if block.file == "opencode.json"]
        (client.directory / "opencode.json").write_text(place.here(block.text))


def command(client: AgentClient, heading: str) -> str:
    """Return the commands that the recipe has for a client, the one that starts its session last."""
    own = [line for block in blocks(heading) if block.language == "sh" for line in [block.text] if client.name in line]
    return "".join(own)


def session(client: AgentClient, steps: Sequence[Step], place: Place, *, commands: str) -> ScriptedModel:
    """Let a client run its session with a script for a model."""
    model = ScriptedModel(client.prefix, steps)
    with running(model) as url:
        told = client.run(place.here(commands), model_url=url, variables=place.variables)
    assert model.faults == []
    assert "That is all." in told
    assert sorted(model.declared) == TOOLS
    return model


def shown(model: ScriptedModel) -> list[tuple[str, bool]]:
    """Return what the model was shown of its calls, without what one client adds below, and another cuts at the end."""
    results = [model.shown[index] for index in range(len(model.steps))]
    return [(text.partition("\n\n<system-reminder>")[0].rstrip(), is_error) for text, is_error in results]


def overtaking(client: AgentClient, place: Place, *, commands: str) -> ScriptedModel:
    """Let a client change the file too, which it has to read first."""
    change = edit("retries = 3", "retries = 5")
    return session(client, [Step("edit", change), READ, Step("edit", change)], place, commands=commands)


def check_overtaking(model: ScriptedModel) -> None:
    (unread, refused), (page, _), (edited, failed) = shown(model)
    assert refused
    assert unread.startswith(UNREAD)
    assert page == FIRST_PAGE
    assert edited.startswith("Edited src/main.py: 1 place replaced.")
    assert not failed


def test_claude_code_is_overtaken_by_opencode_on_one_http_server_and_recovers(
    claude: AgentClient, opencode: AgentClient, root: Path
) -> None:
    (root / "src").mkdir()
    file = root / "src" / "main.py"
    file.write_bytes(BEFORE.encode())
    variables = {"FILES_TOKEN": "a-token-that-nobody-guesses"}
    heading = "One server for several clients"
    with http_server(str(root), "--token-env", "FILES_TOKEN", variables=variables) as server:
        place = Place({SERVER: server.url}, variables)
        others: list[ScriptedModel] = []
        prepare(opencode, heading, place)

        def overtake() -> None:
            others.append(overtaking(opencode, place, commands=command(opencode, "OpenCode")))

        steps = [LOOK, READ, Step("edit", RAISE, before=overtake), READ, Step("edit", RAISE)]
        start = command(claude, "Claude Code").splitlines()[-1]
        model = session(claude, steps, place, commands=command(claude, heading) + start)
    assert shown(model) == SHOWN_TO_THE_OVERTAKEN
    check_overtaking(others[0])
    assert file.read_bytes() == AFTER.encode()


def test_opencode_is_overtaken_by_claude_code_in_a_bucket_and_recovers(
    claude: AgentClient, opencode: AgentClient, moto_server: S3Server
) -> None:
    harness = moto_server.harness()
    harness.put("src/main.py", BEFORE.encode())
    variables = {
        "SEAMFS_S3__ENDPOINT_URL": moto_server.endpoint_url,
        "AWS_ACCESS_KEY_ID": moto_server.access_key_id,
        "AWS_SECRET_ACCESS_KEY": moto_server.secret_access_key,
    }
    place = Place({ROOT: f"s3://{harness.bucket}/{harness.prefix}"}, variables)
    others: list[ScriptedModel] = []
    prepare(opencode, "OpenCode", place)

    def overtake() -> None:
        others.append(overtaking(claude, place, commands=command(claude, "Claude Code")))

    steps = [LOOK, READ, Step("edit", RAISE, before=overtake), READ, Step("edit", RAISE)]
    model = session(opencode, steps, place, commands=command(opencode, "OpenCode"))
    assert shown(model) == SHOWN_TO_THE_OVERTAKEN
    check_overtaking(others[0])
    assert harness.get("src/main.py") == AFTER.encode()
