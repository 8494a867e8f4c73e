/** Tests of the launch agent's arguments. */
import assert from "node:assert/strict";
import { parseSshArguments } from "../../../../standalone/kubelet/launch_agent/ssh_arguments.ts";

const cases: Record<string, { words: string[]; want: ReturnType<typeof parseSshArguments> }> = {
  "a host and the words of a command, joined by blanks": {
    words: ["job-node-0-0.job", "PATH=/a:$PATH ;", "orted", "-mca", '"x"'],
    want: {
      host: "job-node-0-0.job",
      command: 'PATH=/a:$PATH ; orted -mca "x"',
      hasInput: true,
    },
  },
  "options, and their values in the same word or in the next": {
    words: ["-x", "-o", "ConnectionAttempts=10", "-p2222", "-qi", "/key", "-oUser=x", "host", "ls"],
    want: { host: "host", command: "ls", hasInput: true },
  },
  "no input, also among other letters": {
    words: ["-xn", "host", "ls"],
    want: { host: "host", command: "ls", hasInput: false },
  },
  "a letter in a value as no option": {
    words: ["-ln", "host", "ls"],
    want: { host: "host", command: "ls", hasInput: true },
  },
  "a user, who does not matter": {
    words: ["-l", "me", "someone@host", "ls", "-n"],
    want: { host: "host", command: "ls -n", hasInput: true },
  },
  "the end of options": {
    words: ["--", "host", "-x"],
    want: { host: "host", command: "-x", hasInput: true },
  },
  "nothing without a command": { words: ["host"], want: undefined },
  "nothing without a host": { words: ["-o", "host"], want: undefined },
  "nothing in nothing": { words: [], want: undefined },
};
for (const [sentence, { words, want }] of Object.entries(cases)) {
  Deno.test(`parseSshArguments() finds ${sentence}`, () => {
    assert.deepEqual(parseSshArguments(words), want);
  });
}
