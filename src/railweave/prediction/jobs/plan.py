"""The plan of a training job: its model, layout, batch and kernels, derived from the job file."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np

from railweave.prediction.jobs.kernels import Kernels, Transformer, gpu_with, unknown_gpu
from railweave.reading import packaged_text, packaged_yaml

if TYPE_CHECKING:
    from railweave.errors import Problem
    from railweave.model.intent.job_file import ReadJobs, TrainingJob


@dataclass(frozen=True)
class Layout:
    """The parallelism of a job. The job has ``tensor`` x ``context`` x ``data`` x ``pipeline`` ranks.

    Each field except ``virtual`` is the number of ranks in a group of one kind of parallelism. ``expert`` must be a divisor of ``context``
    x ``data``. ``virtual`` is the number of parts of the model on each pipeline stage.
    """

    tensor: int
    context: int
    data: int
    pipeline: int
    expert: int = 1
    virtual: int = 1

    @property
    def ranks(self) -> int:
        """The number of ranks, one per GPU."""
        return self.tensor * self.context * self.data * self.pipeline

    @cached_property
    def _grid(self) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """The ranks as an array by pipeline stage, data, context and tensor."""
        return np.arange(self.ranks).reshape(self.pipeline, self.data, self.context, self.tensor)

    def groups(self, kind: str, stage: int) -> list[list[int]]:
        """Return the groups of one kind in a pipeline stage, with ranks in order.

        - ``TP``, ``CP``, ``EP``: groups of tensor, context and expert parallelism.
        - ``DP``: ranks that hold the same parameters, of all data replicas and all context ranks.
        - ``EDP``: ranks that hold the same experts.
        - ``PP``: pairs of a rank and its counterpart in the next stage. The last stage is paired with the first.
        """
        here = self._grid[stage]
        alike = here.reshape(self.data * self.context, self.tensor)  # rows: data and context, columns: tensor
        if kind == "TP":
            ranks = alike
        elif kind == "CP":
            ranks = here.transpose(0, 2, 1).reshape(-1, self.context)
        elif kind == "DP":
            ranks = alike.T
        elif kind in {"EP", "EDP"}:
            parted = alike.T.reshape(self.tensor, -1, self.expert)
            ranks = (
                parted.reshape(-1, self.expert)
                if kind == "EP"
                else parted.transpose(0, 2, 1).reshape(-1, parted.shape[1])
            )
        else:
            following = self._grid[(stage + 1) % self.pipeline]
            ranks = np.stack([here.ravel(), following.ravel()], axis=1)
        return [[int(rank) for rank in group] for group in ranks]


@dataclass(frozen=True)
class JobPlan:
    """The plan of a job. ``microbatches`` is the number of micro-batches that each pipeline stage computes in a step."""

    job: TrainingJob
    model: Transformer
    layout: Layout
    microbatches: int
    kernels: Kernels
    layers: tuple[tuple[tuple[int, ...], ...], ...]
    """The layer numbers, by stage and then by part of the stage."""

    @property
    def ranks(self) -> int:
        """The number of GPUs of the job."""
        return self.layout.ranks

    @property
    def about(self) -> str:
        """Return one line for people: the number of parameters, the number of GPUs and the sizes of the parallel groups."""
        layout = self.layout
        return (
            f"{self.model.parameters / 1e9:.1f} billion parameters on {layout.ranks} GPUs "
            f"(tensor {layout.tensor}, context {layout.context}, pipeline {layout.pipeline} x {layout.virtual}, "
            f"data {layout.data}, expert {layout.expert})"
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the assumptions that apply only to this job. A job that is planned from a model has none."""
        return ()

    def described(self) -> dict[str, Any]:
        """Return the parameters, GPUs, layout and micro-batches of the job as a JSON object."""
        names = ("tensor", "context", "pipeline", "virtual", "data", "expert")
        return {
            "parameters": self.model.parameters,
            "gpus": self.ranks,
            "layout": {name: getattr(self.layout, name) for name in names},
            "microbatches": self.microbatches,
        }

    @property
    def tokens(self) -> int:
        """The number of tokens of a step."""
        return self.job.batch.size * self.model.sequence

    @property
    def flops(self) -> float:
        """Return the number of arithmetic operations that a step of the model needs, without recomputation."""
        return float(self.model.step_flops_per_token) * self.tokens

    @property
    def peak(self) -> float:
        """Return the peak rate of all GPUs of the job together, in operations per second, for the data type of its matrix products."""
        gpu = self.kernels.gpu
        tflops = gpu.fp8_tflops if self.job.dtype == "fp8" and gpu.fp8_tflops else gpu.bf16_tflops
        return tflops * 1e12 * self.layout.ranks


@lru_cache(maxsize=1)
def presets() -> dict[str, dict[str, Any]]:
    """Return the models that a job file can name: by name, a dict with the sizes of the model and their source."""
    text = packaged_text(files("railweave.prediction.jobs").joinpath("presets.yaml"))
    return packaged_yaml(text)


