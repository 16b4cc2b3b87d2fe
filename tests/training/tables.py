"""What the tests print: ``pytest -s tests/training``, or ``-rA`` for passed tests too."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runs import Reloaded, Run


def sizes(run: Run) -> str:
    share = run.parameters_on_rank_0 / run.parameters
    return (
        f"{run.world_size} process(es) on {run.device}, tp {run.tp_size} x fsdp {run.fsdp_size}, "
        f"{run.parameters} parameters, {share:.0%} of them on rank 0"
    )


def checkpoint(loader: str, reloaded: Reloaded) -> str:
    same = reloaded.trained - len(reloaded.unequal) - len(reloaded.only_in_one)
    return f"{loader}: {reloaded.loaded} tensors loaded, {same} of {reloaded.trained} trained ones equal"


def training(title: str, run: Run) -> str:
    rows = [f"{number:>4}  {step.loss:.6f}  {step.grad_norm:.6f}" for number, step in enumerate(run.steps, 1)]
    return "\n".join([title, f"  {sizes(run)}", "step  loss      grad norm", *rows])


def comparison(title: str, first: tuple[str, Run], second: tuple[str, Run]) -> str:
    (name, run), (other_name, other) = first, second
    rows = [
        f"{number:>4}  {a.loss:10.6f}  {b.loss:10.6f}  {abs(a.loss - b.loss):10.1e}  "
        f"{a.grad_norm:10.6f}  {b.grad_norm:10.6f}  {abs(a.grad_norm - b.grad_norm):10.1e}"
        for number, (a, b) in enumerate(zip(run.steps, other.steps, strict=True), 1)
    ]
    columns = f"{name:>10}  {other_name:>10}  difference"
    head = [
        title,
        f"  {name}: {sizes(run)}",
        f"  {other_name}: {sizes(other)}",
        f"      {'loss':34}  grad norm",
        f"step  {columns}  {columns}",
    ]
    return "\n".join([*head, *rows])
