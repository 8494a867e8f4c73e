/** Tests of the line that says most of why a program failed. */
import { deepEqual, equal } from "node:assert/strict";
import { crashLine, errorLine, linesToError } from "../../../platform/base/error_line.ts";

const traceback = (error: string, at = "train.py") =>
  `Traceback (most recent call last):\n  File "${at}", line 7, in <module>\n    main()\n    ^^^^^^\n${error}`;
const report = (cause: string, exitCode = 1) => `
${
  traceback(
    "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: ",
    "/usr/bin/torchrun",
  )
}
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-01-01_00:00:00
  host      : a
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 11)
  error_file: <N/A>
  traceback : Signal 15 (SIGTERM) received by PID 11
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-01-01_00:00:00
  host      : a
  rank      : 1 (local_rank: 1)
  exitcode  : ${exitCode} (pid: 12)
  error_file: <N/A>
  traceback : ${cause}
============================================================
`;
const ranked = (text: string) => text.replaceAll(/^(?=.)/gm, "[rank0]: ");
const NCCL = "[rank0]:[W1126 15:04:05.123456789 ProcessGroupNCCL.cpp:1496] Warning: WARNING: " +
  "destroy_process_group() was not called before program exit (function operator())";
const HANDLED = traceback("ConnectionError: wandb.ai is down");
const HINT = "To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html";

const CASES: Record<string, readonly [text: string, want: string]> = {
  "nothing": ["", ""],
  "rules and empty lines": ["\n===\n---\n", ""],
  "a line": ["sh: 1: pyhton3: not found\n", "sh: 1: pyhton3: not found"],
  "a traceback": [traceback("ValueError: bad"), "ValueError: bad"],
  "a traceback after a log, and noise after it": [
    `epoch 1\n${traceback("ValueError: bad")}\nwandb: done\n`,
    "ValueError: bad",
  ],
  "a traceback whose beginning was cut": [
    `n <module>\n    main()\n  File "t.py", line 1, in f\n    g()\nKeyError: 'x'`,
    "KeyError: 'x'",
  ],
  "an exception that is the program's own": [traceback("my.Trouble"), "my.Trouble"],
  "chained exceptions": [
    `${traceback("KeyError: 'a'")}\n\nDuring handling of the above exception, another exception ` +
    `occurred:\n\n${traceback("ValueError: b")}`,
    "ValueError: b",
  ],
  "an exception of several lines": [
    traceback("RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for a.b\n"),
    "RuntimeError: Error(s) in loading state_dict for Net: size mismatch for a.b",
  ],
  "a syntax error": [
    `  File "t.py", line 1\n    def\n       ^\nSyntaxError: invalid syntax`,
    "SyntaxError: invalid syntax",
  ],
  "errors that end nothing": [
    `${traceback("ValueError: bad")}\nException ignored in: <function f>\n${
      traceback("AttributeError: x")
    }`,
    "ValueError: bad",
  ],
  "torchrun with the traceback of a rank": [
    `${traceback("ValueError: bad")}\nE0101 api.py:1] failed (exitcode: 1)\n${report(HINT)}`,
    "ValueError: bad",
  ],
  "torchrun of which only the report is left": [
    report(HINT),
    "rank 1 exited 1 first; its log says why",
  ],
  "torchrun of a rank that was killed": [
    report("Signal 9 (SIGKILL) received by PID 12", -9),
    "rank 1 was ended by signal 9 first; its log says why",
  ],
  "torchrun with a recorded error": [
    report(traceback("ValueError: bad").replaceAll("\n", "\n  ")),
    "ValueError: bad",
  ],
  "accelerate": [
    `${traceback("ValueError: bad")}\n${
      traceback("subprocess.CalledProcessError: Command '[...]' returned non-zero exit status 1.")
    }`,
    "ValueError: bad",
  ],
  "a spawned process": [
    `${traceback("torch.multiprocessing.spawn.ProcessRaisedException: ")}\n\n-- Process 0 ` +
    `terminated with the following error:\n${traceback("ValueError: bad")}`,
    "ValueError: bad",
  ],
  "C++": [
    "terminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: x\n" +
    "frame #0: f\nframe #1: g\n",
    "what():  CUDA error: x",
  ],
  "a crash of the interpreter": [
    `Fatal Python error: Segmentation fault\n\nCurrent thread (most recent call first):\n` +
    `  File "t.py", line 3 in <module>\n`,
    "Fatal Python error: Segmentation fault",
  ],
  "a rank whose lines PyTorch marks": [
    `${ranked(traceback("ValueError: bad batch"))}\n${NCCL}\n`,
    "ValueError: bad batch",
  ],
  "torchrun with the marked traceback of a rank": [
    `${ranked(traceback("ValueError: bad batch"))}\n${NCCL}\n${report(HINT)}`,
    "ValueError: bad batch",
  ],
  "a warning between the lines of a traceback": [
    ranked(traceback("ValueError: bad")).replace("[rank0]:     main", `${NCCL}\n$&`),
    "ValueError: bad",
  ],
  "warnings after a line": [
    `no data\n${NCCL}\n/a/b.py:3: UserWarning: x\nWARNING: y\n`,
    "no data",
  ],
  "nothing but a warning": [NCCL, ""],
  "an exception that was handled, and a later one without traceback": [
    `${HANDLED}\nFileNotFoundError: no data in /data/train`,
    "FileNotFoundError: no data in /data/train",
  ],
  "a traceback, and a line that does not tell": [
    `${HANDLED}\nepoch 2`,
    HANDLED.split("\n").at(-1)!,
  ],
  "an exception that was handled, and C++": [
    `${HANDLED}\nterminate called after throwing an instance of 'c10::Error'\n  what():  CUDA error: x\n`,
    "what():  CUDA error: x",
  ],
  "C++ that says nothing": [
    "terminate called without an active exception\nepoch 2\n",
    "terminate called without an active exception",
  ],
  "an error after which C++ says nothing": [
    `${traceback("ValueError: bad")}\nterminate called without an active exception\n`,
    "ValueError: bad",
  ],
  "an error while the interpreter ends": [
    `${traceback("ValueError: real")}\nError in atexit._run_exitfuncs:\n${traceback("OSError: x")}`,
    "ValueError: real",
  ],
  "an error of a thread": [
    `${traceback("ValueError: real")}\nException in thread QueueFeederThread:\n${
      traceback("OSError: x")
    }\n\nDuring handling of the above exception, another exception occurred:\n\n${
      traceback("ValueError: y")
    }`,
    "ValueError: real",
  ],
  "an error of a thread, and nothing else": [
    `Exception in thread Thread-1 (f):\n${traceback("OSError: x")}\ndone`,
    "OSError: x",
  ],
  "errors that end nothing between those that were handled and the one that ends": [
    `${HANDLED}\nException ignored in: <f>\nBrokenPipeError: x\n${traceback("ValueError: real")}`,
    "ValueError: real",
  ],
  "a crash of the interpreter, with all that it says": [
    `${HANDLED}\nFatal Python error: Segmentation fault\n\nThread 0x00007f1 (most recent call first):\n` +
    `  File "/usr/lib/threading.py", line 324 in wait\n\nCurrent thread 0x00007f2 (most recent call ` +
    `first):\n  File "t.py", line 3 in <module>\n\nExtension modules: a, b (total: 2)\n`,
    "Fatal Python error: Segmentation fault",
  ],
  "Go": ["panic: boom\n\ngoroutine 1 [running]:\nmain.main()\n", "panic: boom"],
};
for (const [sentence, [text, want]] of Object.entries(CASES)) {
  Deno.test(`errorLine() of ${sentence}`, () => equal(errorLine(text), want));
}

