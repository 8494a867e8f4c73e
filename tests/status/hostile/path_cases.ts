/** Hostile request targets, methods and Authorization headers, each with its answer. */
import { PATH, type Sent, TOKEN } from "../chain/handler_bench.ts";
import { allWith, type HostileCases } from "./case.ts";

const at = (url: string): Sent => ({ url });
const job = (name: string): Sent => at(PATH.replace("job-1", name));
const namespace = (name: string): Sent => at(PATH.replace("/team/", `/${name}/`));
const by = (method: string): Sent => ({ method });
const authorization = (value: string): Sent => ({ token: null, headers: { authorization: value } });

/** Not the path of any job's status: nothing is looked up, whatever the token. */
const NOWHERE: Record<string, Sent> = {
  "an empty target": at(""),
  "the root": at("/"),
  "an asterisk": at("*"),
  "an absolute form": at(`https://localhost:8082${PATH}`),
  "another host's absolute form": at(`https://attacker.example${PATH}`),
  "a target without its first slash": at(PATH.slice(1)),
  "an authority": at("localhost:443"),
  "another API version": at(PATH.replace("v1alpha1", "v1")),
  "another API group": at(PATH.replace("trainer.kubeflow.org", "batch")),
  "a group whose dots are other characters": at(
    PATH.replaceAll("trainer.kubeflow", "trainerXkubeflow"),
  ),
  "the legacy API": at("/api/v1/namespaces/team/pods/x/status"),
  "the job without status": at(PATH.replace("/status", "")),
  "another subresource": at(PATH.replace("/status", "/scale")),
  "the list of jobs": at(PATH.replace("/job-1/status", "")),
  "something below the status": at(`${PATH}/x`),
  "something that begins like the history": at(`${PATH}/history2`),
  "a slash after the status": at(`${PATH}/`),
  "a slash after the history": at(`${PATH}/history/`),
  "the history twice": at(`${PATH}/history/history`),
  "two slashes at the beginning": at(`/${PATH}`),
  "two slashes within": at(PATH.replace("/team/", "//team/")),
  "a dot segment": at(PATH.replace("/team/", "/./team/")),
  "a segment that climbs": at(PATH.replace("/team/", "/other/../team/")),
  "a segment that climbs beyond the root": at(`/..${PATH}`),
  "an encoded segment that climbs": at(PATH.replace("/team/", "/other/%2e%2e/team/")),
  "an encoded slash": at(PATH.replace("/team/", "/team%2F")),
  "a slash that is encoded twice": at(PATH.replace("/team/", "/team%252F")),
  "a backslash": at(PATH.replaceAll("/", "\\")),
  "a parameter of a segment": at(PATH.replace("/team/", "/team;x=1/")),
  "upper case": at(PATH.toUpperCase()),
  "a kind in upper case": at(PATH.replace("trainjobs", "TrainJobs")),
  "a kind in the singular": at(PATH.replace("trainjobs", "trainjob")),
  "a fragment": at(`${PATH}#x`),
  "a space at the end": at(`${PATH} `),
  "a line end in the target": at(`${PATH}\r\nX: y`),
  "a null byte at the end": at(`${PATH}\0`),
  "an encoded null byte": at(`${PATH}%00`),
  "an encoded line end": at(`${PATH}%0d%0a`),
  "a percent sign alone": at(`${PATH}%`),
  "a long target": at(`/${"x".repeat(100_000)}`),
  "ten thousand slashes": at("/".repeat(10_000)),
  "an empty namespace": at(PATH.replace("/team/", "//")),
  "a namespace of dots": namespace(".."),
  "a namespace in upper case": namespace("TEAM"),
  "a namespace that begins with a dash": namespace("-team"),
  "a namespace with an underscore": namespace("te_am"),
  "a namespace with a look-alike letter": namespace("tеam"),
  "a namespace of full-width letters": namespace("ｔｅａｍ"),
  "a namespace in overlong UTF-8": namespace("%c1%b4eam"),
  "an encoded letter of the namespace": namespace("%74eam"),
  "a namespace of 254 characters": namespace("n".repeat(254)),
  "a namespace that selects all": namespace("*"),
  "a job without name": at(PATH.replace("/job-1/", "//")),
  "a job whose name is a pattern": job("job-." + "*"),
  "a job whose name ends with a dash": job("job-"),
  "a job whose name ends with a dot": job("job-1."),
  "a job of objects' names": job("__proto__"),
  "a job whose name has a plus": job("job+1"),
  "a job whose name is encoded": job("job%2D1"),
  "a job of 254 characters": job("j".repeat(254)),
  "a job with SQL in its name": job("job-1'--"),
  "a job with a right-to-left mark": job("job-1\u202e"),
};

