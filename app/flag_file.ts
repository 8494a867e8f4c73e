/** File that a flag names, such as a certificate's. */
import { ConfigurationError, messageOf } from "../platform/kube/errors.ts";

/** Returns the text of a file that a flag names. Throws `ConfigurationError` if it cannot be read. */
export async function readFlagFile(flag: string, file: string): Promise<string> {
  try {
    return await Deno.readTextFile(file);
  } catch (cause) {
    throw new ConfigurationError(`${flag} ${file} cannot be read: ${messageOf(cause)}`, { cause });
  }
}
