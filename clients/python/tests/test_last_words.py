"""Tests of what a program that fails leaves in its container's termination message."""

import os
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import milepost
from milepost.last_words import BYTES_MAX, LastWords, words_of
from milepost.notices import Notices
from tests.fakes import FakeEndpoint
from tests.test_interruptions import CLIENT, output_of

JOB = {"KUBEFLOW_TRAINER_STATUS_URL": "https://127.0.0.1:9/status"}


def raised(error: BaseException, depth: int = 0) -> BaseException:
    try:
        if depth > 0:
            raise raised(error, depth - 1)
        raise error
    except BaseException as caught:
        return caught


class WordsTest(unittest.TestCase):
    def test_an_exception_is_as_python_prints_it(self) -> None:
        words = words_of(raised(ModuleNotFoundError("No module named 'tochr'")))
        self.assertRegex(words, r"\ATraceback \(most recent call last\):\n  File ")
        self.assertTrue(words.endswith("\nModuleNotFoundError: No module named 'tochr'"))

    def test_it_is_bounded_and_its_text_is_whole_from_the_start(self) -> None:
        class Odd(Exception):
            def __str__(self) -> str:
                raise RuntimeError("no")

        cases: list[tuple[BaseException, str, str]] = [
            (raised(ValueError("x"), 90), "", "\nValueError: x"),
            (ValueError("long " * 2000), "ValueError: long long", ""),
            (ValueError("ü" * 5000), "ValueError: ü", "ü"),
            (ValueError("a\x1b[31m\x07\x00b\u202ec\td\ne"), "ValueError: a\\x1b[31m\\x07\\x00b\\u202ec\\td\ne", "e"),
            (ValueError("\ud800"), "ValueError: ", ""),
            (Odd(), "", "<exception str() failed>"),
        ]
        for error, begin, end in cases:
            with self.subTest(error=type(error).__name__, begin=begin):
                words = words_of(error)
                self.assertLessEqual(len(words.encode()), BYTES_MAX)
                self.assertTrue(words.startswith(begin), words[:100])
                self.assertTrue(words.endswith(end), words[-100:])


class FileTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = Path(folder.name) / "message"
        self.file.touch()
        self.environ = {**JOB, "MILEPOST_TERMINATION_LOG": str(self.file)}
        kept = mock.patch("sys.excepthook")
        kept.start()
        self.addCleanup(kept.stop)

    def fails(self, error: BaseException, environ: "dict[str, str] | None" = None, **more: Any) -> str:
        around = self.environ if environ is None else environ
        with self.assertRaises(type(error)), milepost.Run(endpoint=FakeEndpoint(), environ=around, **more):
            raise error
        return self.file.read_text()

    def test_the_exception_that_ends_a_run_is_written(self) -> None:
        self.assertTrue(self.fails(ValueError("bad")).endswith("ValueError: bad"))

    def test_every_rank_writes(self) -> None:
        self.assertTrue(self.fails(ValueError("bad"), rank=3).endswith("ValueError: bad"))

    def test_a_text_that_a_program_exits_with_is_written_and_other_ends_are_not(self) -> None:
        for error, want in ((SystemExit(3), ""), (KeyboardInterrupt(), ""), (SystemExit("no data"), "no data")):
            self.assertEqual(self.fails(error), want)

    def test_outside_of_a_job_and_without_a_file_nothing_is_written(self) -> None:
        self.assertEqual(self.fails(ValueError(), {"MILEPOST_TERMINATION_LOG": str(self.file)}), "")
        self.file.unlink()
        with self.assertRaises(FileNotFoundError):
            self.fails(ValueError())

    def test_a_run_that_begins_after_one_that_failed_takes_its_words_back(self) -> None:
        self.assertNotEqual(self.fails(ValueError("bad")), "")
        with milepost.Run(endpoint=FakeEndpoint(), environ=self.environ):
            self.assertEqual(self.file.read_text(), "")
        self.assertTrue(self.fails(TypeError("worse")).endswith("TypeError: worse"))

    def test_the_first_process_of_a_container_that_fails_is_the_reason(self) -> None:
        self.file.write_text("of another process")
        self.assertEqual(self.fails(ValueError("later")), "of another process")
        # One that was before this process is of an attempt that is over.
        before = time.time() - 86400 * 365
        os.utime(self.file, (before, before))
        self.assertTrue(self.fails(ValueError("now")).endswith("ValueError: now"))

    def test_of_processes_that_fail_at_once_one_is_the_reason_and_whole(self) -> None:
        program = (
            "import sys, milepost\nrun = milepost.Run(rank=int(sys.argv[1]))\nsys.stdin.readline()\n"
            "raise ValueError(sys.argv[1] * 1500)"
        )
        paths = os.pathsep.join((str(CLIENT / "src"), str(CLIENT)))
        started = [
            subprocess.Popen(
                [sys.executable, "-B", "-c", program, rank], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL,
                env={**os.environ, **self.environ, "PYTHONPATH": paths},
            )
            for rank in "1234"
        ]  # fmt: skip
        for process in started:
            assert process.stdin is not None
            process.stdin.close()
        self.assertEqual([process.wait(60) for process in started], [1] * 4)
        self.assertRegex(self.file.read_text(), r"\ATraceback [^\0]*\nValueError: (1{1500}|2{1500}|3{1500}|4{1500})\Z")

    def test_what_cannot_be_written_is_said_and_does_not_raise(self) -> None:
        words = LastWords(str(self.file), Notices())
        with mock.patch("os.open", side_effect=PermissionError("no")), self.assertLogs("milepost") as logs:
            words.say(ValueError("bad"))
        self.assertRegex(logs.output[0], "termination message: PermissionError: no")
        for path in (self.file.parent, "/dev/null"):
            LastWords(str(path), Notices()).say(ValueError("bad"))

    def test_an_exception_that_nobody_catches_is_written_and_printed(self) -> None:
        program = (
            "import os, milepost\nrun = milepost.Run(patience=0)\n"
            "if os.fork() == 0:\n    raise RuntimeError('of a child')\nos.wait()\nimport tochr"
        )
        with self.assertRaisesRegex(AssertionError, "No module named 'tochr'"):
            output_of(program, environ=self.environ)
        words = self.file.read_text()
        self.assertRegex(words, r'\ATraceback.*\n  File "<string>", line 6')
        self.assertTrue(words.endswith("ModuleNotFoundError: No module named 'tochr'"))


if __name__ == "__main__":
    unittest.main()
