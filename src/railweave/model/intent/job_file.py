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

    storage: Line = Field(description="storage servers: names, or host lists such as WEKA-[1-4]")
    fabric: Line | None = Field(
        default=None,
        description="name of the fabric for this traffic; empty: the job's own fabric if the storage servers are on it, "
        "else the fabric of the storage NICs of both sides, else the first fabric that both sides are on",
    )
    qps: int = Field(
        default=1, ge=1, le=128, description="queue pairs from each NIC of the job to each NIC of a storage server"
    )
    rate: Mbps | None = Field(
        default=None,
        gt=0,
        description="largest rate at which a storage server reads or writes; empty: the rate of its NICs",
    )


class Checkpoint(Storage):
    """A checkpoint: the state of a job, which all GPUs of the job write to storage in equal parts."""

    every: Line = Field(description="interval between checkpoints, in steps (100 steps) or as a time (30m)")
    bytes: Size | None = Field(
        default=None, ge=1, le=1 << 60, description="size of a checkpoint; empty: parameters x (weights + optimizer)"
    )
    weights: float = Field(
        default=2, ge=0, le=64, description="bytes per parameter for the weights: 2 for 16-bit weights"
    )
    optimizer: float = Field(
        default=12,
        ge=0,
        le=64,
        description="bytes per parameter for the optimizer: 12 for Adam, which keeps three 32-bit numbers",
    )
    overlap: bool = Field(
        default=True, description="true: GPUs keep training while the checkpoint is written (asynchronous)"
    )
    snapshot: Picoseconds = Field(
        default=0, ge=0, description="time for which GPUs wait until a copy of their state is made; 0: not counted"
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
                raise WrongValueError("the time between checkpoints must be more than 0", _EVERY)
        return value

    def steps(self, step_ps: int) -> float:
        """Return the number of training steps between checkpoints, if a step takes ``step_ps`` picoseconds."""
        match = _STEPS.fullmatch(self.every)
        return int(match[1]) if match else max(quantities.SECONDS.parse(self.every) * 10**12 / max(step_ps, 1), 1.0)


class Reading(Storage):
    """The data that a job reads from storage for each step. It arrives in a burst while the job trains on the previous step's data."""

    bytes: Size = Field(ge=1, le=1 << 60, description="bytes that all GPUs of the job read together for one step")


class ModelShape(Model):
    """The dimensions of a transformer for which there is no preset."""

    layers: int = Field(ge=1, le=10_000, description="layers")
    hidden: int = Field(ge=1, le=1 << 20, description="width of the model (hidden size)")
    heads: int = Field(ge=1, le=1 << 16, description="heads of queries")
    kv_heads: int | None = Field(
        default=None, ge=1, description="number of key and value heads; empty: as many as query heads"
    )
    head_dim: int | None = Field(default=None, ge=1, description="width of one head; empty: hidden / heads")
    ffn: int | None = Field(default=None, ge=1, description="width of the feed-forward block; empty: 4 x hidden")
    vocabulary: int = Field(ge=1, le=1 << 24, description="tokens there are")
    sequence: int = Field(ge=1, le=1 << 24, description="tokens of a sequence")
    gated: bool = Field(
        default=True, description="true: the feed-forward block has three matrices (SwiGLU); false: two"
    )
    tied: bool = Field(default=False, description="true: the input and the output embedding are the same matrix")
    experts: int = Field(default=0, ge=0, le=4096, description="number of experts per layer; 0: none")
    top_k: int = Field(default=0, ge=0, le=64, description="number of experts that each token is sent to")
    shared_experts: int = Field(
        default=0, ge=0, le=64, description="number of experts that every token is sent to, in addition"
    )
    expert_ffn: int | None = Field(
        default=None, ge=1, description="width of the feed-forward block of one expert; empty: ffn"
    )
    dense_layers: int = Field(
        default=0, ge=0, description="number of layers, counted from the first, that have no experts"
    )
    attention_parameters: int | None = Field(
        default=None, ge=1, description="number of attention parameters per layer, if it does not follow from the heads"
    )

    @model_validator(mode="after")
    def _fits(self) -> ModelShape:
        if self.head_dim is None and self.hidden % self.heads:
            raise WrongValueError(
                f"hidden {self.hidden} is not a multiple of {self.heads} heads", "say head_dim", ["heads"]
            )
        if self.kv_heads is not None and self.heads % self.kv_heads:
            raise WrongValueError(
                f"{self.heads} query heads cannot be divided equally among {self.kv_heads} key heads", "", ["kv_heads"]
            )
        if bool(self.experts) != bool(self.top_k) or self.top_k > self.experts:
            raise WrongValueError(
                f"{self.experts} experts do not fit top_k {self.top_k}", "1 to experts", ["top_k"], ["experts"]
            )
        return self


class Parallel(Model):
    """The parallelism of a job. If ``data`` is left out, it follows from the number of GPUs."""

    tensor: int = Field(default=1, ge=1, description="number of ranks that share each matrix (TP)")
    sequence: bool = Field(
        default=True, description="true: these ranks also share norms and activations (sequence parallelism)"
    )
    context: int = Field(default=1, ge=1, description="number of ranks that share a sequence (CP)")
    pipeline: int = Field(default=1, ge=1, description="number of stages that share the layers (PP)")
    virtual: int = Field(default=1, ge=1, description="number of interleaved parts of the model on each stage")
    data: int | None = Field(
        default=None, ge=1, description="number of replicas (DP); empty: as many as the GPUs of the servers allow"
    )
    expert: int = Field(default=1, ge=1, description="number of ranks that share the experts (EP)")
    zero: Literal[0, 1, 2, 3] = Field(
        default=1,
        description="state that replicas share: 1, the optimizer's; 2, also gradients; 3, also parameters (FSDP); 0, none",
    )


class Batch(Model):
    """The number of sequences in a training step (global batch) and in a micro-batch."""

    size: int = Field(ge=1, le=1 << 30, alias="global", description="number of sequences per step, over all replicas")
    micro: int = Field(default=1, ge=1, le=1 << 20, description="sequences of a micro-batch")


class Overlap(Model):
    """The kinds of traffic that overlap with computation on the GPUs."""

    gradients: bool = Field(default=True, description="send gradients during the backward pass of the last micro-batch")
    parameters: bool = Field(
        default=True, description="send parameters (ZeRO) during the forward pass of the first micro-batch"
    )
    pipeline: bool = Field(
        default=True, description="send between pipeline stages while the next micro-batch is computed"
    )
    tensor: bool = Field(
        default=False, description="send between the ranks of a tensor in parts, during the multiplication"
    )
    expert: bool = Field(
        default=False, description="send to and from experts while another part of the batch is computed"
    )
    bucket: int | None = Field(
        default=None,
        ge=1,
        description="number of parameters per bucket; empty: 40 million, or 1 million per replica (Megatron-LM)",
    )


class GpuRates(Model):
    """The performance of a GPU, instead of the catalog's values. Efficiencies are fractions of the peak, from 0 to 1."""

    bf16_tflops: float | None = Field(default=None, gt=0, description="10^12 operations a second, dense")
    fp8_tflops: float | None = Field(
        default=None, gt=0, description="10^12 operations per second with 8-bit numbers, dense"
    )
    memory_tbytes_per_s: float | None = Field(default=None, gt=0, description="10^12 byte a second")
    gemm: float | None = Field(
        default=None, gt=0, le=1, description="fraction of the peak that 16-bit matrix products reach"
    )
    fp8_gemm: float | None = Field(
        default=None, gt=0, le=1, description="fraction of the 8-bit peak that 8-bit matrix products reach"
    )
    attention: float | None = Field(default=None, gt=0, le=1, description="fraction of the peak that attention reaches")
    memory: float | None = Field(
        default=None, gt=0, le=1, description="fraction of the memory bandwidth that norms and the optimizer reach"
    )


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

    name: Line = Field(default="", description="name of the job in results")
    model: str | ModelShape = Field(
        default="",
        description="name of a preset (docs/predict.md#training-steps), or the model's dimensions; required without `trace`",
    )
    sequence: int | None = Field(
        default=None, ge=1, le=1 << 24, description="number of tokens per sequence; empty: the preset's"
    )
    parallel: Parallel = Field(default=Parallel(), description="how the job is divided over GPUs")
    batch: Batch = Field(
        default=Batch.model_validate({"global": 1}),
        description="number of sequences per step; required without `trace`",
    )
    dtype: Literal["bf16", "fp8"] = Field(
        default="bf16", description="number format of matrix products; data is always sent as bf16"
    )
    gradients: Literal["fp32", "bf16"] = Field(
        default="fp32", description="number format in which replicas add up gradients"
    )
    recompute: Literal["none", "selective", "full"] = Field(
        default="none",
        description="what the backward pass computes again: none; selective, attention scores; full, everything",
    )
    attention: Literal["fused", "unfused"] = Field(
        default="fused", description="fused: attention is one kernel (FlashAttention); unfused: several kernels"
    )
    overlap: Overlap = Field(default=Overlap(), description="traffic that is sent while GPUs compute")
    gpu: GpuRates = Field(default=GpuRates(), description="performance of the GPUs, instead of the catalog's values")
    layer: tuple[Picoseconds, Picoseconds] | None = Field(
        default=None,
        description="measured times that a rank computes for one layer of a micro-batch: forward, backward",
    )
    hosts: Line | None = Field(default=None, description="servers of the job, in the order of their ranks; empty: all")
    tenant: Line | None = Field(default=None, description="tenant that the job belongs to, if the network has several")
    qps: int | None = Field(
        default=None, ge=1, le=128, description="number of queue pairs per connection; empty: the fabric file's"
    )
    nccl: dict[str, Setting] = Field(default_factory=dict[str, Setting], description="NCCL's parameters")
    start: Picoseconds = Field(default=0, ge=0, description="time at which the first step begins")
    trace: Line | None = Field(
        default=None,
        description="instead of a model: execution traces of Chakra (a folder, or a folder and the beginning of the file "
        "names) or a log of NCCL (a file, or a folder with one file per process); the path is relative to the "
        "job file",
    )
    trace_groups: Line | None = Field(
        default=None, description="file with the process groups of the trace; empty: comm_group.json in the same folder"
    )

    ranks_per_host: int | None = Field(
        default=None, ge=1, le=1024, description="number of ranks of the trace on each server; empty: one per GPU"
    )
    checkpoint: Checkpoint | None = Field(
        default=None, description="the job's state, which is written to storage regularly"
    )
    read: Reading | None = Field(default=None, description="data that the job reads from storage for each step")

    @model_validator(mode="after")
    def _model_or_trace(self) -> TrainingJob:
        given = self.model_fields_set
        if self.trace is None:
            if missing := [name for name in ("model", "batch") if name not in given]:
                raise WrongValueError(f"{missing[0]} is missing", f"give {missing[0]}, or a trace")
            for name in ("trace_groups", "ranks_per_host"):
                if name in given:
                    raise WrongValueError(f"{name} needs a trace, but none is given", "give trace", [name])
            return self
        if self.checkpoint is not None and self.checkpoint.bytes is None:
            raise WrongValueError(
                "the size of the job's state is missing: a trace does not contain it", "say bytes", ["checkpoint"]
            )
        if of_model := [name for name in OF_MODELS if name in given]:
            message = f"{of_model[0]} is allowed only with a model: a trace already contains what was computed and sent"
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
    """The jobs of a job file, and the YAML document with each part's line."""

    jobs: tuple[TrainingJob, ...]
    document: Document
    single: bool
    """True if the file is a single job, without ``jobs:``."""

    def beside(self, name: str) -> Path:
        """Return the path of a file that the job file names. Relative names start at the job file's folder."""
        return Path(self.document.file).parent / name

    def location(self, number: int, *parts: str | int) -> tuple[str | int, ...]:
        """Return the file's keys that lead to a part of job ``number`` (from 0)."""
        return parts if self.single else ("jobs", number, *parts)


def read_jobs(path: Path, changes: Mapping[str, str] | None = None) -> ReadJobs:
    """Read a job file: one job, or several under ``jobs``. Raises ``SpecError`` with the file and line of each fault.

    ``changes`` replaces fields of every job. The keys are paths such as ``parallel.tensor``, and the values are YAML text.
    """
    document = read_document(path, start="docs/simulation-files.md shows a job file")
    value: Any = document.value
    several = isinstance(value, dict) and "jobs" in value
    jobs = cast("Any", value["jobs"] if several else [value])
    for job in cast("list[Any]", jobs) if isinstance(jobs, list) else []:
        changed(job, changes or {})
    if several:
        return ReadJobs(validate(JobFile, document).jobs, document, single=False)
    return ReadJobs((validate(TrainingJob, document),), document, single=True)
