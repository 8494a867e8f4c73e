/** Log of a pod, followed. */
import { useEffect, useRef, useState } from "preact/hooks";
import { PodChoice } from "./detail_tabs.tsx";
import type { JobDetails } from "./job_details.ts";
import { Notice, Switch } from "./marks_and_signs.tsx";
import { call } from "./page_state.ts";
import { logText, plainText } from "./readable_text.ts";
import { CallError } from "./server_calls.ts";
import type { JobView } from "./url_state.ts";

/** Most characters of a log that are shown: its end. */
const MOST_CHARACTERS = 200_000;
/** Lines from which a log begins. */
const TAIL = 1_000;
/** Least time between two drawings, in milliseconds. */
const DRAW_MS = 150;

type LogState =
  | { readonly phase: "loading" | "followed" | "ended" }
  | { readonly phase: "gone" | "failed"; readonly reason: string };

/** Reads a log until it ends. */
async function follow(
  view: JobView,
  pod: string,
  signal: AbortSignal,
  onText: (text: string) => void,
  onState: (state: LogState) => void,
): Promise<void> {
  const path = `/logs/${encodeURIComponent(view.namespace)}/${encodeURIComponent(pod)}`;
  try {
    const { body } = await call(`${path}?follow=true&tailLines=${TAIL}`, { signal });
    onState({ phase: "followed" });
    const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
    while (reader !== undefined) {
      const { done, value } = await reader.read();
      if (done) break;
      onText(value);
    }
    onState({ phase: "ended" });
  } catch (error) {
    if (signal.aborted) return;
    const reason = error instanceof Error ? error.message : String(error);
    const isGone = error instanceof CallError && error.status === 404;
    onState({ phase: isGone ? "gone" : "failed", reason });
  }
}

function LogSign({ state }: { state: LogState }) {
  const words = { loading: "Loading…", followed: "Followed", ended: "The log has ended" };
  if (state.phase === "gone" || state.phase === "failed") return null;
  return <span class="quiet" role="status">{words[state.phase]}</span>;
}

/** The log. */
export function LogTab({ view, details }: { view: JobView; details: JobDetails | undefined }) {
  const pod = view.pod || details?.pods[0]?.name || "";
  const [state, setState] = useState<LogState>({ phase: "loading" });
  const [text, setText] = useState("");
  const [isAtEnd, setAtEnd] = useState(true);
  const [tries, setTries] = useState(0);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    setState({ phase: "loading" });
    setText("");
    if (pod === "") return;
    const stop = new AbortController();
    let all = "";
    let timer = 0;
    const draw = () => {
      timer = 0;
      setText(logText(all));
    };
    follow(view, pod, stop.signal, (part) => {
      all = (all + part).slice(-MOST_CHARACTERS);
      timer ||= setTimeout(draw, DRAW_MS);
    }, setState);
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [view.namespace, pod, tries]);
  useEffect(() => {
    if (isAtEnd && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text, isAtEnd]);
  if (pod === "") {
    return (
      <Notice title="No pod, and no log">
        <p>A log begins with a pod of the job.</p>
      </Notice>
    );
  }
  return (
    <>
      <div class="row tools">
        <PodChoice details={details} view={view} pod={pod} />
        <Switch isOn={isAtEnd} onChange={setAtEnd}>Stay at the end</Switch>
        {state.phase !== "followed" && state.phase !== "loading" && (
          <button
            type="button"
            onClick={() => setTries(tries + 1)}
          >
            Read again
          </button>
        )}
        <LogSign state={state} />
      </div>
      {state.phase === "gone" && (
        <Notice title="The pod is gone">
          <p>Its log went with it. {plainText(state.reason)}</p>
        </Notice>
      )}
      {state.phase === "failed" && (
        <Notice kind="warning" title="The log cannot be read">
          <p>{plainText(state.reason)}</p>
        </Notice>
      )}
      {(text !== "" || state.phase === "followed" || state.phase === "ended") && (
        <pre
          ref={box}
          class="log"
          tabIndex={0}
          role="region"
          aria-label={`Log of ${pod}`}
          onScroll={({ currentTarget: it }) => {
            const atEnd = it.scrollTop + it.clientHeight >= it.scrollHeight - 4;
            if (isAtEnd && !atEnd) setAtEnd(false);
          }}
        >
          {text === "" ? "(nothing was written yet)" : text}
        </pre>
      )}
    </>
  );
}
