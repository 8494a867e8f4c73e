/** Permissions that the manager drops at start: one executable carries those of every command. */

/** Permissions that are needed. */
export interface PermissionNeeds {
  /** Whether the kubeconfig gets its credentials from a program. */
  readonly runsCredentialPlugin: boolean;
  /** Whether it keeps a database in a file. */
  readonly writesFiles: boolean;
}

/**
 * Drops foreign functions, and starting programs and writing files unless they are needed, for the rest
 * of the process. Returns the names of the dropped permissions.
 */
export async function giveUpPermissions(needs: PermissionNeeds): Promise<string[]> {
  const unneeded: Deno.PermissionDescriptor[] = [{ name: "ffi" }];
  if (!needs.writesFiles) unneeded.push({ name: "write" });
  if (!needs.runsCredentialPlugin) unneeded.push({ name: "run" });
  const after = await Promise.all(unneeded.map((it) => Deno.permissions.revoke(it)));
  return unneeded.filter((_, index) => after[index]?.state !== "granted").map(({ name }) => name);
}
