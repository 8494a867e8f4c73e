/** Environment, command and arguments of a container, as Kubernetes defines them. Pure. */
import type {
  ConfigMap,
  Container,
  EnvVar,
  Pod,
  Secret,
} from "../../../platform/kube/kubernetes.ts";
import { textOfBase64 } from "../../../platform/base/base64.ts";
import { ConfigProblem, type PodFacts, readField, readResource } from "./field_refs.ts";

/** The ConfigMaps and Secrets of the pod's namespace that its containers name. */
export interface ReferencedObjects {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
}

/** Kind of an object with data by key. */
export type DataKind = keyof ReferencedObjects;

/** Reference to a ConfigMap or a Secret. */
interface Reference {
  readonly name?: string;
  readonly optional?: boolean;
}

/** Returns the reference that is given, with the kind of its object. */
function referenceOf<T extends Reference>(configMap: T | undefined, secret: T | undefined) {
  const given = configMap ?? secret;
  const kind: DataKind = configMap ? "configMap" : "secret";
  return given && { ...given, kind, name: given.name ?? "" };
}

/** Names of the objects of a kind that must be read before {@link buildEnvironment}. */
export function namesOf({ envFrom = [], env = [] }: Container, kind: DataKind): Set<string> {
  const all = [
    ...envFrom.map(({ configMapRef, secretRef }) => referenceOf(configMapRef, secretRef)),
    ...env.map(({ valueFrom: from }) => referenceOf(from?.configMapKeyRef, from?.secretKeyRef)),
  ];
  return new Set(all.flatMap((one) => one?.kind === kind && one.name !== "" ? [one.name] : []));
}

/**
 * Replaces `$(NAME)` by the variable's value; `$$` stands for `$`; unknown names stay as they are. A name is
 * all up to the next `)`, as in Kubernetes: of `$(a $(B))`, which is for a shell, nothing is replaced.
 */
export function expand(text: string, env: Readonly<Record<string, string>>): string {
  return text.replace(/\$\$|\$\(([^)]*)\)/g, (match, name?: string) => {
    if (match === "$$") return "$";
    return name !== undefined && Object.hasOwn(env, name) ? env[name] ?? match : match;
  });
}

/** The values of an object as texts; undefined if there is no such object. */
function textsOf(
  { kind, name }: { kind: DataKind; name: string },
  objects: ReferencedObjects,
): Readonly<Record<string, string>> | undefined {
  const object = objects[kind](name);
  const data = object && (object.data ?? {});
  if (kind === "configMap" || data === undefined) return data;
  return Object.fromEntries(Object.entries(data).map(([key, it]) => [key, textOfBase64(it)]));
}

/** An object for a message. */
const title = ({ kind, name }: { kind: DataKind; name: string }) =>
  `${kind.toLowerCase()} "${name}"`;

/** Input of {@link buildEnvironment}. */
interface Context {
  readonly pod: Pod;
  readonly container: Container;
  readonly objects: ReferencedObjects;
  readonly facts: PodFacts;
  /** Variables of Services, which the container's own go before. Default: none. */
  readonly services?: Readonly<Record<string, string>>;
}

/** The value of a variable; undefined if it is to be left out. */
function valueOf(
  variable: EnvVar,
  env: Readonly<Record<string, string>>,
  { pod, container, objects, facts }: Context,
): string | undefined {
  const from = variable.valueFrom;
  if (!from) return expand(variable.value ?? "", env);
  if (from.fieldRef) return readField(pod, from.fieldRef.fieldPath, facts);
  if (from.resourceFieldRef) return readResource(container, from.resourceFieldRef, facts);
  const reference = referenceOf(from.configMapKeyRef, from.secretKeyRef);
  if (reference) {
    const texts = textsOf(reference, objects);
    const value = texts?.[reference.key];
    if (value !== undefined || reference.optional) return value;
    throw new ConfigProblem(
      texts === undefined
        ? `${title(reference)} not found`
        : `couldn't find key ${reference.key} in ${title(reference)}`,
    );
  }
  throw new ConfigProblem(`env "${variable.name}": this valueFrom is not supported`);
}

/** The variables that come from whole ConfigMaps and Secrets. */
function bulk({ container, objects }: Context): Record<string, string> {
  const env: Record<string, string> = {};
  for (const source of container.envFrom ?? []) {
    const reference = referenceOf(source.configMapRef, source.secretRef);
    const texts = reference && textsOf(reference, objects);
    if (texts === undefined) {
      if (reference === undefined || reference.optional) continue;
      throw new ConfigProblem(`${title(reference)} not found`);
    }
    for (const [key, value] of Object.entries(texts)) env[`${source.prefix ?? ""}${key}`] = value;
  }
  return env;
}

/**
 * The variables that the pod gives to a container, in order, references followed and `$(NAME)`
 * expanded. Throws a {@link ConfigProblem} if something is missing that is not optional.
 */
export function buildEnvironment(context: Context): Record<string, string> {
  const env = { ...context.services, ...bulk(context) };
  for (const variable of context.container.env ?? []) {
    const value = valueOf(variable, env, context);
    if (value !== undefined) env[variable.name] = value;
  }
  return env;
}

/** Command and arguments with `$(NAME)` expanded. */
export function buildCommand(
  container: Container,
  env: Readonly<Record<string, string>>,
): string[] {
  return [...container.command ?? [], ...container.args ?? []].map((word) => expand(word, env));
}
