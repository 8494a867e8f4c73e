/** Conditions, pods, events and the object of a job, as text. */
import { Hostile, Moment, Notice } from "./marks_and_signs.tsx";
import { conditionWords, type JobDetails } from "./job_details.ts";
import { showJob } from "./page_state.ts";
import { plainText } from "./readable_text.ts";
import { yamlText } from "./object_yaml.ts";
import { type JobView, viewFragment } from "./url_state.ts";

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
            <b>{plainText(conditionWords(it))}</b> <span class="quiet">since</span>{" "}
            <Moment timeMs={it.sinceMs} />
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

/** Pods, each with a link to its log. */
export function Pods({ details, view }: { details: JobDetails; view: JobView }) {
  if (details.pods.length === 0) {
    return (
      <Notice title="No pods">
        <p>There are none yet, or they are gone.</p>
      </Notice>
    );
  }
  return (
    <div class="scroll" role="region" aria-label="Pods" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {["Rank", "Pod", "Phase", "Restarts", "Node", "Log"].map((it) => (
              <th key={it} scope="col">{it}</th>
            ))}
          </tr>
        </thead>
        <tbody>
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
              </td>
              <td class="number">{pod.restarts}</td>
              <td>
                <Hostile text={pod.node === "" ? "–" : pod.node} />
              </td>
              <td>
                <a
                  href={viewFragment({ ...view, tab: "logs", pod: pod.name })}
                  aria-label={`Log of ${pod.name}`}
                >
                  Log
                </a>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Events, the newest first. */
export function Events({ details }: { details: JobDetails }) {
  if (details.events.length === 0) {
    return (
      <Notice title="No events">
        <p>The API server keeps events for about an hour.</p>
      </Notice>
    );
  }
  return (
    <div class="scroll" role="region" aria-label="Events" tabIndex={0}>
      <table>
        <thead>
          <tr>
            {["Time", "Type", "Reason", "Message", "About"].map((it) => (
              <th key={it} scope="col">{it}</th>
            ))}
          </tr>
        </thead>
        <tbody>
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
                <Hostile text={event.about} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
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

/** The choice of the pod whose log is shown. */
export function PodChoice(
  { details, view, pod }: { details: JobDetails | undefined; view: JobView; pod: string },
) {
  const names = [
    ...new Set([...details?.pods.map(({ name }) => name) ?? [], ...(pod === "" ? [] : [pod])]),
  ];
  return (
    <label class="choice">
      <span>Pod</span>
      <select
        value={pod}
        onChange={({ currentTarget: { value } }) => showJob(view, { pod: value })}
      >
        {names.map((name) => <option key={name} value={name}>{plainText(name)}</option>)}
      </select>
    </label>
  );
}
