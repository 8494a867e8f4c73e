/** Frame of the page: the bar above it, the state of the connection, and the page of the view. */
import { useEffect } from "preact/hooks";
import { Choice } from "./form_fields.tsx";
import { JobsPage } from "./jobs/jobs_page.tsx";
import { Hostile, Notice } from "./marks_and_signs.tsx";
import { connection, now, setTheme, theme, view } from "./page_state.ts";
import { ageText, plainText } from "./readable_text.ts";
import { clockText } from "../../platform/base/local_time.ts";
import { MissingBar } from "./missing_bar.tsx";
import { LoginForm, LogOut } from "./login_form.tsx";
import { type Session, sessionState } from "./feed/session_key.ts";
import type { Connection } from "./feed/view_state.ts";
import { FIRST_SEARCHES } from "./searches/search_view.ts";
import { LaterPage } from "./later_page.tsx";
import { FIRST_VIEW, type View, viewFragment } from "./url_state.ts";

const CONNECTIONS: Readonly<Record<Connection["phase"], readonly [look: string, word: string]>> = {
  connecting: ["connection", "Connecting…"],
  live: ["connection live", "Live"],
  down: ["connection down", "Disconnected"],
  refused: ["connection down", "Refused"],
};

/** The state of the connection, as a shape and words. */
function ConnectionSign() {
  const [look, word] = CONNECTIONS[connection.value.phase];
  return <span class={look} role="status">{word}</span>;
}

/** Says since when what is shown may be old. */
function DownBar() {
  const it = connection.value;
  if (it.phase !== "down") return null;
  return (
    <p class="down-bar" role="alert">
      Disconnected since {clockText(it.sinceMs, it.sinceMs)}
      <span class="quiet" aria-hidden="true">({ageText((now.value - it.sinceMs) / 1000)})</span>
      : {plainText(it.reason)}. Shown as last read. Retrying.
    </p>
  );
}

const ThemeChoice = () => (
  <Choice
    label="Theme"
    value={theme.value}
    options={[["auto", "system"], ["light", "light"], ["dark", "dark"]]}
    onChange={setTheme}
  />
);

/** What a link to a list says of the view: that it is the list, one of what the list has, or neither. */
function currentIn(list: View["page"], one: View["page"]) {
  const { page } = view.value;
  return page === list ? "page" as const : page === one ? "true" as const : undefined;
}

function Bar({ session }: { session: Session | undefined }) {
  return (
    <header class="bar">
      <a class="skip" href="#content" onClick={skip}>Skip to content</a>
      <a class="brand" href={viewFragment(FIRST_VIEW)}>
        <svg viewBox="0 0 20 20" width="20" height="20" aria-hidden="true">
          <path d="M4 18V7a6 6 0 0 1 12 0v11Z" />
          <path class="line" d="M7 13l2.2-3l2 1.6L13.5 8" />
        </svg>
        <span class="word">Milepost</span>
      </a>
      <nav aria-label="Pages">
        <a
          href={viewFragment(FIRST_VIEW)}
          aria-current={currentIn("jobs", "job")}
        >
          Jobs
        </a>
        <a
          href={viewFragment(FIRST_SEARCHES)}
          aria-current={currentIn("searches", "search")}
        >
          Trials
        </a>
      </nav>
      <span class="space" />
      {session && <ConnectionSign />}
      {session && (
        <span class="who" title="The user, and the server">
          {session.user !== "" && <Hostile text={session.user} />}
          {session.server !== "" && (
            <>
              <span class="quiet">at</span>
              <Hostile text={session.server} />
            </>
          )}
        </span>
      )}
      {session && <LogOut session={session} />}
      <ThemeChoice />
    </header>
  );
}

/** The fragment is the view's: the link moves the focus instead. */
function skip(event: Event) {
  event.preventDefault();
  document.querySelector<HTMLElement>("#content")?.focus();
}

/** What the tab is called. */
function titleOf(it: View): string {
  if (it.page === "job" || it.page === "search") return plainText(it.name);
  return it.page === "jobs" ? "Jobs" : "Trials";
}

/** The page. */
export function PageFrame() {
  const state = sessionState.value;
  const it = view.value;
  const session = state.phase === "open" ? state.session : undefined;
  const title = titleOf(it);
  useEffect(() => {
    document.title = `${title} · Milepost`;
  }, [title]);
  return (
    <>
      <Bar session={session} />
      {state.phase === "starting" && (
        <main id="content" tabIndex={-1} class="alone">
          <Notice title="Opening the session…" />
        </main>
      )}
      {state.phase === "none" && <LoginForm why={state.why} login={state.login} />}
      {session && (
        <>
          <DownBar />
          <MissingBar session={session} />
          <main id="content" tabIndex={-1}>
            {it.page === "jobs" ? <JobsPage view={it} /> : <LaterPage view={it} />}
          </main>
        </>
      )}
    </>
  );
}
