"""What pyproject.toml cannot say of the build: what depends on the Python that builds, and the package page."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent

# The release whose limited API the kernels use (ggfmt/kernels/python.h); a Python without a global lock has none.
LIMITED_API = None if sysconfig.get_config_var("Py_GIL_DISABLED") else "cp310"


def package_page(readme: str, address: str | None) -> str:
    """Return README.md as a package page shows it, where a relative link leads nowhere.

    Links to pages lead below the address of the documents. If there is none, the command that shows the page takes the
    place of the link. Other links become their text, and pictures are left out.
    """

    def link(match: re.Match[str]) -> str:
        text, path, topic, anchor = match.group("text", "path", "topic", "anchor")
        if path is None:
            return text
        if address is not None:
            return f"[{text}]({address.rstrip('/')}/{path}{anchor or ''})"
        return f"`ggfmt docs {topic}`" if text == topic else f"{text} (`ggfmt docs {topic}`)"

    readme = re.sub(r"^!\[.*\)\n+", "", readme, flags=re.MULTILINE)
    page = r"ggfmt/docs/(?P<path>(?:[\w-]+/)*(?P<topic>[\w-]+)\.md)(?P<anchor>#[\w-]+)?"
    return re.sub(rf"\[(?P<text>[^\]]+)\]\((?:{page}|(?!\w+:)[^)]+)\)", link, readme)


if __name__ == "__main__":
    from setuptools import setup
    from setuptools.command.build_py import build_py

    class BuildWithSamples(build_py):
        """Has the samples in the package, where `ggfmt samples` finds them; a checkout has them beside it."""

        def run(self) -> None:
            super().run()
            if not self.editable_mode:
                self.copy_tree(str(ROOT / "samples"), str(Path(self.build_lib) / "ggfmt" / "samples"))

    # A kernel that was built here for one release of Python would be found before the one that serves all.
    if LIMITED_API:
        for old in ROOT.glob("ggfmt/kernels/_native.cpython-*"):
            old.unlink()
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    documentation = re.search(r'^Documentation = "(.+)"$', project, re.MULTILINE)
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    setup(
        long_description=package_page(readme, documentation and documentation[1]),
        long_description_content_type="text/markdown",
        cmdclass={"build_py": BuildWithSamples},
        options={"bdist_wheel": {"py_limited_api": LIMITED_API}} if LIMITED_API else {},
    )
