# Wherry: the hook of MkDocs that completes the documentation site; see mkdocs.yml
# SPDX-License-Identifier: Apache-2.0
"""Adds the pages that are not in docs, and adapts all pages from GitHub's Markdown to that of MkDocs.

* README.md, CONTRIBUTING.md, and the other files of PAGES become pages, also the notebook with its outputs.
* The sections of include/wherry.h and the public names of the Python package become reference pages.
* A link to another file of the repository leads to a page that shows this file.
* Samples of one program in several languages become tabs.
"""

from __future__ import annotations

import ast
import html
import json
import os
import pathlib
import posixpath
import re
import subprocess
from typing import Any, Iterator

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = pathlib.Path(__file__).resolve().parents[1]
#: Pages of the site, and the files outside docs that they show.
PAGES = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "security-policy.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
    "examples.md": "Examples/README.md",
    "guides/bulk-notebook.md": "Examples/python/bulk.ipynb",
    "other-languages.md": "Examples/other-languages/README.md",
    "reference/python/index.md": "bindings/python/README.md",
    "test-server.md": "Tests/TestServer/README.md",
}
#: Other files and folders that have a page.
FOLDERS = {
    "Examples": "examples.md",
    "Examples/other-languages": "other-languages.md",
    "docs/decisions": "decisions/index.md",
    "include/wherry.h": "reference/c/index.md",
}
#: The public names of the Python package by page.
PYTHON = {
    "Requests": """get head post put patch delete options request stream upload download client
        RequestOptions StreamOptions UploadOptions DownloadOptions Which""",
    "Clients": "Client AsyncClient Session Settings Timeout Basic BasicAuth Bearer DigestAuth Auth restart",
    "Responses": "Response Headers Cookies Cookie SentRequest Request ServerEvent Metrics codes Sized",
    "Errors": """WherryError ArgumentError StateError TimeoutError CancelledError NetworkError TLSError HTTPStatusError
        FileError ImageError ImageResult CacheMissError LimitError InternalError ForkedError BusyError DecodeError""",
    "Images": "Image ImageComparison ImageHash ImageInfo Compression",
    "Downloads": """Download AsyncDownload Progress Partial partials partial_ratio discard_partial TransferInfo
        BackgroundSession AsyncBackgroundSession Job""",
    "Caches": "Cache AsyncCache CacheEntry CacheUsage",
    "Image loader": "ImageLoader AsyncImageLoader ImageUsage",
    "Models and pages": """Pages AsyncPages PageOptions Endpoint AsyncEndpoint Model AsyncModel Timing Mapping BaseItem
        at Problem SectionedList Section ListChange""",
    "Groups": "Group AsyncGroup Chain AsyncChain",
    "Tests": "MockTransport MockRequest WSGITransport ASGITransport BaseTransport AsyncBaseTransport",
    "Network state and logs": """Reachability ReachabilityChange ReachabilityObserver UNKNOWN NOT_REACHABLE
        REACHABLE_VIA_WWAN REACHABLE_VIA_WIFI reach_text set_reach_text set_interface ActivityReader LogReader LogRecord
        LogBridge Counters""",
}
LANGUAGES = {".swift": "swift", ".c": "c", ".h": "c", ".py": "python", ".sh": "sh", ".json": "json", ".md": "markdown"}
FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?P<text>\]\()(?P<target>[^)#\s]+)(?P<anchor>#[^)\s]*)?\)")
SECTION = re.compile(r"^/\* -+ (\d+)\. (.+?) -+ \*/$", re.MULTILINE)
SAMPLE = r"\*\*(?:Python|C|Swift|Shell)\*\*(?:(?!\n```|\n\n).)*\n\n?```\w+\n.*?\n```\n"
TABS = re.compile(rf"^{SAMPLE}(?:\n+{SAMPLE})+", re.MULTILINE | re.DOTALL)


def on_config(config: Any) -> Any:
    """Replaces folders in the navigation by their pages."""
    config.nav = expanded(config.nav)
    config.watch += [str(ROOT / path) for path in PAGES.values()]
    return config


def expanded(entry: Any) -> Any:
    if isinstance(entry, list):
        return [expanded(one) for one in entry]
    if isinstance(entry, dict):
        return {title: expanded(one) for title, one in entry.items()}
    if not entry.endswith("/"):
        return entry
    pages = {
        "reference/c/": lambda: [name for name, _, _ in header_pages()],
        "reference/python/": lambda: [name for name, _ in python_pages()],
        "decisions/": lambda: [f"decisions/{path.name}" for path in sorted((ROOT / "docs/decisions").glob("*.md"))],
    }
    return [entry + "index.md", *pages[entry]()]


def on_files(files: Files, config: Any) -> Files:
    def add(name: str, text: str) -> None:
        files.append(File.generated(config, name, content=text))

    for name, path in PAGES.items():
        text = (ROOT / path).read_text()
        add(name, notebook_page(text) if path.endswith(".ipynb") else text)
    add("decisions/index.md", decisions())
    for name, title, text in [("reference/c/index.md", "C", header_start()), *header_pages()]:
        add(name, f"# {title}\n\n{text}")
    for name, text in python_pages():
        add(name, text)
    shown = {path for file in files.documentation_pages() for path in linked_sources(file)}
    for path in sorted(shown):
        add(f"source/{path}.md", source_page(path))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    name = page.file.src_uri
    if name.startswith(("source/", "reference/c/")):
        page.meta["hide"] = ["toc"]
        return markdown
    if name == "index.md":
        page.meta["hide"] = ["navigation"]
        markdown = markdown.split("\n## Documentation\n")[0]  # the navigation replaces it
    text = re.sub(r"<!-- from .*? -->\n", "", markdown)
    text = outside_fences(text, lambda part: LINK.sub(lambda link: rewritten(link, name), part))
    if name == "swift.md" and (folder := os.environ.get("WHERRY_SITE_SWIFT")):
        text += f'\n## Symbols\n\n<a href="../{folder}/documentation/wherry/">All symbols</a>, as written by DocC.\n'
    text = TABS.sub(tabs, text)
    return "".join(indented_lists(text))


# Links


def origin(name: str) -> str:
    """The file of the repository that a page shows."""
    return PAGES.get(name, f"docs/{name}")


def resolved(target: str, name: str) -> str:
    """The path in the repository that a link of a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin(name)), target))


def page_of(path: str) -> str:
    """The page that shows a file or folder of the repository."""
    by_path = {path: name for name, path in PAGES.items()}
    if path in by_path or path in FOLDERS:
        return by_path.get(path) or FOLDERS[path]
    return path.removeprefix("docs/") if path.startswith("docs/") else f"source/{path}.md"


def rewritten(link: re.Match[str], name: str) -> str:
    if "://" in link["target"]:
        return link[0]
    path = resolved(link["target"], name)
    if not (ROOT / path).exists():
        return link[0]  # MkDocs reports it
    target = posixpath.relpath(page_of(path), posixpath.dirname(name) or ".")
    return f"{link['text']}{target}{link['anchor'] or ''})"


def outside_fences(text: str, change: Any) -> str:
    parts, last = [], 0
    for fence in FENCE.finditer(text):
        parts += [change(text[last : fence.start()]), fence[0]]
        last = fence.end()
    return "".join([*parts, change(text[last:])])


def linked_sources(file: File) -> Iterator[str]:
    """The files and folders of the repository that a page links to and that have no page yet."""
    if file.src_uri.startswith("reference/c/"):
        return
    for link in LINK.finditer(FENCE.sub("", file.content_string)):
        path = resolved(link["target"], file.src_uri)
        if "://" not in link["target"] and page_of(path).startswith("source/") and (ROOT / path).exists():
            yield path


def notebook_page(text: str) -> str:
    """A notebook with its outputs, as scripts/make-notebook wrote them."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            if "image/png" in data:
                picture = "".join(data["image/png"]).replace("\n", "")
                alt = html.escape(cell["metadata"]["alt"])
                parts.append(f'<img alt="{alt}" src="data:image/png;base64,{picture}">')
            else:
                parts.append("```text\n" + "".join(output.get("text") or data["text/plain"]).rstrip() + "\n```")
    return "\n\n".join(parts) + "\n"


def source_page(path: str) -> str:
    head = f"---\nsearch:\n  exclude: true\n---\n\n# `{path}`\n\n"
    if (ROOT / path).is_dir():
        listed = subprocess.run(["git", "ls-files", path], cwd=ROOT, capture_output=True, text=True, check=True)
        return head + "".join(f"* `{name}`\n" for name in listed.stdout.splitlines())
    text = (ROOT / path).read_text()
    language = LANGUAGES.get(pathlib.Path(path).suffix, "text")
    fence = "`" * (max(map(len, re.findall("`{3,}", text)), default=2) + 1)
    return f'{head}{fence} {{.{language} linenums="1"}}\n{text}\n{fence}\n'


# Markdown


def tabs(found: re.Match[str]) -> str:
    """Samples under **Python**, **C**, **Swift**, and **Shell** as tabs, Python first."""
    parts = re.findall(rf"^{SAMPLE}", found[0], re.MULTILINE | re.DOTALL)
    blocks = []
    for part in parts:
        title, _, rest = part[2:].partition("**")
        if rest.lstrip()[:1] != "`":
            rest = f"{title}{rest}"  # a sentence that begins with the language
        body = re.sub(r"(?<=\S)\n```(?=\w)", "\n\n```", rest.strip() + "\n")
        blocks.append((title, f'=== "{title}"\n\n' + re.sub(r"^(?=.)", "    ", body, flags=re.MULTILINE)))
    blocks.sort(key=lambda block: block[0] != "Python")
    return "\n".join(text for _, text in blocks)


def indented_lists(text: str) -> Iterator[str]:
    """Widens the indentation in lists from two columns, as GitHub accepts, to four, and adds the blank lines before
    lists and after items of several paragraphs that GitHub does not need."""
    inside = blank = loose = False
    for line in text.splitlines(keepends=True):
        if re.match(r"([*-]|\d+\.) ", line):
            if not blank and (loose or not inside):
                yield "\n"
            inside, loose = True, False
        elif line.strip() and blank and not line.startswith(" "):
            inside = False
        blank = not line.strip()
        loose = loose or blank
        yield "  " + line if inside and line.startswith("  ") else line


def decisions() -> str:
    rows = ["# Hooks\n", "Each page explains one decision: context, decision, alternatives, and consequences.\n"]
    for path in sorted((ROOT / "docs/decisions").glob("*.md")):
        text = path.read_text()
        title, context = text.splitlines()[0].lstrip("# "), text.partition("## Context\n\n")[2].partition("\n\n")[0]
        rows.append(f"* [{title}]({path.name}): {' '.join(context.split())}")
    return "\n".join(rows) + "\n"


# Reference pages


def header_start() -> str:
    """The comment at the top of the header, and the list of its sections."""
    text = (ROOT / "include/wherry.h").read_text()
    listed = "".join(
        f"{number}. [{title}]({pathlib.PurePosixPath(name).name})\n"
        for number, (name, title, _) in enumerate(header_pages(), 1)
    )
    return f"```c\n{text[: text.index('*/') + 2]}\n```\n\n## Sections\n\n{listed}"


def header_pages() -> list[tuple[str, str, str]]:
    """Name, title, and text of the page of each section."""
    text = (ROOT / "include/wherry.h").read_text()
    marks = list(SECTION.finditer(text))
    if [int(mark[1]) for mark in marks] != list(range(1, len(re.findall(r"^/\* -+ \d+\.", text, re.MULTILINE)) + 1)):
        raise PluginError("the sections of wherry.h are not numbered from 1, or a heading is longer than a line")
    pages = []
    for mark, end in zip(marks, [*(mark.start() for mark in marks[1:]), text.index("#pragma GCC visibility pop")]):
        title, _, rest = mark[2].partition(":")
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
        about = f"{rest.strip().capitalize()}.\n\n" if rest else ""
        pages.append((f"reference/c/{slug}.md", title, f"{about}```c\n{text[mark.end() : end].strip()}\n```\n"))
    return pages


def python_pages() -> list[tuple[str, str]]:
    tree = ast.parse((ROOT / "bindings/python/src/wherry/__init__.py").read_text())
    public = next(
        ast.literal_eval(node.value)
        for node in tree.body
        if isinstance(node, ast.Assign)
        and any(isinstance(name, ast.Name) and name.id == "__all__" for name in node.targets)
    )
    listed = " ".join(PYTHON.values()).split()
    if set(listed) != set(public):
        raise PluginError(
            f"PYTHON in {os.path.basename(__file__)} differs from wherry.__all__: {sorted(set(listed) ^ set(public))}"
        )
    start = "The [overview](index.md#keywords) explains the keywords.\n\n"
    return [
        (
            f"reference/python/{title.lower().replace(' ', '-')}.md",
            f"# {title}\n\n{start}" + "".join(map(directive, names.split())),
        )
        for title, names in PYTHON.items()
    ]


def directive(name: str) -> str:
    """Documents one public name. The members that errors inherit are documented in their base class."""
    options = ""
    if name.endswith("Error"):
        options = "    options:\n      inherited_members: false\n"
    elif name.endswith(("Options", "Settings")):
        options = "    options:\n      show_if_no_docstring: true\n"
    return f"::: wherry.{name}\n{options}\n"
