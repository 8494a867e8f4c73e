/** What the manager gives up at start, since one executable carries what every command needs. */

/** Permissions that no part of the manager uses. Running programs: only for `exec` in a kubeconfig. */
const NEVER: readonly Deno.PermissionDescriptor[] = [{ name: "ffi" }, { name: "write" }];

/** What it depends on. */
export interface PermissionNeeds {
  /** Whether the kubeconfig gets its credentials from a program. */
  readonly runsCredentialPlugin: boolean;
}

/**
 * Gives up programs, foreign functions and the writing of files, for the rest of the process. Answers
 * the names of what was given up.
 */
export async function giveUpPermissions(needs: PermissionNeeds): Promise<string[]> {
  const unneeded: readonly Deno.PermissionDescriptor[] = needs.runsCredentialPlugin
    ? NEVER
    : [...NEVER, { name: "run" }];
  const after = await Promise.all(unneeded.map((it) => Deno.permissions.revoke(it)));
  return unneeded.filter((_, index) => after[index]?.state !== "granted").map(({ name }) => name);
}
