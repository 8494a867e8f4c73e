/** Entry of the page. */
import { render } from "preact";
import { startSparklines } from "./jobs/list_sparklines.ts";
import { loadLater } from "./later_page.tsx";
import { PageFrame } from "./page_frame.tsx";
import { feed, startPage, startTheme } from "./page_state.ts";
import { startSession } from "./feed/session_key.ts";

/** Time after which the other pages are loaded, in milliseconds. */
const LATER_MS = 3_000;

startTheme();
startSession(feed.otherSession);
startPage();
startSparklines();
const root = document.getElementById("page");
// Not beside the first rows, but before the server may go away.
setTimeout(() => loadLater().catch(() => {}), LATER_MS);
if (root !== null) render(<PageFrame />, root);
