"""The job file for ``railweave sim --job``: the model, its parallelism, the servers and the storage."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from pydantic import BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from railweave.model.config import quantities
from railweave.model.intent.base import Line, Mbps, Model, Picoseconds, WrongValueError
from railweave.model.intent.reading.document import Document, read_document, validate
from railweave.model.intent.reading.source import changed
from railweave.model.intent.scenario import Setting

if TYPE_CHECKING:
    from collections.abc import Mapping


_STEPS = re.compile(r"\s*([1-9][0-9]{0,8})\s*steps?\s*")
_EVERY = "write a number of steps or a time, for example 100 steps or 30m"


def _size(value: object) -> object:
    if isinstance(value, str):
        try:
            return quantities.MESSAGE_BYTES.parse(value)
        except ValueError as error:
            raise WrongValueError(str(error)) from None
    return value


Size = Annotated[int, BeforeValidator(_size), WithJsonSchema({"type": ["string", "number"], "examples": ["64G"]})]
"""A number of bytes; ``1G`` is 2^30, as for collectives."""


class Storage(Model):
    """The storage servers that hold a job's data.

    Each NIC of the job has a connection to each storage server and exchanges the same amount of data with each.
    """

    storage: Line = Field(description="the storage servers: names, or lists of names as WEKA-[1-4]")
    fabric: Line | None = Field(
        default=None,
        description="the fabric it goes over; empty: the job's own where the storage servers are on it, else that of both's storage NICs, else the first that joins them",
    )
    qps: int = Field(default=1, ge=1, le=128, description="queue pairs from each NIC to each storage server's")
    rate: Mbps | None = Field(
        default=None, gt=0, description="what a storage server reads or writes at most; empty: what its NICs take"
    )


class Checkpoint(Storage):
    """A checkpoint: the state of a job, which all of its GPUs write to storage in equal parts."""

    every: Line = Field(description="how often: 100 steps, or a time, 30m")
    bytes: Size | None = Field(
        default=None, ge=1, le=1 << 60, description="of a checkpoint; empty: parameters x (weights + optimizer)"
    )
    weights: float = Field(
        default=2, ge=0, le=64, description="bytes of a parameter that is trained with: 2 in 16 bits"
    )
    optimizer: float = Field(
        default=12,
        ge=0,
        le=64,
        description="bytes of the optimizer for a parameter: Adam's are 12, three numbers of 32 bits",
    )
    overlap: bool = Field(default=True, description="whether GPUs train on while it is written (asynchronous)")
    snapshot: Picoseconds = Field(
        default=0, ge=0, description="how long GPUs wait until their state is copied aside; 0: not counted"
    )

    @field_validator("every")
    @classmethod
    def _known(cls, value: str) -> str:
        if _STEPS.fullmatch(value) is None:
            try:
                seconds = quantities.SECONDS.parse(value)
            except ValueError:
                raise WrongValueError(f"{value!r:.60} is neither steps nor a time", _EVERY) from None
            if not seconds:
                raise WrongValueError("no time passes between checkpoints", _EVERY)
        return value

    def steps(self, step_ps: int) -> float:
        """Return the number of training steps between checkpoints, if a step takes ``step_ps`` picoseconds."""
        match = _STEPS.fullmatch(self.every)
        return int(match[1]) if match else max(quantities.SECONDS.parse(self.every) * 10**12 / max(step_ps, 1), 1.0)


class Reading(Storage):
    """The data that a job reads from storage for each step. It arrives in a burst while the job trains on the previous step's data."""

    bytes: Size = Field(ge=1, le=1 << 60, description="for a step, of all of its GPUs together")


