/** Hosts files of namespaces: the names of their pods and Services for the processes' own resolvers. */
import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../../platform/kube/errors.ts";
import { ifThere } from "../../../platform/base/if_there.ts";
import { SUFFIXES } from "./name_replacement.ts";
import type { PodIdentity } from "./addresses.ts";

const logger = getLogger(["milepost", "standalone"]);

/** The names of one namespace, with their loopback addresses. */
export interface NamespaceNames {
  readonly namespace: string;
  readonly pods: readonly (PodIdentity & { readonly loopback: string })[];
  readonly services: ReadonlyMap<string, string>;
}

/** Names that always lead to this machine. */
const RESERVED = new Set(["localhost"]);

/** The lines of a name of a namespace, longest form first; the short form is only for that namespace. */
function lines(address: string, name: string, namespace: string, isOwn: boolean): string[] {
  const long = `${name}.${namespace}`;
  const forms = [...SUFFIXES.map((suffix) => `${long}${suffix}`), ...isOwn ? [name] : []];
  return forms.filter((form) => !RESERVED.has(form)).map((form) => `${address} ${form}`);
}

/**
 * The hosts file for the pods of a namespace: `<hostname>.<subdomain>` and Services in all forms, host names
 * of its own pods, then the machine's hosts. One name a line, since some resolvers limit a line's length.
 */
export function hostsText(
  own: string,
  all: readonly NamespaceNames[],
  machineHosts: string,
): string {
  const qualified = all.flatMap(({ namespace, pods, services }) => [
    ...pods.filter(({ subdomain }) => subdomain !== "").flatMap((
      { hostname, subdomain, loopback },
    ) => lines(loopback, `${hostname}.${subdomain}`, namespace, namespace === own)),
    ...[...services].flatMap(([name, address]) =>
      lines(address, name, namespace, namespace === own)
    ),
  ]);
  const bare = (all.find(({ namespace }) => namespace === own)?.pods ?? [])
    .filter(({ hostname }) => !RESERVED.has(hostname))
    .map(({ hostname, loopback }) => `${loopback} ${hostname}`);
  return `${[...qualified, ...bare].join("\n")}\n${machineHosts}`;
}

/**
 * An nsswitch.conf by which hosts files go before all other sources of names; undefined if the given one
 * does that. systemd-resolved, for one, answers from the machine's own hosts file.
 */
export function withHostsFileFirst(nsswitch: string): string | undefined {
  const line = /^([ \t]*hosts:)(.*)$/m;
  const sources = line.exec(nsswitch)?.[2];
  if (sources === undefined || /^\s*files(\s|$)/.test(sources)) return undefined;
  const others = sources.replace(/(^|\s+)files(\s+\[[^\]]*\])?(?=\s|$)/g, "").trim();
  return nsswitch.replace(line, (_line, label: string) => `${label} files ${others}`.trimEnd());
}

/** Reads a file of the machine; empty if there is none. */
export function machineFile(path: string): string {
  return ifThere(() => Deno.readTextFileSync(path)) ?? "";
}

/**
 * Writes new content over a file that processes have mounted: its inode stays, and it is never found empty.
 * Surplus bytes are blank lines before they are cut off.
 */
function overwrite(path: string, text: string): void {
  using file = Deno.openSync(path, { write: true, create: true, mode: 0o644 });
  const bytes = new TextEncoder().encode(text);
  const padded = new Uint8Array(Math.max(bytes.length, file.statSync().size)).fill(10);
  padded.set(bytes);
  for (let at = 0; at < padded.length;) at += file.writeSync(padded.subarray(at));
  file.truncateSync(bytes.length);
}

/** Options of {@link HostsFiles}. */
export interface HostsFilesOptions {
  /** Folder of the files; it exists. */
  readonly folder: string;
  /** The present names of all namespaces. */
  readonly names: () => readonly NamespaceNames[];
  /** The machine's own hosts file. */
  readonly machineHosts: () => string;
}

/** One hosts file for each namespace that has run a pod. */
export class HostsFiles {
  readonly #written = new Map<string, string>();
  #isDue = false;

  constructor(private readonly options: HostsFilesOptions) {}

  /** The file for the pods of a namespace, with the names of this moment. */
  fileFor(namespace: string): string {
    this.#write(namespace, this.options.names());
    return this.#pathOf(namespace);
  }

  /** Names have changed: updates the files soon, once for many changes. */
  changed(): void {
    if (this.#isDue || this.#written.size === 0) return;
    this.#isDue = true;
    queueMicrotask(() => {
      this.#isDue = false;
      this.#writeAll();
    });
  }

  #writeAll(): void {
    const names = this.options.names();
    for (const namespace of this.#written.keys()) {
      try {
        this.#write(namespace, names);
      } catch (error) {
        logger.error("Cannot update the hosts file of a namespace", {
          namespace,
          error: messageOf(error),
        });
      }
    }
  }

  #pathOf(namespace: string): string {
    return `${this.options.folder}/${namespace}`;
  }

  #write(namespace: string, names: readonly NamespaceNames[]): void {
    const text = hostsText(namespace, names, this.options.machineHosts());
    if (this.#written.get(namespace) === text) return;
    overwrite(this.#pathOf(namespace), text);
    this.#written.set(namespace, text);
  }
}
