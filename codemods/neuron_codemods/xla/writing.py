"""What new code is made of: names as the file reaches them, processes and their group, whole statements."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass, field

from neuron_codemods import imports
from neuron_codemods.edits import Edit
from neuron_codemods.module import Module, once
from neuron_codemods.source import Source
from neuron_codemods.statements import first_line_statement, string_lines
from neuron_codemods.values import literal
from neuron_codemods.xla import table

INIT = "torch.distributed.init_process_group"
_STARTERS = frozenset({"torch_xla.distributed.xla_multiprocessing.spawn", "torch_xla.launch"})


@dataclass
class Words:
    """Texts for code at one place of a module, and what has to be imported for them."""

    module: Module
    node: ast.AST
    requires: list[str] = field(default_factory=list)

    def torch(self, rest: str) -> str:
        """``torch.distributed.barrier`` for ``distributed.barrier``, by the name that the file has for the module."""
        return self.dotted(f"torch.{rest}")

    def dotted(self, native: str) -> str:
        """A dotted name as code at this place reaches it: through an import of the file, or one to be added."""
        parts = native.split(".")
        for cut in range(len(parts) - 1, 0, -1):
            found = self.module.top_imports.get(".".join(parts[:cut]))
            if found is not None and self._sees(found.name) and found.statement.lineno < _line(self.node):
                return ".".join((found.name, *parts[cut:]))
        self.requires.append(parts[0])
        return native

    def name(self, native: str) -> str:
        """The local name of an object that is imported from its module, such as ``neuron_shim.neuron_device``."""
        self.requires.append(native)
        return imports.local_name(self.module, native)

    def _sees(self, name: str) -> bool:
        return self.module.scope(self.node).home(name) is self.module.names.module

    # Processes ------------------------------------------------------------------------------------------------

    @property
    def has_group(self) -> bool:
        """Whether the process group exists for sure at this place."""
        return has_group(self.module, self.node)

    def rank(self) -> str:
        if self.has_group:
            return f"{self.torch('distributed.get_rank')}()"
        return self._variable("RANK", 0)

    def world_size(self) -> str:
        if self.has_group:
            return f"{self.torch('distributed.get_world_size')}()"
        return self._variable("WORLD_SIZE", 1)

    def _variable(self, name: str, default: int) -> str:
        """A number that torchrun sets, in quotes that an f-string around it has not got."""
        strings = [above for above in self.module.ancestors(self.node) if isinstance(above, ast.JoinedStr)]
        inside = strings and self.module.source.segment(strings[-1]).lstrip("fFrR").startswith('"')
        quote = "'" if inside else '"'
        return f"int({self.dotted('os.environ.get')}({quote}{name}{quote}, {default}))"

    def local_rank(self) -> str:
        return f"{self.torch('distributed.get_node_local_rank')}(0)"

    def is_main(self) -> str:
        return f"{self.name('neuron_shim.is_main_process')}()"

    def device(self) -> str:
        return f"{self.name('neuron_shim.neuron_device')}()"

    def guarded(self, *lines: str) -> list[str]:
        """Statements that need the process group; under a condition where it may not exist."""
        if self.has_group:
            return list(lines)
        step = self.module.source.indentation_step
        condition = f"if {self.torch('distributed.is_initialized')}():"
        return [condition, *(f"{step}{line}" for line in lines)]


def _line(node: ast.AST) -> int:
    return getattr(node, "lineno", 0)


# The process group --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Start:
    """A statement that makes the process group, or will."""

    call: ast.Call
    function: ast.AST | None
    is_conditional: bool


@once
def _starts(module: Module) -> tuple[_Start, ...]:
    starts = [call for call in module.calls if module.resolve(call.func) == INIT]
    starts = starts or [call for call in module.calls if module.resolve(call.func) in _STARTERS]
    return tuple(_Start(call, module.function(call), _is_conditional(module, call)) for call in starts)


def makes_group(module: Module) -> bool:
    """Whether a module calls ``init_process_group`` itself."""
    return any(module.resolve(call.func) == INIT for call in module.calls)


def has_group(module: Module, node: ast.AST) -> bool:
    """Whether the process group exists for sure where a node is evaluated, as far as its own file tells.

    A function is taken to run after the group was made, unless it makes the group itself further below.
    """
    starts = [start for start in _starts(module) if not start.is_conditional]
    own = module.function(node)
    around = set(module.ancestors(node))
    for start in starts:
        is_before = start.call.lineno < _line(node)
        if start.function is own or start.function in around:
            if is_before:
                return True
        elif own is not None:
            return True
    return False


def _is_conditional(module: Module, call: ast.Call) -> bool:
    for above in module.ancestors(call):
        if isinstance(above, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return False
        if isinstance(above, (ast.If, ast.IfExp, ast.Try, ast.BoolOp)) and not is_main_guard(above):
            return True
    return False


def is_main_guard(node: ast.AST) -> bool:
    """Whether a statement is ``if __name__ == "__main__":``."""
    if not (isinstance(node, ast.If) and isinstance(node.test, ast.Compare) and len(node.test.comparators) == 1):
        return False
    sides = (node.test.left, node.test.comparators[0])
    return any(isinstance(side, ast.Name) and side.id == "__name__" for side in sides) and any(
        literal(side) == "__main__" for side in sides
    )


# Statements ---------------------------------------------------------------------------------------------------------


def is_alone(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement has its lines for itself, so that lines can be put around it."""
    if first_line_statement(module, statement) is not statement:
        return False
    block = module.block(statement)
    index = module.index(statement)
    return index + 1 == len(block) or block[index + 1].lineno != statement.end_lineno


