"""The repository, and the command that results are compared with."""

import gc
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _in_the_repository(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paths in messages and files are relative to the repository, as on the command line."""
    monkeypatch.chdir(ROOT)


@pytest.fixture(autouse=True, scope="session")
def _interruptible() -> Iterator[None]:
    """Ctrl-C raises KeyboardInterrupt, also where the tests were started with SIGINT ignored (in the background)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def growth(run: Callable[[int], object], warm_up: int, times: int) -> int:
    """Call ``run`` with seeds: how many bytes the process grows by in ``times`` calls after the warm-up."""

    def resident() -> int:
        gc.collect()
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

    def repeat(times: int) -> None:
        for seed in range(times):
            run(seed)

    repeat(warm_up)
    before = resident()
    repeat(times)
    return resident() - before


class Command:
    """The command ``msctp-lab``."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __call__(self, *arguments: str) -> str:
        """Run it and return what it prints."""
        return subprocess.run([self.path, *arguments], check=True, capture_output=True, text=True).stdout

    def refuse(self, *arguments: str) -> str:
        """Run it, expect exit code 2 and return the error without its prefix."""
        done = subprocess.run([self.path, *arguments], check=False, capture_output=True, text=True)
        assert done.returncode == 2, done
        return done.stderr.removeprefix("msctp-lab: ").rstrip("\n")


@pytest.fixture(scope="session")
def command() -> Command:
    """The command of the same sources: ``MSCTP_COMMAND``, else that of a debug build."""
    path = os.environ.get("MSCTP_COMMAND", str(ROOT / "target/debug/msctp-lab"))
    if not Path(path).exists():
        pytest.fail(
            f"there is no {path}: build it with `cargo build -p msctp-lab`, or name another in MSCTP_COMMAND"
        )
    return Command(path)
