"""What becomes of each import: renamed, replaced, erased, or given what new code needs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Sequence

from neuron_codemods.edits import (
    Edit,
    EraseAttribute,
    EraseImport,
    RenameAttribute,
    RenameImport,
    RenameStar,
)
from neuron_codemods.imports.naming import (
    assigned,
    deletions,
    existing_import,
    is_exported,
    is_free,
    is_read_by_class,
    module_name,
    must_keep_name,
    others,
    split,
)
from neuron_codemods.imports.places import Use, guard, is_for_types
from neuron_codemods.imports.sites import Imported, Site, comments_of, imported, is_suppressed
from neuron_codemods.imports.writing import Writer
from neuron_codemods.module import Module
from neuron_codemods.scopes import BUILTINS, Binding, Reference, Scope


class Plan:
    """All changes to the imports of one module, turned into edits of its text."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.source = module.source
        self.sites: dict[ast.stmt, Site] = {}
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

    def site(self, statement: ast.stmt) -> Site:
        assert isinstance(statement, (ast.Import, ast.ImportFrom))
        return self.sites.setdefault(statement, Site(statement))

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
            Imported(native_module, native_name, local, *comments_of(self.source, alias, site.statement), is_rebound)
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
        return nodes + assigned(self.module, binding.scope, binding.name)

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
        is_declared = change.binding.name in self.module.scope(site.statement).moved  # and root would not be
        if root == native_module and (is_declared or not self._is_above(site.statement, use)):
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
        imports = [other.statement for other in others(binding) if other.is_import]
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
                self._roots[key] = module_name(self.module, binding, native_module)
        return self._roots[key]

    def _has_module(self, plain: str, site: Site) -> bool:
        """Whether a plain import stands at the top of the file, or will."""
        top = self.source.tree
        is_top = self.module.parent(site.statement) is top
        same = (binding for binding in self._changed if binding.qualified == plain.partition(" ")[0])
        goes = {binding.statement for binding in same if self._goes(binding)}
        imports = (node for node in self.module.plain_imports.get(plain, ()) if node not in goes)
        above = [node for node in imports if node.lineno <= site.statement.lineno]
        if any(self.module.parent(node) is top for node in above) and (is_top or " as " not in plain):
            return True
        return is_top and any(
            plain in other.modules
            and self.module.parent(other.statement) is top
            and other.statement.lineno <= site.statement.lineno
            for other in self.sites.values()
        )

    def _goes(self, binding: Binding) -> bool:
        """Whether all uses of an imported module are rewritten, so that its import can go."""
        if binding not in self._gone:
            changed: set[ast.AST] = {change.node for change in self._changed[binding]}
            self._gone[binding] = (
                bool(changed)
                and not is_exported(self.module, binding)
                and not is_read_by_class(self.module, binding)
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
        if not self._is_above(other.statement, Use(self.source.span(reference.node)[0], reference.node)):
            return False
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
        spare: Iterable[Binding],
    ) -> tuple[list[Edit], list[ast.stmt]]:
        """The edits, and the statements that go."""
        self._changed.update(_by_binding([*attributes, *erased_attributes]))
        self._renaming.update(rename.binding for rename in renames)
        for rename in renames:
            self.rename(rename)
        for attribute in attributes:
            self.rename_attribute(attribute)
        for binding in self._changed:
            if self._goes(binding):
                self._erase(binding)
        for change in erased:
            self._erase(change.binding)
        self._rename_stars(stars)
        needed: dict[str, list[Use]] = defaultdict(list)
        for native, use in required:
            needed[native].append(use)
        for native, uses in needed.items():
            self._require(native, uses)
        for binding in spare:  # last: what is new stands by the imports that are rewritten, not by these
            self._erase(binding)
        self._undeclare()
        written, merged = Writer(self.module, self.sites, self.required, self.plain).write()
        return [*self.edits, *written], [*self.removed, *merged]

    def _erase(self, binding: Binding) -> None:
        assert isinstance(binding.node, ast.alias)
        if not is_suppressed(self.module, binding.statement) and not is_exported(self.module, binding):
            self.site(binding.statement).gone.add(binding.node)
            self.removed += deletions(binding)

    def _undeclare(self) -> None:
        """Take names out of ``global`` and ``nonlocal`` statements where all that bound them were imports that go."""
        for statement in self.module.names.statements if self.sites and self.module.names.declared else ():
            if isinstance(statement, (ast.Global, ast.Nonlocal)):
                kept = [name for name in statement.names if not self._is_erased(name, statement)]
                if not kept:
                    self.removed.append(statement)
                elif kept != statement.names:
                    word = "global" if isinstance(statement, ast.Global) else "nonlocal"
                    self.edits.append(Edit.replace(self.source.span(statement), f"{word} {', '.join(kept)}"))

    def _is_erased(self, name: str, declaration: ast.Global | ast.Nonlocal) -> bool:
        """Whether a function binds a name that it declares only by imports that go."""
        function = self.module.function(declaration)
        if function is None:
            return False
        home = self.module.scope(declaration).home(name)
        bindings = home.bindings.get(name, ()) if home is not None else ()
        own = [binding for binding in bindings if self.module.function(binding.statement) is function]
        sites = (self.sites.get(binding.statement) for binding in own)
        return bool(own) and all(
            site is not None and binding.node in site.gone and name not in site.names
            for site, binding in zip(sites, own, strict=True)
        )

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
        kept = old in names.bound or self.module.is_offered(old)
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
        if not split(native)[0]:
            self.plain[native] += uses
            return
        fresh = imported(self.module, native)
        sites = self._sites_for(uses)
        if not sites:
            self.required[native] += uses
        for site in sites:
            site.fresh.append(fresh)

    def _sites_for(self, uses: Sequence[Use]) -> list[Site]:
        """The imports that change anyway and can bring a new name to all of these places."""
        top = [site for site in self.sites.values() if self.module.parent(site.statement) is self.source.tree]
        first = min(top, key=lambda site: self.source.span(site.statement), default=None)
        if first is not None and all(self._is_above(first.statement, use) for use in uses):
            return [first]
        guarded = self._guarded_site()
        if guarded is not None and all(self._is_seen(guarded, use) for use in uses):
            return [guarded]
        around = [self._site_around(use) for use in uses]
        return [site for site in dict.fromkeys(around) if site is not None] if all(around) else []

    def _guarded_site(self) -> Site | None:
        """The last import that changes, if one guard holds all of them, and nothing else gives their names a value.

        What it guards is new code too, then, and an optional import stays one.
        """
        sites = [site for site in self.sites.values() if not is_for_types(self.module, site.statement)]
        guards = {guard(self.module, site.statement) for site in sites}
        if len(guards) != 1 or None in guards:
            return None
        bindings = (
            binding
            for site in sites
            for alias in site.gone
            for binding in self.module.scope(site.statement).bindings.get(alias.asname or alias.name, ())
        )
        if not all(binding.statement in self.sites or _is_nothing(binding) for binding in bindings):
            return None
        return max(sites, key=lambda site: site.statement.lineno)

    def _is_seen(self, site: Site, use: Use) -> bool:
        """Whether a use stands below the guard of an import, in the block in which that is."""
        above = guard(self.module, site.statement)
        assert above is not None
        around = (node for node in (use.node, *self.module.ancestors(use.node)) if isinstance(node, ast.stmt))
        if not any(self.module.block(node) is self.module.block(above) for node in around):
            return False
        is_later = self.module.function(use.node) is not self.module.function(above)
        return is_later or self.source.span(above)[1] <= use.offset

    def _site_around(self, use: Use) -> Site | None:
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


def _is_nothing(binding: Binding) -> bool:
    return isinstance(binding.value, ast.Constant) and binding.value.value is None


def _by_binding(
    changes: Sequence[RenameAttribute | EraseAttribute],
) -> dict[Binding, list[RenameAttribute | EraseAttribute]]:
    groups: dict[Binding, list[RenameAttribute | EraseAttribute]] = defaultdict(list)
    for change in changes:
        groups[change.binding].append(change)
    return groups
