/** Reading of something again and again, while the page is seen. */
import { useEffect, useState } from "preact/hooks";
import { call } from "../page_state.ts";
import { type Problem, problemOf } from "./server_calls.ts";
import { pause } from "./view_feed.ts";
import { backoffMs } from "../../../platform/base/backoff.ts";
import { RETRY } from "./view_state.ts";

/** What was read last, and what is wrong if the newest try failed. */
export interface Reading<T> {
  readonly value?: T;
  readonly problem?: Problem;
}

/** What was read is still so. */
function withoutProblem<T>(before: Reading<T>): Reading<T> {
  if (before.problem === undefined) return before;
  const { problem: _, ...others } = before;
  return others;
}

/** Reads a path now, again and again while the page is seen, and whenever `when` changes; nothing of an empty path. */
export function useReading<T>(
  path: string,
  read: (value: unknown) => T,
  everyMs: number,
  when: string,
): Reading<T> {
  const begin = () => {
    let tag: string | undefined;
    return async (signal: AbortSignal) => {
      const response = await call(path, { signal, tag });
      if (response.status === 304) return undefined;
      const value = read(await response.json());
      tag = response.headers.get("etag") ?? undefined;
      return value;
    };
  };
  return useRepeated(path, begin, everyMs, when);
}

/** The same of what `begin` returns a function for; that resolves with undefined if it is as it was. An empty key: nothing is read. */
export function useRepeated<T>(
  key: string,
  begin: () => (signal: AbortSignal) => Promise<T | undefined>,
  everyMs: number,
  when: string,
): Reading<T> {
  const [reading, setReading] = useState<Reading<T>>({});
  useEffect(() => {
    if (key === "") return;
    const stop = new AbortController();
    const run = async () => {
      const read = begin();
      let failures = 0;
      while (!stop.signal.aborted) {
        try {
          if (document.visibilityState === "visible") {
            const value = await read(stop.signal);
            if (value === undefined) setReading(withoutProblem);
            else if (!stop.signal.aborted) setReading({ value });
            failures = 0;
          }
        } catch (error) {
          if (stop.signal.aborted) return;
          failures++;
          setReading((before) => ({ ...before, problem: problemOf(error) }));
        }
        const waitMs = failures === 0 ? everyMs : backoffMs(failures + 2, RETRY, Math.random);
        await pause(waitMs, stop.signal);
      }
    };
    run();
    return () => stop.abort();
  }, [key, when]);
  return reading;
}
