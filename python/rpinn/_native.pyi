"""The C library, without conveniences. Arrays are contiguous and double; results are written into those given."""

from collections.abc import Callable, Sequence
from typing import Any

Source = tuple[
    str,
    tuple[tuple[str, bytes], ...],
    str | None,
    tuple[tuple[str, str, str, bool], ...],
    str | None,
    str | None,
]
Told = Callable[..., None] | None

version: str

class Problem:
    name: str
    terms: tuple[str, ...]
    presets: tuple[str, ...]
    predictable: tuple[str, ...]
    coordinates: tuple[tuple[str, float, float], ...]
    settings: dict[str, str]
    def __new__(cls, source: Source) -> Problem: ...
    def check(self, json: bool) -> tuple[str, bool]: ...
    def check_prior(self, json: bool, folder: str | None, told: Told) -> str: ...
    def plan(self) -> str: ...
    def run(self, folder: str, resume: bool, told: Told) -> bool: ...

class Posterior:
    num_parameters: int
    num_rows: int
    sigmas: dict[str, float]
    prior_sigma: float
    num_desks: int
    def __new__(cls, problem: Problem) -> Posterior: ...
    def energy(self, theta: Any) -> float: ...
    def energies(self, count: int, thetas: Any, offsets: Any, energies: Any, gradients: Any, term_energies: Any) -> None: ...
    def residuals(self, count: int, thetas: Any, rows: Any, jacobians: Any) -> None: ...
    def start_glorot(self, member: int, theta: Any) -> None: ...
    def start_normal(self, member: int, theta: Any) -> None: ...
    def start_zero(self, member: int, theta: Any) -> None: ...
    def start_prior(self, offsets: Any, theta: Any) -> None: ...
    def draw_offsets(self, member: int, offsets: Any) -> None: ...

def summary(folder: str, json: bool) -> str: ...
def report(folders: Sequence[str], out: str | None, shape: bool, json: bool) -> str: ...
def compare(folders: Sequence[str], json: bool) -> str: ...
def predict(
    folder: str, points: Any, num_points: int, num_coordinates: int, quantities: str | None, extrapolate: bool, keep_draws: bool
) -> tuple[tuple[str, ...], int, int, bytearray, bytearray | None]: ...
def diagnose_run(folder: str, json: bool, all: bool, strict: bool) -> tuple[str, bool]: ...
def diagnose_csv(files: Sequence[str], json: bool, all: bool) -> tuple[str, bool]: ...
def diagnose_draws(
    values: Any, chains: int, draws: int, parameters: int, names: Sequence[str] | None, json: bool, all: bool
) -> tuple[str, bool]: ...
def calibrate(
    source: Source,
    folder: str,
    from_: str | None,
    data_sets: int,
    folds: int,
    blocks: bool,
    redraw: str | None,
    methods: str | None,
    members: str | None,
    jobs: int,
    keep_runs: bool,
    told: Told,
    scored: Callable[[int, int, float, str], None] | None,
) -> tuple[bool, str | None, str | None]: ...
def nuts(
    function: Callable[[], float],
    theta: Any,
    gradient: Any,
    warmup: int,
    draws: int,
    thin: int,
    metric: int,
    max_depth: int,
    first_step: float,
    target_acceptance: float,
    seed: int,
    chains: int,
    starts: Any,
    names: Sequence[str] | None,
    told: Told,
) -> tuple[bytearray, dict[str, bytearray], object]: ...
def diagnose_kept(draws: object, json: bool, all: bool) -> tuple[str, bool]: ...
def svgd(
    function: Callable[[], float],
    theta: Any,
    gradient: Any,
    particles: Any,
    iterations: int,
    adagrad: bool,
    learning_rate: float,
    decay_rate: float,
    decay_steps: float,
    told: Told,
) -> tuple[bytearray, bytearray, float]: ...
def shipped_problems() -> list[tuple[str, str]]: ...
def method_list() -> list[tuple[str, str]]: ...
def setting_list() -> list[tuple[str, str, str, str]]: ...
def describe_backend(name: str) -> str: ...
