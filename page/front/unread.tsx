/** Notice in place of what is still read, was not found, or may not be seen. */
import type { ComponentChildren } from "preact";
import type { Problem } from "./feed/server_calls.ts";
import { Notice } from "./marks_and_signs.tsx";
import { plainText } from "./readable_text.ts";

/** The notice; `what` is such as `this job` or `these searches`, `problem` undefined while it is read. */
export function Unread({ what, problem, children }: {
  what: string;
  problem: Problem | undefined;
  children?: ComponentChildren;
}) {
  if (problem === undefined) {
    return (
      <Notice title="Loading…">
        <div class="ghosts" aria-hidden="true" />
      </Notice>
    );
  }
  const { status, message } = problem;
  const noun = what.replace(/^\w+ (.)/, (_, first: string) => first.toUpperCase());
  const titles = new Map([
    [403, `You lack access to ${what}`],
    [404, `${noun} not found, or you lack access`],
  ]);
  return (
    <Notice
      kind={status === 404 ? "plain" : "warning"}
      title={titles.get(status) ?? `Cannot read ${what} now`}
    >
      {message !== "" && <p>{plainText(message)}</p>}
      {children}
    </Notice>
  );
}
