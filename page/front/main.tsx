/** Entry of the page. */
import { render } from "preact";
import { startSparklines } from "./list_sparklines.ts";
import { PageFrame } from "./page_frame.tsx";
import { feed, startPage, startTheme } from "./page_state.ts";
import { startSession } from "./session_key.ts";

startTheme();
startSession(feed.otherSession);
startPage();
startSparklines();
const root = document.getElementById("page");
if (root !== null) render(<PageFrame />, root);
