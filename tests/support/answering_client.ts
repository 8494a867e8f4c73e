/** Client of a server that is a function: what it calls, and how long it waits, are the real client's. */
import {
  type ClosableClient,
  createClientOver,
} from "../../platform/kube/connection/http_client.ts";
import type { Clock } from "../../platform/base/clock.ts";
import { endingWith } from "../../platform/kube/connection/ending_body.ts";
import type { HttpRequest } from "../../platform/kube/connection/transport.ts";

/** A promise that the signal alone ends. */
export function never(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener("abort", () => reject(signal.reason), { once: true })
  );
}

/** A response whose body begins and then falls silent. */
export function silent(begin = "{"): Response {
  const bytes = new TextEncoder().encode(begin);
  return new Response(new ReadableStream({ start: (body) => body.enqueue(bytes) }));
}

/** Creates it. */
export function answeringClient(
  answer: (request: HttpRequest, signal: AbortSignal) => Response | Promise<Response>,
  clock?: Clock,
): ClosableClient {
  async function send(request: HttpRequest, signal: AbortSignal): Promise<Response> {
    request.mayLeave?.();
    return endingWith(await answer(request, signal), signal);
  }
  return createClientOver({ send, close: () => {} }, { clock });
}
