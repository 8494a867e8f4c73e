/**
 * Recorder of a real run of the demo: `deno run -A docs/pictures/record_demo.ts`. Writes demo.cast, which
 * asciinema plays, and from which `deno task docs` draws demo.svg. Needs `script` of util-linux for a
 * terminal; nothing else should run on the machine.
 */
import { formatCast, type Output, screensOf } from "./asciicast.ts";

const COMMAND = "npx -y deno@2.9.6 task demo";
/** Longest pause that is kept, in seconds. */
const LONGEST_PAUSE = 1.5;
/** Outputs that come within this time are one, in seconds. */
const TOGETHER = 0.1;
const TYPING = 0.04;
const WIDTH = 104;

const root = new URL("../../", import.meta.url);

/** What the demo writes to a terminal. */
async function* demoOutputs(): AsyncGenerator<Output> {
  const child = new Deno.Command("script", {
    args: [
      "-qfec",
      `stty cols ${WIDTH}; exec ${Deno.execPath()} run -A main.ts demo --seconds 8`,
      "/dev/null",
    ],
    cwd: root,
    // The picture has its own colours.
    env: { NO_COLOR: "1" },
    stdout: "piped",
    stderr: "inherit",
    stdin: "null",
  }).spawn();
  const begin = performance.now();
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    yield { at: (performance.now() - begin) / 1000, text };
  }
  const { code } = await child.status;
  if (code !== 0) throw new Error(`the demo ended with ${code}`);
}

/** The command as somebody types it. */
function typed(): Output[] {
  const keys = [...COMMAND].map((text, index) => ({ at: 0.5 + index * TYPING, text }));
  return [{ at: 0, text: "$ " }, ...keys, { at: (keys.at(-1)?.at ?? 0) + 0.4, text: "\r\n" }];
}

const outputs: Output[] = typed();
let previous = 0;
let at = outputs.at(-1)?.at ?? 0;
for await (const output of demoOutputs()) {
  const pause = Math.min(output.at - previous, LONGEST_PAUSE);
  previous = output.at;
  at += pause;
  const last = outputs.at(-1);
  if (last !== undefined && at - last.at < TOGETHER) {
    outputs[outputs.length - 1] = { at: last.at, text: last.text + output.text };
  } else outputs.push({ at, text: output.text });
}
const recording = { width: WIDTH, height: 0, outputs };
const height = screensOf(recording).at(-1)?.lines.length ?? 0;
await Deno.writeTextFile(
  new URL("docs/pictures/demo.cast", root),
  formatCast({ ...recording, height }),
);
