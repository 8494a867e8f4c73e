/** Environment, command and arguments of a container, as Kubernetes defines them. Pure. */
import type {
  ConfigMap,
  Container,
  EnvVar,
  Pod,
  Secret,
} from "../../../platform/kube/kubernetes.ts";
import { ConfigProblem, type PodFacts, readField, readResource } from "./field_refs.ts";

/** The ConfigMaps and Secrets of the pod's namespace that its containers name. */
export interface ReferencedObjects {
  configMap(name: string): ConfigMap | undefined;
  secret(name: string): Secret | undefined;
}

/** Names of all that a container's environment refers to. */
export interface References {
  readonly configMaps: ReadonlySet<string>;
  readonly secrets: ReadonlySet<string>;
}

/** Objects that must be read before {@link buildEnvironment}. */
export function referencesOf(container: Container): References {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  for (const source of container.envFrom ?? []) {
    if (source.configMapRef?.name) configMaps.add(source.configMapRef.name);
    if (source.secretRef?.name) secrets.add(source.secretRef.name);
  }
  for (const { valueFrom } of container.env ?? []) {
    if (valueFrom?.configMapKeyRef?.name) configMaps.add(valueFrom.configMapKeyRef.name);
    if (valueFrom?.secretKeyRef?.name) secrets.add(valueFrom.secretKeyRef.name);
  }
  return { configMaps, secrets };
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

/** Text of a Secret's value. */
function decodeBase64(value: string): string {
  return new TextDecoder().decode(Uint8Array.fromBase64(value));
}

/** A Secret's values as text. */
function secretTexts(secret: Secret): Record<string, string> {
  const texts = Object.entries(secret.data ?? {}).map(([key, value]) => [key, decodeBase64(value)]);
  return Object.fromEntries(texts);
}

/** One key of a ConfigMap or Secret; undefined if it is optional and not there. */
function readKey(
  what: "configmap" | "secret",
  name: string,
  ref: { key: string; optional?: boolean },
  data: Readonly<Record<string, string>> | undefined,
): string | undefined {
  const value = data?.[ref.key];
  if (value !== undefined || ref.optional) return value;
  throw new ConfigProblem(
    data === undefined
      ? `${what} "${name}" not found`
      : `couldn't find key ${ref.key} in ${what} "${name}"`,
  );
}

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
  if (from.configMapKeyRef) {
    const name = from.configMapKeyRef.name ?? "";
    return readKey("configmap", name, from.configMapKeyRef, objects.configMap(name)?.data);
  }
  if (from.secretKeyRef) {
    const name = from.secretKeyRef.name ?? "";
    const secret = objects.secret(name);
    return readKey("secret", name, from.secretKeyRef, secret && secretTexts(secret));
  }
  throw new ConfigProblem(`env "${variable.name}": this valueFrom is not supported`);
}

/** The variables that come from whole ConfigMaps and Secrets. */
function bulk({ container, objects }: Context): Record<string, string> {
  const env: Record<string, string> = {};
  for (const source of container.envFrom ?? []) {
    const ref = source.configMapRef ?? source.secretRef;
    const name = ref?.name ?? "";
    const secret = source.secretRef ? objects.secret(name) : undefined;
    const data = source.configMapRef
      ? objects.configMap(name) && (objects.configMap(name)?.data ?? {})
      : secret && secretTexts(secret);
    if (data === undefined) {
      if (ref?.optional) continue;
      throw new ConfigProblem(
        `${source.configMapRef ? "configmap" : "secret"} "${name}" not found`,
      );
    }
    for (const [key, value] of Object.entries(data)) env[`${source.prefix ?? ""}${key}`] = value;
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
