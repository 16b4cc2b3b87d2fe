"""Import statements: rewritten where they stand, with the user's aliases kept and collisions avoided."""

from __future__ import annotations

import ast
import math
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import PurePath

from neuron_codemods import markers, statements
from neuron_codemods.edits import (
    AnyEdit,
    CallEdit,
    Change,
    Edit,
    EraseAttribute,
    EraseImport,
    InsertLines,
    RenameAttribute,
    RenameImport,
    RenameStar,
)
from neuron_codemods.module import Module, once
from neuron_codemods.scopes import BUILTINS, Binding, Reference, Scope


@dataclass(frozen=True)
class Imported:
    """One name of a new import statement."""

    module: str
    name: str
    local: str
    leading: tuple[str, ...] = ()
    trailing: str = ""
    following: tuple[str, ...] = ()
    """Comments on lines of their own above, behind and below the name."""
    stays: bool = False
    """Whether the name is also bound by something else, so that the place of its import matters."""

    @property
    def noted(self) -> bool:
        return bool(self.leading or self.trailing or self.following)

    @property
    def text(self) -> str:
        return self.name if self.local == self.name else f"{self.name} as {self.local}"


@dataclass(frozen=True)
class Use:
    """A place from which on new text uses a name that must be imported."""

    offset: int
    node: ast.AST
    """What stands there, or around it."""


@dataclass(eq=False)
class _Site:
    """What becomes of one import statement."""

    statement: ast.Import | ast.ImportFrom
    fresh: list[Imported] = field(default_factory=list)
    modules: list[str] = field(default_factory=list)
    """Texts of plain imports: ``transformers`` or ``transformers as m``."""
    gone: set[ast.alias] = field(default_factory=set)


def split(native: str) -> tuple[str, str]:
    module, _, name = native.rpartition(".")
    return module, name


# Which local name ---------------------------------------------------------------------------------------------------


def local_name(module: Module, native: str) -> str:
    """The name under which new code at any place of this module reaches a native object."""
    existing = existing_import(module, native)
    if existing is not None:
        return existing.name
    name = split(native)[1]
    if name not in module.names.bound or any(_names(module, binding, native) for binding in module.neuron_bindings):
        return name
    return f"Native{name}" if name[:1].isupper() else f"native_{name}"


def _names(module: Module, binding: Binding, native: str) -> bool:
    symbol = module.symbol(binding.qualified)
    return symbol is not None and symbol.native == native and binding.name == split(native)[1]


def existing_import(module: Module, native: str) -> Binding | None:
    """The import of a native object that holds for the whole module, if there is one."""
    return module.top_imports.get(native)


def must_keep_name(module: Module, binding: Binding) -> str | None:
    """Why the name that an import binds has to stay, or None when all its uses can be renamed."""
    symbol = module.symbol(binding.qualified)
    others = _renamed_to(module, binding.scope, binding.name) - Counter((_rename(module, binding),))
    if any(symbol is None or not rename or rename != symbol.rename for rename in others):
        return f"{binding.name} is also defined here"
    return why_wanted(module, binding)


def is_unused(module: Module, binding: Binding) -> bool:
    """Whether an import can go: nothing uses its name, which at most other imports bind as well."""
    alone = all(other.is_import for other in _others(binding))
    return alone and not any(module.references(binding)) and why_wanted(module, binding) is None


def is_exported(module: Module, binding: Binding) -> bool:
    """Whether ``__all__`` holds the name of an import."""
    return binding.scope.is_module and binding.name in module.names.exported


def why_wanted(module: Module, binding: Binding) -> str | None:
    """Why the name that an import binds may be used where a renaming cannot reach."""
    name = binding.name
    if is_exported(module, binding):
        return f"__all__ exports {name}"
    if binding.scope.is_module:
        if module.project.is_taken(module.path, name):
            return f"another file imports {name} from here"
        if PurePath(module.path).name == "__init__.py" and not any(module.references(binding)):
            return f"{name} is passed on by the package"
    if binding.scope.is_class:
        return f"{name} is an attribute of the class"
    if name in module.names.moved:
        return f"{name} is declared global or nonlocal"
    if not all(module.is_placed(reference.node) for reference in module.references(binding)):
        return f"{name} is used inside of a string"
    if any(_is_read_from_outside(reference, binding) for reference in module.names.references.get(name, ())):
        return f"a class reads {name} and defines it"
    return None