Deno.test("crashLine() is what a runtime says, and no exception", () => {
  equal(crashLine(`${HANDLED}\nValueError: bad\nepoch 2`), "");
  equal(crashLine("Fatal Python error: Aborted\n"), "Fatal Python error: Aborted");
  equal(crashLine(`what():  CUDA error\nFatal Python error: Aborted\n`), "what():  CUDA error");
});

Deno.test("linesToError() ends with the last error that ended a program, before a launcher's report", () => {
  const log = `epoch 1\n${traceback("ValueError: bad batch")}\n${report(HINT)}`;
  const lines = linesToError(log, 30).split("\n");
  deepEqual([lines[0], lines.at(-1)], ["epoch 1", "ValueError: bad batch"]);
  equal(linesToError(log, 2).split("\n").length, 2);
  const twoLines = `${traceback("ExceptionGroup:")}\n  two errors`;
  equal(linesToError(twoLines, 1), "  two errors");
  for (
    const silent of ["", "epoch 1", report(HINT), `Exception ignored in: x\n${traceback("E: a")}`]
  ) {
    equal(linesToError(silent, 30), "", silent);
  }
});

Deno.test("errorLine() takes little time for hostile text", () => {
  const began = performance.now();
  for (
    const part of [
      "(",
      "Error",
      ": ",
      "\n\t",
      'File "',
      "Root Cause (first observed failure):\n",
      "1:",
      "[rank0]:",
      "Exception in thread :",
    ]
  ) {
    errorLine(part.repeat(8192 / part.length));
  }
  equal(performance.now() - began < 2_000, true);
});
