/** Files of a pod's volumes, with their contents and modes. */
import type {
  ConfigMap,
  Container,
  Pod,
  Secret,
  Volume,
  Wire,
} from "../../../platform/kube/kubernetes.ts";
import type * as k8s from "@kubernetes/client-node";
import { ConfigProblem, type PodFacts, readField, readResource } from "../containers/field_refs.ts";
import { containersOf } from "../../jobs/pods.ts";
import type { TokenSource } from "./tokens.ts";

/** One file of a volume. */
export interface VolumeFile {
  readonly data: Uint8Array;
  readonly mode: number;
}
/** Files by their path in the volume. */
export type VolumeFiles = Map<string, VolumeFile>;

/** Reads objects of the pod's namespace; undefined if there is none of that name. */
export interface ObjectSource {
  configMap(name: string): Promise<ConfigMap | undefined>;
  secret(name: string): Promise<Secret | undefined>;
}

/** Input of the files. */
export interface VolumeContext {
  readonly pod: Pod;
  readonly facts: PodFacts;
  readonly objects: ObjectSource;
  readonly tokens: TokenSource;
}

type Item = Wire<k8s.V1KeyToPath>;
type DownwardFile = Wire<k8s.V1DownwardAPIVolumeFile>;
type Projection = Wire<k8s.V1VolumeProjection>;

const DEFAULT_MODE = 0o644;
const encoder = new TextEncoder();

/** Refuses paths that leave the volume. */
function checkedPath(path: string): string {
  if (path === "" || path.startsWith("/") || path.split("/").some((part) => part === "..")) {
    throw new ConfigProblem(`path "${path}" must be relative and without ..`);
  }
  return path;
}

/** The chosen keys of a ConfigMap or Secret, or all of them. */
function pick(
  what: string,
  data: Map<string, Uint8Array> | undefined,
  source: { items?: Item[]; optional?: boolean },
  mode: number,
): VolumeFiles {
  const files: VolumeFiles = new Map();
  if (data === undefined) {
    if (source.optional) return files;
    throw new ConfigProblem(`${what} not found`);
  }
  if (!source.items?.length) {
    for (const [key, value] of data) files.set(checkedPath(key), { data: value, mode });
    return files;
  }
  for (const item of source.items) {
    const value = data.get(item.key);
    if (value !== undefined) {
      files.set(checkedPath(item.path), { data: value, mode: item.mode ?? mode });
    } else if (!source.optional) {
      throw new ConfigProblem(`${what} has no key "${item.key}"`);
    }
  }
  return files;
}

async function configMapFiles(
  source: { name?: string; items?: Item[]; optional?: boolean },
  mode: number,
  objects: ObjectSource,
): Promise<VolumeFiles> {
  const name = source.name ?? "";
  const object = await objects.configMap(name);
  const data = object && new Map([
    ...Object.entries(object.data ?? {}).map(([key, text]) => [key, encoder.encode(text)] as const),
    ...Object.entries(object.binaryData ?? {}).map(([key, text]) =>
      [key, Uint8Array.fromBase64(text)] as const
    ),
  ]);
  return pick(`configmap "${name}"`, data, source, mode);
}

async function secretFiles(
  source: { name?: string; items?: Item[]; optional?: boolean },
  mode: number,
  objects: ObjectSource,
): Promise<VolumeFiles> {
  const name = source.name ?? "";
  const object = await objects.secret(name);
  const data = object && new Map(
    Object.entries(object.data ?? {}).map(([key, text]) =>
      [key, Uint8Array.fromBase64(text)] as const
    ),
  );
  return pick(`secret "${name}"`, data, source, mode);
}

/** The container that a resourceFieldRef of a volume names. */
function containerOf(pod: Pod, name: string | undefined): Container {
  const found = containersOf(pod).find((container) => container.name === name);
  if (!found) throw new ConfigProblem(`resourceFieldRef: there is no container "${name ?? ""}"`);
  return found;
}

function downwardFiles(
  items: readonly DownwardFile[] | undefined,
  mode: number,
  { pod, facts }: VolumeContext,
): VolumeFiles {
  return new Map((items ?? []).map((item) => {
    const text = item.fieldRef
      ? readField(pod, item.fieldRef.fieldPath, facts)
      : item.resourceFieldRef
      ? readResource(
        containerOf(pod, item.resourceFieldRef.containerName),
        item.resourceFieldRef,
        facts,
      )
      : "";
    return [checkedPath(item.path), { data: encoder.encode(text), mode: item.mode ?? mode }];
  }));
}

async function projectionFiles(
  part: Projection,
  mode: number,
  context: VolumeContext,
): Promise<VolumeFiles> {
  if (part.configMap) return await configMapFiles(part.configMap, mode, context.objects);
  if (part.secret) return await secretFiles(part.secret, mode, context.objects);
  if (part.downwardAPI) return downwardFiles(part.downwardAPI.items, mode, context);
  if (!part.serviceAccountToken) return new Map();
  const token = await context.tokens.token(part.serviceAccountToken);
  const file = { data: encoder.encode(token), mode: 0o600 };
  return new Map([[checkedPath(part.serviceAccountToken.path), file]]);
}

/**
 * The files of a volume; undefined for an emptyDir, whose files are the containers' own. Throws a
 * {@link ConfigProblem} if something is missing that is not optional.
 */
export async function volumeFiles(
  volume: Volume,
  context: VolumeContext,
): Promise<VolumeFiles | undefined> {
  const { configMap, secret, downwardAPI, projected } = volume;
  if (configMap) {
    return await configMapFiles(configMap, configMap.defaultMode ?? DEFAULT_MODE, context.objects);
  }
  if (secret) {
    const source = { name: secret.secretName, items: secret.items, optional: secret.optional };
    return await secretFiles(source, secret.defaultMode ?? DEFAULT_MODE, context.objects);
  }
  if (downwardAPI) {
    return downwardFiles(downwardAPI.items, downwardAPI.defaultMode ?? DEFAULT_MODE, context);
  }
  if (!projected) return undefined;
  const files: VolumeFiles = new Map();
  for (const part of projected.sources ?? []) {
    const mode = projected.defaultMode ?? DEFAULT_MODE;
    for (const [path, file] of await projectionFiles(part, mode, context)) files.set(path, file);
  }
  return files;
}