def _others(binding: Binding) -> list[Binding]:
    return [other for other in binding.scope.bindings[binding.name] if other is not binding]


def _deletions(binding: Binding) -> list[ast.stmt]:
    """The statements ``del name`` that go with the import of the name."""
    deleted = (other.statement for other in _others(binding) if isinstance(getattr(other.node, "ctx", None), ast.Del))
    return [node for node in deleted if isinstance(node, ast.Delete) and len(node.targets) == 1]


def _is_read_from_outside(reference: Reference, binding: Binding) -> bool:
    """Whether a class body may see an import under a name that it binds as well: ``Old = Old``."""
    scope = reference.scope
    return scope.is_class and reference.name in scope.bindings and scope.outer_home(reference.name) is binding.scope


@once
def _renamed_to(module: Module, scope: Scope, name: str) -> Counter[str]:
    """What the imports and definitions of a name are renamed to, and how many of them; "" for what keeps the name."""
    return Counter(_rename(module, each) for each in scope.bindings[name] if not isinstance(each.node, ast.Name))


@once
def _assigned(_: Module, scope: Scope, name: str) -> list[ast.Name]:
    """Where a name gets a value other than by an import or a definition."""
    return [each.node for each in scope.bindings[name] if isinstance(each.node, ast.Name)]


def _rename(module: Module, binding: Binding) -> str:
    symbol = module.symbol(binding.qualified)
    has_alias = not isinstance(binding.node, ast.alias) or binding.node.asname is not None
    return "" if symbol is None or has_alias else symbol.rename


def is_free(module: Module, binding: Binding, name: str, native: str) -> bool:
    """Whether the uses of a binding can be called ``name`` without meeting another thing of that name."""
    if name in module.names.declared:
        return False
    if name not in module.names.bound:
        return name not in module.names.references and name not in BUILTINS
    if not all(_becomes(module, other, native) for other in _others(binding)):
        return not any(name in scope.bindings for scope in module.names.module.walk())
    if name in BUILTINS or any(item.scope.home(name) is None for item in module.names.references.get(name, ())):
        return False
    return all(is_before and _becomes(module, other, native) for other, is_before in _met(module, binding, name))


def _becomes(module: Module, other: Binding, native: str) -> bool:
    if not other.is_import or other.qualified is None:
        return False
    if other.qualified == native:
        return True
    symbol = module.symbol(other.qualified)
    return symbol is not None and symbol.native == native and other.name == split(native)[1]


def _met(module: Module, binding: Binding, name: str) -> Iterator[tuple[Binding, bool]]:
    """What the uses of a binding would meet under another name, and whether that is bound before the use."""
    if name not in module.names.bound:
        return
    for reference in module.references(binding):
        scope: Scope | None = reference.scope
        while scope is not None and scope is not binding.scope:
            for other in scope.bindings.get(name, ()):
                yield other, other.statement.lineno < reference.node.lineno
            scope = scope.parent
    home = binding.scope.home(name)
    for scope in {binding.scope, home} - {None}:
        yield from ((other, True) for other in scope.bindings.get(name, ()))  # type: ignore[union-attr]


def _module_name(module: Module, binding: Binding, native_module: str) -> str:
    """The dotted name of a native module, or another one where its first part means something else."""
    root = native_module.partition(".")[0]
    if all(
        is_before and other.qualified == root and isinstance(other.statement, ast.Import)
        for other, is_before in _met(module, binding, root)
    ):
        return native_module
    return f"native_{split(native_module)[1]}"


# The plan -----------------------------------------------------------------------------------------------------------


