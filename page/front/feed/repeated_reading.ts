/** Reading of something again and again, while the page is seen. */
import { useEffect, useState } from "preact/hooks";
import { call } from "../page_state.ts";
import { CallError } from "./server_calls.ts";
import { backoffMs } from "../../../platform/base/backoff.ts";
import { RETRY } from "./view_state.ts";

/** What was read last, and what is wrong if the newest try failed. */
export interface Reading<T> {
  readonly value?: T;
  readonly problem?: { readonly status: number; readonly message: string };
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
    let [timer, failures] = [0, 0];
    const read = begin();
    const look = async () => {
      if (document.visibilityState === "visible") {
        try {
          const value = await read(stop.signal);
          if (value === undefined) setReading(withoutProblem);
          else if (!stop.signal.aborted) setReading({ value });
          failures = 0;
        } catch (error) {
          if (stop.signal.aborted) return;
          failures++;
          const status = error instanceof CallError ? error.status : 0;
          const message = error instanceof Error ? error.message : String(error);
          setReading((before) => ({ ...before, problem: { status, message } }));
        }
      }
      if (stop.signal.aborted) return;
      const waitMs = failures === 0 ? everyMs : backoffMs(failures + 2, RETRY, Math.random);
      timer = setTimeout(look, waitMs);
    };
    look();
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [key, when]);
  return reading;
}