const METHODS = ["PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "HEAD", "CONNECT", "PROPFIND"];
const ODD_METHODS = ["post", "Post", "POST ", "", "POST\0", "ＰＯＳＴ", "__proto__"];

/** Headers that hold no token. */
const UNNAMED: Record<string, Sent> = {
  "no Authorization": { token: null },
  "an empty Authorization": authorization(""),
  "an Authorization of spaces": authorization("   "),
  "a scheme alone": authorization("Bearer"),
  "a scheme and a space": authorization("Bearer "),
  "another scheme": authorization("Basic eDp5"),
  "a scheme that begins like ours": authorization(`BearerX ${TOKEN}`),
  "a scheme stuck to the token": authorization(`Bearer${TOKEN}`),
  "a scheme and a colon": authorization(`Bearer: ${TOKEN}`),
  "a scheme twice": authorization(`Bearer Bearer ${TOKEN}`),
  "a scheme in quotes": authorization(`"Bearer" ${TOKEN}`),
  "a scheme of full-width letters": authorization(`Ｂｅａｒｅｒ ${TOKEN}`),
  "a token without scheme": authorization(TOKEN),
  "a token as a parameter": authorization(`Bearer token="${TOKEN}"`),
  "a token of Kubernetes' other scheme": authorization(`Token ${TOKEN}`),
  "two schemes with a comma": authorization(`Basic eDp5, Bearer ${TOKEN}`),
  "two tokens with a comma": authorization(`Bearer ${TOKEN}, Bearer ${TOKEN}`),
  "a scheme and a vertical tab": authorization(`Bearer\v${TOKEN}`),
  "a scheme and a no-break space": authorization(`Bearer\u00a0${TOKEN}`),
  "a parameter after the token": authorization(`Bearer ${TOKEN} realm=x`),
  "an Authorization of 100,000 spaces": authorization(`Bearer${" ".repeat(100_000)}${TOKEN}`),
  "an Authorization without any space": authorization("B".repeat(100_000)),
  "the token in a cookie": { token: null, headers: { cookie: `token=${TOKEN}` } },
  "the token in another header": { token: null, headers: { "x-forwarded-authorization": TOKEN } },
  "the token in Proxy-Authorization": {
    token: null,
    headers: { "proxy-authorization": `Bearer ${TOKEN}` },
  },
  "the token in the query": { token: null, url: `${PATH}?access_token=${TOKEN}` },
  "a client certificate's name in a header": {
    token: null,
    headers: { "x-remote-user": "system:masters", "x-remote-group": "system:masters" },
  },
};

/** Odd, and right. */
const ODD: Record<string, Sent> = {
  "a query": at(`${PATH}?pretty=true&fieldManager=x`),
  "a query that looks like a path": at(`${PATH}?/../../x`),
  "a second question mark": at(`${PATH}??x`),
  "a scheme in lower case": authorization(`bearer ${TOKEN}`),
  "a scheme and a tab": authorization(`Bearer\t${TOKEN}`),
  "spaces around the token": authorization(`Bearer   ${TOKEN}  `),
  "a header that says another method": { headers: { "x-http-method-override": "DELETE" } },
  "a header that says another path": { headers: { "x-original-url": "/", "x-rewrite-url": "/" } },
  "a header that says another user": { headers: { "impersonate-user": "admin" } },
  "a header that says another peer": { headers: { "x-forwarded-for": "10.9.9.9" } },
  "another Content-Type": { headers: { "content-type": "text/plain; charset=utf-16" } },
  "another Accept": { headers: { accept: "application/vnd.kubernetes.protobuf" } },
};

/** Every hostile target, method and Authorization. */
export const PATH_CASES: HostileCases = {
  ...allWith({ code: 404, reason: "NotFound" }, NOWHERE),
  ...allWith(
    { code: 405, reason: "MethodNotAllowed" },
    Object.fromEntries(
      [...METHODS, ...ODD_METHODS].map((
        method,
      ) => [`the method ${JSON.stringify(method)}`, by(method)]),
    ),
  ),
  "GET of the history": {
    sent: { method: "GET", url: `${PATH}/history` },
    code: 405,
    reason: "MethodNotAllowed",
  },
  "another method at another path": {
    sent: { method: "DELETE", url: "/" },
    code: 404,
    reason: "NotFound",
  },
  ...allWith({ code: 401, reason: "Unauthorized" }, UNNAMED),
  ...allWith({ code: 413, reason: "RequestEntityTooLarge" }, {
    "a Content-Length over the limit": { headers: { "content-length": "65537" } },
    "a Content-Length over the limit without token": {
      token: null,
      headers: { "content-length": "65537" },
    },
    "a Content-Length beyond all numbers": { headers: { "content-length": "9".repeat(400) } },
    "a history's Content-Length over its limit": {
      url: `${PATH}/history`,
      headers: { "content-length": "1048577" },
    },
  }),
  ...allWith({ code: 200, reason: "accepted", looksUp: true }, ODD),
};
