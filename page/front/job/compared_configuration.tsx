/** Table of what differs in the configuration of jobs that are compared. */
import { LineSample } from "../charts/chart_legend.tsx";
import { pathOf } from "../feed/job_key.ts";
import { useRepeated } from "../feed/repeated_reading.ts";
import { problemOf } from "../feed/server_calls.ts";
import { Hostile, ShortText } from "../marks_and_signs.tsx";
import { call, shownJobs } from "../page_state.ts";
import { Table } from "../tables.tsx";
import { jobNameOf, type JobView } from "../url_state.ts";
import { variedNames } from "../../../platform/base/varied_names.ts";
import { readDetails } from "./job_details.ts";

/** Time between two readings in milliseconds: what a job was started with stays. */
const SELDOM_MS = 300_000;

/** Reads the settings of a job by names; undefined if they cannot be read. */
async function settingsOf(key: string, signal: AbortSignal) {
  const job = jobNameOf(key);
  if (job === undefined) return undefined;
  try {
    const { configuration } = readDetails(
      await (await call(pathOf("objects", job), { signal })).json(),
    );
    return new Map(configuration);
  } catch (error) {
    const { status } = problemOf(error);
    if (status === 403 || status === 404) return undefined;
    throw error;
  }
}

/** The table; nothing where no job is compared with another. */
export function ComparedConfiguration({ view }: { view: JobView }) {
  const keys = shownJobs(view);
  const begin = () => (signal: AbortSignal) =>
    Promise.all(keys.map((key) => settingsOf(key, signal)));
  const { value: all } = useRepeated(
    view.compared.length === 0 ? "" : keys.join(" "),
    begin,
    SELDOM_MS,
    "",
  );
  if (all === undefined || all.length !== keys.length) return null;
  const names = variedNames(all.filter((it) => it !== undefined));
  const headers = (
    <>
      <th scope="col">Setting</th>
      {keys.map((key, place) => (
        <th key={key} scope="col">
          <LineSample place={place} /> <ShortText text={jobNameOf(key)?.name ?? key} most={24} />
        </th>
      ))}
    </>
  );
  return (
    <section>
      <h2>Configuration that differs</h2>
      {names.length === 0
        ? <p class="quiet">Nothing of it differs, as far as it can be read.</p>
        : (
          <Table label="Configuration that differs" headers={headers}>
            {names.map((name) => (
              <tr key={name}>
                <td>
                  <Hostile text={name} />
                </td>
                {all.map((settings, place) => (
                  <td key={place} data-label={jobNameOf(keys[place] ?? "")?.name}>
                    <ShortText text={settings?.get(name) ?? "–"} most={40} />
                  </td>
                ))}
              </tr>
            ))}
          </Table>
        )}
    </section>
  );
}
