/** Conditions, pods, events and the object of a job, as text. */
import { namedHeaders, Table } from "../tables.tsx";
import { Fact, Hostile, Moment, Notice } from "../marks_and_signs.tsx";
import type { DetailPart } from "../../../crds/wire/details.ts";
import { conditionWait, type JobDetails } from "./job_details.ts";
import { plainText, zoneText } from "../readable_text.ts";
import { yamlText } from "./object_yaml.ts";
import type { Row } from "../feed/view_answers_read.ts";
import { type JobView, viewFragment } from "../url_state.ts";

/** What its pods run, with which options and variables. */
export const JobConfiguration = ({ details }: { details: JobDetails }) => (
  <dl class="facts">
    {details.configuration.map(([name, text], index) => (
      <Fact key={index} name={name}>
        <Hostile text={text} />
      </Fact>
    ))}
  </dl>
);

/** Conditions, each with its message. */
export function Conditions({ details, row }: { details: JobDetails; row: Row | undefined }) {
  if (details.conditions.length === 0) {
    return (
      <Notice title="No condition yet">
        <p>{conditionWait(row?.state)}</p>
      </Notice>
    );
  }
  return (
    <ul class="conditions">
      {details.conditions.map((it) => (
        <li key={it.type} class={it.status === "True" ? "holds" : undefined}>
          <p>
            <b>
              {plainText(it.type)}
              {it.status !== "True" && `: ${plainText(it.status.toLowerCase())}`}
            </b>{" "}
            <span class="quiet">
              {"· "}
              <Moment timeMs={it.lastTransitionTimeMs} />
            </span>
          </p>
          {(it.message !== "" || it.reason !== "") && (
            <p>
              <Hostile text={it.message} />{" "}
              {it.reason !== "" && <code>{plainText(it.reason)}</code>}
            </p>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Says that there is more, or that something is not for this viewer. */
function PartNotice({ details, part }: { details: JobDetails; part: DetailPart }) {
  if (details.cut.has(part)) {
    return (
      <p class="quiet" role="status">
        There are more {part} than the {details[part].length} that are shown.
      </p>
    );
  }
  if (!details.denied.has(part)) return null;
  return (
    <Notice kind="warning" title={`You may not list ${part} here`}>
      <p>
        Ask an administrator of the namespace for the right to <code>list</code>{" "}
        <code>{part}</code>.
      </p>
    </Notice>
  );
}

/** Where more of logs may be. */
export const COLLECTED = "A log collector keeps more, if the cluster has one.";

/** Says why there is no pod and no log. */
export function NoPods(
  { details, row }: { details: JobDetails | undefined; row: Row | undefined },
) {
  if (details === undefined) return <Notice title="Loading…" />;
  if (details.denied.has("pods")) return <PartNotice details={details} part="pods" />;
  if (row?.endedMs === undefined) return <Notice title="No pods yet" />;
  return (
    <Notice title="No pods">
      <p>
        Its pods are deleted, and their logs with them.{" "}
        {row.state === "Failed" && row.message !== undefined && (
          <>
            Last error: <Hostile text={row.message} />.
          </>
        )} {!details.keepsLogs && COLLECTED}
      </p>
    </Notice>
  );
}

/** Pods, each with a link to its log. */
export function Pods(
  { details, view, row }: { details: JobDetails; view: JobView; row: Row | undefined },
) {
  if (details.pods.length === 0) return <NoPods details={details} row={row} />;
  return (
    <Table
      label="Pods"
      headers={namedHeaders(["Rank", "Pod", "Phase", "Restarts", "Node", "Log"])}
      above={<PartNotice details={details} part="pods" />}
    >
      {details.pods.map((pod) => (
        <tr key={pod.name}>
          <td class="number">{pod.rank === "" ? "–" : <Hostile text={pod.rank} />}</td>
          <td>
            <Hostile text={pod.name} />
          </td>
          <td>
            <Hostile text={pod.phase} />
            {pod.reason !== "" && (
              <span class="quiet">
                : <Hostile text={pod.reason} />
              </span>
            )}
            {pod.gone && (
              <>
                {" "}
                <span class="quiet">(deleted; its log is kept)</span>
              </>
            )}
          </td>
          <td class="number" data-label="Restarts">{pod.restarts}</td>
          <td data-label="Node">
            <Hostile text={pod.node === "" ? "–" : pod.node} />
          </td>
          <td>
            <a
              href={viewFragment({
                ...view,
                tab: "logs",
                pod: pod.name,
                container: "",
                isPrevious: false,
              })}
              aria-label={`Log of ${pod.name}`}
            >
              Log
            </a>
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** Events, the newest first. */
export function Events({ details }: { details: JobDetails }) {
  if (details.denied.has("events")) return <PartNotice details={details} part="events" />;
  if (details.events.length === 0) {
    return (
      <Notice title="No events">
        <p>The API server keeps events for about an hour.</p>
      </Notice>
    );
  }
  return (
    <Table
      label="Events"
      headers={namedHeaders([
        `Time, ${zoneText(Date.now())}`,
        "Type",
        "Reason",
        "Message",
        "About",
      ])}
      above={<PartNotice details={details} part="events" />}
    >
      {details.events.slice(0, 200).map((event, index) => (
        <tr key={index}>
          <td class="number">
            <Moment timeMs={event.timeMs} />
          </td>
          <td>
            {event.type === "Warning" ? <b>! Warning</b> : <Hostile text={event.type} />}
          </td>
          <td>
            <Hostile text={event.reason} />
          </td>
          <td class="wrap">
            <Hostile text={event.message} />
            {event.count > 1 && <span class="quiet">({event.count} times)</span>}
          </td>
          <td>
            <Hostile text={event.object} />
          </td>
        </tr>
      ))}
    </Table>
  );
}

/** The object as YAML. */
export function ObjectText({ details }: { details: JobDetails }) {
  const text = plainText(yamlText(details.object));
  return (
    <>
      <p class="row tools">
        <button type="button" onClick={() => navigator.clipboard?.writeText(text)}>Copy</button>
      </p>
      <pre class="object" tabIndex={0} role="region" aria-label="YAML">{text}</pre>
    </>
  );
}
