/** The paths of the API, each request also as it is written for curl, kubectl and TypeScript. */
import { type Signal, useSignal } from "@preact/signals";
import { failureText } from "./api.ts";
import type { App } from "./app-state.ts";
import { collectionPath, type ServedKind, resourceName } from "./kinds.ts";
import { asRequest, type ExploredRequest, snippets } from "./snippets.ts";
import { plainText, Text } from "./text.tsx";

const methods = ["GET", "POST", "PUT", "PATCH", "DELETE"] as const;

interface Answer {
  readonly code: number;
  readonly type: string;
  readonly text: string;
  readonly ms: number;
}

/** The maximum characters of an answer that are shown. */
const shownMax = 1_000_000;

export function ExplorerPage({ app }: { readonly app: App }) {
  const request = useSignal<ExploredRequest>({
    method: "GET",
    path: "/version",
    contentType: "application/json",
    body: "",
  });
  const answer = useSignal<Answer | undefined>(undefined);
  const problem = useSignal("");
  const send = async (): Promise<void> => {
    problem.value = "";
    const { method, path, contentType, body } = request.value;
    try {
      const started = performance.now();
      const abort = AbortSignal.timeout(30_000);
      const response = await app.api.fetch({
        ...asRequest(path),
        method,
        accept: "application/json, */*",
        signal: abort,
        ...(body === "" || method === "GET" ? {} : { contentType, body }),
      });
      const text = await response.text();
      const type = response.headers.get("content-type") ?? "";
      answer.value = { code: response.status, type, text: pretty(text), ms: performance.now() - started };
    } catch (error) {
      answer.value = undefined;
      problem.value = failureText(error);
    }
  };
  return (
    <>
      <h1>API explorer</h1>
      <Paths app={app} request={request} />
      <form onSubmit={(event) => (event.preventDefault(), void send())}>
        <RequestForm request={request} />
        <button type="submit" class="main">
          Send
        </button>
      </form>
      <Snippets app={app} request={request.value} />
      {problem.value !== "" && (
        <p role="alert" class="problem">
          <Text of={problem.value} />
        </p>
      )}
      {answer.value !== undefined && <AnswerView answer={answer.value} />}
    </>
  );
}

/** Returns JSON with indents, and other texts as they are. */
function pretty(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

interface FormProps {
  readonly request: Signal<ExploredRequest>;
}

function Paths({ app, request }: FormProps & { readonly app: App }) {
  const choose = (name: string): void => {
    const kind = app.kinds.value.find((one) => resourceName(one) === name);
    if (kind !== undefined)
      request.value = { ...request.value, path: `${collectionPath(kind, app.namespace.value)}?limit=10` };
  };
  return (
    <form class="form" onSubmit={(event) => event.preventDefault()}>
      <label>
        Kind
        <select onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">choose …</option>
          {app.kinds.value.map((kind: ServedKind) => (
            <option key={resourceName(kind)} value={resourceName(kind)}>
              {plainText(resourceName(kind))}
            </option>
          ))}
        </select>
      </label>
    </form>
  );
}

function RequestForm({ request }: FormProps) {
  const set = (changes: Partial<ExploredRequest>): void => {
    request.value = { ...request.value, ...changes };
  };
  const { method, path, contentType, body } = request.value;
  return (
    <>
      <div class="form">
        <label>
          Method
          <select
            value={method}
            onChange={(event) => set({ method: methods.find((one) => one === event.currentTarget.value)! })}
          >
            {methods.map((one) => (
              <option key={one}>{one}</option>
            ))}
          </select>
        </label>
        <label class="wide">
          Path
          <input
            class="code"
            value={path}
            size={70}
            spellcheck={false}
            onInput={(event) => set({ path: event.currentTarget.value })}
          />
        </label>
        {method !== "GET" && (
          <label>
            Content type
            <input
              value={contentType}
              size={36}
              spellcheck={false}
              onInput={(event) => set({ contentType: event.currentTarget.value })}
            />
          </label>
        )}
      </div>
      {method !== "GET" && (
        <label>
          Body
          <textarea
            class="code"
            value={body}
            spellcheck={false}
            onInput={(event) => set({ body: event.currentTarget.value })}
          />
        </label>
      )}
    </>
  );
}

function Snippets({ app, request }: { readonly app: App; readonly request: ExploredRequest }) {
  return (
    <section aria-label="The same elsewhere">
      {snippets(request, app.kinds.value, app.api.access.cluster).map(({ title, text }) => (
        <div key={title}>
          <h2>{title}</h2>
          <pre tabIndex={0} role="region" aria-label={title}>
            {plainText(text)}
          </pre>
        </div>
      ))}
    </section>
  );
}

function AnswerView({ answer: { code, type, text, ms } }: { readonly answer: Answer }) {
  return (
    <section aria-label="Answer">
      <h2>
        {code}{" "}
        <span class="dim">
          {plainText(type)}, {Math.round(ms)} ms
        </span>
      </h2>
      <pre tabIndex={0} role="region" aria-label="Body">
        <Text of={text.slice(0, shownMax)} max={20_000} />
      </pre>
    </section>
  );
}
