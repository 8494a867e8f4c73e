/** Sink of notifications: what it wants to know, in which form, and the address it is told at. */
import type { NotifiedEvent } from "./notice_of_change.ts";

/** Forms of a notification. */
export const FORMS = ["json", "slack"] as const;
export type Form = typeof FORMS[number];

/** A sink. */
export interface Sink {
  readonly name: string;
  readonly form: Form;
  /** The namespaces whose jobs it is told of; undefined: all. */
  readonly namespaces?: readonly string[] | undefined;
  readonly events: readonly NotifiedEvent[];
  /** Whether it is told what tenants' programs say. */
  readonly texts: boolean;
  /** Address of the page, for links; undefined: no links. */
  readonly pageUrl?: string | undefined;
  /** Returns the address, which is a secret: it is in no message and no log. Rejects if there is none now. */
  readonly url: () => Promise<string>;
}

const isLoopback = (host: string) =>
  host === "localhost" || host === "[::1]" || /^127(\.\d+){3}$/.test(host);

/** Returns the problem of the address of a sink, without the address; undefined if there is none. */
export function urlProblem(text: string): string | undefined {
  const url = URL.parse(text.trim());
  if (url === null) return "is no URL";
  if (url.username !== "" || url.password !== "") return "must have no user and no password";
  const isPlain = url.protocol === "http:" && isLoopback(url.hostname);
  if (url.protocol === "https:" || isPlain) return undefined;
  return "must begin with https:// (http:// is only for 127.0.0.1, [::1] and localhost)";
}
