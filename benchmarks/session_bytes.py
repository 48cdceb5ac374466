"""Changes one byte of a session at a time and opens it: a change of what is read must be said.

    python main.py -m roofscope.benchmarks.session_bytes --changes 15000

Prints how many were said, refused in a sentence, or without effect. Any that read otherwise in silence,
raise something unnamed or take longer than five seconds make the exit code 1.
"""

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from roofscope.profiling.paths import ASSETS
from roofscope.profiling.results.session import Session
from roofscope.profiling.results.session_file import save_whole
from roofscope.profiling.results.session_reader import SessionError, load
from roofscope.profiling.results.session_writer import SessionStore

_SLOW_S = 5.0
_BAD = ("in silence", "unnamed", "slow")


def content(session: Session) -> list[object]:
    """All that views show of a session."""
    parts = [session.created_at, session.identity, session.environment, session.device, session.origins]
    parts += [session.specs, session.sources, session.ceilings, session.ceiling_origins]
    return [*parts, session.points, session.traces, session.proofs]


def changed(whole: bytes, dice: random.Random) -> bytes:
    """Half of the changes turn one bit over, the others put any byte in a byte's place."""
    found, place = bytearray(whole), dice.randrange(len(whole))
    if dice.random() < 0.5:
        found[place] ^= 1 << dice.randrange(8)
    else:
        found[place] = dice.randrange(256)
    return bytes(found)


def opened(path: Path, original: list[object]) -> str:
    """What became of the change."""
    started = time.monotonic()
    try:
        session = load(path)
        words = "said" if session.problems else "without effect"
        if not session.problems and content(session) != original:
            words = "in silence"
    except SessionError:
        words = "refused"
    except Exception as error:  # noqa: BLE001 - what this looks for
        words = f"unnamed: {error!r}"[:100]
    return "slow" if time.monotonic() - started > _SLOW_S else words


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--changes", type=int, default=15_000)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--session", type=Path, default=ASSETS / "sessions" / "h200-gelu.roofscope")
    options = parser.parse_args()
    dice, counts = random.Random(options.seed), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.roofscope")
        save_whole(options.session, path)
        with SessionStore.append(path) as store:
            point = load(path).points[0]
            store.add_trace(point.job, point.implementation, dice.randbytes(9000))
        whole, original = path.read_bytes(), content(load(path))
        for _ in range(options.changes):
            path.write_bytes(changed(whole, dice))
            counts[opened(path, original)] += 1
    for words, count in counts.most_common():
        print(f"{count:6} {words}")
    return 1 if any(words.startswith(_BAD) for words in counts) else 0


if __name__ == "__main__":
    sys.exit(main())
