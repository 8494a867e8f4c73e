/** Text of a file that is the argument of a command; `-` is standard input. */
import { ConfigurationError, messageOf } from "../platform/kube/errors.ts";

/** Returns it. Throws a `ConfigurationError` if it cannot be read. */
export async function givenText(file: string): Promise<string> {
  const read = file === "-" ? new Response(Deno.stdin.readable).text() : Deno.readTextFile(file);
  return await read.catch((cause) => {
    throw new ConfigurationError(`cannot read ${file}: ${messageOf(cause)}`, { cause });
  });
}
