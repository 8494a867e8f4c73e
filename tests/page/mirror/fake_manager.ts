/** Manager that a test writes the stream of curves of, and that records what it was asked. */
import type { Clock } from "../../../platform/base/clock.ts";
import type { HttpRequest } from "../../../platform/kube/connection/transport.ts";
import type { ManagerClient } from "../../../views/followed_curves.ts";
import { answeringClient, never } from "../../support/answering_client.ts";

/** A stream that is open. */
export interface FakeStream {
  /** Names of its jobs. */
  readonly jobs: readonly string[];
  readonly query: URLSearchParams;
  /** Whether the reader has ended it. */
  readonly isCut: () => boolean;
  send(text: string): void;
  event(event: string, data: unknown): void;
  end(): void;
  break(): void;
}

/** Points of one metric, by the name of the job. */
export const curvesOf = (name: string, points: readonly (readonly number[])[]) => ({
  job: { kind: "trainjobs.trainer.kubeflow.org", namespace: "default", name, uid: `uid-${name}` },
  metrics: [{ name: "loss", points }],
  marks: [{ time: "2026-01-01T00:00:00.000Z", kind: "pod", text: "a-pod" }],
});

/** The manager. */
export class FakeManager {
  readonly streams: FakeStream[] = [];
  readonly reads: { readonly path: string; readonly answer: (response: Response) => void }[] = [];
  /** What it answers instead of a stream. */
  refusal: (() => Response) | undefined;

  /** No packet comes back: a call ends at its deadline. */
  answersNobody = false;

  constructor(clock: Clock) {
    this.client = answeringClient((request, signal) => this.#answer(request, signal), clock);
  }

  get open(): FakeStream[] {
    return this.streams.filter((it) => !it.isCut());
  }

  readonly client: ManagerClient;

  #answer({ path }: HttpRequest, signal: AbortSignal): Response | Promise<Response> {
    if (this.answersNobody) return never(signal);
    if (this.refusal !== undefined) return this.refusal();
    if (path.startsWith("/view/v1/events?")) return this.#stream(path, signal);
    const { promise, resolve: answer } = Promise.withResolvers<Response>();
    this.reads.push({ path, answer });
    return Promise.race([promise, never(signal)]);
  }

  #stream(path: string, signal: AbortSignal): Response {
    const query = new URLSearchParams(path.slice(path.indexOf("?")));
    let isCut = false;
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    const body = new ReadableStream<Uint8Array>({ start: (it) => void (controller = it) });
    const over = (end: () => void) => {
      if (!isCut) end();
      isCut = true;
    };
    signal.addEventListener("abort", () => over(() => controller?.error(signal.reason)), {
      once: true,
    });
    const send = (text: string) => {
      if (!isCut) controller?.enqueue(new TextEncoder().encode(text));
    };
    this.streams.push({
      jobs: query.getAll("job").map((it) => it.split("/").at(-1) ?? ""),
      query,
      isCut: () => isCut,
      send,
      event: (event, data) => send(`event: ${event}\nid: 1\ndata: ${JSON.stringify(data)}\n\n`),
      end: () => over(() => controller?.close()),
      break: () => over(() => controller?.error(new TypeError("connection reset"))),
    });
    return new Response(body, { headers: { "Content-Type": "text/event-stream" } });
  }
}
