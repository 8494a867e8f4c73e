/** Log of a job's page as it is followed: of one pod, or of all of them together. */
import { useEffect, useRef, useState } from "preact/hooks";
import { hasEnded, type JobDetails } from "./job_details.ts";
import { followLogs, type LogPlace, type LogState, MOST_TOGETHER } from "./log_stream.ts";
import { plainText } from "../readable_text.ts";
import { ALL_PODS, type JobView } from "../url_state.ts";

/** Least time between two drawings, in milliseconds. */
const DRAW_MS = 150;

/** Without a name the API server takes the only container, and refuses a pod of several. */
const firstOf = ([first = "", ...others]: readonly string[] = []) => others.length > 0 ? first : "";

/** The logs of a view. */
function placesOf(
  { namespace, container, isPrevious }: JobView,
  pod: string,
  details: JobDetails | undefined,
): readonly LogPlace[] {
  const pods = details?.pods ?? [];
  if (pod === "") return [];
  if (pod !== ALL_PODS) {
    const first = firstOf(pods.find(({ name }) => name === pod)?.containers);
    return [{ namespace, pod, container: container || first, isPrevious, label: "" }];
  }
  const present = pods.filter(({ gone }) => !gone);
  return (present.length > 0 ? present : pods).slice(0, MOST_TOGETHER).map((
    { name, rank, containers },
  ) => ({
    namespace,
    pod: name,
    container: firstOf(containers),
    isPrevious: false,
    label: `[${plainText(rank || name)}] `,
  }));
}

/** Follows the log of a view. */
export function useLog(view: JobView, details: JobDetails | undefined) {
  // One that was shown stays when it is gone: its log is not that of the next one.
  const shownFirst = useRef("");
  shownFirst.current ||= details?.pods[0]?.name ?? "";
  const pod = view.pod || shownFirst.current;
  const places = placesOf(view, pod, details);
  const [state, setState] = useState<LogState>({ phase: "loading" });
  const [shown, setShown] = useState({ text: "", dropped: 0 });
  const [tries, setTries] = useState(0);
  const newest = useRef(details);
  newest.current = details;
  const follow = useRef((_: readonly LogPlace[]) => {});
  const of = [
    view.namespace,
    pod,
    pod === ALL_PODS || places[0]?.container,
    view.isPrevious,
    tries,
  ];
  useEffect(() => {
    setState({ phase: "loading" });
    setShown({ text: "", dropped: 0 });
    const stop = new AbortController();
    let timer = 0;
    const add = followLogs({
      signal: stop.signal,
      onLines: (lines) => {
        timer ||= setTimeout(() => {
          timer = 0;
          setShown({ text: lines.text, dropped: lines.kept.dropped });
        }, DRAW_MS);
      },
      onState: setState,
    });
    const known = new Set<string>();
    // Pods that come later are added: the lines of others stay.
    follow.current = (places) => {
      for (const place of places) {
        if (known.has(place.pod) || known.size >= MOST_TOGETHER) continue;
        known.add(place.pod);
        add(place, () => {
          const it = newest.current?.pods.find(({ name }) => name === place.pod);
          return it === undefined ? newest.current !== undefined : hasEnded(it);
        });
      }
    };
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, of);
  useEffect(() => follow.current(places), [...of, places.map((it) => it.pod).join(" ")]);
  return { ...shown, state, pod, places, again: () => setTries(tries + 1) };
}
