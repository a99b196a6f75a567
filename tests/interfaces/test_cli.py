"""The commands, as a user meets them: what they say, and how they end."""

import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import msgspec
import pytest

from auditcoder.adapters.stores.bundle import write_bundle
from auditcoder.adapters.stores.sqlite import SqliteStore
from auditcoder.domain.chain import EMPTY, seal
from auditcoder.domain.errors import AuditCoderError, ReplayDiverged
from auditcoder.domain.events import RunStarted
from auditcoder.domain.values import RunId
from auditcoder.exports.record import FIELDS
from auditcoder.interfaces.cli.exits import Exit, exit_for
from tests.support.commands import Run, running
from tests.support.worlds import RUN, TASK, failing, repairing, ticking

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "helpful_currents"


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The worked example's store."""
    sys.path.insert(0, str(EXAMPLE))
    from record import build

    path = tmp_path_factory.mktemp("example") / "runs.db"
    store = SqliteStore(path)
    build(store, RunId("helpful-currents"), ticking())
    store.close()
    sys.path.remove(str(EXAMPLE))
    return path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    return running(capsys, monkeypatch)


class TestRuns:
    def test_lists_what_is_there(self, run: Run, example: Path) -> None:
        said = run("runs", "--store", example)
        assert said.code == Exit.OK
        assert "helpful-currents" in said.out
        assert "passed" in said.out
        (line,) = run("runs", "--store", example, "--json").json["runs"]
        assert line["outcome"] == "passed"
        assert len(line["head"]["digest"]) == 64

    def test_an_empty_store_says_so(self, run: Run, tmp_path: Path) -> None:
        SqliteStore(tmp_path / "s.db").close()
        assert "no runs" in run("runs", "--store", tmp_path / "s.db").out

    def test_a_store_that_is_not_there_is_not_made(self, run: Run, tmp_path: Path) -> None:
        said = run("runs", "--store", tmp_path / "none.db")
        assert said.code == Exit.NOT_FOUND
        assert "[store.missing]" in said.err
        (tmp_path / "empty.db").touch()
        assert run("runs", "--store", tmp_path / "empty.db").code == Exit.NOT_FOUND
        assert (tmp_path / "empty.db").stat().st_size == 0


class TestShow:
    def test_the_tree(self, run: Run, example: Path) -> None:
        said = run("show", "helpful-currents", "--store", example)
        assert said.code == Exit.OK
        for expected in ("├─ S1 ", "│  └─ S1_2", "count_routes(grid: list[str]", "R3 points to"):
            assert expected in said.out
        assert "frozen        S0, S2" in said.out

    def test_the_beginning_of_an_id_will_do(self, run: Run, example: Path) -> None:
        assert run("show", "help", "--store", example).code == Exit.OK

    def test_one_responsibility(self, run: Run, example: Path) -> None:
        said = run("show", "helpful-currents", "S1_2", "--store", example)
        for expected in (
            "id committed at event 2",
            "requires",
            "from S1_1.grid",
            "MODULUS",
            "History",
        ):
            assert expected in said.out
        assert "no longer stands" in said.out

    def test_the_record_has_the_papers_twelve_fields(self, run: Run, example: Path) -> None:
        record = run("show", "helpful-currents", "S1_2", "--store", example, "--json").json
        assert tuple(record) == FIELDS
        assert record["owned_code"]["source"].startswith("MODULUS")
        whole = run("show", "helpful-currents", "--store", example, "--json").json
        assert [node["id"] for node in whole["nodes"]] == ["S0", "S1", "S1_1", "S1_2", "S2"]

    @pytest.mark.parametrize("node", ["S9", "", "s1", "../x", "\x1b[2J"])
    def test_a_node_that_is_not_there(self, run: Run, example: Path, node: str) -> None:
        said = run("show", "helpful-currents", node, "--store", example)
        assert said.code == Exit.NOT_FOUND
        assert "S1_1" in said.err, "it says which there are"
        assert "\x1b" not in said.err

    def test_a_run_that_has_only_begun(self, run: Run, tmp_path: Path) -> None:
        from auditcoder.lifecycle.recorder import Recorder

        store = SqliteStore(tmp_path / "s.db")
        Recorder.start(store, RUN, TASK, ticking())
        store.close()
        assert "no responsibilities" in run("show", RUN, "--store", tmp_path / "s.db").out
        said = run("blame", RUN, "--store", tmp_path / "s.db")
        assert said.code == Exit.NOT_FOUND
        assert "[program.none]" in said.err


