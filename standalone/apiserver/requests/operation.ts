/** Operation of a request on a resource, and the response to it. */
import type { ResourceAttributes, User } from "../access/user.ts";
import type { Call, Context } from "../operations/context.ts";
import type { Form } from "../presentation/media_types.ts";
import { jsonResponse } from "./json_response.ts";

/** A request for a resource, authenticated and authorized. */
export interface Incoming {
  readonly request: Request;
  readonly url: URL;
  readonly info: ResourceAttributes;
  readonly user: User;
}

/** A call with its request. */
export interface Operation {
  readonly context: Context;
  readonly incoming: Incoming;
  readonly call: Call;
  readonly form: Form;
}

/** Returns a JSON response with the warnings of the call. */
export function respond({ call }: Operation, body: unknown, status = 200): Response {
  const headers = new Headers();
  for (const warning of new Set(call.warnings)) {
    const quoted = warning.replace(/[\r\n]+/g, " ").replace(/[\\"]/g, "\\$&");
    // Header values are ASCII; other characters are sent as question marks.
    headers.append("warning", `299 - "${quoted.replace(/[^\x20-\x7e]/g, "?").slice(0, 4096)}"`);
  }
  return jsonResponse(body, status, headers);
}
