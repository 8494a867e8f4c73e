/** Conditions, pods, events and the object of a job, as text. */
import { namedHeaders, Table } from "../tables.tsx";
import { Hostile, Moment, Notice } from "../marks_and_signs.tsx";
import type { DetailPart } from "../../../crds/wire/details.ts";
import { conditionWords, type JobDetails } from "./job_details.ts";
import { plainText, zoneText } from "../readable_text.ts";
import { yamlText } from "./object_yaml.ts";
import { type JobView, viewFragment } from "../url_state.ts";

/** Conditions, each as a sentence. */
export function Conditions({ details }: { details: JobDetails }) {
  if (details.conditions.length === 0) {
    return (
      <Notice title="No conditions yet">
        <p>Its controller has not said anything.</p>
      </Notice>
    );
  }
  return (
    <ul class="conditions">
      {details.conditions.map((it) => (
        <li key={it.type} class={it.status === "True" ? "holds" : undefined}>
          <p>
            <b>{plainText(conditionWords(it))}</b>{" "}
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
        Somebody who administers the namespace can grant <code>list</code> of <code>{part}</code>.
      </p>
    </Notice>
  );
}

/** Pods, each with a link to its log. */
export function Pods({ details, view }: { details: JobDetails; view: JobView }) {
  if (details.denied.has("pods")) return <PartNotice details={details} part="pods" />;
  if (details.pods.length === 0) {
    return (
      <Notice title="No pods">
        <p>There are none yet, or they are gone.</p>
      </Notice>
    );
  }
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
            {pod.gone && <span class="quiet">(gone; its log is kept)</span>}
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