class TestBlame:
    def test_a_line_leads_to_its_owner(self, run: Run, example: Path) -> None:
        lines = run("blame", "helpful-currents", "--store", example, "--json").json["lines"]
        target = next(x for x in lines if "def settle" in x["text"])
        said = run("blame", "helpful-currents", target["line"], "--store", example)
        assert said.code == Exit.OK
        for expected in ("owner      S1_2", "event 2", "event 24", "unit       settle", "changed"):
            assert expected in said.out
        found = run("blame", "helpful-currents", target["line"], "--store", example, "--json").json
        assert found["node"] == "S1_2"
        assert found["committed"]["seq"] < found["code"]["event"]
        assert {e["verdict"] for e in found["evidence"]} == {"passed"}
        assert found["interventions"][0]["changed"]

    def test_an_import_belongs_to_who_asked(self, run: Run, example: Path) -> None:
        said = run("blame", "helpful-currents", 1, "--store", example)
        assert "for S0" in said.out

    def test_all_lines_with_their_owners(self, run: Run, example: Path) -> None:
        said = run("blame", "helpful-currents", "--store", example)
        assert re.search(r"^S1_2 +\d+  def count_routes", said.out, re.MULTILINE)

    @pytest.mark.parametrize("line", ["0", "-1", "999999999999"])
    def test_a_line_that_is_not_there(self, run: Run, example: Path, line: str) -> None:
        said = run("blame", "helpful-currents", line, "--store", example)
        assert said.code == Exit.NOT_FOUND
        assert "lines 1 to" in said.err

    def test_a_line_that_is_no_number(self, run: Run, example: Path) -> None:
        assert run("blame", "helpful-currents", "x", "--store", example).code == Exit.USAGE


class TestVerify:
    def test_a_good_record(self, run: Run, example: Path) -> None:
        said = run("verify", "helpful-currents", "--store", example)
        assert said.code == Exit.OK
        assert said.out.count("holds") == 4
        assert "against itself only" in said.out

    def test_with_a_head_kept_elsewhere(self, run: Run, example: Path) -> None:
        head = run("export", "helpful-currents", "--as", "head", "--store", example).out.strip()
        said = run("verify", "helpful-currents", "--head", head, "--store", example)
        assert said.code == Exit.OK
        assert "the last" in said.out
        other = run("verify", "helpful-currents", "--head", "0" * 64, "--store", example)
        assert other.code == Exit.DOES_NOT_HOLD
        assert "head.unknown" in other.out

    def test_an_earlier_head_is_found_in_the_grown_record(self, run: Run, tmp_path: Path) -> None:
        store = SqliteStore(tmp_path / "s.db")
        recorder = repairing(store)
        head = recorder.head.digest
        recorder.decide()
        store.close()
        said = run("verify", RUN, "--head", f"sha256:{head}", "--store", tmp_path / "s.db")
        assert said.code == Exit.OK
        assert "2 events came later" in said.out

    @pytest.mark.parametrize("head", ["", "zz", "0" * 63, "g" * 64])
    def test_what_is_no_digest_is_a_usage_error(self, run: Run, example: Path, head: str) -> None:
        said = run("verify", "helpful-currents", "--head", head, "--store", example)
        assert said.code == Exit.USAGE

    def test_json(self, run: Run, example: Path) -> None:
        assert run("verify", "help", "--store", example, "--json").json["verified"] is True

    def test_a_store_altered_behind_our_back(self, run: Run, tmp_path: Path, example: Path) -> None:
        altered = tmp_path / "runs.db"
        altered.write_bytes(example.read_bytes())
        db = sqlite3.connect(altered, isolation_level=None)
        for name in ("events_stand", "events_stay", "blobs_stand"):
            db.execute(f"DROP TRIGGER {name}")
        db.execute(
            "UPDATE events SET body = CAST(replace(CAST(body AS TEXT), 'failed', 'passed') AS BLOB)"
            " WHERE seq = 11"
        )
        said = run("verify", "helpful-currents", "--store", altered)
        assert said.code == Exit.DOES_NOT_HOLD
        assert "chain." in said.out
        db.execute("DELETE FROM events WHERE seq = 32")
        assert "head.mismatch" in run("verify", "helpful-currents", "--store", altered).out
        db.close()

    def test_an_empty_name_verifies_nothing(self, run: Run, example: Path) -> None:
        assert run("verify", "", "--store", example).code == Exit.USAGE
        assert run("verify", " ", "--store", example).code == Exit.USAGE


