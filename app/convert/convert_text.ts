/** Conversion of YAML with v1 jobs to YAML with TrainJobs and their runtimes. Pure. */
import { Document, isScalar, isSeq, parseAllDocuments, visit } from "yaml";
import { z } from "zod";
import { convert } from "../../controller/conversion/convert.ts";
import { V1_RESOURCES } from "../../crds/v1/v1_resources.ts";
import { V1_KIND_LIST, type V1KindName } from "../../crds/v1/kinds.ts";
import { V1_API_VERSION } from "../../crds/v1/names.ts";
import { ConfigurationError, messageOf } from "../../kube/errors.ts";

const objectSchema = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
});
type AnyObject = z.infer<typeof objectSchema>;

/** The kind of a v1 job; undefined for any other object. */
function v1KindOf({ apiVersion, kind }: AnyObject): V1KindName | undefined {
  if (apiVersion !== V1_API_VERSION) return undefined;
  return V1_KIND_LIST.find((it) => it.kind === kind)?.kind;
}

/** One document, with lists of numbers on one line. */
function yamlOf(object: unknown): string {
  const document = new Document(object, { aliasDuplicateObjects: false });
  visit(document, {
    Seq(_key, node) {
      if (isSeq(node) && node.items.every((it) => isScalar(it) && typeof it.value === "number")) {
        node.flow = true;
      }
    },
  });
  return document.toString({ lineWidth: 120 });
}

function comment(lines: readonly string[]): string {
  return lines.map((line) => `# ${line}\n`).join("");
}

/** The objects of a text, one after the other; a list's items are objects of their own. */
function objectsOf(text: string): AnyObject[] {
  const documents = parseAllDocuments(text);
  if ("empty" in documents) return [];
  return documents.flatMap((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw new ConfigurationError(`cannot read the YAML: ${error.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    const list = z.looseObject({ kind: z.literal("List"), items: z.array(z.unknown()) })
      .safeParse(value);
    return (list.success ? list.data.items : [value]).map((one) => {
      const parsed = objectSchema.safeParse(one);
      if (parsed.success) return parsed.data;
      throw new ConfigurationError("each object must have apiVersion, kind and metadata.name");
    });
  });
}

function parsedJob(kind: V1KindName, object: AnyObject) {
  try {
    return V1_RESOURCES[kind].parse(object);
  } catch (error) {
    const where = `${kind} ${object.metadata.name}`;
    throw new ConfigurationError(`${where} cannot be read: ${messageOf(error)}`, { cause: error });
  }
}

/** The documents that stand for an object, or why there are none. */
function documentsOf(object: AnyObject): { documents: string[] } | { refusals: string[] } {
  const kind = v1KindOf(object);
  if (kind === undefined) return { documents: [yamlOf(object)] };
  const name = `${kind} ${object.metadata.name}`;
  const conversion = convert(kind, parsedJob(kind, object));
  if ("refusals" in conversion) {
    return { refusals: conversion.refusals.map((why) => `${name}: ${why}`) };
  }
  const { runtime, trainJob, notes } = conversion;
  return { documents: [comment([`From ${name}.`, ...notes]) + yamlOf(runtime), yamlOf(trainJob)] };
}

/**
 * Returns the text with each v1 job replaced by a TrainingRuntime and a TrainJob; other objects stay.
 * Throws with everything that would mean something else, if anything would.
 */
export function convertText(text: string): string {
  const results = objectsOf(text).map(documentsOf);
  const refusals = results.flatMap((one) => "refusals" in one ? one.refusals : []);
  if (refusals.length > 0) {
    throw new ConfigurationError(
      `cannot be converted without a change of meaning: ${refusals.join("; ")}`,
    );
  }
  return results.flatMap((one) => "documents" in one ? one.documents : []).join("---\n");
}
