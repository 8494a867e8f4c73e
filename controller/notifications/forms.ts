/** Forms of notifications: the bodies that sinks are sent, in which text of tenants can do nothing. Pure. */
import { cutText, spelledOut } from "../../platform/base/hostile_text.ts";
import { compact } from "../../platform/base/json.ts";
import type { JobNotice, NotifiedEvent } from "./notice_of_change.ts";
import type { Sink } from "./notified_sink.ts";

/** Longest text of a tenant, in characters. */
const TEXT_MAX = 500;
/** Longest name. */
const NAME_MAX = 253;

/** Notices of a namespace that are told together, because they are too many. */
export interface Summary {
  readonly id: string;
  /** Undefined: several. */
  readonly namespace: string | undefined;
  readonly counts: Readonly<Partial<Record<NotifiedEvent, number>>>;
}

/** What a message says of the event, up to the time. */
const WORDS: Readonly<Record<NotifiedEvent, string>> = {
  Stalled: "has made no progress since",
  ProgressResumed: "goes on; it had made no progress since",
  Restarted: "was restarted at",
  Failed: "failed at",
  Complete: "completed at",
  EarlyStopped: "was stopped early at",
};

/** A text in one line, with the characters that are not seen spelled out. */
const oneLine = (text: string, length: number) =>
  cutText(spelledOut(text.replaceAll(/[ \t\r\n]+/g, " ").trim()), length);

/** In code Slack makes no links and calls nobody; of addresses and callings nothing is left that other programs take for one. */
const slackCode = (text: string, length: number) => {
  const harmless = oneLine(text, length)
    .replaceAll("`", "'").replaceAll("@", "(at)").replaceAll("://", "[:]//")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `\`${harmless}\``;
};

/** The address of the job in the page. */
function linkOf(pageUrl: string | undefined, { kind, namespace, name }: JobNotice["job"]) {
  const path = [kind.id, namespace, name].map(encodeURIComponent).join("/");
  return pageUrl && `${pageUrl.replace(/\/$/, "")}/#/job/${path}`;
}

/** A message in Slack's form; our own words, and texts as code. */
const slackBody = (text: string) =>
  JSON.stringify({ text, unfurl_links: false, unfurl_media: false });

/** Returns the body that tells a notice to a sink. */
export function noticeBody(sink: Pick<Sink, "form" | "texts" | "pageUrl">, notice: JobNotice) {
  const { id, event, job, state, since } = notice;
  const { kind: { kind }, namespace, name } = job;
  const link = linkOf(sink.pageUrl, job);
  const said = sink.texts && notice.text ? notice.text : undefined;
  if (sink.form === "slack") {
    const where = slackCode(`${namespace}/${name}`, 2 * NAME_MAX);
    const head = `${kind} ${where} ${WORDS[event]} ${since}`;
    const opened = link === undefined ? "" : ` (<${link}|open>)`;
    return slackBody(
      `${head}${opened}${said === undefined ? "" : `\n${slackCode(said, TEXT_MAX)}`}`,
    );
  }
  const text = said === undefined ? undefined : oneLine(said, TEXT_MAX);
  const named = { namespace: oneLine(namespace, NAME_MAX), name: oneLine(name, NAME_MAX) };
  return JSON.stringify(compact({ id, event, kind, ...named, state, since, link, text }));
}

/** Returns the body that tells a summary to a sink, such as "12 more jobs of team-a: 10 Failed, 2 Stalled". */
export function summaryBody({ form }: Pick<Sink, "form">, { id, namespace, counts }: Summary) {
  const entries = Object.entries(counts);
  const more = entries.reduce((sum, [, count]) => sum + count, 0);
  if (form === "json") {
    return JSON.stringify(compact({ id, event: "Summary", namespace, more, counts }));
  }
  const whose = namespace === undefined ? "other namespaces" : slackCode(namespace, NAME_MAX);
  const parts = entries.map(([event, count]) => `${count} ${event}`).join(", ");
  return slackBody(`${more} more jobs of ${whose}: ${parts}`);
}