class Plan:
    """All changes to the imports of one module, turned into edits of its text."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.source = module.source
        self.sites: dict[ast.stmt, _Site] = {}
        self.edits: list[Edit] = []
        self.removed: list[ast.stmt] = []
        self.required: dict[str, list[Use]] = defaultdict(list)
        self.plain: dict[str, list[Use]] = defaultdict(list)
        self._renamed: set[ast.AST] = set()
        self._changed: dict[Binding, list[RenameAttribute | EraseAttribute]] = defaultdict(list)
        self._gone: dict[Binding, bool] = {}
        self._roots: dict[tuple[Binding, str], str] = {}
        self._renaming: set[Binding] = set()
        self._together: dict[tuple[Scope, str], bool] = {}
        self._suppressions = markers.suppressions(module)

    def site(self, statement: ast.stmt) -> _Site:
        assert isinstance(statement, (ast.Import, ast.ImportFrom))
        return self.sites.setdefault(statement, _Site(statement))

    def rename(self, change: RenameImport) -> None:
        """Import a native name in the place of an old one, and rename the uses if that is safe."""
        binding, native = change.binding, change.native
        native_module, native_name = split(native)
        alias = binding.node
        assert isinstance(alias, ast.alias)
        site = self.site(binding.statement)
        site.gone.add(alias)
        local = binding.name
        if alias.asname is None and must_keep_name(self.module, binding) is None:
            if self._all_renamed(binding) and is_free(self.module, binding, native_name, native):
                local = native_name
        existing = self._existing(native, self._names_of(binding)) if binding.scope.is_module else None
        if existing is not None and alias.asname is None and existing.name == local == native_name:
            self._rename_uses(binding, local)
            return
        is_rebound = len(binding.scope.bindings[binding.name]) > 1
        site.fresh.append(
            Imported(native_module, native_name, local, *self._comments(alias, site.statement), is_rebound)
        )
        if local != binding.name:
            self._rename_uses(binding, local)

    def _all_renamed(self, binding: Binding) -> bool:
        """Whether every import of a name is renamed, so that all its uses can be."""
        key = (binding.scope, binding.name)
        if key not in self._together:
            imports = (each for each in binding.scope.bindings[binding.name] if each.is_import)
            self._together[key] = all(each in self._renaming for each in imports)
        return self._together[key]

    def _rename_uses(self, binding: Binding, local: str) -> None:
        for node in self._names_of(binding):
            self._replace(node, local)

    def _names_of(self, binding: Binding) -> list[ast.Name]:
        """Every place where the name of an import is used or gets another value."""
        nodes = [reference.node for reference in self.module.references(binding)]
        return nodes + _assigned(self.module, binding.scope, binding.name)

    def _replace(self, node: ast.AST, text: str) -> None:
        if node not in self._renamed:
            self._renamed.add(node)
            self.edits.append(Edit.replace(self.source.span(node), text))

    def rename_attribute(self, change: RenameAttribute) -> None:
        """Write a native name for ``optimum.neuron.X`` and see to it that its module is imported."""
        native_module, name = split(change.native)
        statement = change.binding.statement
        alias = change.binding.node
        assert isinstance(alias, ast.alias)
        site = self.site(self._before(change.node, change.binding) or statement)
        root = self._root(change.binding, native_module)
        plain = native_module if root == native_module else f"{native_module} as {root}"
        use = Use(self.source.span(change.node)[0], change.node)
        if root == native_module and not self._is_above(site.statement, use):
            self.plain[native_module].append(use)
            self._replace(change.node, f"{root}.{name}")
            return
        if plain not in site.modules and not self._has_module(plain, site):
            site.modules.append(plain)
        self._replace(change.node, f"{root}.{name}")

    def _before(self, node: ast.Attribute, binding: Binding) -> ast.stmt | None:
        """Another import of the same name that stands above a use, where the import of the module stands below it."""
        if node.lineno > binding.statement.lineno:
            return None
        imports = [other.statement for other in _others(binding) if other.is_import]
        return next((statement for statement in imports if statement.lineno <= node.lineno), None)

    def _root(self, binding: Binding, native_module: str) -> str:
        """What a native module is called in the place of an imported one: by the user's alias if that is free."""
        key = (binding, native_module)
        if key not in self._roots:
            alias = binding.node
            assert isinstance(alias, ast.alias)
            renamed = [change for change in self._changed[binding] if isinstance(change, RenameAttribute)]
            modules = {split(change.native)[0] for change in renamed}
            if alias.asname and len(modules) == 1 and self._goes(binding):
                self._roots[key] = alias.asname
            else:
                self._roots[key] = _module_name(self.module, binding, native_module)
        return self._roots[key]

    def _has_module(self, plain: str, site: _Site) -> bool:
        """Whether a plain import stands at the top of the file, or will."""
        top = self.source.tree
        is_top = self.module.parent(site.statement) is top
        above = [node for node in self.module.plain_imports.get(plain, ()) if node.lineno <= site.statement.lineno]
        if any(self.module.parent(node) is top for node in above) and (is_top or " as " not in plain):
            return True
        return is_top and any(
            plain in other.modules
            and self.module.parent(other.statement) is top
            and other.statement.lineno <= site.statement.lineno
            for other in self.sites.values()
        )

    def _is_suppressed(self, statement: ast.stmt) -> bool:
        """Whether a person wants an import left alone by all rules."""
        return any(comment.covers("", statement.lineno) for comment in self._suppressions)

    def _goes(self, binding: Binding) -> bool:
        """Whether all uses of an imported module are rewritten, so that its import can go."""
        if binding not in self._gone:
            changed: set[ast.AST] = {change.node for change in self._changed[binding]}
            self._gone[binding] = (
                bool(changed)
                and not is_exported(self.module, binding)
                and all(
                    self._is_rewritten(reference, changed)
                    or self.module.is_served(reference, binding)
                    or self._is_anothers(reference, binding)
                    for reference in self.module.references(binding)
                )
            )
        return self._gone[binding]

    def _is_anothers(self, reference: Reference, binding: Binding) -> bool:
        """Whether a use sees another value of the name; one from another import only if that is always made before."""
        other = self.module.binding(reference.node)
        if other is None or other is binding:
            return False
        if not other.is_import:
            return True
        block = self.module.block(other.statement)
        around = (self.module.statement(reference.node), *self.module.ancestors(reference.node))
        return any(node in block for node in around)

    def _is_rewritten(self, reference: Reference, changed: set[ast.AST]) -> bool:
        chain: ast.AST | None = reference.node
        while chain is not None and chain not in changed:
            above = self.module.parent(chain)
            chain = above if isinstance(above, ast.Attribute) else None
        return chain is not None

    def build(
        self,
        renames: Sequence[RenameImport],
        attributes: Sequence[RenameAttribute],
        stars: Sequence[RenameStar],
        erased: Sequence[EraseImport],
        erased_attributes: Sequence[EraseAttribute],
        required: Iterable[tuple[str, Use]],
    ) -> tuple[list[Edit], list[ast.stmt]]:
        """The edits, and the statements that go."""
        self._changed.update(_by_binding([*attributes, *erased_attributes]))
        self._renaming.update(rename.binding for rename in renames)
        for rename in renames:
            self.rename(rename)
        for attribute in attributes:
            self.rename_attribute(attribute)
        gone = [binding for binding in self._changed if self._goes(binding)] + [change.binding for change in erased]
        for binding in gone:
            assert isinstance(binding.node, ast.alias)
            if self._is_suppressed(binding.statement):
                continue
            self.site(binding.statement).gone.add(binding.node)
            self.removed += _deletions(binding)
        self._rename_stars(stars)
        needed: dict[str, list[Use]] = defaultdict(list)
        for native, use in required:
            needed[native].append(use)
        for native, uses in needed.items():
            self._require(native, uses)
        self._emit()
        return self.edits, self.removed

    def _rename_stars(self, stars: Sequence[RenameStar]) -> None:
        """Import by name what came from a star import; the star goes when nothing else can have come from it."""
        by_name: dict[tuple[ast.ImportFrom, str, str], list[ast.Name]] = defaultdict(list)
        for star in stars:
            by_name[star.statement, star.node.id, star.native].append(star.node)
        for (statement, old, native), nodes in by_name.items():
            native_module, name = split(native)
            existing = self._existing(native, nodes)
            local = self._star_name(old, native, nodes, existing)
            if existing is None or existing.name != local:
                self.site(statement).fresh.append(Imported(native_module, name, local))
            for node in nodes if local != old else ():
                self._replace(node, local)
        renamed = {old for _, old, _ in by_name}
        left = any(reference.name not in renamed for reference in self.module.names.unresolved()) if stars else True
        for statement in {statement for statement, _, _ in by_name} if not left else ():
            if not self.module.names.exported:
                self.site(statement).gone.update(statement.names)

    def _existing(self, native: str, nodes: Sequence[ast.Name]) -> Binding | None:
        """The import of a native object that the file has already, if it stands above these uses."""
        existing = existing_import(self.module, native)
        above = existing is not None and all(existing.statement.lineno < node.lineno for node in nodes)
        return existing if above else None

    def _star_name(self, old: str, native: str, nodes: Sequence[ast.Name], existing: Binding | None) -> str:
        name, names = split(native)[1], self.module.names
        kept = old in names.exported or old in names.bound or self.module.project.is_taken(self.module.path, old)
        if kept or not all(self.module.is_placed(node) for node in nodes):
            return old
        if existing is not None:
            seen = all(self.module.scope(node).home(existing.name) is names.module for node in nodes)
            return existing.name if seen else old
        taken = name in names.bound or name in names.references or name in BUILTINS
        return old if taken else name

    # What new code needs ------------------------------------------------------------------------------------------

    def _require(self, native: str, uses: Sequence[Use]) -> None:
        existing = existing_import(self.module, native)
        if existing is not None and all(self._is_above(existing.statement, use) for use in uses):
            return
        native_module, name = split(native)
        if not native_module:
            self.plain[native] += uses
            return
        fresh = Imported(native_module, name, local_name(self.module, native))
        sites = self._sites_for(uses)
        if not sites:
            self.required[native] += uses
        for site in sites:
            if all((other.module, other.local) != (fresh.module, fresh.local) for other in site.fresh):
                site.fresh.append(fresh)

    def _sites_for(self, uses: Sequence[Use]) -> list[_Site]:
        """The imports that change anyway and can bring a new name to all of these places."""
        top = [site for site in self.sites.values() if self.module.parent(site.statement) is self.source.tree]
        first = min(top, key=lambda site: self.source.span(site.statement), default=None)
        if first is not None and all(self._is_above(first.statement, use) for use in uses):
            return [first]
        around = [self._site_around(use) for use in uses]
        return [site for site in dict.fromkeys(around) if site is not None] if all(around) else []

    def _site_around(self, use: Use) -> _Site | None:
        around = (node for node in (use.node, *self.module.ancestors(use.node)) if isinstance(node, ast.stmt))
        blocks = [block for node in around if (block := self.module.block(node)) is not self.source.tree.body]
        for site in self.sites.values():
            scope = self.module.scope(site.statement)
            # A method does not see the names of its class.
            is_seen = not scope.is_class or scope is self.module.scope(use.node)
            inside = any(self.module.block(site.statement) is block for block in blocks)
            if inside and is_seen and self.source.span(site.statement)[1] <= use.offset:
                return site
        return None

    def _is_above(self, statement: ast.stmt, use: Use) -> bool:
        """Whether an import at the top of the file is made before new text is run; functions are run later."""
        return self.module.function(use.node) is not None or self.source.span(statement)[1] <= use.offset

    # Writing ------------------------------------------------------------------------------------------------------

    def _emit(self) -> None:
        if self.plain:
            self._emit_plain()
        self._merge_into_hosts()
        for group in self._groups():
            self._emit_group(group)
        if self.required:
            entries = []
            for native in self.required:
                native_module, name = split(native)
                entries.append(Imported(native_module, name, local_name(self.module, native)))
            lines = [line for text in self._from_lines(entries, "") for line in text.split("\n")]
            anchor = last_import(self.module, _uses(self.module, chain(*self.required.values())))
            if anchor is not None:
                if _is_of_library(anchor) or _only_imports(anchor):
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
        first_use = _first(_uses(self.module, chain(*self.required.values())))
        for native in list(self.required):
            native_module, name = split(native)
            host = hosts.get(native_module)
            if host is not None and _end(self.module, host) <= first_use:
                added[native_module].append(Imported(native_module, name, local_name(self.module, native)))
                del self.required[native]
        for name, entries in added.items():
            host = hosts[name]
            self._put_below(host, name)
            old = [Imported(name, alias.name, alias.asname or alias.name) for alias in host.names]
            fresh = [entry for entry in dict.fromkeys(entries) if entry not in old]
            together = sorted([*old, *fresh], key=_sort_key) if old == sorted(old, key=_sort_key) else [*old, *fresh]
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
                    lines = [line for text in self._from_lines(inner, "") for line in text.split("\n")]
                    self.edits += statements.insert_after(self.module, host, lines)

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
        if self._is_suppressed(node):
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
            uses = _uses(self.module, chain(*(self.plain[name] for name in names)))
            others = None if is_standard else first_import(self.module, uses, of_library=False)
            first = others or first_import(self.module, uses)
            if first is not None:
                self.edits.append(statements.insert_before(self.module, first, lines))
            else:
                self.edits += insert_at_top(self.module, lines)

    def _groups(self) -> list[list[_Site]]:
        """Sites on neighbouring lines of one block, which are written as one sorted run of imports."""
        groups: list[list[_Site]] = []
        for site in sorted(self.sites.values(), key=lambda site: (site.statement.lineno, site.statement.col_offset)):
            previous = groups[-1][-1] if groups else None
            if previous is not None and self._adjoins(previous, site):
                groups[-1].append(site)
            else:
                groups.append([site])
        return groups

    def _adjoins(self, first: _Site, second: _Site) -> bool:
        above, below = first.statement, second.statement
        return (
            self.module.parent(above) is self.module.parent(below)
            and above.end_lineno is not None
            and below.lineno == above.end_lineno + 1
            and self._can_move(first)
            and self._can_move(second)
        )

    def _can_move(self, site: _Site) -> bool:
        start, end = self.source.span(site.statement)
        line = self.source.text[self.source.line_start(start) : self.source.line_end(max(end - 1, start))]
        return (
            site.gone == set(site.statement.names)
            and not site.modules
            and "#" not in line
            and ";" not in line
            and not self.source.text[self.source.line_start(start) : start].strip()
        )

    def _emit_group(self, group: list[_Site]) -> None:
        if len(group) == 1 and self._emit_in_place(group[0]):
            return
        first = group[0]
        merged = _Site(first.statement)
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

    def _texts(self, site: _Site, indentation: str) -> list[str]:
        kept = [alias for alias in site.statement.names if alias not in site.gone]
        texts = [self._kept(site.statement, kept, indentation)] if kept else []
        texts += [f"import {text}" for text in sorted(site.modules)]
        return texts + self._from_lines(site.fresh, indentation)

    def _flat_texts(self, site: _Site) -> list[str]:
        """The same for a line with other statements: no line breaks and no comments."""
        kept = [ast.unparse(alias) for alias in site.statement.names if alias not in site.gone]
        statement = site.statement
        before = "import"
        if isinstance(statement, ast.ImportFrom):
            before = f"from {'.' * statement.level}{statement.module or ''} import"
        texts = [f"{before} {', '.join(kept)}"] if kept else []
        texts += [f"import {text}" for text in sorted(site.modules)]
        for name, entries in sorted(_by_module(site.fresh).items()):
            texts.append(f"from {name} import {', '.join(entry.text for entry in entries)}")
        return texts

    def _emit_in_place(self, site: _Site) -> bool:
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
            comments = self._comments(alias, statement)
            entries.append(Imported(module, alias.name, alias.asname or alias.name, *comments))
        return self._from_statement(module, entries, indentation, sort=False)

    def _from_lines(self, entries: Sequence[Imported], indentation: str) -> list[str]:
        return [self._from_statement(name, group, indentation) for name, group in sorted(_by_module(entries).items())]

    def _from_statement(
        self,
        module: str,
        entries: Sequence[Imported],
        indentation: str,
        *,
        sort: bool = True,
        one_a_line: bool = False,
    ) -> str:
        ordered = sorted(dict.fromkeys(entries), key=_sort_key) if sort else list(entries)
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

    def _comments(self, alias: ast.alias, statement: ast.stmt) -> tuple[tuple[str, ...], str, tuple[str, ...]]:
        """The comments of one name in an import list: above it, behind it, and below it if it is the last."""
        start, end = self.source.span(statement)
        comments = [token for token in self.source.tokens_between(start, end) if token.kind == tokenize.COMMENT]
        if not comments:
            return (), "", ()
        alias_start, alias_end = self.source.span(alias)
        names = statement.names  # type: ignore[attr-defined]
        index = names.index(alias)
        previous_end = self.source.span(names[index - 1])[1] if index else start
        leading = []
        for token in comments:
            if previous_end <= token.start < alias_start:
                own_line = not self.source.text[self.source.line_start(token.start) : token.start].strip()
                if own_line or index == 0:
                    leading.append(token.text)
        line_end = self.source.line_end(alias_end - 1)
        following = names[index + 1] if index + 1 < len(names) else None
        trailing = [
            token.text
            for token in comments
            if alias_end <= token.start < line_end
            and (following is None or self.source.span(following)[0] > token.start)
        ]
        below = [token.text for token in comments if following is None and token.start >= line_end]
        return tuple(leading), trailing[0] if trailing else "", tuple(below)


