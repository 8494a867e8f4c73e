/** Requests for streams of many jobs: checks of the caller and of the body, and the response. */
import { type AnyJob, type JobKind, type JobRef, jobRefOf } from "../../crds/job_kind.ts";
import { hasLabels, type Labels } from "../../crds/label_selector.ts";
import { OBSERVATION_LIMITS } from "../../crds/wire/observation.ts";
import { answerInTime } from "../../platform/base/deadline.ts";
import {
  type Identified,
  identify,
  ofOpenStream,
  readerOfToken,
  refusalOfRights,
  refusalOfStream,
} from "../../platform/http/callers/reader_checks.ts";
import type { Reader } from "../../platform/http/callers/reader_access.ts";
import { refuseReader } from "../../platform/http/callers/reader_refusals.ts";
import { eventStreamResponse, eventText, runEventLoop } from "../../platform/http/event_stream.ts";
import { ROOM_MS } from "../../platform/http/limits/stream_limits.ts";
import type { HttpRequest, HttpResponse, ResponseSink } from "../../platform/http/message.ts";
import { invalid, type Refusal } from "../../platform/http/refusals.ts";
import type { ApiParts, Place } from "./checks.ts";
import { JobsStream } from "./jobs_stream.ts";
import { type JobsRequest, jobsRequestSchema } from "./messages.ts";
import { jobState } from "./observation_state.ts";
import { positionOf } from "./position.ts";
import { ANSWER_MS, LATE } from "./reads.ts";
import { readJsonBody } from "./json_body.ts";

const farewell = (reason: string) => eventText("end", undefined, { reason });
const SHUTTING_DOWN = farewell("this replica shuts down: connect again");

/** Returns why the reader may not hear of all jobs of the kind in the namespace; undefined if it may. */
async function refusalOfPlace(
  parts: Pick<ApiParts, "access">,
  reader: Reader,
  { kind, namespace }: Place,
): Promise<Refusal | undefined> {
  const object = { kind, namespace, text: `${kind.id} in namespace ${namespace}` };
  return await refusalOfRights(parts, reader, object, "list") ??
    await refusalOfRights(parts, reader, object, "watch");
}

/** Returns the jobs of a place that have the labels. */
function matching({ many }: ApiParts, place: Place, labels: Labels): readonly JobRef[] {
  const jobs = many.jobs(place).filter((job) => matches(job, labels));
  return jobs.map((job) => jobRefOf(place.kind, job));
}

const matches = ({ metadata }: AnyJob, labels: Labels) => hasLabels(metadata.labels ?? {}, labels);

function jobsStream(
  parts: ApiParts,
  { place, reader, request: { labelSelector: labels, from = {} }, sink: { signal } }: {
    readonly place: Place;
    readonly reader: Reader;
    readonly request: JobsRequest;
    readonly sink: ResponseSink;
  },
) {
  const { clock, random = Math.random, many, jobNow, outcomeOf, follow } = parts;
  const positions = Object.entries(from).flatMap(([uid, text]) => {
    const position = positionOf(text);
    return position === undefined ? [] : [[uid, position] as const];
  });
  return new JobsStream({
    from: new Map(positions),
    clock,
    random,
    signal,
    jobs: () => matching(parts, place, labels),
    onJob: (listener) =>
      many.onJob(
        place,
        (job, isThere) => listener(jobRefOf(place.kind, job), isThere && matches(job, labels)),
      ),
    state(which) {
      const job = jobNow(which);
      return job && jobState(which.kind, job, outcomeOf(which.kind, job));
    },
    follow,
    async read(ask) {
      const { username } = reader;
      const wait = () => signal.aborted ? 0 : many.take(username, clock.monotonic());
      for (let ms = wait(); ms > 0; ms = wait()) await clock.sleep(ms, signal);
      const inTime = async () =>
        await answerInTime(clock, ANSWER_MS, LATE, (over) => many.ask(ask, over), signal);
      return await many.inTurn(username, inTime, signal).catch((error) => {
        if (signal.aborted) return LATE;
        throw error;
      });
    },
  });
}

/** Returns undefined if the reader of an open stream may read on, else why it ends. */
async function readOn(parts: ApiParts, { token }: Identified, place: Place) {
  const open = ofOpenStream(parts);
  const caller = await readerOfToken(open, token);
  const refused = "why" in caller ? caller : await refusalOfPlace(open, caller.reader, place);
  return refused && refusalOfStream(refused);
}

/** Streams the observations of all jobs of a kind in a namespace that have some labels. */
export async function streamJobs(
  parts: ApiParts,
  request: HttpRequest,
  { kind, namespace }: { readonly kind: JobKind; readonly namespace: string },
): Promise<HttpResponse | Refusal> {
  const place = { kind, namespace };
  const caller = await identify(parts, request);
  if ("why" in caller) return caller;
  const refused = await refusalOfPlace(parts, caller.reader, place);
  if (refused !== undefined) return refused;
  const { clock, peers, slots } = parts;
  peers.proved(request.peer, clock.monotonic());
  const { streamBodyBytes: maxBytes, streamJobs: most } = OBSERVATION_LIMITS;
  const read = await readJsonBody(request, jobsRequestSchema, { what: "stream", maxBytes });
  if ("why" in read) return read;
  const count = matching(parts, place, read.body.labelSelector).length;
  if (count > most) {
    const message = `matches ${count} jobs: narrow it to ${most} at most`;
    return invalid("stream", [{ field: "labelSelector", message }]);
  }
  const { token, reader } = caller;
  const slot = slots.take(reader.username);
  if (typeof slot === "string") return refuseReader(slot, { retryAfterMs: ROOM_MS });
  return eventStreamResponse(slot, (sink) => {
    const stream = jobsStream(parts, { place, reader, request: read.body, sink });
    return runEventLoop({
      sink,
      clock,
      random: parts.random,
      expiresMs: token.expiresMs,
      follow: (listener) => stream.follow(listener),
      // It has no end of its own.
      onJobEnd: () => () => {},
      sendNews: (write) => stream.sendNews(write),
      sendLast: () => Promise.resolve(),
      reauthorize: () => readOn(parts, caller, place),
      farewell,
    });
  }, SHUTTING_DOWN);
}
