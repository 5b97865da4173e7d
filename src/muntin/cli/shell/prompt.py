"""Reading statements from a terminal: editing over several lines, history, completion, colours (prompt_toolkit)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.filters import completion_is_selected
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.lexers import PygmentsLexer
from pygments.lexers.sql import SqlLexer

from muntin.cli.shell.completion import candidates
from muntin.cli.shell.statements import is_whole
from muntin.plan.catalog import Catalog

PROMPT = "muntin> "


def prompt_session(catalog: Callable[[], Catalog], history: History, **terminal: Any) -> PromptSession[str]:
    """A prompt whose Enter takes what is whole and else begins another line. ``terminal``: ``input`` and ``output`` of
    prompt_toolkit, for tests."""
    return PromptSession(
        PROMPT,
        multiline=True,
        prompt_continuation=lambda width, line, wrapped: "-> ".rjust(width),
        lexer=PygmentsLexer(SqlLexer),
        completer=_Completer(catalog),
        complete_while_typing=False,
        history=history,
        auto_suggest=AutoSuggestFromHistory(),
        key_bindings=_bindings(),
        **terminal,
    )


def history_file() -> Path:
    """``MUNTIN_HISTORY``, else a file of the user's state (XDG)."""
    given = os.environ.get("MUNTIN_HISTORY")
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(given) if given else Path(state) / "muntin" / "history"


def history() -> History:
    """What was typed, across shells; kept in memory where the file cannot be written."""
    file = history_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=0o600)
    except OSError:
        return InMemoryHistory()
    return FileHistory(str(file))


def _bindings() -> KeyBindings:
    bindings = KeyBindings()

    @bindings.add("enter", filter=~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        if is_whole(buffer.text):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n")

    @bindings.add("enter", filter=completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    return bindings


class _Completer(Completer):
    def __init__(self, catalog: Callable[[], Catalog]) -> None:
        self._catalog = catalog

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        for c in candidates(document.text, document.cursor_position, self._catalog()):
            yield Completion(c.text, start_position=-c.typed, display_meta=c.kind)
