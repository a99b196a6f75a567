"""Both wheels are built from this tree, and hold their own package and nothing else."""

import re
import subprocess
import sys
from collections.abc import Callable
from configparser import ConfigParser
from email.parser import Parser
from pathlib import Path
from zipfile import ZipFile

import pytest

from auditcoder import __version__

ROOT = Path(__file__).parents[2]
RECORD = ROOT / "tests" / "data" / "format-1.acb"
SOURCE = ROOT / "src"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> dict[str, ZipFile]:
    """Both wheels by the name of their package, built without a network."""
    folder = tmp_path_factory.mktemp("wheels")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    build += ["--no-deps", "--no-build-isolation", "--no-cache-dir", "--wheel-dir", str(folder)]
    done = subprocess.run(
        [*build, str(ROOT), str(SOURCE / "auditcoder_bench")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    names = ("auditcoder", "auditcoder_bench")
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        f"{name}-{__version__}-py3-none-any.whl" for name in names
    )
    return {name: ZipFile(folder / f"{name}-{__version__}-py3-none-any.whl") for name in names}


def packaged_files(package: str) -> set[str]:
    """Return every file of a package in the source tree, except those that only builds need."""
    build_files = {"pyproject.toml", "build_metadata.py", "LICENSE"}
    folder = SOURCE / package
    return {
        path.relative_to(SOURCE).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and "__pycache__" not in path.parts
        and not (path.parent == folder and path.name in build_files)
    }


def wheel_files(wheel: ZipFile) -> set[str]:
    return {name for name in wheel.namelist() if ".dist-info/" not in name}


@pytest.mark.parametrize("package", ["auditcoder", "auditcoder_bench"])
def test_a_wheel_holds_every_file_of_its_package_and_no_other(
    wheels: dict[str, ZipFile], package: str
) -> None:
    assert wheel_files(wheels[package]) == packaged_files(package)


def test_the_product_wheel_holds_prompts_weights_and_the_typing_marker(
    wheels: dict[str, ZipFile],
) -> None:
    files = wheel_files(wheels["auditcoder"])
    assert "auditcoder/py.typed" in files
    assert any(Path(name).name.startswith("fitted-") for name in files)
    prompts = {p.relative_to(SOURCE).as_posix() for p in SOURCE.glob("auditcoder/prompts/**/*.md")}
    assert prompts
    assert prompts <= files


def test_the_product_wheel_holds_nothing_of_the_benchmarks(wheels: dict[str, ZipFile]) -> None:
    assert all(name.startswith("auditcoder/") for name in wheel_files(wheels["auditcoder"]))
    research = ("bench", "faultbench", "baselines", "suites", "aerocomm", "solved", "methods/")
    for name in wheel_files(wheels["auditcoder"]):
        assert not any(word in name for word in research), name


def test_the_bench_wheel_holds_its_data_files(wheels: dict[str, ZipFile]) -> None:
    files = wheel_files(wheels["auditcoder_bench"])
    for folder, ending in (
        ("suites/aerocomm_data/tasks/", ".md"),
        ("suites/aerocomm_data/hidden/", ".py"),
        ("suites/aerocomm_data/", ".toml"),
        ("suites/qf_data/clarifications/", ".md"),
        ("suites/qf_data/contracts/", ".py"),
        ("prompts/methods/", ".md"),
        ("faultbench/solved/", ".py"),
        ("faultbench/", ".json"),
    ):
        start = f"auditcoder_bench/{folder}"
        assert any(name.startswith(start) and name.endswith(ending) for name in files), start


def test_the_bench_wheel_needs_the_product_of_its_own_version(wheels: dict[str, ZipFile]) -> None:
    metadata = Parser().parsestr(_metadata(wheels["auditcoder_bench"], "METADATA"))
    required = [line for line in metadata.get_all("Requires-Dist", []) if "extra ==" not in line]
    assert required == [f"auditcoder=={__version__}"]
    assert set(metadata.get_all("Provides-Extra", [])) == {
        "bench",
        "classeval",
        "dask",
        "qf",
        "scicode",
    }


def test_the_bench_wheel_adds_its_commands_and_methods(wheels: dict[str, ZipFile]) -> None:
    entry_points = ConfigParser()
    entry_points.read_string(_metadata(wheels["auditcoder_bench"], "entry_points.txt"))
    assert dict(entry_points["auditcoder.commands"]) == {
        "bench": "auditcoder_bench.cli.bench_command",
        "faults": "auditcoder_bench.cli.faults_command",
    }
    assert dict(entry_points["auditcoder.methods"]) == {
        "baselines": "auditcoder_bench.baselines:METHODS"
    }


def _metadata(wheel: ZipFile, name: str) -> str:
    (path,) = (n for n in wheel.namelist() if n.endswith(f".dist-info/{name}"))
    return wheel.read(path).decode()


def test_both_packages_carry_the_same_licence() -> None:
    own = SOURCE / "auditcoder_bench" / "LICENSE"
    assert own.read_bytes() == (ROOT / "LICENSE").read_bytes()


@pytest.fixture(scope="module")
def product_alone(
    wheels: dict[str, ZipFile], tmp_path_factory: pytest.TempPathFactory
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `python -m` in a new environment that has the product's wheel and what it requires."""
    folder = tmp_path_factory.mktemp("alone")
    locked = re.findall(
        r"^[\w.-]+==\S+", (ROOT / "requirements.lock").read_text("utf-8"), re.MULTILINE
    )
    (folder / "constraints.txt").write_text("\n".join(locked), "utf-8")
    subprocess.run([sys.executable, "-m", "venv", folder / "env"], check=True)

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        python = str(folder / "env" / "bin" / "python")
        return subprocess.run(
            [python, "-I", "-m", *words], cwd=folder, capture_output=True, text=True, check=False
        )

    wheel = str(wheels["auditcoder"].filename)
    installed = run("pip", "install", "--quiet", "--constraint", "constraints.txt", wheel)
    assert installed.returncode == 0, installed.stderr
    return run


@pytest.mark.campaign
@pytest.mark.xdist_group("embedded")
class TestTheProductsWheelAlone:
    @pytest.mark.parametrize(
        "words", [["verify"], ["show"], ["blame", "1"], ["export", "--out", "copy.acb"]]
    )
    def test_it_reads_a_record(
        self, product_alone: Callable[..., subprocess.CompletedProcess[str]], words: list[str]
    ) -> None:
        command, *rest = words
        done = product_alone("auditcoder", command, str(RECORD), *rest)
        assert done.returncode == 0, done.stdout + done.stderr

    def test_it_solves_a_task_on_the_embedded_model(
        self, product_alone: Callable[..., subprocess.CompletedProcess[str]]
    ) -> None:
        task = str(ROOT / "examples" / "tasks" / "initials.md")
        done = product_alone("auditcoder", "solve", task, "--store", "runs.db")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "passed" in done.stdout + done.stderr

    def test_it_has_no_command_of_the_benchmarks(
        self, product_alone: Callable[..., subprocess.CompletedProcess[str]]
    ) -> None:
        listed = product_alone("auditcoder", "--help").stdout
        assert "solve" in listed
        assert not re.search(r"^ +(bench|faults)\b", listed, re.MULTILINE)
        assert product_alone("auditcoder_bench").returncode != 0
