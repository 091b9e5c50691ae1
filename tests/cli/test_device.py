"""``--device``: where it is refused, and what is said without a GPU."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.helpers.cli.commands import Run
from tunesmith.cli.options.device import COMMANDS
from tunesmith.parallel import device as devices

Refused = Callable[..., str]


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a GPU, as far as is asked."""
    monkeypatch.setattr(devices, "why_no_cuda", lambda: None)


@pytest.fixture
def lists(bundled: Path) -> list[object]:
    return ["--candidates", bundled / "tune.nbest.gz", "--references", bundled / "tune.ref"]


@pytest.mark.parametrize("command", COMMANDS)
def test_without_a_gpu_that_is_one_line(
    refused: Refused,
    lists: list[object],
    bundled: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    monkeypatch.setattr(devices, "why_no_cuda", lambda: "no driver answers")
    weights = [] if command == "tune" else ["--weights", bundled / "weights.initial"]
    more = ["--feature", "LM0"] if command == "surface" else []
    files = lists[:2] if command == "rerank" else lists
    line = refused(command, *files, *weights, *more, "--device", "cuda")
    assert line.endswith("no GPU can be used: no driver answers; or use --device cpu")


def test_what_a_gpu_cannot_do_is_refused(
    refused: Refused, gpu: None, lists: list[object], bundled: Path
) -> None:
    assert "pro works on the processor; drop --device cuda, or use --tuner auto or mert" in refused(
        "tune", "--tuner", "pro", *lists, "--device", "cuda"
    )
    text = bundled / "tune.ref"
    assert "--device cuda is for lists of candidates" in refused(
        "evaluate", "--hypotheses", text, "--references", text, "--device", "cuda"
    )
    assert "device is 'gpu'; give cpu, cuda or auto" in refused("tune", *lists, "--device", "gpu")


def test_the_usual_choice_of_the_environment_refuses_nothing(
    cli: Run, gpu: None, lists: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tunesmith.inference.lists import hypotheses

    monkeypatch.setenv(devices.VARIABLE, "cuda")
    asked: list[int] = []
    monkeypatch.setattr(hypotheses, "current_device", lambda: asked.append(1) or "cpu")
    monkeypatch.setattr("tunesmith.tasks.lists.takes_gpu", lambda count: False)
    result = cli("tune", "--tuner", "pro", "--iterations", 1, *lists, "--json").json()
    assert result["tuner"] == "pro"
    assert asked


def test_the_processor_is_the_result_of_no_option(
    cli: Run, lists: list[object], bundled: Path
) -> None:
    weights = ["--weights", bundled / "weights.initial", "--json"]
    plain = cli("evaluate", *lists, *weights).json()
    assert cli("evaluate", *lists, *weights, "--device", "cpu").json() == plain


def test_a_gpu_that_fails_is_one_line(
    refused: Refused, gpu: None, lists: list[object], monkeypatch: pytest.MonkeyPatch
) -> None:
    error = type("CudaAPIError", (RuntimeError,), {"__module__": "numba.cuda.cudadrv.driver"})

    def fail(count: int) -> bool:
        raise error("[999] Call to cuLaunchKernel results in\nCUDA_ERROR_UNKNOWN")

    monkeypatch.setattr("tunesmith.tasks.lists.takes_gpu", fail)
    line = refused("tune", "--tuner", "mert", *lists, "--device", "cuda")
    assert line == (
        "the GPU failed: CudaAPIError: [999] Call to cuLaunchKernel results in "
        "CUDA_ERROR_UNKNOWN; run it again, or use --device cpu"
    )