def _uses(module: Module, uses: Iterable[Use]) -> list[Use]:
    """The places at which the file itself, and not one of its functions, needs a new import."""
    return [use for use in uses if module.function(use.node) is None]


def uses_in(module: Module, change: Change) -> list[Use]:
    """Where the new text of a change stands: where its edits write any, or at its node if they only rename."""
    found = [use for edit in change.edits for use in _written(module, edit)]
    return found or [Use(_end(module, change.node), change.node)]


def _written(module: Module, edit: AnyEdit) -> Iterator[Use]:
    source = module.source
    if isinstance(edit, Edit):
        if not edit.deletes:
            yield Use(edit.start, module.around(edit.start))
    elif isinstance(edit, CallEdit):
        if edit.values or edit.added:
            yield Use(source.span(edit.call)[0], edit.call)
    elif isinstance(edit, InsertLines):
        if edit.after:
            shares = statements.shares_line(module, edit.statement)
            yield Use(source.span(edit.statement)[1] if shares else _end(module, edit.statement), edit.statement)
        else:
            first = statements.first_line_statement(module, edit.statement)
            yield Use(source.line_start(statements.start_of(source, first)), edit.statement)


def _end(module: Module, node: ast.AST) -> int:
    """The end of the lines of a statement: new imports may stand in or below it."""
    return module.source.line_end(max(module.source.span(module.statement(node))[1] - 1, 0))


