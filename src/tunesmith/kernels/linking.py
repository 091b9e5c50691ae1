"""Kernels as other kernels call them: code that is linked into theirs.

numba optimises each function and turns it into machine code by itself, then links its code into
that of all its callers, where it is optimised and turned into machine code again, and so on up to
the kernel that Python calls. Only that one needs machine code.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import AnalysisPass, register_pass
from numba.core.registry import CPUDispatcher
from numba.core.typed_passes import AnnotateTypes


class LinkedLibrary(JITCodeLibrary):  # type: ignore[misc]
    """Code that is neither optimised nor turned into machine code before it is linked."""

    _final_module: Any

    def _optimize_final_module(self) -> None:
        """Leave that to the callers."""

    def _finalize_final_module(self) -> None:
        """Keep the code for callers; numba sets variables of a module that has nothing else."""
        self._finalized = True
        self._get_module_for_linking()
        variables = [
            str(variable)
            for variable in self._final_module.global_variables
            if variable.linkage == binding.Linkage.common
        ]
        self._final_module = binding.parse_assembly("\n".join(variables))
        super()._finalize_final_module()


@register_pass(mutates_CFG=False, analysis_only=True)
class _LinkOnly(AnalysisPass):  # type: ignore[misc]
    """Let the code of a function be a linked library."""

    _name = "link_only"

    def __init__(self) -> None:
        super().__init__()

    def run_pass(self, state: Any) -> bool:
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return False


class _LinkedCompiler(CompilerBase):  # type: ignore[misc]
    """numba's compiler, but for what becomes of the code."""

    def define_pipelines(self) -> list[Any]:
        passes = DefaultPassBuilder.define_nopython_pipeline(self.state)
        passes.add_pass_after(_LinkOnly, AnnotateTypes)
        passes.finalize()
        return [passes]


def call_linked(dispatcher: CPUDispatcher, plain_type: Any, options: dict[str, Any]) -> None:
    """Let other kernels link the code of one, and Python alone call its machine code.

    Parameters
    ----------
    plain_type
        What stands for the type of an argument.
    options
        Those of ``numba.njit``.
    """
    linked = numba.njit(
        pipeline_class=_LinkedCompiler, no_cpython_wrapper=True, no_cfunc_wrapper=True, **options
    )(dispatcher.py_func)

    def get_call_template(arguments: Any, keywords: Any) -> Any:
        plain = tuple(map(plain_type, arguments))
        return linked.get_call_template(
            plain, {name: plain_type(of) for name, of in keywords.items()}
        )

    dispatcher.get_call_template = get_call_template
    dispatcher.get_overload = linked.get_overload
