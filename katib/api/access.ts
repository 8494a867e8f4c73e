/** Who may read an observation: TokenReview for who it is, SubjectAccessReview for what they may. */
import { createHash } from "node:crypto";
import { createBoundedCache } from "../../kube/bounded_cache.ts";
import { type JobRef, statusPath } from "../../crds/job_kind.ts";
import { KINDS } from "../../crds/kinds.ts";
import { OBSERVATION_AUDIENCE } from "../../crds/names.ts";
import type { KubeClient } from "../../kube/client.ts";
import type { Clock } from "../../kube/clock.ts";
import { createQuestions, type TakeQuestion } from "./questions.ts";
import type { ReaderToken } from "./token.ts";

/** A user, as the API server says that the token's bearer is. */
export interface Reader {
  readonly username: string;
  readonly uid?: string | undefined;
  readonly groups: readonly string[];
  readonly extra?: Readonly<Record<string, string[]>> | undefined;
  /** Stands for all of this in memory: two readers of one name may differ in their groups. */
  readonly key: string;
}

/** Checks readers. What it knows, it knows for seconds. */
export interface Access {
  /** Whether the API server accepted that token the last time that it was asked. */
  wasAccepted(token: ReaderToken): boolean;
  /** Whether the API server refused the token a moment ago. */
  wasRefused(token: ReaderToken): boolean;
  /** Whose token it is; `refused` where the API server does not accept it; undefined: no answer. */
  authenticate(token: ReaderToken): Promise<Reader | "refused" | undefined>;
  /** Whether the reader may get the job, or when it may ask again; undefined: no answer. */
  authorize(
    reader: Reader,
    job: Omit<JobRef, "uid">,
  ): Promise<boolean | { readonly retryAfterMs: number } | undefined>;
  /** Ends what runs, and resolves when nothing does. */
  close(): Promise<void>;
}

/** Options of {@link createAccess}. */
export interface AccessOptions {
  readonly client: Pick<KubeClient, "create">;
  readonly clock: Clock;
  /** Budgets of TokenReviews and of SubjectAccessReviews: each takes one question. */
  readonly takeTokenReview: TakeQuestion;
  readonly takeAccessReview: TakeQuestion;
  /**
   * A reader's own share of SubjectAccessReviews, by {@link Reader.key}: 0, or milliseconds to wait. So
   * that nobody who asks for one job after the other takes the reviews of all.
   */
  readonly takeShare: (reader: string, nowMs: number) => number;
  /** `token_reviews_total{result}`. */
  readonly onReview?: (result: ReviewResult) => void;
  /** Tokens, and answers about readers and jobs, remembered each. Default 20000. */
  readonly maxAnswers?: number;
}

/** How a TokenReview ended. */
export type ReviewResult = "authenticated" | "refused" | "unavailable" | "over_budget";

const DEADLINE_MS = 3000;
/** How long answers are believed, in milliseconds: a right that is taken away ends so soon. */
export const BELIEVED_MS = { accepted: 10_000, refused: 10_000, allowed: 20_000, denied: 5000 };

interface Known<T> {
  readonly value: T;
  /** Monotonic. */
  readonly untilMs: number;
}

/** Answers that are believed for a while. */
function createMemory<T extends object | string | boolean>(clock: Clock, max: number) {
  const entries = createBoundedCache<Known<T>>(max);
  return {
    get(key: string): T | undefined {
      const entry = entries.get(key);
      return entry !== undefined && clock.monotonic() < entry.untilMs ? entry.value : undefined;
    },
    set(key: string, value: T, forMs: number): void {
      entries.set(key, { value, untilMs: clock.monotonic() + forMs });
    },
  };
}