class TestExportAndImport:
    def test_there_and_back(self, run: Run, example: Path, tmp_path: Path) -> None:
        bundle, store = tmp_path / "run.acb", tmp_path / "other.db"
        assert run("export", "help", "--out", bundle, "--store", example).code == Exit.OK
        assert "copied" in run("import", bundle, "--store", store).out
        assert "already there" in run("import", bundle, "--store", store).out
        for command in ("show", "blame", "verify"):
            here = run(command, "helpful-currents", "--store", example)
            assert run(command, "helpful-currents", "--store", store).out == here.out
            assert run(command, bundle).out == here.out

    def test_through_a_teams_store(
        self, run: Run, example: Path, tmp_path: Path, postgres_url: str
    ) -> None:
        bundle, back = tmp_path / "run.acb", tmp_path / "back.acb"
        run("export", "help", "--out", bundle, "--store", example)
        assert "copied" in run("import", bundle, "--store", postgres_url).out
        for command in ("runs", "show", "blame", "verify"):
            names = [] if command == "runs" else ["help"]
            here = run(command, *names, "--store", example)
            assert run(command, *names, "--store", postgres_url).out == here.out
        run("export", "help", "--out", back, "--store", postgres_url)
        assert back.read_bytes() == bundle.read_bytes()

    def test_the_repair_log(self, run: Run, example: Path, tmp_path: Path) -> None:
        log = run("export", "help", "--as", "repairs", "--store", example).json
        (case,) = log["cases"]
        assert case["failure_type"] == "wrong_answer"
        assert case["selected_unit"] == {"type": "branch", "root": "S1"}
        assert case["RRS_nodes"] == pytest.approx(3 / 5)
        assert case["repair_success"] is None, "nobody has judged it"
        assert log["denominators"]["accepted"] == 1
        run("export", "help", "--as", "repairs", "--out", tmp_path / "r.json", "--store", example)
        assert json.loads((tmp_path / "r.json").read_text()) == log

    def test_the_record(self, run: Run, example: Path) -> None:
        record = run("export", "help", "--as", "record", "--store", example).json
        assert record["execution_order"] == ["S1_1", "S1_2", "S2"]

    def test_a_bundle_of_another_history_is_refused(self, run: Run, tmp_path: Path) -> None:
        paths = []
        for number, life in enumerate((failing, repairing)):
            store = SqliteStore(":memory:")
            recorder = life(store)
            if number == 0:
                from tests.support.worlds import locate

                locate(recorder, None)
            paths.append(tmp_path / f"{number}.acb")
            write_bundle(store, RUN, paths[-1])
            store.close()
        assert run("import", paths[0], "--store", tmp_path / "s.db").code == Exit.OK
        said = run("import", paths[1], "--store", tmp_path / "s.db")
        assert said.code == Exit.REFUSED
        assert "[store.conflict]" in said.err

    def test_an_altered_bundle_is_refused_everywhere(
        self, run: Run, example: Path, tmp_path: Path
    ) -> None:
        bundle = tmp_path / "run.acb"
        run("export", "help", "--out", bundle, "--store", example)
        with zipfile.ZipFile(bundle) as zipped:
            parts = {name: zipped.read(name) for name in zipped.namelist()}
        blob = next(name for name in parts if name.startswith("blobs/"))
        with zipfile.ZipFile(bundle, "w") as zipped:
            for name, content in parts.items():
                zipped.writestr(name, content + b"x" if name == blob else content)
        assert run("verify", bundle).code == Exit.DOES_NOT_HOLD
        assert run("import", bundle, "--store", tmp_path / "s.db").code == Exit.UNREADABLE
        for form in ("bundle", "head", "record", "repairs"):
            said = run("export", bundle, "--as", form, "--out", tmp_path / "out")
            assert said.code == Exit.UNREADABLE, form
            assert not (tmp_path / "out").exists()

    def test_what_is_there_is_replaced_whole_or_not_at_all(
        self, run: Run, example: Path, tmp_path: Path
    ) -> None:
        real, link, pipe = tmp_path / "real.acb", tmp_path / "link.acb", tmp_path / "pipe"
        real.write_text("old")
        link.symlink_to(real)
        assert run("export", "help", "--out", link, "--store", example).code == Exit.OK
        assert link.is_symlink()
        assert run("verify", real).code == Exit.OK
        os.mkfifo(pipe)
        for target in (pipe, tmp_path, tmp_path / "no" / "folder"):
            for form in ("bundle", "record"):
                said = run("export", "help", "--as", form, "--out", target, "--store", example)
                assert said.code == Exit.STORE
                assert "[file.unwritable]" in said.err
        assert stat.S_ISFIFO(pipe.stat().st_mode)

    def test_special_files_are_no_bundles(self, run: Run, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "pipe")
        for path in (tmp_path / "pipe", "/dev/zero", "/dev/null", tmp_path):
            assert run("import", path, "--store", tmp_path / "s.db").code == Exit.UNREADABLE
            assert run("verify", path).code == Exit.UNREADABLE


