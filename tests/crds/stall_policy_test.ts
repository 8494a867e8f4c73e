/** Tests of the policy of stalls: what is read of it, and what is wrong with it. */
import assert from "node:assert/strict";
import { DEFAULT_STALL_POLICY, readStallPolicy } from "../../crds/stall_policy.ts";

Deno.test("a policy without fields is the default: people are told", () => {
  assert.deepEqual(readStallPolicy("{}"), { ok: true, value: DEFAULT_STALL_POLICY });
  assert.deepEqual(DEFAULT_STALL_POLICY, {
    action: "Notify",
    afterMs: undefined,
    startupMs: 1_800_000,
    maxRestarts: 3,
    needsCheckpoint: true,
  });
});

Deno.test("`readStallPolicy()` reads every field", () => {
  const text = JSON.stringify({
    action: "Restart",
    after: "1m30s",
    startup: "30s",
    maxRestarts: 0,
    needsCheckpoint: false,
  });
  assert.deepEqual(readStallPolicy(text), {
    ok: true,
    value: {
      action: "Restart",
      afterMs: 90_000,
      startupMs: 30_000,
      maxRestarts: 0,
      needsCheckpoint: false,
    },
  });
});

const AFTER = 'must be "auto" or a duration of at least 30s, such as 90s or 10m';
const STARTUP = "must be a duration of at least 30s, such as 90s or 10m";
const COUNT = "must be a whole number from 0 to 20";
const ACTION = "must be one of Notify, Restart, Stop, Ignore";
const SHAPE =
  "must be an object with action and, if wanted, after, startup, maxRestarts, needsCheckpoint";

const WRONG: Readonly<Record<string, readonly [field: string, message: string | RegExp]>> = {
  '{"action": "Reboot"}': ["action", ACTION],
  '{"action": "restart"}': ["action", ACTION],
  '{"action": null}': ["action", ACTION],
  '{"action": "Restart", "maxRestart": 3}': ["maxRestart", "is not known"],
  '{"after": "29s"}': ["after", AFTER],
  '{"after": "29.999s"}': ["after", AFTER],
  '{"after": "-1m"}': ["after", AFTER],
  '{"after": "never"}': ["after", AFTER],
  '{"after": 60}': ["after", AFTER],
  '{"after": ""}': ["after", AFTER],
  [`{"after": "${"1m".repeat(50)}"}`]: ["after", AFTER],
  '{"startup": "auto"}': ["startup", STARTUP],
  '{"startup": "10s"}': ["startup", STARTUP],
  '{"maxRestarts": 21}': ["maxRestarts", COUNT],
  '{"maxRestarts": -1}': ["maxRestarts", COUNT],
  '{"maxRestarts": 1.5}': ["maxRestarts", COUNT],
  '{"maxRestarts": "3"}': ["maxRestarts", COUNT],
  '{"needsCheckpoint": "no"}': ["needsCheckpoint", "must be true or false"],
  "[]": ["", SHAPE],
  "null": ["", SHAPE],
  '"Restart"': ["", SHAPE],
  "Restart": ["", /^must be JSON: /],
  "": ["", /^must be JSON: /],
  [`{"action": "Restart"${" ".repeat(1024)}}`]: ["", "must have at most 1024 characters"],
};

for (const [text, [field, message]] of Object.entries(WRONG)) {
  Deno.test(`\`readStallPolicy()\` refuses ${text.slice(0, 60)}`, () => {
    const read = readStallPolicy(text);
    assert.ok(!read.ok);
    assert.equal(read.problems.length, 1);
    const [problem] = read.problems;
    assert.equal(problem?.field, field);
    if (typeof message === "string") assert.equal(problem.message, message);
    else assert.match(problem.message, message);
  });
}