def transformer(job: TrainingJob) -> Transformer | None:
    """Return the model of a job, or None if the job names a model that is not a preset."""
    if isinstance(job.model, str):
        if job.model not in presets():
            return None
        given = {name: value for name, value in presets()[job.model].items() if name != "source"}
    else:
        given = job.model.model_dump()
        given["kv_heads"] = given["kv_heads"] or given["heads"]
        given["ffn"] = given["ffn"] or 4 * given["hidden"]
        given["expert_ffn"] = given["expert_ffn"] or (given["ffn"] if given["experts"] else 0)
    given["head_dim"] = given.get("head_dim") or given["hidden"] // given["heads"]
    if job.sequence is not None:
        given["sequence"] = job.sequence
    return Transformer(**given)


def planned(read: ReadJobs, number: int, gpu_name: str, gpu_count: int) -> JobPlan | list[Problem]:
    """Return the plan of one job of the job file ``read``, on ``gpu_count`` GPUs of the model ``gpu_name``.

    ``number`` is the index of the job in the file. If the job is not possible, return its problems instead, with their lines in the file.
    """
    job = read.jobs[number]

    def problem(place: str, message: str, fix: str = "") -> Problem:
        return read.document.problem(read.location(number, *place.split(".")), message, fix)

    model = transformer(job)
    if model is None:
        return [
            problem("model", f"there is no model {job.model!r}", f"models are {', '.join(presets())}; or give sizes")
        ]
    wanted = job.parallel
    each = wanted.tensor * wanted.context * wanted.pipeline
    data = wanted.data or max(1, gpu_count // each)
    wrong: list[Problem] = []
    if each * data != gpu_count:
        reason = f"tensor {wanted.tensor} x context {wanted.context} x pipeline {wanted.pipeline} x data {data} need {each * data} GPUs, but the job's servers have {gpu_count}"
        wrong.append(problem("parallel", reason, "change `hosts` or these numbers"))
    if (wanted.context * data) % wanted.expert or (wanted.expert > 1 and model.experts % wanted.expert):
        reason = f"expert {wanted.expert} must divide both {model.experts} experts and context x data, {wanted.context * data}, evenly"
        wrong.append(problem("parallel.expert", reason, "give a divisor of both"))
    if model.kv_heads % wanted.tensor and wanted.tensor % model.kv_heads:
        wrong.append(
            problem(
                "parallel.tensor",
                f"{model.kv_heads} heads of keys cannot be divided evenly among {wanted.tensor} tensor ranks",
            )
        )
    parts = wanted.pipeline * wanted.virtual
    if parts > model.layers:
        wrong.append(
            problem(
                "parallel.pipeline",
                f"{model.layers} layers cannot be divided into {parts} parts",
                "give fewer stages or virtual parts",
            )
        )
    microbatches, rest = divmod(job.batch.size, job.batch.micro * data)
    if rest or not microbatches:
        reason = f"{job.batch.size} sequences are not a multiple of {job.batch.micro} x {data} replicas"
        wrong.append(problem("batch.global", reason, "give a multiple"))
    elif wanted.virtual > 1 and microbatches % wanted.pipeline:
        reason = f"{microbatches} micro-batches per replica are not a multiple of {wanted.pipeline} stages, which interleaving needs"
        wrong.append(problem("parallel.virtual", reason, "change the batch, or set virtual: 1"))
    if wrong:
        return wrong
    gpu = gpu_with(gpu_name, job.gpu)
    if gpu is None:
        return [problem("gpu", *unknown_gpu(gpu_name))]
    layout = Layout(wanted.tensor, wanted.context, data, wanted.pipeline, wanted.expert, wanted.virtual)
    tokens = job.batch.micro * model.sequence / wanted.context
    kernels = Kernels(model, gpu, tokens, wanted.tensor, wanted.sequence, job.attention == "fused", job.dtype)
    return JobPlan(job, model, layout, microbatches, kernels, spread(model.layers, wanted.pipeline, wanted.virtual))


def spread(layers: int, stages: int, parts: int) -> tuple[tuple[tuple[int, ...], ...], ...]:
    """Return the layer numbers of a model: for each pipeline stage, a tuple with the layers of each of its parts.

    If the layers do not divide evenly, the first and last parts get fewer layers, because they also have embeddings (as
    in Llama 3).
    """
    total = stages * parts
    least, more = divmod(layers, total)
    first = (total - more + 1) // 2
    counts = [least + (first <= place < first + more) for place in range(total)]
    begin = [sum(counts[:place]) for place in range(total)]
    place_of = [[part * stages + stage for part in range(parts)] for stage in range(stages)]
    return tuple(tuple(tuple(range(begin[p], begin[p] + counts[p])) for p in row) for row in place_of)