/** Asks who the bearer is. Throws where there is no answer. */
async function reviewToken(
  client: AccessOptions["client"],
  token: string,
  signal: AbortSignal,
): Promise<Reader | "refused"> {
  const { status } = await client.create(KINDS.tokenReview, {
    apiVersion: "authentication.k8s.io/v1",
    kind: "TokenReview",
    metadata: {},
    spec: { token, audiences: [OBSERVATION_AUDIENCE] },
  }, { signal, deadlineMs: DEADLINE_MS, heedRetryAfter: false });
  const { authenticated, audiences, user } = status ?? {};
  // An API server that knows of no audiences answers without: then the token may be for anything.
  if (authenticated !== true || !audiences?.includes(OBSERVATION_AUDIENCE)) return "refused";
  if (user?.username === undefined || user.username === "") return "refused";
  const { username, uid, groups = [], extra } = user;
  const key = createHash("sha256").update(JSON.stringify([username, uid, groups, extra]))
    .digest("base64");
  return { username, uid, groups, extra, key };
}

/** Asks whether the reader may get the job. Throws where there is no answer. */
async function reviewAccess(
  client: AccessOptions["client"],
  { username, uid, groups, extra }: Reader,
  { kind, namespace, name }: Omit<JobRef, "uid">,
  signal: AbortSignal,
): Promise<boolean> {
  const { group, version, plural: resource } = kind;
  const { status } = await client.create(KINDS.subjectAccessReview, {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SubjectAccessReview",
    metadata: {},
    spec: {
      user: username,
      groups: [...groups],
      ...(uid === undefined ? {} : { uid }),
      ...(extra === undefined ? {} : { extra: { ...extra } }),
      resourceAttributes: { verb: "get", group, version, resource, namespace, name },
    },
  }, { signal, deadlineMs: DEADLINE_MS, heedRetryAfter: false });
  return status?.allowed === true && status.denied !== true;
}

/** Creates an {@link Access}. */
export function createAccess(options: AccessOptions): Access {
  const { client, clock, takeShare, onReview, maxAnswers = 20_000 } = options;
  const readers = createMemory<Reader | "refused">(clock, maxAnswers);
  const accepted = createBoundedCache<true>(maxAnswers);
  const trust = (hash: string) => accepted.has(hash) ? "known" : "stranger";
  const rights = createMemory<boolean>(clock, maxAnswers);
  const tokenReviews = createQuestions<Reader | "refused">({
    clock,
    about: "tokens",
    take: options.takeTokenReview,
    onAsked: (result) => result === "answered" || onReview?.(result),
  });
  const accessReviews = createQuestions<boolean>({
    clock,
    about: "rights",
    take: options.takeAccessReview,
  });

  return {
    wasAccepted: ({ hash }) => accepted.has(hash),
    wasRefused: ({ hash }) => readers.get(hash) === "refused",
    async authenticate({ hash, token }) {
      const known = readers.get(hash);
      if (known !== undefined) return known;
      const asked = await tokenReviews.ask(hash, trust(hash), async (signal) => {
        const reader = await reviewToken(client, token, signal);
        if (reader === "refused") accepted.delete(hash);
        else accepted.set(hash, true);
        const result = reader === "refused" ? reader : "accepted";
        readers.set(hash, reader, BELIEVED_MS[result]);
        onReview?.(result === "accepted" ? "authenticated" : "refused");
        return reader;
      });
      return asked?.answer;
    },
    async authorize(reader, job) {
      const id = `${reader.key}/${statusPath(job.kind, job.namespace, job.name)}`;
      const known = rights.get(id);
      if (known !== undefined) return known;
      const isShared = accessReviews.isAsking(id);
      const retryAfterMs = isShared ? 0 : takeShare(reader.key, clock.monotonic());
      if (retryAfterMs > 0) return { retryAfterMs };
      const asked = await accessReviews.ask(id, "known", async (signal) => {
        const may = await reviewAccess(client, reader, job, signal);
        rights.set(id, may, BELIEVED_MS[may ? "allowed" : "denied"]);
        return may;
      });
      return asked?.answer;
    },
    async close() {
      await Promise.all([tokenReviews.close(), accessReviews.close()]);
    },
  };
}
