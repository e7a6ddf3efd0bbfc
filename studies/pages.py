"""Puts the tables of studies and benchmarks into the pages of docs/, at their markers.

python -m studies.pages
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = tuple(
    ROOT / "docs" / f"{name}.md"
    for name in ("reproduction", "comparison", "model_choices", "performance", "spaces", "analysis")
)
TABLES = ROOT / "studies" / "results" / "tables"
MARKER = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def fill(text: str, tables: Path) -> str:
    """The page with every table replaced by the one of its name."""
    return MARKER.sub(
        lambda m: f"{m[1]}{(tables / f'{m[2]}.md').read_text(encoding='utf-8')}{m[4]}", text
    )


def main() -> int:
    """Fill all pages."""
    for page in PAGES:
        old = page.read_text(encoding="utf-8")
        new = fill(old, TABLES)
        page.write_text(new, encoding="utf-8")
        print(f"{page.name}: {'tables replaced' if new != old else 'nothing to change'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
