/** Environment variables and ports of containers, as lists that Kubernetes keys by a field. */
import { type FieldProblem, invalid } from "../../crds/field_problem.ts";
import type { Container, EnvVar } from "../../platform/kube/kubernetes.ts";
import { unshared } from "./copy.ts";

/**
 * Puts each variable into the container: an entry of the same name is replaced as a whole and in place,
 * any other is appended. Entries are copied.
 */
export function upsertEnv(container: Container, variables: readonly EnvVar[]): void {
  if (variables.length === 0) return;
  const env = container.env ?? [];
  for (const variable of variables) {
    const index = env.findIndex(({ name }) => name === variable.name);
    const copy = unshared(variable);
    if (index < 0) env.push(copy);
    else env[index] = copy;
  }
  container.env = env;
}

/** Returns one problem that names every reserved variable in `env`, sorted; else none. */
export function reservedEnvProblems(
  env: readonly EnvVar[] | undefined,
  reserved: readonly string[],
  field: string,
): FieldProblem[] {
  const names = (env ?? []).map(({ name }) => name);
  const taken = [...new Set(names.filter((name) => reserved.includes(name)))].sort();
  if (taken.length === 0) return [];
  const message = `must not have reserved envs, invalid envs configured: [${taken.join(" ")}]`;
  return [invalid(field, taken, message)];
}

/**
 * Declares a TCP port, unless the container declares it already. A port without a name does not replace
 * another one without a name, unlike upstream's (G6 in `docs/compatibility.md`).
 */
export function declarePort(container: Container, containerPort: number): void {
  const ports = container.ports ?? [];
  const known = ports.some((port) =>
    port.containerPort === containerPort && (port.protocol ?? "TCP") === "TCP"
  );
  if (!known) container.ports = [...ports, { containerPort }];
}
