/** Options of a pod's log, as a query says them (Kubernetes core/v1, PodLogOptions). Pure. */
import { z } from "zod";

/** A boolean as Go reads it. */
const flag = z.string().regex(/^(1|t|true|0|f|false)$/i, "must be true or false")
  .transform((text) => /^[1t]/i.test(text)).default(false);

function whole(least: number) {
  const isWhole = (text: string) => /^\d{1,15}$/.test(text) && Number(text) >= least;
  return z.string().refine(isWhole, `must be a whole number of at least ${least}`)
    .transform(Number).optional();
}

const optionsSchema = z.object({
  /** Stay and tell what comes, until the container ends. */
  follow: flag,
  /** The start before the present one. */
  previous: flag,
  /** Each line begins with its time. */
  timestamps: flag,
  /** Only the last lines. */
  tailLines: whole(0),
  sinceSeconds: whole(1),
  /** RFC 3339. */
  sinceTime: z.string()
    .refine((text) => Number.isFinite(Date.parse(text)), "must be a time as in RFC 3339")
    .optional(),
  /** Ends after this many bytes. */
  limitBytes: whole(1),
  stream: z.literal("All", "is not supported; only All is").optional(),
});

/** Options of a log. */
export type LogOptions = Partial<Omit<z.infer<typeof optionsSchema>, "stream">>;

/** Returns the options in a query, among parameters of other things, or what is wrong with one. */
export function readLogOptions(query: URLSearchParams): LogOptions | { readonly problem: string } {
  const given = Object.keys(optionsSchema.shape).filter((name) => query.get(name));
  const parsed = optionsSchema.safeParse(
    Object.fromEntries(given.map((name) => [name, query.get(name)])),
  );
  if (!parsed.success) {
    const [{ path = [], message = "" } = {}] = parsed.error.issues;
    return { problem: `${path.join()}: "${query.get(path.join())}" ${message}` };
  }
  const { stream: _all, ...options } = parsed.data;
  return options.sinceSeconds !== undefined && options.sinceTime !== undefined
    ? { problem: "sinceSeconds and sinceTime: only one of them may be given" }
    : options;
}
