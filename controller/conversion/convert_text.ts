/** Conversion of YAML with former jobs, v1 and of 2018, to YAML with TrainJobs and their runtimes. Pure. */
import { Document, isScalar, isSeq, parseAllDocuments, type Tags, visit } from "yaml";
import { z } from "zod";
import { convertCaicloud } from "./caicloud.ts";
import type { Conversion } from "./conversion.ts";
import { convert } from "./convert.ts";
import {
  CAICLOUD_API_VERSION,
  CAICLOUD_SPECS_KEYS,
  CAICLOUD_TFJOB,
  caicloudTfJobSchema,
} from "../../crds/caicloud_tfjob.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { V1_KIND_LIST } from "../../crds/v1/kinds.ts";
import { V1_API_VERSION } from "../../crds/v1/names.ts";
import { ConfigurationError, messageOf } from "../../platform/kube/errors.ts";
import { namedObjectSchema } from "../../platform/kube/kubernetes.ts";
import { withoutNulls } from "../../platform/base/json.ts";
import { jobShape } from "./job_shape.ts";

type AnyObject = z.infer<typeof namedObjectSchema>;

/** A kind of jobs that are converted. */
interface FormerKind {
  readonly shape: z.ZodType;
  /** Throws if the object, which has the shape, cannot be read. */
  readonly convert: (object: unknown) => Conversion;
}

/** The kinds by what their objects say of them. */
const FORMER_KINDS: ReadonlyMap<string, FormerKind> = new Map([
  ...V1_KIND_LIST.map(({ kind, specsKey }): [string, FormerKind] => [
    `${V1_API_VERSION} ${kind}`,
    {
      shape: jobShape([specsKey], "map"),
      convert: (object) => convert(kind, V1_RESOURCES[kind].parse(object)),
    },
  ]),
  [`${CAICLOUD_API_VERSION} ${CAICLOUD_TFJOB}`, {
    shape: jobShape(CAICLOUD_SPECS_KEYS, "list"),
    convert: (object) => convertCaicloud(caicloudTfJobSchema.parse(object)),
  }],
]);

/**
 * Values as kubectl reads them: `0400` is octal and `on` is true, as in YAML 1.1, but `12:30` and `2026-01-01` are texts.
 */
const asKubectl = (tags: Tags) =>
  tags.filter((it) =>
    typeof it === "string" || it.format !== "TIME" && !it.tag.endsWith(":timestamp")
  );
const READING = { version: "1.1", customTags: asKubectl } as const;

/** One document, with lists of numbers on one line; what any reader could take for something else is quoted. */
function yamlOf(object: unknown): string {
  const document = new Document(object, { aliasDuplicateObjects: false, version: "1.1" });
  visit(document, {
    Seq(_key, node) {
      if (isSeq(node) && node.items.every((it) => isScalar(it) && typeof it.value === "number")) {
        node.flow = true;
      }
    },
  });
  return document.toString({ lineWidth: 120 });
}

/** What ends a line of YAML 1.1, with which a text of the job's could leave its comment. */
const LINE_BREAKS = /[\r\n\x85\u2028\u2029]+/g;

function comment(lines: readonly string[]): string {
  return lines.map((line) => `# ${line.replace(LINE_BREAKS, " ")}\n`).join("");
}

/** An object of a text, with its own text unless it is an item of a list. */
interface ReadObject {
  readonly object: AnyObject;
  readonly text?: string;
}

/** The objects of a text, one after the other; a list's items are objects of their own. */
function objectsOf(text: string): ReadObject[] {
  const documents = parseAllDocuments(text, READING);
  if ("empty" in documents) return [];
  return documents.flatMap((document): ReadObject[] => {
    const [error] = document.errors;
    if (error !== undefined) throw new ConfigurationError(`cannot read the YAML: ${error.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    const list = z.looseObject({ kind: z.literal("List"), items: z.array(z.unknown()) })
      .safeParse(value);
    const own = text.slice(document.range[0], document.range[1]).replace(/^---.*\n/, "").trim();
    const isYaml = !/^[{%]/.test(own);
    return (list.success ? list.data.items : [value]).map((one) => {
      const parsed = namedObjectSchema.safeParse(one);
      if (!parsed.success) {
        throw new ConfigurationError("each object must have apiVersion, kind and metadata.name");
      }
      return { object: parsed.data, ...!list.success && isYaml && { text: `${own}\n` } };
    });
  });
}

/** Converts a job. Throws if it cannot be read. */
function conversionOf(former: FormerKind, object: AnyObject): Conversion {
  const job = withoutNulls(object);
  try {
    former.shape.parse(job);
    return former.convert(job);
  } catch (error) {
    const where = `${object.kind} ${object.metadata.name}`;
    const why = error instanceof z.ZodError ? z.prettifyError(error) : messageOf(error);
    throw new ConfigurationError(`${where} cannot be read: ${why}`, { cause: error });
  }
}

/** The documents that stand for an object, with what must belong only to them; or why there are none. */
type Documents =
  | { readonly documents: readonly string[]; readonly name: string }
  | { readonly refusals: readonly string[] };

const nameIn = ({ kind, metadata: { namespace, name } }: AnyObject) =>
  `${kind} ${z.string().safeParse(namespace).data ?? ""}/${name}`;

function documentsOf({ object, text }: ReadObject): Documents {
  const former = FORMER_KINDS.get(`${object.apiVersion} ${object.kind}`);
  if (former === undefined) {
    return { documents: [text ?? yamlOf(object)], name: nameIn(object) };
  }
  const name = `${object.kind} ${object.metadata.name}`;
  const conversion = conversionOf(former, object);
  if ("refusals" in conversion) {
    return { refusals: conversion.refusals.map((why) => `${name}: ${why}`) };
  }
  const { runtime, trainJob, notes } = conversion;
  return {
    documents: [comment([`From ${name}.`, ...notes]) + yamlOf(runtime), yamlOf(trainJob)],
    name: nameIn({ ...object, kind: trainJob.kind }),
  };
}

/** Names that several objects would have. */
function clashes(names: readonly string[]): string[] {
  const twice = names.filter((it, index) => names.indexOf(it) !== index);
  return [...new Set(twice)].map((it) =>
    `${it.replace(" /", " ")}: there would be two of this name`
  );
}

/**
 * Returns the text with each former job replaced by a TrainingRuntime and a TrainJob; other objects stay.
 * Throws with everything that would mean something else, if anything would.
 */
export function convertText(text: string): string {
  const results = objectsOf(text).map(documentsOf);
  const refusals = [
    ...results.flatMap((one) => "refusals" in one ? one.refusals : []),
    ...clashes(results.flatMap((one) => "name" in one ? [one.name] : [])),
  ];
  if (refusals.length > 0) {
    throw new ConfigurationError(
      `cannot be converted without a change of meaning: ${refusals.join("; ")}`,
    );
  }
  return results.flatMap((one) => "documents" in one ? one.documents : []).join("---\n");
}
