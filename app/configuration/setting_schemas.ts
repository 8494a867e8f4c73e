/**
 * Schemas of settings. A schema's metadata are what `--help` and the reference show: `description`,
 * `value`, a name for the value, and `otherwise`, the default in words where no value is the default.
 */
import { z } from "zod";
import { parseDuration } from "../../platform/base/duration.ts";
import { roundUp } from "../../platform/base/quantity.ts";
import { isAddressOrNetwork } from "../../platform/http/limits/address_list.ts";

const PORT = "must be a port from 0 to 65535 (0 takes any free port)";

/** A port. */
export const port = (otherwise: number) =>
  z.union([z.string(), z.number()], { error: PORT }).default(String(otherwise))
    .transform((given, context) => {
      const value = Number(given);
      if (/^\d+$/.test(String(given)) && value <= 65_535) return value;
      context.addIssue({ code: "custom", message: `${PORT}, not "${given}"` });
      return z.NEVER;
    }).meta({ value: "port" });

/** A duration as Go writes it; its value is in milliseconds. */
export const duration = (otherwise: string) =>
  z.string().default(otherwise).transform((text, context) => {
    const ms = parseDuration(text);
    if (ms === undefined) {
      const message = `must be a duration such as 15s or 250ms, not "${text}"`;
      context.addIssue({ code: "custom", message });
      return z.NEVER;
    }
    return ms;
  }).meta({ value: "duration" });

/** A number above 0. */
export const rate = (otherwise: number) =>
  z.coerce.number({ error: "must be a number above 0" }).positive("must be above 0")
    .default(otherwise).meta({ value: "number" });

/** An integer, 0 or more. */
export const count = (otherwise: number) =>
  z.coerce.number({ error: "must be an integer, 0 or more" })
    .int("must be an integer").min(0, "must be 0 or more").default(otherwise)
    .meta({ value: "number" });

const SIZE = "must be a size above 0 such as 512Mi or 1Gi";

const sizeText = z.union([z.string(), z.number()], { error: SIZE });

function bytesOf(given: string | number, context: z.core.$RefinementCtx): number {
  const bytes = roundUp(given);
  if (bytes !== undefined && bytes > 0) return bytes;
  context.addIssue({ code: "custom", message: `${SIZE}, not "${given}"` });
  return z.NEVER;
}

/** A size as Kubernetes writes it; its value is in bytes. */
export const size = (otherwise: string) =>
  sizeText.default(otherwise).transform(bytesOf).meta({ value: "size" });

/** The same, which need not be given; `otherwise` says what holds then. */
export const optionalSize = (otherwise: string) =>
  sizeText.optional().transform((given, context) =>
    given === undefined ? undefined : bytesOf(given, context)
  ).meta({ value: "size", otherwise });

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
export const baseUrl = z.string().optional().transform((text, context) => {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (url === null || url.protocol !== "https:" || url.pathname !== "/" || url.search !== "") {
    const message = `must be a URL such as https://host:port, not "${text}"`;
    context.addIssue({ code: "custom", message });
    return z.NEVER;
  }
  return url.origin;
}).meta({ value: "url" });

const ADDRESSES = "must be addresses or networks such as 10.0.0.1 or 10.0.0.0/24";

/** Addresses and networks, separated by commas, or a list in the file. */
export const addresses = z.union([z.string(), z.array(z.string())], { error: ADDRESSES })
  .default([]).transform((given, context): readonly string[] => {
    const all = typeof given === "string" ? given.split(",") : given;
    const entries = all.map((it) => it.trim()).filter((it) => it !== "");
    const wrong = entries.find((it) => !isAddressOrNetwork(it));
    if (wrong === undefined) return entries;
    context.addIssue({ code: "custom", message: `${ADDRESSES}, not "${wrong}"` });
    return z.NEVER;
  }).meta({ value: "addresses", otherwise: "none" });

/** `--log-level`. */
export const logLevel = (otherwise: "info" | "warning" | "error") =>
  z.enum(["debug", "info", "warning", "error"], {
    error: "must be debug, info, warning or error",
  }).default(otherwise).describe("debug, info, warning or error; debug shows an error's stack")
    .meta({ value: "level" });

/** A file or a folder that need not be given. */
export const path = (value: "file" | "folder", otherwise: string) =>
  z.string().optional().meta({ value, otherwise });

/** Names of a known set, separated by commas, or a list in the file. */
export function names<Name extends string>(known: readonly Name[]) {
  const wrong = `must be a list of ${known.join(", ")}`;
  return z.union([z.string(), z.array(z.string())], { error: wrong })
    .default([]).transform((given, context): readonly Name[] => {
      const all = typeof given === "string" ? given.split(",") : given;
      const texts = new Set(all.map((it) => it.trim()).filter((it) => it !== ""));
      const unknown = [...texts].find((text) => !known.some((name) => name === text));
      if (unknown === undefined) return known.filter((name) => texts.has(name));
      context.addIssue({ code: "custom", message: `${wrong}, not "${unknown}"` });
      return z.NEVER;
    }).meta(LIST);
}

/** Marks a setting whose flag may be repeated. */
export const LIST = { isList: true } as const;
