/** The file of `--notifications`: the sinks that are told what becomes of jobs. */
import { dirname, resolve } from "node:path";
import { z } from "zod";
import {
  type Form,
  FORMS,
  type Sink,
  urlProblem,
} from "../../controller/notifications/notified_sink.ts";
import { NOTIFIED_EVENTS } from "../../controller/notifications/notice_of_change.ts";
import { ConfigurationError } from "../../platform/kube/errors.ts";
import { readFlagFile } from "../tls_files.ts";
import { yamlOf } from "./yaml_text.ts";

/** Most sinks. */
const SINKS_MAX = 32;
const FLAG = "--notifications";

const eventSchema = z.enum(NOTIFIED_EVENTS, {
  error: `must be one of ${NOTIFIED_EVENTS.join(", ")}`,
});

const NAME = "must be a name of lower-case letters, digits and -, at most 63";
const name = z.string({ error: NAME }).regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/, NAME);
const list = <T extends z.ZodType>(item: T, of: string) => {
  const error = `must be a list of ${of}, not empty; or leave it out for all`;
  return z.array(item, { error }).min(1, error).optional();
};

const sinkSchema = z.strictObject({
  name,
  form: z.enum(FORMS, { error: `must be ${FORMS.join(" or ")}` }),
  urlFile: z.string({ error: "must name a file that has the URL" }).min(1),
  url: z.never({
    error: "who knows the URL can write to the sink: put it into a file and name that as urlFile",
  }).optional(),
  namespaces: list(name, "namespaces"),
  events: list(eventSchema, "events"),
  texts: z.boolean({ error: "must be true or false" }).default(false),
});

const PAGE_URL = "must be the address of the page, such as https://milepost.example.com";

const fileSchema = z.strictObject({
  pageUrl: z.url({ protocol: /^https?$/, error: PAGE_URL }).optional(),
  sinks: z.array(sinkSchema, { error: "must be a list of sinks" })
    .min(1, "must have a sink").max(SINKS_MAX, `must be at most ${SINKS_MAX} sinks`),
}, { error: "must be a mapping with sinks" }).superRefine(({ sinks }, context) => {
  sinks.forEach((sink, at) => {
    if (sinks.findIndex((it) => it.name === sink.name) === at) return;
    const message = "is the name of another sink, too: give it its own";
    context.addIssue({ code: "custom", path: ["sinks", at, "name"], message });
  });
});

/** The field of an issue, such as `sinks[0].form`, and what to write there. */
function problemOf({ path, message, ...issue }: z.core.$ZodIssue): string {
  const field = path.map((it) => typeof it === "number" ? `[${it}]` : `.${String(it)}`).join("");
  const said = issue.code === "unrecognized_keys"
    ? `has no field ${issue.keys.join(", ")}: leave it out`
    : message;
  return field === "" ? said : `${field.replace(/^\./, "")}: ${said}`;
}

/**
 * Returns the sinks of the file with that text; a file of an URL is read at each use, so that it may come or change later.
 * Throws a `ConfigurationError` that names every wrong field.
 */
export function sinksOf(file: string, text: string): Sink[] {
  const { success, data, error } = fileSchema.safeParse(yamlOf(FLAG, { name: file, text }));
  if (!success) {
    const problems = error.issues.map(problemOf).join("; ");
    throw new ConfigurationError(`${FLAG} ${file}: ${problems}`, { cause: error });
  }
  return data.sinks.map(({ events = NOTIFIED_EVENTS, urlFile, ...sink }) => {
    const url = () => Deno.readTextFile(resolve(dirname(file), urlFile));
    return { ...sink, events, pageUrl: data.pageUrl, url };
  });
}

/** Returns the sinks of the file; none without a file. */
export const readSinks = (file: string | undefined): Sink[] =>
  file === undefined ? [] : sinksOf(file, readFlagFile(FLAG, file));

/** The address of the one sink of `--notify`, which no message repeats. */
export const notifyUrl = z.string().optional().superRefine((text, context) => {
  const problem = text === undefined ? undefined : urlProblem(text);
  if (problem !== undefined) context.addIssue({ code: "custom", message: `the URL ${problem}` });
}).meta({ value: "url", otherwise: "nobody" });

/** Returns the sink that an address is: Slack's form for Slack's host. */
export function sinkAt(address: string): Sink {
  const form: Form = URL.parse(address)?.hostname === "hooks.slack.com" ? "slack" : "json";
  const url = () => Promise.resolve(address);
  return { name: "notify", form, events: NOTIFIED_EVENTS, texts: true, url };
}
