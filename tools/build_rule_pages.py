"""Write ``docs/rules`` from the rules: a page for each, and one that lists them.

python tools/build_rule_pages.py            write the pages
python tools/build_rule_pages.py --check    exit 1 if the pages on disk differ
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from neuron_codemods.registry import rules
from neuron_migrate import pages

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "rules"


def texts() -> dict[str, str]:
    """All pages by the names of their files."""
    modules = rules()
    return {"README.md": pages.summary(modules), **{f"{each.rule.code}.md": pages.page(each) for each in modules}}


def main(arguments: Sequence[str] | None = None) -> int:
    wanted = texts()
    present = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    if "--check" in (sys.argv[1:] if arguments is None else arguments):
        for name in sorted(wanted.keys() ^ present.keys() | {n for n in wanted if wanted[n] != present.get(n)}):
            print(f"docs/rules/{name} is not what the rules say; run tools/build_rule_pages.py")
        return int(wanted != present)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in present.keys() - wanted.keys():
        (FOLDER / name).unlink()
    for name, text in wanted.items():
        (FOLDER / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