def _by_module(entries: Iterable[Imported]) -> dict[str, list[Imported]]:
    groups: dict[str, list[Imported]] = defaultdict(list)
    for entry in entries:
        if entry not in groups[entry.module]:
            groups[entry.module].append(entry)
    return groups


def _by_binding(
    changes: Sequence[RenameAttribute | EraseAttribute],
) -> dict[Binding, list[RenameAttribute | EraseAttribute]]:
    groups: dict[Binding, list[RenameAttribute | EraseAttribute]] = defaultdict(list)
    for change in changes:
        groups[change.binding].append(change)
    return groups


def _sort_key(entry: Imported) -> tuple[int, str]:
    """Constants, classes, functions, as import sorters have it."""
    name = entry.name
    kind = 0 if name.isupper() and len(name) > 1 else 1 if name[:1].isupper() else 2
    return kind, name


def last_import(module: Module, before: Collection[Use] = ()) -> ast.stmt | None:
    """The last import of the section at the top of a file: before its first function, class or main guard.

    With places ``before``, only imports that are made before all of them count.
    """
    found: ast.stmt | None = None
    first_use = _first(before)
    for statement in module.source.tree.body:
        if _end(module, statement) > first_use:  # it holds the use or shares a line with it, or stands below
            break
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or _only_imports(statement):
            found = statement
    return found


