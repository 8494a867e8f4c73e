/** Stream of curves from the manager: opened, read, and found dead where nothing comes; why it ended, in words. */
import type { JobRef } from "../../crds/job_kind.ts";
import type { Outage } from "../../owner/followed_group.ts";
import { createEventParser } from "../../platform/base/event_parser.ts";
import type { ManagerClient } from "../../views/followed_curves.ts";
import { KubeError, messageOf } from "../../platform/kube/errors.ts";
import { SilentError } from "../../platform/kube/connection/open_response.ts";
import { CorruptStreamError } from "../../platform/kube/watching/watch.ts";
import { type ManagerNews, readEvent, streamPath } from "./manager_news.ts";

/** The manager says something each 15 s; after so long without a word the stream is dead. */
const SILENCE_MS = 40_000;
/** Until the headers are there, of a refusal until its end, in milliseconds. */
const DEADLINE_MS = 15_000;
/** Most characters of an event that has no end yet: the curves of a hundred jobs with as many metrics and marks as are kept. */
const MOST_CHARACTERS = 48 << 20;
/** Beginning of the comment that says why the stream ends. */
const ENDED = "ended:";

const WHAT_IS_MISSING: Readonly<Record<number, string>> = {
  401: "the manager does not accept the token with which curves are asked for",
  403: "the right to read curves is missing at the manager",
  404:
    "the manager that is reached serves no curves: it is older than this page, or none of Milepost",
  429: "the manager has too much to do to give curves",
  503: "the manager cannot give curves now",
};

/** Returns what an error says is missing. */
export function outageOf(error: unknown): Outage {
  if (!(error instanceof KubeError)) {
    return { reason: `the manager cannot be reached: ${messageOf(error)}` };
  }
  const { code, message, retryAfterMs } = error;
  const missing = WHAT_IS_MISSING[code] ?? `the manager gave no curves (HTTP ${code})`;
  return { reason: `${missing}: ${message}`, retryAfterMs };
}

/** Options of {@link followManager}. */
export interface ManagerStreamOptions {
  readonly client: ManagerClient;
  readonly jobs: readonly JobRef[];
  readonly signal: AbortSignal;
  /** The manager has answered: the stream is there. */
  readonly onOpen: () => void;
  readonly onNews: (news: ManagerNews) => void;
  /** Something came, be it a sign of life. */
  readonly onHeard: () => void;
}

/** Reads to the end. Returns why the manager ended it. */
async function readAll(
  body: AsyncIterable<Uint8Array>,
  onNews: ManagerStreamOptions["onNews"],
): Promise<string> {
  const parse = createEventParser(MOST_CHARACTERS);
  const decoder = new TextDecoder();
  let why = "the manager ended the stream of curves";
  for await (const bytes of body) {
    for (const part of parse(decoder.decode(bytes, { stream: true }))) {
      const news = part.kind === "event" ? readEvent(part.event, part.data) : undefined;
      if (news !== undefined) onNews(news);
      if (part.kind === "comment" && part.text.startsWith(ENDED)) {
        why = `${why}: ${part.text.slice(ENDED.length).trim()}`;
      }
    }
  }
  return why;
}

/** The same parts, each of which is told. */
async function* told<T>(parts: AsyncIterable<T>, onHeard: () => void): AsyncGenerator<T> {
  for await (const part of parts) {
    onHeard();
    yield part;
  }
}

/** Follows the curves of jobs until that ends. Never throws. */
export async function followManager(options: ManagerStreamOptions): Promise<Outage> {
  const { client, jobs, signal, onOpen, onNews, onHeard } = options;
  let isOpen = false;
  try {
    const { body } = await client.stream(streamPath(jobs), {
      headers: { "Accept": "text/event-stream" },
      signal,
      deadlineMs: DEADLINE_MS,
      idleMs: SILENCE_MS,
    });
    isOpen = true;
    onOpen();
    return { reason: await readAll(told(body, onHeard), onNews) };
  } catch (error) {
    if (error instanceof SilentError) {
      return { reason: `nothing was heard from the manager for ${SILENCE_MS / 1000} s` };
    }
    if (!isOpen) return outageOf(error);
    if (error instanceof CorruptStreamError) return { reason: error.message };
    return { reason: `the stream of curves from the manager broke off: ${messageOf(error)}` };
  }
}
