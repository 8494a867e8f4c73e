/**
 * Schemas of settings. A schema's metadata are what `--help` and the reference show: `description`,
 * `value`, a name for the value, and `otherwise`, the default in words where no value is the default.
 */
import { z } from "zod";
import { problemsSummary } from "../../crds/field_problem.ts";
import { readStallPolicy } from "../../crds/stall_policy.ts";
import { parseDuration } from "../../platform/base/duration.ts";
import { roundUp } from "../../platform/base/quantity.ts";
import { isAddressOrNetwork } from "../../platform/http/limits/address_list.ts";

/** Returns the transformation by `read`, which returns undefined for what is not as `expected` says. */
export const readBy =
  <G, T>(expected: string, read: (given: G) => T | undefined) =>
  (given: G, context: z.core.$RefinementCtx): T => {
    const value = read(given);
    if (value !== undefined) return value;
    context.addIssue({ code: "custom", message: `${expected}, not "${given}"` });
    return z.NEVER;
  };

/** The same of a value that need not be given. */
export const readIfGiven = <G, T>(expected: string, read: (given: G) => T | undefined) => {
  const readGiven = readBy(expected, read);
  return (given: G | undefined, context: z.core.$RefinementCtx): T | undefined =>
    given === undefined ? undefined : readGiven(given, context);
};

const PORT = "must be a port from 0 to 65535 (0 takes any free port)";

/** A port. */
export const port = (otherwise: number) =>
  z.union([z.string(), z.number()], { error: PORT }).default(String(otherwise))
    .transform(readBy(PORT, (given) => {
      const value = Number(given);
      return /^\d+$/.test(String(given)) && value <= 65_535 ? value : undefined;
    })).meta({ value: "port" });

/** A duration as Go writes it; its value is in milliseconds. */
export const duration = (otherwise: string) =>
  z.string().default(otherwise)
    .transform(readBy("must be a duration such as 15s or 250ms", parseDuration))
    .meta({ value: "duration" });

/** A number above 0. */
export const rate = (otherwise: number) =>
  z.coerce.number({ error: "must be a number above 0" }).positive("must be above 0")
    .default(otherwise).meta({ value: "number" });

/** An integer, 0 or more. */
export const count = (otherwise: number) =>
  z.coerce.number({ error: "must be an integer, 0 or more" })
    .int("must be an integer").min(0, "must be 0 or more").default(otherwise)
    .meta({ value: "number" });

/** An integer up to `most`, which need not be given; `otherwise` says what holds then. */
export function optionalCount(most: number, otherwise: string) {
  const expected = `must be an integer from 0 to ${most}`;
  return z.coerce.number({ error: expected }).int(expected).min(0, expected).max(most, expected)
    .optional().meta({ value: "number", otherwise });
}

const SIZE = "must be a size above 0 such as 512Mi or 1Gi";

const sizeText = z.union([z.string(), z.number()], { error: SIZE });

function bytesOf(given: string | number): number | undefined {
  const bytes = roundUp(given);
  return bytes !== undefined && bytes > 0 ? bytes : undefined;
}

/** A size as Kubernetes writes it; its value is in bytes. */
export const size = (otherwise: string) =>
  sizeText.default(otherwise).transform(readBy(SIZE, bytesOf)).meta({ value: "size" });

/** The same, which need not be given; `otherwise` says what holds then. */
export const optionalSize = (otherwise: string) =>
  sizeText.optional().transform(readIfGiven(SIZE, bytesOf)).meta({ value: "size", otherwise });

const DOMAIN = "must be a domain such as cluster.local";
const LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?";

/** A domain in lower case, which need not be given. */
export const domain = z.string({ error: DOMAIN }).max(253, DOMAIN)
  .regex(new RegExp(`^(${LABEL}(\\.${LABEL})*)?$`), DOMAIN).default("").meta({ value: "domain" });

const IMAGE = "must be the name of an image without blanks";

/** The name of a container image. */
export const image = (otherwise: string) =>
  z.string({ error: IMAGE }).regex(/^\S{1,1000}$/, IMAGE).default(otherwise).meta({
    value: "image",
  });

/** A switch. */
export const boolean = (otherwise: boolean) =>
  z.union([z.boolean(), z.enum(["true", "false"])], { error: "must be true or false" })
    .default(otherwise).transform((it) => it === true || it === "true");

/** An address of HTTPS without a path. */
export const baseUrl = z.string().optional()
  .transform(readIfGiven("must be a URL such as https://host:port", (text) => {
    const url = URL.parse(text);
    const isBase = url?.protocol === "https:" && url.pathname === "/" && url.search === "";
    return isBase ? url.origin : undefined;
  })).meta({ value: "url" });

/** Texts separated by commas, or a list in the file; `problemOf` says what is wrong with them. */
export const texts = (
  expected: string,
  problemOf: (texts: readonly string[]) => string | undefined,
) =>
  z.union([z.string(), z.array(z.string())], { error: expected }).default([])
    .transform((given, context): readonly string[] => {
      const all = typeof given === "string" ? given.split(",") : given;
      const texts = all.map((it) => it.trim()).filter((it) => it !== "");
      const message = problemOf(texts);
      if (message === undefined) return texts;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    });

/** The same, of which each has to be as `expected` says. */
export const textsOf = (expected: string, isOne: (text: string) => boolean) =>
  texts(expected, (all) => {
    const wrong = all.find((it) => !isOne(it));
    return wrong === undefined ? undefined : `${expected}, not "${wrong}"`;
  });

/** Addresses and networks. */
export const addresses = textsOf(
  "must be addresses or networks such as 10.0.0.1 or 10.0.0.0/24",
  isAddressOrNetwork,
).meta({ value: "addresses", otherwise: "none" });

/** `--log-level`. */
export const logLevel = (otherwise: "info" | "warning" | "error") =>
  z.enum(["debug", "info", "warning", "error"], {
    error: "must be debug, info, warning or error",
  }).default(otherwise).describe("debug, info, warning or error; debug shows an error's stack")
    .meta({ value: "level" });

/** A policy of stalls, JSON. */
export const stallPolicy = (otherwise: string) =>
  z.string({ error: "must be JSON in a text" }).default(otherwise).transform((given, context) => {
    const read = readStallPolicy(given);
    if (read.ok) return read.value;
    context.addIssue({ code: "custom", message: problemsSummary(read.problems) });
    return z.NEVER;
  }).meta({ value: "policy" });

/** A file or a folder that need not be given. */
export const path = (value: "file" | "folder", otherwise: string) =>
  z.string().optional().meta({ value, otherwise });

/** Marks a setting whose flag may be repeated. */
export const LIST = { isList: true } as const;

/** Names of a known set. */
export const names = <Name extends string>(known: readonly Name[]) =>
  textsOf(`must be a list of ${known.join(", ")}`, (text) => known.some((name) => name === text))
    .transform((texts) => known.filter((name) => texts.includes(name))).meta(LIST);
