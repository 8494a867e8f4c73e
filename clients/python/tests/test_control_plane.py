"""Tests of the command `milepost`, and of a control plane for this process, beside a stand-in of the program."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import types
import unittest
from pathlib import Path
from typing import Any
from unittest import mock

import milepost
from milepost import command, control_plane
from tests.test_interruptions import CLIENT, output_of

# It says that it is ready, and ends when it is told to or when its wrapper is gone.
_PROGRAM = """
import json, os, signal, sys, time
from pathlib import Path
signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
folder = Path(os.environ["FOLDER"])
(folder / "words").write_text(json.dumps([sys.argv[1:], os.environ["PATH"].split(os.pathsep)[0]]))
(folder / "pid").write_text(str(os.getpid()))
kubeconfig = str(folder / "kc") if "--data-dir" not in sys.argv else sys.argv[-1] + "-kc"
print(json.dumps({"ready": True, "server": "https://127.0.0.1:1", "kubeconfig": kubeconfig, "ui": "http://<b>"}), flush=True)
while os.getppid() == int(os.environ["MILEPOST_WRAPPER_PID"]):
    time.sleep(0.02)
"""


def is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]


def ends(process: int) -> bool:
    end = time.monotonic() + 20
    while is_running(process) and time.monotonic() < end:
        time.sleep(0.02)
    return not is_running(process)


class LocalTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        control_plane._running.clear()

    def program_is(self, text: str) -> None:
        for patched in (
            mock.patch.object(control_plane, "program", lambda: [sys.executable, "-c", text]),
            mock.patch.dict(os.environ, {"FOLDER": str(self.folder), "KUBECONFIG": "of the user"}),
        ):
            patched.start()
            self.addCleanup(patched.stop)

    def process(self) -> int:
        return int((self.folder / "pid").read_text())

    def test_it_is_the_control_plane_of_this_process_until_it_is_stopped(self) -> None:
        self.program_is(_PROGRAM)
        client: Any = types.ModuleType("kubernetes.config.kube_config")
        with mock.patch.dict(sys.modules, {"kubernetes.config.kube_config": client}):
            with milepost.local(self.folder / "data") as here:
                self.assertIs(milepost.local(self.folder / "data"), here)
                self.assertTrue(here.is_running and is_running(self.process()))
                self.assertEqual(os.environ["KUBECONFIG"], str(self.folder / "data-kc"))
                self.assertEqual(client.KUBE_CONFIG_DEFAULT_LOCATION, str(self.folder / "data-kc"))
                self.assertIn("https://127.0.0.1:1", repr(here))
                self.assertNotIn("<b>", here._repr_html_())
            self.assertEqual(client.KUBE_CONFIG_DEFAULT_LOCATION, "of the user")
        self.assertEqual(os.environ["KUBECONFIG"], "of the user")
        self.assertFalse(here.is_running or is_running(self.process()))
        here.stop()
        self.assertEqual(repr(here), "<milepost.local: ended>")
        words = (self.folder / "words").read_text()
        self.assertEqual(words, f'[["standalone", "--json", "--data-dir", "{self.folder}/data"], "{os.path.dirname(sys.executable)}"]')

    def test_kubeconfig_is_that_of_one_that_runs_and_at_last_what_it_was(self) -> None:
        # What happens, in words: a name starts one, "-a" stops it, "!a" kills it; then whose KUBECONFIG is.
        for before, steps in (
            ("of the user", "a b -a=b -b=of_user"),
            (None, "a b -a=b -b=of_user"),
            ("of the user", "a b -b=a -a=of_user"),
            ("of the user", "a b c -b=c -a=c -c=of_user"),
            ("of the user", "a b c -b=c -c=a -a=of_user"),
            ("of the user", "a !a a=a -a=of_user"),
            (None, "a !a b=b -b=of_user"),
            ("of the user", "a b !a -b=of_user"),
            ("of the user", "a b !a a=a -b=a -a=of_user"),
        ):
            self.program_is(_PROGRAM)
            self.assertEqual(control_plane._users, [])
            if before is None:
                del os.environ["KUBECONFIG"]
            planes: dict[str, control_plane.Local] = {}
            for n, step in enumerate(steps.split()):
                deed, _, want = step.partition("=")
                name = deed[-1]
                with self.subTest(before=before, steps=steps, n=n):
                    if deed[0] == "-":
                        planes[name].stop()
                    elif deed[0] == "!":
                        planes[name]._process.kill()
                        planes[name]._process.wait()
                    else:
                        planes[name] = milepost.local(self.folder / name)
                    if want:
                        kubeconfig = before if want == "of_user" else f"{self.folder / want}-kc"
                        self.assertEqual(os.environ.get("KUBECONFIG"), kubeconfig)
            for plane in planes.values():
                plane.stop()

    def test_what_does_not_start_says_why_in_a_line_and_leaves_nothing(self) -> None:
        sleep = "import time; print('...', end='', flush=True); time.sleep(60)"
        for text, want in (
            ("import sys; print('words', file=sys.stderr); sys.exit('milepost: port 1 is taken')", "not started: milepost: port 1 is taken"),
            ("exit(4)", "not started: exit code 4"),
            (sleep, "not ready in time: give it more with patience="),
        ):  # fmt: skip
            self.program_is(text)
            with self.subTest(text=text), self.assertRaises(control_plane.NotStarted) as raised:
                milepost.local(patience=0.5 if text == sleep else 20)
            self.assertIn(want, str(raised.exception))
            self.assertEqual(os.environ["KUBECONFIG"], "of the user")

    def test_it_ends_with_its_process_however_that_ends(self) -> None:
        program = (
            "import os, sys, milepost\nfrom milepost import control_plane\n"
            f"control_plane.program = lambda: [sys.executable, '-c', {_PROGRAM!r}]\n"
            "here = milepost.local()\nif os.fork() == 0:\n    here.stop(); sys.exit(0)\nos.wait()\n"
            "assert here.is_running\nif sys.argv[1] == 'kill': os.kill(os.getpid(), 9)\n"
        )
        for how in ("exit", "kill"):
            paths = os.pathsep.join((str(CLIENT / "src"), str(CLIENT)))
            done = subprocess.run(
                [sys.executable, "-B", "-c", program, how],
                env={**os.environ, "PYTHONPATH": paths, "FOLDER": str(self.folder)}, timeout=60,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0 if how == "exit" else -signal.SIGKILL)
            self.assertTrue(ends(self.process()), how)


class CommandTest(unittest.TestCase):
    def test_where_the_program_is_missing_a_line_says_what_to_do(self) -> None:
        def gone() -> "list[str]":
            raise FileNotFoundError("/bin/deno")

        glibc, server = ("glibc", "2.31"), types.SimpleNamespace(command=lambda: ["deno", "run"])
        for system, libc, module, want in (
            ("Linux", glibc, None, 'the program is a package of its own: pip install "milepost\\[server\\]", from the first release on; '
             "in a clone it is bin/milepost, and bin/milepost standalone prints the KUBECONFIG that a notebook needs$"),
            ("Linux", glibc, types.SimpleNamespace(command=gone), "Deno, which runs the program, is missing \\(/bin/deno\\): pip"),
            ("Linux", ("", ""), server, "on Linux with glibc, and this is Linux with another C library"),
            ("Darwin", ("", ""), server, "on Linux with glibc, and this is Darwin"),
        ):  # fmt: skip
            with (
                self.subTest(want=want), mock.patch("platform.system", return_value=system),
                mock.patch("platform.libc_ver", return_value=libc), mock.patch.dict(sys.modules, {"milepost_server": module}),
            ):  # fmt: skip
                with self.assertRaisesRegex(SystemExit, f"^milepost: .*{want}"):
                    command.main()
                with self.assertRaisesRegex(control_plane.NotStarted, want):
                    milepost.local()

    def test_the_command_becomes_the_program_with_its_arguments(self) -> None:
        program = (
            "import sys\nfrom milepost import command\n"
            "command.program = lambda: [sys.executable, '-c', 'import sys; print(sys.argv[1:])']\ncommand.main()"
        )
        self.assertEqual(output_of(program, "get", "a b"), "['get', 'a b']")


if __name__ == "__main__":
    unittest.main()
