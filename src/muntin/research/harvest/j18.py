"""J18, Gedik et al. 6.3: the video join is a heading without text in the copy at hand."""

from __future__ import annotations

from muntin.research.harness import Entry, Outcome, Setting


def run(setting: Setting) -> Outcome:
    """Nothing."""
    return Outcome((), ("6.3 has neither text nor numbers",))


ENTRY = Entry("J18", "6.3: heading only", "nothing to reproduce", run)