def is_whole(module: Module, call: ast.Call) -> ast.Expr | None:
    """The statement that is this call and nothing else."""
    above = module.parent(call)
    return above if isinstance(above, ast.Expr) else None


def under(module: Module, statement: ast.stmt, condition: str) -> Edit:
    """Put a statement that has its lines for itself under a condition."""
    source = module.source
    start, end = source.span(statement)
    indentation, step, newline = source.indentation(start), source.indentation_step, source.newline(start)
    return Edit(start, end, lambda text: f"if {condition}:{newline}{indentation}{step}{indented(text, step)}")


def indented(text: str, step: str) -> str:
    """A statement one step further to the right, but for its first line and lines that start inside of a string."""
    inside = string_lines(Source(text))
    lines = text.splitlines(keepends=True)
    return "".join(
        line if number == 1 or number in inside or not line.strip() else step + line
        for number, line in enumerate(lines, start=1)
    )


def expression(module: Module, node: ast.expr) -> str:
    """The text of an expression, in parentheses where something is to be put behind it."""
    text = module.source.segment(node)
    simple = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.List, ast.Tuple, ast.Dict)
    return text if isinstance(node, simple) else f"({text})"


def free_name(module: Module, wanted: str) -> str:
    """A variable name that the module has not got."""
    name, number = wanted, 2
    while name in module.names.bound or name in module.names.references:
        name, number = f"{wanted}_{number}", number + 1
    return name


def lines_text(lines: Sequence[str], indentation: str, newline: str) -> str:
    return f"{newline}{indentation}".join(lines)


def stack_free(module: Module, node: ast.AST) -> bool:
    """Whether nothing of the XLA stack is used in an expression."""
    return not any(
        isinstance(inner, (ast.Name, ast.Attribute)) and table.is_stack(module.resolve(inner) or "")
        for inner in ast.walk(node)
    )


def called_with(
    module: Module, call: ast.Call, function: ast.expr, values: ast.expr | None, first: str = ""
) -> tuple[Edit, ...]:
    """Turn a call that is given a function and a tuple of its arguments into a call of that function.

    ``first`` is the text of an argument that comes before the others. The texts of all of them stay where they are,
    so that other changes inside of them hold.
    """
    source = module.source
    (start, end), (function_start, function_end) = source.span(call), source.span(function)
    is_enclosed = isinstance(function, ast.Lambda) or function.lineno != function.end_lineno
    before = Edit.replace((start, function_start), "(" if is_enclosed else "")
    opening = ")(" if is_enclosed else "("
    if values is None or (isinstance(values, ast.Tuple) and not values.elts):
        return before, Edit.replace((function_end, end), f"{opening}{first})")
    inner_start, inner_end = source.span(values)
    opening += f"{first}, " if first else ""
    if not (isinstance(values, ast.Tuple) and source.text[inner_start] == "("):
        return before, Edit.replace((function_end, inner_start), f"{opening}*"), Edit.replace((inner_end, end), ")")
    inside = [token for token in source.tokens_between(inner_start, inner_end) if token.kind != tokenize.COMMENT][1:-1]
    last = inside[-2] if inside[-1].text == "," else inside[-1]
    return before, Edit.replace((function_end, inside[0].start), opening), Edit.replace((last.end, end), ")")
