/** Login: a code where the server has printed one, a token in a cluster, and the way out. */
import { useState } from "preact/hooks";
import { Notice } from "./marks_and_signs.tsx";
import { plainText } from "./readable_text.ts";
import {
  enterToken,
  exchangeCode,
  type Login,
  loseSession,
  type Session,
} from "./feed/session_key.ts";

/** Words of a form, and its action. */
interface FormWords {
  readonly title: string;
  readonly failed: string;
  readonly label: string;
  readonly action: string;
  readonly send: (text: string) => unknown;
}

const FORMS: Readonly<Record<Login, FormWords>> = {
  // A code can be typed where the printed address cannot be opened.
  code: {
    title: "No session in this tab",
    failed: "The session could not be opened",
    label: "Code, or the whole address",
    action: "Open",
    send: (text) => exchangeCode(text.replace(/^.*#code=/, "")),
  },
  token: {
    title: "Log in to the cluster",
    failed: "Not logged in",
    label: "Token",
    action: "Log in",
    send: enterToken,
  },
};

function Explanation({ login }: { login: Login }) {
  if (login === "code") {
    return (
      <p>
        Open the address that <code>milepost</code>{" "}
        printed, or press Enter there for a new one. Its code is good for 10 minutes, and for one
        browser, which may open it again.
      </p>
    );
  }
  return (
    <p>
      Paste a token that the cluster's API server takes, such as one that{" "}
      <code>kubectl create token NAME</code>{" "}
      prints. You see and change what its user may. It stays in the tabs of this page until they are
      closed, or you log out.
    </p>
  );
}

/** Asks for a code or a token. */
export function LoginForm({ why, login }: { why: string; login: Login }) {
  const [text, setText] = useState("");
  const { title, failed, label, action, send } = FORMS[login];
  const field = {
    autoComplete: "off",
    spellcheck: false,
    value: text,
    onInput: ({ currentTarget }: { currentTarget: HTMLInputElement }) =>
      setText(currentTarget.value),
  };
  return (
    <main id="content" tabIndex={-1} class="alone">
      <Notice title={why === "" ? title : failed}>
        {why !== "" && <p role="alert">{plainText(why)}</p>}
        <Explanation login={login} />
        <form
          class="row"
          onSubmit={(event) => {
            event.preventDefault();
            if (text.trim() !== "") send(text);
          }}
        >
          <label class="field">
            <span>{label}</span>
            {login === "token"
              ? <input type="password" {...field} />
              : <input type="text" {...field} />}
          </label>
          <button type="submit" class="main">{action}</button>
        </form>
      </Notice>
    </main>
  );
}

/** Forgets the token of this tab; one that a proxy sends is not the page's to forget. */
export function LogOut({ session: { login, key } }: { session: Session }) {
  if (login !== "token" || key === "") return null;
  return <button type="button" onClick={() => loseSession("")}>Log out</button>;
}