class ModelShape(Model):
    """The dimensions of a transformer for which there is no preset."""

    layers: int = Field(ge=1, le=10_000, description="layers")
    hidden: int = Field(ge=1, le=1 << 20, description="width of the model")
    heads: int = Field(ge=1, le=1 << 16, description="heads of queries")
    kv_heads: int | None = Field(
        default=None, ge=1, description="heads of keys and values; empty: as many as of queries"
    )
    head_dim: int | None = Field(default=None, ge=1, description="width of a head; empty: hidden / heads")
    ffn: int | None = Field(default=None, ge=1, description="width of the feed-forward block; empty: 4 x hidden")
    vocabulary: int = Field(ge=1, le=1 << 24, description="tokens there are")
    sequence: int = Field(ge=1, le=1 << 24, description="tokens of a sequence")
    gated: bool = Field(default=True, description="whether the feed-forward block has three matrices (SwiGLU), or two")
    tied: bool = Field(default=False, description="whether input and output embedding are one matrix")
    experts: int = Field(default=0, ge=0, le=4096, description="experts of a layer; 0: none")
    top_k: int = Field(default=0, ge=0, le=64, description="experts that a token goes to")
    shared_experts: int = Field(default=0, ge=0, le=64, description="experts that every token goes to")
    expert_ffn: int | None = Field(default=None, ge=1, description="width of an expert; empty: ffn")
    dense_layers: int = Field(default=0, ge=0, description="how many of the first layers have no experts")
    attention_parameters: int | None = Field(
        default=None, ge=1, description="parameters of a layer's attention, where they do not follow from the heads"
    )

    @model_validator(mode="after")
    def _fits(self) -> ModelShape:
        if self.head_dim is None and self.hidden % self.heads:
            raise WrongValueError(
                f"hidden {self.hidden} is no multiple of {self.heads} heads", "say head_dim", ["heads"]
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise WrongValueError(f"{self.heads} heads cannot share {self.kv_heads} of keys evenly", "", ["kv_heads"])
        if bool(self.experts) != bool(self.top_k) or self.top_k > self.experts:
            raise WrongValueError(
                f"{self.experts} experts, and a token goes to {self.top_k}", "1 to experts", ["top_k"], ["experts"]
            )
        return self


class Parallel(Model):
    """The parallelism of a job. If ``data`` is left out, it follows from the number of GPUs."""

    tensor: int = Field(default=1, ge=1, description="ranks that share each matrix (TP)")
    sequence: bool = Field(
        default=True, description="whether these share norms and activations too (sequence parallel)"
    )
    context: int = Field(default=1, ge=1, description="ranks that share a sequence (CP)")
    pipeline: int = Field(default=1, ge=1, description="stages that share the layers (PP)")
    virtual: int = Field(default=1, ge=1, description="parts of the model on each stage, interleaved")
    data: int | None = Field(default=None, ge=1, description="replicas (DP); empty: what the servers have GPUs for")
    expert: int = Field(default=1, ge=1, description="ranks that share the experts (EP)")
    zero: Literal[0, 1, 2, 3] = Field(
        default=1, description="what replicas share: 1 optimizer, 2 gradients too, 3 parameters too (FSDP)"
    )


class Batch(Model):
    """The number of sequences in a training step (global batch) and in a micro-batch."""

    size: int = Field(ge=1, le=1 << 30, alias="global", description="sequences of a step, over all replicas")
    micro: int = Field(default=1, ge=1, le=1 << 20, description="sequences of a micro-batch")


class Overlap(Model):
    """The kinds of traffic that overlap with computation on the GPUs."""

    gradients: bool = Field(default=True, description="gradients, while the last micro-batch goes backward")
    parameters: bool = Field(default=True, description="parameters (ZeRO), while the first micro-batch goes forward")
    pipeline: bool = Field(default=True, description="between pipeline stages, while the next micro-batch is computed")
    tensor: bool = Field(default=False, description="between the ranks of a tensor, in parts while it is multiplied")
    expert: bool = Field(default=False, description="to experts and back, while another part of the batch is computed")
    bucket: int | None = Field(
        default=None,
        ge=1,
        description="parameters of a bucket; empty: 40 million, or 1 million a replica (Megatron-LM)",
    )


class GpuRates(Model):
    """The performance of a GPU, instead of the catalog's values. Efficiencies are fractions of the peak, from 0 to 1."""

    bf16_tflops: float | None = Field(default=None, gt=0, description="10^12 operations a second, dense")
    fp8_tflops: float | None = Field(default=None, gt=0, description="the same in 8 bits")
    memory_tbytes_per_s: float | None = Field(default=None, gt=0, description="10^12 byte a second")
    gemm: float | None = Field(default=None, gt=0, le=1, description="what matrix products in 16 bits get of the peak")
    fp8_gemm: float | None = Field(default=None, gt=0, le=1, description="the same in 8 bits, of that peak")
    attention: float | None = Field(default=None, gt=0, le=1, description="what attention gets of the peak")
    memory: float | None = Field(default=None, gt=0, le=1, description="what norms and the optimizer get of the memory")


OF_MODELS = (
    "model",
    "sequence",
    "parallel",
    "batch",
    "dtype",
    "gradients",
    "recompute",
    "attention",
    "overlap",
    "layer",
)
"""The fields of a job that describe a model. They are not allowed with a trace."""


class TrainingJob(Model):
    """A training job, described by a model or by a trace."""

    name: Line = Field(default="", description="what it is called in results")
    model: str | ModelShape = Field(
        default="", description="a preset (docs/jobs.md has them), or sizes; needed but with `trace`"
    )
    sequence: int | None = Field(
        default=None, ge=1, le=1 << 24, description="tokens of a sequence, in place of the preset's"
    )
    parallel: Parallel = Field(default=Parallel(), description="how it is divided over GPUs")
    batch: Batch = Field(
        default=Batch.model_validate({"global": 1}), description="what is trained in a step; needed but with `trace`"
    )
    dtype: Literal["bf16", "fp8"] = Field(
        default="bf16", description="in what matrices are multiplied; what is sent is bf16"
    )
    gradients: Literal["fp32", "bf16"] = Field(
        default="fp32", description="in what gradients are added up over replicas"
    )
    recompute: Literal["none", "selective", "full"] = Field(
        default="none",
        description="what is computed again going backward: nothing, the scores of attention, everything",
    )
    attention: Literal["fused", "unfused"] = Field(
        default="fused", description="one kernel (FlashAttention), or several"
    )
    overlap: Overlap = Field(default=Overlap(), description="what is sent while GPUs compute")
    gpu: GpuRates = Field(default=GpuRates(), description="what the GPUs can do, in place of what is known of them")
    layer: tuple[Picoseconds, Picoseconds] | None = Field(
        default=None, description="measured: what a rank computes for a layer of a micro-batch, forward and backward"
    )
    hosts: Line | None = Field(default=None, description="its servers in the order of their ranks; empty: all")
    tenant: Line | None = Field(default=None, description="whose job it is, where there are several")
    qps: int | None = Field(
        default=None, ge=1, le=128, description="queue pairs per connection; empty: the fabric file's"
    )
    nccl: dict[str, Setting] = Field(default_factory=dict[str, Setting], description="NCCL's parameters")
    start: Picoseconds = Field(default=0, ge=0, description="when its first step begins")
    trace: Line | None = Field(
        default=None,
        description="in place of a model: execution traces of Chakra (a folder, or folder and name before the ranks) or a log of NCCL (a file, or a folder with one of each process); a path counts from the job file",
    )
    trace_groups: Line | None = Field(
        default=None, description="the process groups of the trace; empty: comm_group.json beside it"
    )

    ranks_per_host: int | None = Field(
        default=None, ge=1, le=1024, description="ranks of the trace on each server; empty: one for each GPU"
    )
    checkpoint: Checkpoint | None = Field(default=None, description="its state, written to storage now and then")
    read: Reading | None = Field(default=None, description="what it reads from storage for each step")

    @model_validator(mode="after")
    def _model_or_trace(self) -> TrainingJob:
        given = self.model_fields_set
        if self.trace is None:
            if missing := [name for name in ("model", "batch") if name not in given]:
                raise WrongValueError(f"{missing[0]} is missing", f"say {missing[0]}, or give a trace")
            for name in ("trace_groups", "ranks_per_host"):
                if name in given:
                    raise WrongValueError(f"there is no trace that {name} belongs to", "give trace", [name])
            return self
        if self.checkpoint is not None and self.checkpoint.bytes is None:
            raise WrongValueError("a trace does not say how large its state is", "say bytes", ["checkpoint"])
        if of_model := [name for name in OF_MODELS if name in given]:
            message = f"{of_model[0]} goes with a model; a trace has what was computed and sent"
            raise WrongValueError(message, "leave it out", [of_model[0]])
        return self

    @field_validator("hosts", mode="before")
    @classmethod
    def _text(cls, value: object) -> object:
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


class JobFile(Model):
    """Training jobs that run at the same time."""

    jobs: tuple[TrainingJob, ...] = Field(min_length=1, max_length=64, description="the jobs")


@dataclass(frozen=True)
class ReadJobs:
    """The jobs of a job file, and the document that gives the line of each part."""

    jobs: tuple[TrainingJob, ...]
    document: Document
    single: bool
    """True if the file is a single job, without ``jobs:``."""

    def beside(self, name: str) -> Path:
        """Return the path of a file that is named in the job file. A relative name starts at the job file's folder."""
        return Path(self.document.file).parent / name

    def location(self, number: int, *parts: str | int) -> tuple[str | int, ...]:
        """Return the key path, in the file, of a part of job ``number`` (from 0)."""
        return parts if self.single else ("jobs", number, *parts)


def read_jobs(path: Path, changes: Mapping[str, str] | None = None) -> ReadJobs:
    """Read a job file: one job, or several under ``jobs``. Raises ``SpecError`` with the file and line of each fault.

    ``changes`` replaces fields of every job. The keys are paths such as ``parallel.tensor``, and the values are YAML text.
    """
    document = read_document(path)
    value: Any = document.value
    several = isinstance(value, dict) and "jobs" in value
    jobs = cast("Any", value["jobs"] if several else [value])
    for job in cast("list[Any]", jobs) if isinstance(jobs, list) else []:
        changed(job, changes or {})
    if several:
        return ReadJobs(validate(JobFile, document).jobs, document, single=False)
    return ReadJobs((validate(TrainingJob, document),), document, single=True)