class TestErrors:
    def test_every_kind_of_error_has_its_exit_code(self) -> None:
        def kinds(kind: type[AuditCoderError]) -> list[type[AuditCoderError]]:
            return [kind, *(k for below in kind.__subclasses__() for k in kinds(below))]

        for kind in kinds(AuditCoderError):
            code = exit_for(kind("code", "message"))
            assert code in set(Exit) - {Exit.OK}
            assert (code is Exit.DOES_NOT_HOLD) is issubclass(kind, ReplayDiverged)

    def test_the_exit_codes_are_documented(self) -> None:
        page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
        for code in Exit:
            assert f"| {code.value} |" in page

    def test_every_error_code_is_documented(self) -> None:
        page = (ROOT / "docs" / "reference" / "exit-codes.md").read_text(encoding="utf-8")
        kinds = (
            "run|node|line|program|record|bundle|store|blob|chain|head|file|output"
            "|model|reply|replay|weights|budget|sandbox|config|task|method|suite|problem|sample|data|engine"
            "|judge|bench|faults"
        )
        pattern = re.compile(rf'"((?:{kinds})\.(?!py|md|toml)[a-z-]+)"')
        used = {
            code
            for path in (ROOT / "src").rglob("*.py")
            for code in pattern.findall(path.read_text(encoding="utf-8"))
        }
        assert len(used) > 25
        assert not {code for code in used if f"`{code}`" not in page}

    def test_an_unknown_run(self, run: Run, example: Path) -> None:
        for name in ("nothing-like-it", "x" * 5000, "ünïcode", "\x1b[2J"):
            said = run("show", name, "--store", example)
            assert said.code == Exit.NOT_FOUND
            assert "[run.unknown]" in said.err
            assert "\x1b" not in said.err

    def test_an_ambiguous_run(self, run: Run, tmp_path: Path) -> None:
        from auditcoder.lifecycle.recorder import Recorder

        store = SqliteStore(tmp_path / "s.db")
        for name in ("run-1", "run-2"):
            Recorder.start(store, RunId(name), TASK, ticking())
        store.close()
        said = run("show", "run", "--store", tmp_path / "s.db")
        assert said.code == Exit.NOT_FOUND
        assert "run-1, run-2" in said.err
        assert run("show", "run-1", "--store", tmp_path / "s.db").code == Exit.OK

    def test_json_errors_are_json(self, run: Run, example: Path) -> None:
        said = run("show", "nothing", "--store", example, "--json")
        assert said.out == ""
        assert json.loads(said.err)["error"]["code"] == "run.unknown"

    @pytest.mark.parametrize(
        "store",
        [
            "mysql://me:hunter2@host/db",
            "postgresql+psycopg://me:hunter2@host/db",
            "host=h password=hunter2",
            ":memory:",
        ],
    )
    def test_what_cannot_be_a_store_is_not_echoed(
        self, run: Run, tmp_path: Path, store: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(tmp_path)
        for command in (["runs"], ["import", "x.acb"]):
            (tmp_path / "x.acb").unlink(missing_ok=True)
            if command[0] == "import":
                opened = SqliteStore(":memory:")
                failing(opened)
                write_bundle(opened, RUN, tmp_path / "x.acb")
                opened.close()
            said = run(*command, "--store", store)
            assert said.code == Exit.STORE
            assert "hunter2" not in said.err
            assert {p.name for p in tmp_path.iterdir()} <= {"x.acb"}

    @pytest.mark.parametrize(
        "url",
        [
            "postgresql://me:hunter2@127.0.0.1:1/db",
            "PostgreSQL://me:hunter2@127.0.0.1:1/db",
            "postgresql://me:hun/ter2@127.0.0.1:1/db",
            "postgresql://me@127.0.0.1:1/db?password=hunter2",
        ],
    )
    def test_no_password_is_ever_printed(self, run: Run, url: str) -> None:
        said = run("runs", "--store", url)
        assert said.code == Exit.STORE
        assert "hunter2" not in said.err
        assert "ter2" not in said.err

    def test_a_locked_store_can_still_be_read(
        self, run: Run, tmp_path: Path, example: Path
    ) -> None:
        path = tmp_path / "runs.db"
        path.write_bytes(example.read_bytes())
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("BEGIN IMMEDIATE")
        assert run("verify", "help", "--store", path).code == Exit.OK
        db.close()

    def test_a_damaged_store_is_reported(self, run: Run, tmp_path: Path, example: Path) -> None:
        whole = example.read_bytes()
        path = tmp_path / "runs.db"
        step = max(1, len(whole) // 150)
        for at in range(100, len(whole), step):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :])
            for name in ("runs.db-wal", "runs.db-shm"):
                (tmp_path / name).unlink(missing_ok=True)
            for command in (["runs"], ["verify", "helpful-currents"]):
                assert run(*command, "--store", path).code in set(Exit) - {Exit.INTERNAL}

    @pytest.mark.parametrize(
        "statement",
        [
            "UPDATE runs SET head = NULL",
            "UPDATE runs SET run = x'ff00', entries = entries + 1",
            "UPDATE events SET body = 10 WHERE seq = 3",
            "UPDATE events SET seq = -33 WHERE seq = 3",
        ],
    )
    def test_a_store_that_holds_what_was_never_written(
        self, run: Run, tmp_path: Path, example: Path, statement: str
    ) -> None:
        path = tmp_path / "runs.db"
        path.write_bytes(example.read_bytes())
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("PRAGMA writable_schema = ON")
        db.execute("DELETE FROM sqlite_schema WHERE type = 'trigger'")
        db.execute(
            "UPDATE sqlite_schema SET sql = replace(replace(sql, 'STRICT', ''), 'NOT NULL', '')"
        )
        db.execute("UPDATE sqlite_schema SET sql = replace(sql, ', WITHOUT', 'WITHOUT')")
        db.close()
        db = sqlite3.connect(path, isolation_level=None)
        db.execute(statement)
        db.close()
        for command in (["runs"], ["verify", "helpful-currents"], ["show", "helpful-currents"]):
            said = run(*command, "--store", path)
            assert said.code in set(Exit) - {Exit.INTERNAL}

    def test_texts_of_a_record_do_not_reach_the_terminal(self, run: Run, tmp_path: Path) -> None:
        evil = "\x1b]0;owned\x07\x1b[8mhidden\u202egnirts\u200b\nnext"
        from auditcoder.lifecycle.recorder import Recorder

        store = SqliteStore(tmp_path / "s.db")
        task = msgspec.structs.replace(TASK, title=evil, statement=evil, source=evil)
        Recorder.start(store, RUN, task, ticking())
        store.close()
        for command in (["runs"], ["show", RUN], ["verify", RUN]):
            out = run(*command, "--store", tmp_path / "s.db").out
            assert not set(out) & set("\x1b\x07\u202e\u200b")

    def test_a_run_that_another_program_named_is_refused(self, run: Run, tmp_path: Path) -> None:
        event = RunStarted(format=1, run=RunId("../../evil"), task=TASK)
        _, body, head = seal(EMPTY, event, ticking()())
        manifest = {"bundle": 1, "run": "../../evil", "entries": 1, "head": head.digest}
        path = tmp_path / "evil.acb"
        with zipfile.ZipFile(path, "w") as zipped:
            zipped.writestr("manifest.json", json.dumps(manifest))
            zipped.writestr("events.jsonl", body + b"\n")
        for command in (["export"], ["verify"], ["import", "--store", tmp_path / "s.db"]):
            assert run(*command, path).code == Exit.UNREADABLE
        assert {p.name for p in tmp_path.iterdir()} == {"evil.acb"}