def first_import(module: Module, before: Collection[Use] = (), *, of_library: bool = True) -> ast.stmt | None:
    """The first import of the file itself, wherever it stands, if it is made before some places.

    Those from the standard library are passed over where it need not be ``of_library``.
    """
    imports = (node for node in module.source.tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
    first = next(
        (node for node in imports if not (_is_of_future(node) or (not of_library and _is_of_library(node)))), None
    )
    return None if first is None or _end(module, first) > _first(before) else first


def _first(uses: Collection[Use]) -> float:
    """Where the first of some places is; without any, behind everything."""
    return min((use.offset for use in uses), default=math.inf)


def _only_imports(statement: ast.stmt) -> bool:
    """A ``try`` or ``if`` that is there for an import: an ``if`` that also runs something is not."""
    return (
        isinstance(statement, (ast.Try, ast.If))
        and any(isinstance(inner, (ast.Import, ast.ImportFrom)) for inner in statement.body)
        and not (isinstance(statement, ast.If) and any(isinstance(inner, ast.Expr) for inner in statement.body))
    )


def _is_of_library(statement: ast.stmt) -> bool:
    """Whether a statement only imports from the standard library."""
    if isinstance(statement, ast.ImportFrom):
        names = [statement.module or "."] if not statement.level else ["."]
    else:
        names = [alias.name for alias in statement.names] if isinstance(statement, ast.Import) else ["."]
    return all(name.partition(".")[0] in sys.stdlib_module_names for name in names)


def _is_of_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def insert_at_top(module: Module, lines: Sequence[str]) -> list[Edit]:
    """Lines at the top of a file without imports: below its docstring, above its first statement."""
    body = module.source.tree.body
    head = 1 if ast.get_docstring(module.source.tree, clean=False) is not None else 0
    while head < len(body) and _is_of_future(body[head]):
        head += 1
    if head:
        return statements.insert_after(module, body[head - 1], ["", *lines])
    return [statements.insert_before(module, body[0], [*lines, ""])]
