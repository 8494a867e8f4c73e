/** URL of the page's worker, as Trusted Types want it: the only text of which the page makes anything that runs. */

/** The only file that may become a worker. */
const WORKER = /^\/assets\/milepost-worker\.[0-9a-f]{12}\.js$/;

/** The part of Trusted Types that is used: what it makes stands for a text that was checked. */
interface TrustedTypes {
  createPolicy(
    name: string,
    rules: { createScriptURL: (url: string) => string },
  ): { createScriptURL(url: string): string };
}
declare global {
  var trustedTypes: TrustedTypes | undefined;
}

function checked(url: string): string {
  if (!WORKER.test(url)) throw new TypeError("only the page's own worker may run");
  return url;
}

/** Returns the URL for a path of the worker. To be called once. Throws if it is another's, or if that is forbidden. */
export function workerUrl(path: string): string {
  const policy = globalThis.trustedTypes?.createPolicy("milepost-worker", {
    createScriptURL: checked,
  });
  return policy?.createScriptURL(path) ?? checked(path);
}
