/** Tests of events for notices, each recorded once. */
import { deepEqual } from "node:assert/strict";
import { aboutTrial } from "../../../trials/plan/notice.ts";
import { createNotifier } from "../../../katib/trials/notifier.ts";
import { trial } from "./builders.ts";

Deno.test("`createNotifier()` tells each notice once, of each object and text", () => {
  const events: string[] = [];
  const notify = createNotifier({
    record: ({ uid }, { type, reason, message }) =>
      void events.push(`${uid} ${type} ${reason} ${message}`),
  });
  const about = aboutTrial(trial());
  const notice = { about, reason: "RuleInvalid", message: "a" };
  notify([notice, notice]);
  notify([notice, { ...notice, message: "b" }]);
  notify([{ ...notice, about: aboutTrial(trial({}, { uid: "another" })) }]);
  deepEqual(events, [
    "uid-of-t1 Warning RuleInvalid a",
    "uid-of-t1 Warning RuleInvalid b",
    "another Warning RuleInvalid a",
  ]);
});
