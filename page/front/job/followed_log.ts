/** Log of a job's page as it is followed: of one pod, or of all of them together. */
import { useEffect, useRef, useState } from "preact/hooks";
import { hasEnded, type JobDetails, type Pod } from "./job_details.ts";
import type { LogLines } from "./log_lines.ts";
import {
  followLog,
  type FollowOptions,
  followTogether,
  type LabelledPlace,
  type LogState,
  MOST_TOGETHER,
} from "./log_stream.ts";
import { plainText } from "../readable_text.ts";
import { ALL_PODS, type JobView } from "../url_state.ts";

/** Least time between two drawings, in milliseconds. */
const DRAW_MS = 150;

/** What of a log is shown. */
interface ShownLog {
  readonly text: string;
  readonly dropped: number;
}
const NOTHING: ShownLog = { text: "", dropped: 0 };

/** The log, and how it is with it. */
export interface FollowedLog extends ShownLog {
  readonly state: LogState;
  /** Empty: there is none yet. */
  readonly pod: string;
  /** The logs that it consists of. */
  readonly places: readonly LabelledPlace[];
  /** Reads it again. */
  readonly again: () => void;
}

/** Without a name the API server takes the only container, and refuses a pod of several. */
const firstOf = ([first = "", ...others]: readonly string[] = []) => others.length > 0 ? first : "";

/** The pods of a view, each with its rank before its lines. */
function placesOf(view: JobView, pod: string, pods: readonly Pod[]): readonly LabelledPlace[] {
  const { namespace } = view;
  if (pod !== ALL_PODS) {
    const container = view.container || firstOf(pods.find(({ name }) => name === pod)?.containers);
    return pod === "" ? [] : [{ ...view, pod, container, label: pod }];
  }
  const present = pods.filter(({ gone }) => !gone);
  return (present.length > 0 ? present : pods).slice(0, MOST_TOGETHER).map((
    { name, rank, containers },
  ) => ({
    namespace,
    pod: name,
    container: firstOf(containers),
    isPrevious: false,
    label: plainText(rank || name),
  }));
}

/** Follows the log of a view. */
export function useLog(view: JobView, details: JobDetails | undefined): FollowedLog {
  // One that was shown stays when it is gone: its log is not that of the next one.
  const shownFirst = useRef("");
  shownFirst.current ||= details?.pods[0]?.name ?? "";
  const pod = view.pod || shownFirst.current;
  const places = placesOf(view, pod, details?.pods ?? []);
  const { namespace, isPrevious } = view;
  const [state, setState] = useState<LogState>({ phase: "loading" });
  const [shown, setShown] = useState(NOTHING);
  const [tries, setTries] = useState(0);
  const newest = useRef(details);
  newest.current = details;
  /** Begins to follow those that are not followed yet. */
  const follow = useRef((_: readonly LabelledPlace[]) => {});
  const container = pod === ALL_PODS ? "" : places[0]?.container ?? "";
  useEffect(() => {
    setState({ phase: "loading" });
    setShown(NOTHING);
    const stop = new AbortController();
    let timer = 0;
    const options: Omit<FollowOptions, "isOver"> = {
      signal: stop.signal,
      onLines: (lines: LogLines) => {
        timer ||= setTimeout(() => {
          timer = 0;
          setShown({ text: lines.text, dropped: lines.dropped });
        }, DRAW_MS);
      },
      onState: setState,
    };
    const isOver = (name: string) => () => {
      const it = newest.current?.pods.find((it) => it.name === name);
      return it === undefined ? newest.current !== undefined : hasEnded(it);
    };
    const add = pod === ALL_PODS
      ? followTogether(options)
      : (place: LabelledPlace, isOver: () => boolean) =>
        void followLog(place, { ...options, isOver });
    const known = new Set<string>();
    follow.current = (places) => {
      for (const place of places) {
        if (known.has(place.pod) || known.size >= MOST_TOGETHER) continue;
        known.add(place.pod);
        add(place, isOver(place.pod));
      }
    };
    return () => {
      stop.abort();
      clearTimeout(timer);
    };
  }, [namespace, pod, container, isPrevious, tries]);
  useEffect(() => follow.current(places), [
    namespace,
    pod,
    container,
    isPrevious,
    tries,
    places.map((it) => it.pod).join(" "),
  ]);
  return { ...shown, state, pod, places, again: () => setTries(tries + 1) };
}
