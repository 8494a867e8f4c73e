/** Log of a pod, followed. */
import { useEffect, useRef, useState } from "preact/hooks";
import { hasEnded, type JobDetails } from "./job_details.ts";
import { followLog, type LogState } from "./log_stream.ts";
import { Choice } from "../form_fields.tsx";
import { Notice, Switch } from "../marks_and_signs.tsx";
import { showJob } from "../page_state.ts";
import { plainText } from "../readable_text.ts";
import type { JobView } from "../url_state.ts";

/** Least time between two drawings, in milliseconds. */
const DRAW_MS = 150;

const WORDS = {
  loading: "Loading…",
  followed: "Followed",
  hidden: "Not followed while the page is hidden",
  ended: "The log has ended",
};

/** Says how it is with the log, in a line beside its choices. */
function LogSign({ state }: { state: LogState }) {
  if (state.phase === "gone" || state.phase === "failed") return null;
  if (!("reason" in state)) return <span class="quiet" role="status">{WORDS[state.phase]}</span>;
  return (
    <span role="status">
      {state.phase === "waiting" ? "No log yet" : "Broken off"}: {plainText(state.reason)}.{" "}
      <span class="quiet">Trying again by itself.</span>
    </span>
  );
}

const namesOf = (names: readonly string[], value: string) =>
  [...new Set([...names, ...(value === "" ? [] : [value])])]
    .map((name) => [name, plainText(name)] as const);

/** Choices of the pod, of its container, and of the container's run. */
function LogChoices(
  { view, details, pod }: { view: JobView; details: JobDetails | undefined; pod: string },
) {
  const pods = details?.pods ?? [];
  const it = pods.find(({ name }) => name === pod);
  const containers = it?.containers ?? [];
  const container = view.container || containers[0] || "";
  return (
    <>
      <Choice
        label="Pod"
        value={pod}
        options={namesOf(pods.map(({ name }) => name), pod)}
        onChange={(value) => showJob(view, { pod: value, container: "", isPrevious: false })}
      />
      {(containers.length > 1 || view.container !== "") && (
        <Choice
          label="Container"
          value={container}
          options={namesOf(containers, container)}
          onChange={(container) => showJob(view, { pod, container, isPrevious: false })}
        />
      )}
      {((it?.restarts ?? 0) > 0 || view.isPrevious) && (
        <Switch
          isOn={view.isPrevious}
          onChange={(isPrevious) => showJob(view, { pod, isPrevious })}
        >
          Before its restart
        </Switch>
      )}
    </>
  );
}

/** What of a log is shown. */
interface Shown {
  readonly text: string;
  readonly dropped: number;
}
const NOTHING: Shown = { text: "", dropped: 0 };

/** The log. */
export function LogTab({ view, details }: { view: JobView; details: JobDetails | undefined }) {
  // One that was shown stays when it is gone: its log is not that of the next one.
  const shownFirst = useRef("");
  shownFirst.current ||= details?.pods[0]?.name ?? "";
  const pod = view.pod || shownFirst.current;
  // Without a name the API server takes the only container, and refuses a pod of several.
  const [first, ...others] = details?.pods.find(({ name }) => name === pod)?.containers ?? [];
  const container = view.container || (others.length > 0 ? first ?? "" : "");
  const { namespace, isPrevious } = view;
  const [state, setState] = useState<LogState>({ phase: "loading" });
  const [{ text, dropped }, setShown] = useState(NOTHING);
  const [isAtEnd, setAtEnd] = useState(true);
  const [tries, setTries] = useState(0);
  const box = useRef<HTMLPreElement>(null);
  const newest = useRef(details);
  newest.current = details;
  useEffect(() => {
    setState({ phase: "loading" });
    setShown(NOTHING);
    if (pod === "") return;
    const stop = new AbortController();
    let timer = 0;
    followLog({ namespace, pod, container, isPrevious }, {
      signal: stop.signal,
      onLines: (lines) => {
        timer ||= setTimeout(() => {
          timer = 0;
          setShown({ text: lines.text, dropped: lines.dropped });
        }, DRAW_MS);
      },
      onState: setState,
      isOver: () => {
        const it = newest.current?.pods.find(({ name }) => name === pod);
        return it === undefined ? newest.current !== undefined : hasEnded(it);
      },
    });
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [namespace, pod, container, isPrevious, tries]);
  useEffect(() => {
    if (isAtEnd && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [text, isAtEnd]);
  if (pod === "") {
    return (
      <Notice title="No pod, and no log">
        <p>
          {details?.denied.has("pods")
            ? "You may not list the pods here, so none can be chosen."
            : "A log begins with a pod of the job."}
        </p>
      </Notice>
    );
  }
  const isOver = state.phase === "ended" || state.phase === "gone" || state.phase === "failed";
  return (
    <>
      <div class="row tools">
        <LogChoices view={view} details={details} pod={pod} />
        <Switch isOn={isAtEnd} onChange={setAtEnd}>Stay at the end</Switch>
        {isOver && <button type="button" onClick={() => setTries(tries + 1)}>Read again</button>}
        <LogSign state={state} />
      </div>
      {state.phase === "gone" && (
        <Notice title="The pod is gone">
          <p>
            {text === ""
              ? "Its log went with it."
              : "Its log went with it; what was read before stands below."}{" "}
            {plainText(state.reason)}
          </p>
        </Notice>
      )}
      {state.phase === "failed" && (
        <Notice kind="warning" title="The log cannot be read">
          <p>{plainText(state.reason)}</p>
        </Notice>
      )}
      {dropped > 0 && (
        <p class="quiet">
          {dropped.toLocaleString("en")} earlier lines are not shown: kubectl logs has them.
        </p>
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
