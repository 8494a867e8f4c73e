/** Output of commands; a reader that has gone is no error. */

const encoder = new TextEncoder();

function writeTo(stream: { writeSync(bytes: Uint8Array): number }, text: string): void {
  const bytes = encoder.encode(text);
  try {
    for (let at = 0; at < bytes.length;) at += stream.writeSync(bytes.subarray(at));
  } catch (error) {
    if (!(error instanceof Deno.errors.BrokenPipe)) throw error;
  }
}

/** Writes to standard output. */
export const print = (text: string): void => writeTo(Deno.stdout, text);

/** Writes a line about what is wrong to standard error. */
export const warn = (text: string): void => writeTo(Deno.stderr, `milepost: ${text}\n`);
