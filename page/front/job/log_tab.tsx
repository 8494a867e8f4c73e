/** Log of a pod or of all pods of a job: followed, looked through, and downloaded. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLog } from "./followed_log.ts";
import { COLLECTED, NoPods } from "./detail_tabs.tsx";
import type { JobDetails, Pod } from "./job_details.ts";
import { foundParts } from "./log_find.ts";
import { type LogPlace, type LogState, MOST_TOGETHER, wholeLogs } from "./log_stream.ts";
import { Choice } from "../form_fields.tsx";
import { Notice, Switch } from "../marks_and_signs.tsx";
import { showJob } from "../page_state.ts";
import { plainText } from "../readable_text.ts";
import type { Row } from "../feed/view_answers_read.ts";
import { ALL_PODS, type JobView } from "../url_state.ts";
import { saveText } from "../saved_text.ts";

const WORDS = {
  loading: "Loading…",
  followed: "Following",
  hidden: "Paused while the page is hidden",
  ended: "The log has ended",
};

/** Says how it is with the log, in a line beside its choices. */
function LogSign({ state, pod }: { state: LogState; pod: Pod | undefined }) {
  if (state.phase === "gone" || state.phase === "failed") return null;
  if (!("reason" in state)) return <span class="quiet" role="status">{WORDS[state.phase]}</span>;
  if (state.phase === "broken" && pod !== undefined && pod.reason !== "") {
    const { exitCode = "unknown" } = pod;
    return <span role="status">The container exited (code {exitCode}) and will restart</span>;
  }
  const word = { waiting: "No log yet", broken: "Interrupted, retrying", partly: "Incomplete" };
  return <span role="status">{word[state.phase]}: {plainText(state.reason)}</span>;
}

const namesOf = (names: readonly string[], value: string) =>
  [...new Set([...names, ...(value === "" ? [] : [value])])]
    .map((name) => [name, name === ALL_PODS ? "all, together" : plainText(name)] as const);

/** Choices of the pod, of its container, and of the container's run. */
function LogChoices(
  { view, details, pod }: { view: JobView; details: JobDetails | undefined; pod: string },
) {
  const pods = details?.pods ?? [];
  const it = pods.find(({ name }) => name === pod);
  const containers = it?.containers ?? [];
  const container = view.container || containers[0] || "";
  const all = pods.length > 1 ? [ALL_PODS] : [];
  return (
    <>
      <Choice
        label="Pod"
        value={pod}
        options={namesOf([...all, ...pods.map(({ name }) => name)], pod)}
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

/** Downloads the whole log; of one that cannot be read any more what is shown. */
function Download({ name, places, text }: {
  name: string;
  places: readonly LogPlace[];
  text: string;
}) {
  const [word, setWord] = useState("Download");
  const download = async () => {
    setWord("Downloading…");
    const whole = await wholeLogs(places).catch(() => undefined);
    saveText(name, whole ?? text);
    setWord(whole === undefined ? "Downloaded what is shown" : "Download");
  };
  return <button type="button" onClick={download}>{word}</button>;
}

/** The log. */
export function LogTab(
  { view, details, row }: {
    view: JobView;
    details: JobDetails | undefined;
    row: Row | undefined;
  },
) {
  const { text, dropped, state, pod, places, again } = useLog(view, details);
  const isLost = details !== undefined && !details.keepsLogs;
  const [isAtEnd, setAtEnd] = useState(true);
  const box = useRef<HTMLPreElement>(null);
  const parts = useMemo(() => foundParts(text, view.find), [text, view.find]);
  useEffect(() => {
    if (isAtEnd && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [parts, isAtEnd]);
  if (pod === "") return <NoPods details={details} row={row} />;
  const shown = details?.pods.find(({ name }) => name === pod);
  const { restarts = 0 } = shown ?? {};
  const isOver = state.phase === "ended" || state.phase === "gone" || state.phase === "failed";
  const more = pod === ALL_PODS ? (details?.pods.length ?? 0) - MOST_TOGETHER : 0;
  const name = pod === ALL_PODS ? view.name : pod;
  return (
    <>
      <div class="row tools">
        <LogChoices view={view} details={details} pod={pod} />
        <label class="choice">
          <span>Search</span>
          <input
            type="search"
            placeholder="show matching lines"
            maxLength={128}
            value={view.find}
            onInput={({ currentTarget }) => showJob(view, { find: currentTarget.value }, true)}
          />
        </label>
        <Switch
          isOn={view.isWrapped}
          onChange={(isWrapped) => showJob(view, { isWrapped }, true)}
        >
          Wrap lines
        </Switch>
        <Switch isOn={isAtEnd} onChange={setAtEnd}>Stay at the end</Switch>
        <Download name={`${name}.log`} places={places} text={text} />
        {isOver && <button type="button" onClick={again}>Read again</button>}
        <LogSign state={state} pod={shown} />
      </div>
      {state.phase === "gone" && (
        <Notice title="Pod deleted">
          <p>
            Its log was deleted with it{text !== "" && "; the lines below were read before"}.{" "}
            {plainText(state.reason)} {isLost && COLLECTED}
          </p>
        </Notice>
      )}
      {state.phase === "ended" && isLost && (
        <p class="quiet">The cluster keeps this log as long as the pod. {COLLECTED}</p>
      )}
      {restarts > 1 && (
        <p class="quiet">
          Of the {restarts + 1} starts of its container the logs of the last two are kept.
        </p>
      )}
      {state.phase === "failed" && (
        <Notice kind="warning" title="Cannot read the log">
          <p>{plainText(state.reason)}</p>
        </Notice>
      )}
      {more > 0 && <p class="quiet">{more} more pods are left out: choose them by name.</p>}
      {dropped > 0 && (
        <p class="quiet">
          {dropped.toLocaleString("en")} earlier lines are not shown: download the log to read them.
        </p>
      )}
      {(text !== "" || state.phase === "followed" || state.phase === "ended") && (
        <pre
          ref={box}
          class={view.isWrapped ? "log" : "log unwrapped"}
          tabIndex={0}
          role="region"
          aria-label={pod === ALL_PODS ? "Log of all pods" : `Log of ${pod}`}
          onScroll={({ currentTarget: it }) => {
            const atEnd = it.scrollTop + it.clientHeight >= it.scrollHeight - 4;
            if (isAtEnd && !atEnd) setAtEnd(false);
          }}
        >
          {parts.join("") === ""
            ? text === "" ? "(nothing was written yet)" : "(no line matches)"
            : parts.map((it, index) => index % 2 === 0 ? it : <mark key={index}>{it}</mark>)}
        </pre>
      )}
    </>
  );
}
