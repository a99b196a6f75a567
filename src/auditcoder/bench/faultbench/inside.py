"""The program that runs tests below a class inside a sandbox, and says how each ended.

It is sent as text. Every test gets the class anew, an empty folder and a time limit, so that
none depends on those before it; they share the process, since starting one costs more.
"""

JOB = "job.json"
REPORT = "report.jsonl"
LATE = 1
"""The exit code of a test that could not be stopped: the one that `faulthandler` gives."""

INSIDE = '''\
import faulthandler
import io
import json
import os
import random
import shutil
import signal
import sys
import types
import unittest

CLASS, TESTS, REPORT = "<class>", "<tests>", os.path.abspath("report.jsonl")
OWN = (lambda: None).__code__.co_filename
MACHINERY = os.path.dirname(unittest.__file__)


class OutOfTime(BaseException):
    pass


class Clock:
    """Ends a test that takes too long: by an exception, and if that is caught, for good."""

    def __init__(self, seconds):
        self.seconds = seconds
        signal.signal(signal.SIGPROF, self.ring)
        signal.signal(signal.SIGALRM, self.ring)

    def start(self):
        self.rung = 0
        signal.setitimer(signal.ITIMER_PROF, self.seconds, 0.5)
        signal.setitimer(signal.ITIMER_REAL, 3 * self.seconds, 0.5)

    def stop(self):
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)

    def ring(self, *_):
        self.rung += 1
        if self.rung > 4:
            os._exit(1)
        raise OutOfTime("the test's time is up")


class Trace:
    """Counts which methods of the class are entered, and by whom."""

    def __init__(self, class_name):
        self.class_name = class_name
        self.cov, self.direct, self.known = {}, {}, {}

    def owner(self, code):
        """Return the method that code belongs to, however deep inside; None for other code."""
        if code not in self.known:
            path = code.co_qualname.split(".")
            inside = code.co_filename == CLASS and path[0] == self.class_name and len(path) > 1
            self.known[code] = path[1] if inside else None
        return self.known[code]

    def __call__(self, frame, event, _):
        if name := self.owner(frame.f_code):
            self.cov[name] = self.cov.get(name, 0) + 1
            if frame.f_back is not None and frame.f_back.f_code.co_filename == TESTS:
                self.direct[name] = None


class Result(unittest.TestResult):
    """Keeps the first thing that went wrong."""

    wrong = None

    def addError(self, test, err):
        self.wrong = self.wrong or err

    addFailure = addError

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.addError(test, err)

    def addUnexpectedSuccess(self, test):
        self.wrong = self.wrong or (AssertionError, AssertionError("unexpected success"), None)


def described(trace, kind, error, link):
    """Say how a test failed; what is ours and the test machinery's is not worth telling."""
    frames = []
    while link is not None:
        code = link.tb_frame.f_code
        where = code.co_filename
        if where == TESTS:
            frames.append(("test", code.co_name, link.tb_lineno))
        elif where == CLASS:
            owner = trace.owner(code)
            frames.append(("gen" if owner else "gen_other", owner or code.co_name, link.tb_lineno))
        elif where != OWN and not where.startswith(MACHINERY):
            frames.append(("lib", code.co_name, link.tb_lineno))
        link = link.tb_next
    if len(frames) > 60:
        frames = frames[:30] + frames[-30:]
    try:
        message = str(error)
    except Exception:
        message = ""
    late, wrong = issubclass(kind, OutOfTime), issubclass(kind, AssertionError)
    return {
        "kind": "timeout" if late else "wrong_answer" if wrong else "exception",
        "exc_type": "TestTimeout" if late else kind.__name__,
        "message": message[:800].encode("utf-8", "replace").decode(),
        "frames": frames,
    }


def loaded(program, tests):
    """Return a module of its own with the class and its tests: nothing is left from before."""
    module = types.ModuleType("candidate")
    module.__file__ = os.path.join(os.path.dirname(REPORT), "candidate.py")
    sys.modules["candidate"] = module
    exec(program, module.__dict__)
    if tests is not None:
        exec(tests, module.__dict__)
    return module


def tidy(folder):
    os.chdir(folder)
    for entry in list(os.scandir(folder)):
        if entry.path == REPORT:
            continue
        if entry.is_dir(follow_symlinks=False):
            shutil.rmtree(entry.path, ignore_errors=True)
        else:
            os.unlink(entry.path)


def put(case, job, program, tests, clock):
    """Run one test and return what is to be said of it."""
    trace, result = Trace(job["class_name"]), Result()
    sys.stdin = io.StringIO()
    random.seed(job["seed"])
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(job["seed"])
    # The clock cannot interrupt what never comes back to the interpreter; this can.
    faulthandler.dump_traceback_later(3 * job["seconds"] + 3, exit=True, file=sys.stdout)
    try:
        clock.start()
        holder = getattr(loaded(program, tests), case[0])
        suite = unittest.TestSuite([holder(case[1])])
        if job["trace"]:
            sys.settrace(trace)
        suite.run(result)
    except BaseException:
        result.wrong = result.wrong or sys.exc_info()
    finally:
        sys.settrace(None)
        clock.stop()
        faulthandler.cancel_dump_traceback_later()
    said = {"cov": trace.cov, "direct": list(trace.direct), "order": list(trace.cov)}
    return said | (described(trace, *result.wrong) if result.wrong else {})


def say(line):
    with open(REPORT, "a") as file:
        file.write(json.dumps(line) + "\\n")


def main():
    with open("job.json", encoding="utf-8") as file:
        job = json.load(file)
    folder = os.getcwd()
    tidy(folder)
    sys.stdout = sys.stderr = open(os.devnull, "w")
    clock = Clock(job["seconds"])
    try:
        clock.start()
        program = compile(job["code"], CLASS, "exec", dont_inherit=True)
        # The tests stand below the class, and so do their lines.
        below = "\\n" * (job["code"].count("\\n") + 1) + job["tests"]
        tests = compile(below, TESTS, "exec", dont_inherit=True)
        loaded(program, None)
    except BaseException as error:
        say({"broken": f"{type(error).__name__}: {error}"[:800]})
        return
    finally:
        clock.stop()
    say({"broken": ""})
    for case in job["cases"]:
        tidy(folder)
        said = put(case, job, program, tests, clock)
        say(said)
        if job["to_first"] and "kind" in said:
            break


try:
    main()
finally:
    os._exit(0)
'''
