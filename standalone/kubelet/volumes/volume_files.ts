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
import { allContainers } from "../../../crds/pod_containers.ts";
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

/** The contents of an object by key, of which some are texts and some base64. */
function contents(
  texts: Readonly<Record<string, string>> = {},
  base64: Readonly<Record<string, string>> = {},
): Map<string, Uint8Array> {
  return new Map([
    ...Object.entries(texts).map(([key, text]) => [key, encoder.encode(text)] as const),
    ...Object.entries(base64).map(([key, text]) => [key, Uint8Array.fromBase64(text)] as const),
  ]);
}

/** The container that a resourceFieldRef of a volume names. */
function containerOf(pod: Pod, name: string | undefined): Container {
  const found = allContainers(pod).find((container) => container.name === name);
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
  const { configMap, secret } = part;
  if (configMap) {
    const name = configMap.name ?? "";
    const object = await context.objects.configMap(name);
    const data = object && contents(object.data, object.binaryData);
    return pick(`configmap "${name}"`, data, configMap, mode);
  }
  if (secret) {
    const name = secret.name ?? "";
    const object = await context.objects.secret(name);
    return pick(`secret "${name}"`, object && contents({}, object.data), secret, mode);
  }
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
  const mode = (configMap ?? secret ?? downwardAPI ?? projected)?.defaultMode ?? DEFAULT_MODE;
  if (configMap || secret || downwardAPI) {
    const named = secret && { ...secret, name: secret.secretName };
    return await projectionFiles({ configMap, secret: named, downwardAPI }, mode, context);
  }
  if (!projected) return undefined;
  const files: VolumeFiles = new Map();
  for (const part of projected.sources ?? []) {
    for (const [path, file] of await projectionFiles(part, mode, context)) files.set(path, file);
  }
  return files;
}