def cli(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "auditcoder", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
        **options,
    )


class TestAsAProcess:
    def test_help_names_every_command_and_is_quick(self) -> None:
        done = cli("--help")
        assert done.returncode == 0
        for command in ("runs", "show", "blame", "verify", "export", "import"):
            assert command in done.stdout
        # Not timed here; but nothing slow may be loaded for it.
        loaded = "import sys; from auditcoder.interfaces.cli.main import main\n"
        loaded += "try: main(['--help'])\nexcept SystemExit: pass\n"
        loaded += "print(*sorted(sys.modules), file=sys.stderr)"
        modules = subprocess.run(
            [sys.executable, "-c", loaded], capture_output=True, text=True, check=True
        ).stderr.split()
        assert not {"msgspec", "sqlite3", "zipfile", "psycopg", "json"} & set(modules)

    def test_no_command_is_a_usage_error(self) -> None:
        assert cli().returncode == Exit.USAGE
        assert cli("frobnicate").returncode == Exit.USAGE

    def test_a_reader_who_leaves_does_not_change_the_verdict(
        self, tmp_path: Path, example: Path
    ) -> None:
        path = tmp_path / "runs.db"
        path.write_bytes(example.read_bytes())
        db = sqlite3.connect(path, isolation_level=None)
        db.execute("DROP TRIGGER blobs_stand")
        db.execute("UPDATE blobs SET body = x'00' WHERE id = 3")
        db.close()
        reading, writing = os.pipe()
        os.close(reading)
        done = subprocess.run(
            [sys.executable, "-m", "auditcoder", "verify", "help", "--store", str(path)],
            stdout=writing,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.close(writing)
        assert done.returncode == Exit.DOES_NOT_HOLD
        assert done.stderr == ""

    def test_a_full_output_is_reported(self, example: Path) -> None:
        with Path("/dev/full").open("w") as full:
            done = subprocess.run(
                [sys.executable, "-m", "auditcoder", "show", "help", "--store", str(example)],
                stdout=full,
                stderr=subprocess.PIPE,
                text=True,
                check=False,
            )
        assert done.returncode == Exit.STORE
        assert "[output.unwritable]" in done.stderr

    def test_a_closed_output_does_not_matter(self, example: Path) -> None:
        command = f"{sys.executable} -m auditcoder verify help --store {example} >&-"
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (Exit.OK, "")

    def test_any_text_can_be_shown_in_any_locale(self, example: Path) -> None:
        env = os.environ | {"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}
        done = cli("show", "help", "--store", example, env=env)
        assert done.returncode == Exit.OK

    def test_no_home_is_reported(self) -> None:
        program = (
            "import os, pathlib, sys\n"
            "def homeless(*_): raise RuntimeError('no home')\n"
            "pathlib.Path.home = homeless\n"
            "from auditcoder.interfaces.cli.main import main\n"
            "sys.exit(main(['runs']))"
        )
        env = {
            k: v for k, v in os.environ.items() if k not in {"XDG_DATA_HOME", "AUDITCODER_STORE"}
        }
        done = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, check=False, env=env
        )
        assert done.returncode == Exit.STORE
        assert "[store.homeless]" in done.stderr

    def test_the_store_can_be_named_by_the_environment(self, example: Path) -> None:
        done = cli("verify", "help", env=os.environ | {"AUDITCODER_STORE": str(example)})
        assert done.returncode == Exit.OK

    def test_a_fault_of_our_own_is_not_taken_for_a_verdict(self, example: Path) -> None:
        program = (
            "import sys\n"
            "import auditcoder.lifecycle.transfer as t\n"
            "def broken(*_, **__): raise KeyError('oops')\n"
            "t.verify = broken\n"
            "from auditcoder.interfaces.cli.main import main\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, "verify", "help", "--store", str(example)],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == Exit.INTERNAL
        assert "Traceback" not in done.stderr
        assert "[internal]" in done.stderr

    def test_ctrl_c_ends_it_quietly(self, tmp_path: Path) -> None:
        program = (
            "import sys, time\n"
            "import auditcoder.lifecycle.transfer as t\n"
            "def slow(*_, **__):\n    print('started', flush=True)\n    time.sleep(30)\n"
            "t.verify = slow\n"
            "from auditcoder.interfaces.cli.main import main\n"
            "sys.exit(main(sys.argv[1:]))"
        )
        store = SqliteStore(tmp_path / "s.db")
        failing(store)
        store.close()
        process = subprocess.Popen(
            [sys.executable, "-c", program, "verify", RUN, "--store", str(tmp_path / "s.db")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(0.05)
        process.send_signal(2)
        _, err = process.communicate(timeout=10)
        assert process.returncode == Exit.INTERRUPTED
        assert "Traceback" not in err


def test_a_lying_zip_inflates_no_further_than_it_says(tmp_path: Path) -> None:
    """The central directory claims 4 KiB for a part that holds 600 MiB of zeros."""
    path = tmp_path / "bomb.acb"
    store = SqliteStore(":memory:")
    failing(store)
    write_bundle(store, RUN, path)
    store.close()
    bomb = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as new:
        for info in old.infolist():
            if info.filename == "manifest.json":
                new.writestr(info.filename, old.read(info) + b" " * (600 << 20))
            else:
                new.writestr(info.filename, old.read(info))
    claimed = zipfile.ZipFile(path).getinfo("manifest.json").file_size
    real = (claimed + (600 << 20)).to_bytes(4, "little")
    bomb.write_bytes(bomb.read_bytes().replace(real, claimed.to_bytes(4, "little")))
    limited = f"ulimit -v 400000; exec {sys.executable} -m auditcoder verify {bomb}"
    done = subprocess.run(["sh", "-c", limited], capture_output=True, text=True, check=False)
    assert done.returncode in {Exit.OK, Exit.UNREADABLE, Exit.DOES_NOT_HOLD}, done.stderr
