/** Body of a request as JSON of a schema, or why it is refused. */
import type { z } from "zod";
import { jsonOfBytes } from "../../platform/base/json.ts";
import type { HttpRequest } from "../../platform/http/message.ts";
import {
  bodyTooLarge,
  type Fallible,
  invalid,
  type Refusal,
} from "../../platform/http/refusals.ts";

/** Most problems that one response names. */
const MAX_CAUSES = 20;
/** Characters of a name that a problem repeats. */
const MAX_NAME = 64;

const pathText = (path: readonly PropertyKey[]) =>
  path.map((it) => String(it).slice(0, MAX_NAME)).join(".");

/** Reads the body; `what` names the request in the refusal. */
export async function readJsonBody<Body>(
  request: HttpRequest,
  schema: z.ZodType<Body>,
  { what, maxBytes }: { readonly what: Fallible; readonly maxBytes: number },
): Promise<{ readonly body: Body } | Refusal> {
  const bytes = await request.readBody(maxBytes);
  if (bytes === undefined) return bodyTooLarge(maxBytes);
  const parsed = schema.safeParse(jsonOfBytes(bytes));
  if (parsed.success) return { body: parsed.data };
  const causes = parsed.error.issues.flatMap((issue) =>
    issue.code === "unrecognized_keys"
      ? issue.keys.map((key) => ({ field: pathText([key]), message: "is not known" }))
      : [{ field: pathText(issue.path), message: issue.message }]
  );
  return invalid(what, causes.slice(0, MAX_CAUSES));
}
