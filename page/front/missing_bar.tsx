/** Bar that says what is not shown, and why, as the server says that opened the session. */
import { Hostile } from "./marks_and_signs.tsx";
import { useReading } from "./feed/repeated_reading.ts";
import type { Session } from "./feed/session_key.ts";
import { textOf } from "./feed/answer_fields.ts";
import { asList, asObject } from "../../platform/base/json.ts";

const EVERY_MS = 15_000;
/** Most sentences that are shown. */
const MOST = 5;

const readMissing = (value: unknown) =>
  asList(asObject(value).missing).slice(0, MOST).map(textOf).filter((it) => it !== "");

/** The bar; none where all is shown, or where each viewer is told by the answers to what was asked. */
export function MissingBar({ session }: { session: Session }) {
  const path = session.login === "code" ? "/session" : "";
  const { value = [] } = useReading(path, readMissing, EVERY_MS, session.key);
  if (value.length === 0) return null;
  return (
    <div class="down-bar" role="status">
      {value.map((it) => (
        <p key={it}>
          Not all is shown: <Hostile text={it} />.
        </p>
      ))}
    </div>
  );
}
