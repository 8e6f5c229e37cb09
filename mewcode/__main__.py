"""``python -m mewcode`` and the console script."""

from __future__ import annotations

import sys


def main() -> None:
    from mewcode.infra import collector

    collector.pause()  # before all other imports: they are what it is about
    try:
        from mewcode.cli import run

        code = run(sys.argv[1:])
    finally:
        collector.finish()
    sys.exit(code)


if __name__ == "__main__":
    main()
