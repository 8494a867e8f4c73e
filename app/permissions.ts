/** What the manager gives up at start, since one executable carries what every command needs. */

/** What it depends on. */
export interface PermissionNeeds {
  /** Whether the kubeconfig gets its credentials from a program. */
  readonly runsCredentialPlugin: boolean;
  /** Whether it keeps a database in a file. */
  readonly writesFiles: boolean;
}

/**
 * Gives up foreign functions, and programs and the writing of files where nothing needs them, for the
 * rest of the process. Returns the names of what was given up.
 */
export async function giveUpPermissions(needs: PermissionNeeds): Promise<string[]> {
  const unneeded: Deno.PermissionDescriptor[] = [{ name: "ffi" }];
  if (!needs.writesFiles) unneeded.push({ name: "write" });
  if (!needs.runsCredentialPlugin) unneeded.push({ name: "run" });
  const after = await Promise.all(unneeded.map((it) => Deno.permissions.revoke(it)));
  return unneeded.filter((_, index) => after[index]?.state !== "granted").map(({ name }) => name);
}
