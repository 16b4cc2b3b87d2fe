"""How the planned imports are written: in place, merged into others, sorted, with their comments."""

from __future__ import annotations

import ast
import sys
import tokenize
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain

from neuron_codemods import statements
from neuron_codemods.edits import Edit
from neuron_codemods.imports.naming import split
from neuron_codemods.imports.places import (
    Use,
    end_of_lines,
    first_import,
    first_offset,
    insert_at_top,
    is_of_library,
    last_import,
    only_imports,
    outside_functions,
)
from neuron_codemods.imports.sites import Imported, Site, by_module, comments_of, imported, is_suppressed, sort_key
from neuron_codemods.module import Module


class Writer:
    """Turns what was planned for the imports of one module into edits of its text."""

    def __init__(
        self,
        module: Module,
        sites: Mapping[ast.stmt, Site],
        required: dict[str, list[Use]],
        plain: Mapping[str, list[Use]],
    ) -> None:
        self.module = module
        self.source = module.source
        self.sites = sites
        self.required = required
        self.plain = plain
        self.edits: list[Edit] = []
        self.removed: list[ast.stmt] = []

    def write(self) -> tuple[list[Edit], list[ast.stmt]]:
        """The edits, and the statements that go."""
        if self.plain:
            self._emit_plain()
        self._merge_into_hosts()
        self._put_into_site()
        for group in self._groups():
            self._emit_group(group)
        if self.required:
            self._emit_required()
        return self.edits, self.removed

    def _put_into_site(self) -> None:
        """Write new imports into the last one at the top of the file, if that changes as well."""
        anchor = self._anchor() if self.required else None
        site = self.sites.get(anchor) if anchor is not None else None
        if site is not None:
            site.fresh += [imported(self.module, native) for native in self.required]
            self.required.clear()

    def _anchor(self) -> ast.stmt | None:
        """The import below which new ones stand."""
        return last_import(self.module, outside_functions(self.module, chain(*self.required.values())))

    def _emit_required(self) -> None:
        lines = self._lines([imported(self.module, native) for native in self.required])
        anchor = self._anchor()
        if anchor is not None:
            if is_of_library(anchor) or only_imports(anchor):
                lines.insert(0, "")
            self.edits += statements.insert_after(self.module, anchor, lines)
        else:
            self.edits += insert_at_top(self.module, lines)

    def _merge_into_hosts(self) -> None:
        """Add names to an import that the top of the file already has from the same native module."""
        if not (self.sites or self.required):
            return
        hosts = self._hosts()
        added: dict[str, list[Imported]] = defaultdict(list)
        for site in self.sites.values():
            if self.module.parent(site.statement) is self.source.tree and self._is_alone(site.statement):
                for entry in [item for item in site.fresh if not (item.noted or item.stays)]:
                    host = hosts.get(entry.module)
                    if host is None or not self._is_bound_only_by(entry.local, site.statement):
                        continue
                    if self._only_imports_between(host, site.statement):
                        site.fresh.remove(entry)
                        added[entry.module].append(entry)
        first_use = first_offset(outside_functions(self.module, chain(*self.required.values())))
        for native in list(self.required):
            native_module = split(native)[0]
            host = hosts.get(native_module)
            if host is not None and end_of_lines(self.module, host) <= first_use:
                added[native_module].append(imported(self.module, native))
                del self.required[native]
        for name, entries in added.items():
            host = hosts[name]
            self._put_below(host, name)
            old = [Imported(name, alias.name, alias.asname or alias.name) for alias in host.names]
            fresh = [entry for entry in dict.fromkeys(entries) if entry not in old]
            together = sorted([*old, *fresh], key=sort_key) if old == sorted(old, key=sort_key) else [*old, *fresh]
            is_long = host.lineno != host.end_lineno
            text = self._from_statement(name, together, "", sort=False, one_a_line=is_long)
            span = self.source.span(host)
            self.edits.append(Edit.replace(span, text.replace("\n", self.source.newline(span[0]))))

    def _put_below(self, host: ast.ImportFrom, name: str) -> None:
        """Move new imports of submodules below that of their package, where sorters have them, if that follows."""
        for site in self.sites.values():
            is_above = site.statement.lineno < host.lineno and self._is_alone(site.statement)
            if is_above and self.module.parent(site.statement) is self.source.tree:
                inner = [item for item in site.fresh if item.module.startswith(f"{name}.") and not item.noted]
                if inner and self._only_imports_between(host, site.statement):
                    site.fresh = [item for item in site.fresh if item not in inner]
                    self.edits += statements.insert_after(self.module, host, self._lines(inner))

    def _hosts(self) -> dict[str, ast.ImportFrom]:
        """The imports at the top of the file that names can be added to, by module: plainly written ones."""
        last = last_import(self.module)
        hosts: dict[str, ast.ImportFrom] = {}
        for node in self.source.tree.body:
            if last is None or node.lineno > last.lineno:
                break
            if isinstance(node, ast.ImportFrom) and node not in self.sites and self._is_plain(node):
                hosts.setdefault(node.module or "", node)
        return hosts

    def _is_bound_only_by(self, name: str, statement: ast.stmt) -> bool:
        bindings = self.module.names.module.bindings.get(name, ())
        return all(binding.statement is statement for binding in bindings)

    def _only_imports_between(self, host: ast.stmt, site: ast.stmt) -> bool:
        """Whether names move past nothing that could use them."""
        if host.lineno < site.lineno:
            return True
        return all(
            isinstance(node, (ast.Import, ast.ImportFrom))
            for node in self.source.tree.body
            if site.lineno < node.lineno < host.lineno
        )

    def _is_plain(self, node: ast.ImportFrom) -> bool:
        """Whether an import is written on one line, or with one name a line, and without comments.

        One that a person wants left alone is not.
        """
        if node.level or node.names[0].name == "*" or not self._is_alone(node):
            return False
        if is_suppressed(self.module, node):
            return False
        entries = [Imported(node.module or "", alias.name, alias.asname or alias.name) for alias in node.names]
        text = "\n".join(self.source.segment(node).splitlines())
        is_long = node.lineno != node.end_lineno
        return text == self._from_statement(node.module or "", entries, "", sort=False, one_a_line=is_long)

    def _emit_plain(self) -> None:
        """``import os`` above the first import of the file, ``import torch`` above the first of another package.

        That is where import sorters have them.
        """
        for is_standard in (True, False):
            names = [name for name in self.plain if (name in sys.stdlib_module_names) is is_standard]
            if not names:
                continue
            lines = [f"import {name}" for name in names]
            uses = outside_functions(self.module, chain(*(self.plain[name] for name in names)))
            others = None if is_standard else first_import(self.module, uses, of_library=False)
            first = others or first_import(self.module, uses)
            site = self.sites.get(first) if first is not None else None
            if site is not None and site.is_emptied and self._is_alone(site.statement):
                site.modules += names  # with a statement that goes, blank lines around it would
            elif first is not None:
                self.edits.append(statements.insert_before(self.module, first, lines))
            else:
                self.edits += insert_at_top(self.module, lines)

    def _groups(self) -> list[list[Site]]:
        """Sites on neighbouring lines of one block, which are written as one sorted run of imports."""
        groups: list[list[Site]] = []
        for site in sorted(self.sites.values(), key=lambda site: (site.statement.lineno, site.statement.col_offset)):
            previous = groups[-1][-1] if groups else None
            if previous is not None and self._adjoins(previous, site):
                groups[-1].append(site)
            else:
                groups.append([site])
        return groups

    def _adjoins(self, first: Site, second: Site) -> bool:
        above, below = first.statement, second.statement
        return (
            self.module.parent(above) is self.module.parent(below)
            and above.end_lineno is not None
            and below.lineno == above.end_lineno + 1
            and self._can_move(first)
            and self._can_move(second)
        )

    def _can_move(self, site: Site) -> bool:
        start, end = self.source.span(site.statement)
        line = self.source.text[self.source.line_start(start) : self.source.line_end(max(end - 1, start))]
        return (
            site.gone == set(site.statement.names)
            and not site.modules
            and "#" not in line
            and ";" not in line
            and not self.source.text[self.source.line_start(start) : start].strip()
        )

    def _emit_group(self, group: list[Site]) -> None:
        if len(group) == 1 and self._emit_in_place(group[0]):
            return
        first = group[0]
        merged = Site(first.statement)
        for site in group:
            merged.fresh += [item for item in site.fresh if item not in merged.fresh]
            merged.modules += site.modules
        merged.gone = first.gone
        start, end = self.source.span(first.statement)
        indentation = self.source.indentation(start)
        newline = self.source.newline(start)
        alone = self._is_alone(first.statement)
        texts = self._texts(merged, indentation) if alone else self._flat_texts(merged)
        if not texts:
            self.removed += [site.statement for site in group]
            return
        text = f"\n{indentation}".join(texts).replace("\n", newline) if alone else "; ".join(texts)
        self.edits.append(Edit.replace((start, end), text))
        self.removed += [site.statement for site in group[1:]]

    def _is_alone(self, statement: ast.stmt) -> bool:
        """Whether a statement has its lines for itself."""
        start, end = self.source.span(statement)
        behind = self.source.tokens_between(end, self.source.line_end(max(end - 1, start)))
        first = statements.first_line_statement(self.module, statement)
        return first is statement and all(token.kind == tokenize.COMMENT for token in behind)

    def _texts(self, site: Site, indentation: str) -> list[str]:
        kept = [alias for alias in site.statement.names if alias not in site.gone]
        texts = [self._kept(site.statement, kept, indentation)] if kept else []
        texts += [f"import {text}" for text in sorted(site.modules)]
        return texts + self._from_lines(site.fresh, indentation)

    def _flat_texts(self, site: Site) -> list[str]:
        """The same for a line with other statements: no line breaks and no comments."""
        kept = [ast.unparse(alias) for alias in site.statement.names if alias not in site.gone]
        statement = site.statement
        before = "import"
        if isinstance(statement, ast.ImportFrom):
            before = f"from {'.' * statement.level}{statement.module or ''} import"
        texts = [f"{before} {', '.join(kept)}"] if kept else []
        texts += [f"import {text}" for text in sorted(site.modules)]
        for name, entries in sorted(by_module(site.fresh).items()):
            texts.append(f"from {name} import {', '.join(entry.text for entry in entries)}")
        return texts

    def _emit_in_place(self, site: Site) -> bool:
        """Change only the names of a statement over several lines, so that its layout and comments stay."""
        statement = site.statement
        if not isinstance(statement, ast.ImportFrom) or statement.lineno == statement.end_lineno:
            return False
        native_modules = {item.module for item in site.fresh}
        if site.modules or site.gone != set(statement.names) or len(site.fresh) != len(statement.names):
            return False
        if len(native_modules) != 1:
            return False
        start, end = self.source.span(statement)
        tokens = self.source.tokens_between(start, end)
        word = next(index for index, token in enumerate(tokens) if token.text == "import")
        self.edits.append(Edit.replace((tokens[1].start, tokens[word - 1].end), native_modules.pop()))
        for alias, item in zip(statement.names, site.fresh, strict=True):
            self.edits.append(Edit.replace(self.source.span(alias), item.text))
        return True

    def _kept(self, statement: ast.Import | ast.ImportFrom, kept: list[ast.alias], indentation: str) -> str:
        names = [alias.name + (f" as {alias.asname}" if alias.asname else "") for alias in kept]
        if isinstance(statement, ast.Import):
            return f"import {', '.join(names)}"
        module = "." * statement.level + (statement.module or "")
        entries = []
        for alias in kept:
            comments = comments_of(self.source, alias, statement)
            entries.append(Imported(module, alias.name, alias.asname or alias.name, *comments))
        return self._from_statement(module, entries, indentation, sort=False)

    def _lines(self, entries: Sequence[Imported]) -> list[str]:
        """New imports at the top of the file, line by line."""
        return [line for text in self._from_lines(entries, "") for line in text.split("\n")]

    def _from_lines(self, entries: Sequence[Imported], indentation: str) -> list[str]:
        return [self._from_statement(name, group, indentation) for name, group in sorted(by_module(entries).items())]

    def _from_statement(
        self,
        module: str,
        entries: Sequence[Imported],
        indentation: str,
        *,
        sort: bool = True,
        one_a_line: bool = False,
    ) -> str:
        ordered = sorted(dict.fromkeys(entries), key=sort_key) if sort else list(entries)
        line = f"from {module} import {', '.join(entry.text for entry in ordered)}"
        one_a_line = one_a_line or any(entry.noted for entry in ordered)
        if not one_a_line and len(indentation) + len(line) <= self.source.line_limit:
            return line
        inside = indentation + self.source.indentation_step
        lines = [f"from {module} import ("]
        for entry in ordered:
            trailing = f"  {entry.trailing}" if entry.trailing else ""
            lines += [f"{inside}{comment}" for comment in entry.leading]
            lines.append(f"{inside}{entry.text},{trailing}")
            lines += [f"{inside}{comment}" for comment in entry.following]
        return "\n".join([*lines, f"{indentation})"])
