/** Caches and proxies that pods inherit from the kubelet's own environment. Pure. */
import type { NameTable } from "../names/name_replacement.ts";

type Variables = Readonly<Record<string, string>>;

/** Folders of caches: a model or a package that is there is not downloaded again. */
const CACHES = [
  "XDG_CACHE_HOME",
  "HF_HOME",
  "HF_HUB_CACHE",
  "HF_DATASETS_CACHE",
  "TORCH_HOME",
  "PIP_CACHE_DIR",
  "UV_CACHE_DIR",
] as const;
const PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"] as const;
/** Both spellings of the exceptions: programs read one or the other. */
const EXCEPTIONS = ["NO_PROXY", "no_proxy"] as const;
/** Hosts of this machine and its pods, in the notations that programs understand. */
const LOCAL = ["localhost", "127.0.0.1", "127.0.0.0/8", "::1", ".svc", ".cluster.local"] as const;

/** The variables of these names that have a value. */
function pick(from: Variables, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => from[name] ? [[name, from[name]] as const] : []),
  );
}

/** The entries of a list of exceptions. */
function entries(list: string | undefined): string[] {
  return (list ?? "").split(",").map((entry) => entry.trim()).filter((entry) => entry !== "");
}

/** The environment with `more` in its lists of exceptions. */
function withExceptions(env: Variables, more: readonly string[]): Record<string, string> {
  const known = EXCEPTIONS.flatMap((name) => entries(env[name]));
  const list = [...new Set([...known, ...more])].join(",");
  return { ...env, ...Object.fromEntries(EXCEPTIONS.map((name) => [name, list])) };
}

/** The proxies of an environment, with this machine among their exceptions; empty if it has none. */
export function localProxies(own: Variables): Record<string, string> {
  const proxies = pick(own, PROXIES.flatMap((name) => [name, name.toLowerCase()]));
  if (Object.keys(proxies).length === 0) return {};
  return withExceptions({ ...proxies, ...pick(own, EXCEPTIONS) }, LOCAL);
}

/**
 * The variables of the kubelet's environment that pods inherit: caches, the user's cache folder among
 * them (`XDG_CACHE_HOME`, else `~/.cache`), and proxies, with this machine among their exceptions.
 */
export function inheritedEnvironment(own: Variables): Record<string, string> {
  const caches = pick(own, CACHES);
  if (own.HOME?.startsWith("/")) caches.XDG_CACHE_HOME ??= `${own.HOME}/.cache`;
  return { ...caches, ...localProxies(own) };
}

/** The environment with the namespace's Services and pods among the exceptions of its proxies, if it has any. */
export function exceptPods(env: Variables, names: NameTable): Record<string, string> {
  if (EXCEPTIONS.every((name) => env[name] === undefined)) return { ...env };
  return withExceptions(env, [
    `.${names.namespace}`,
    ...names.services.keys(),
    ...names.subdomains,
    ...names.podIPs.values(),
  ]);
}
