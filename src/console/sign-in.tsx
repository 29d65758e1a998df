/**
 * Signing in: with a code of `binnacle console`, with a token, at an identity provider, or with nothing where the browser shows a
 * certificate.
 */
import { type Signal, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type SignedIn, Api, ApiFailure, failureText } from "./api.ts";
import { ProviderButton } from "./provider-button.tsx";
import type { Provider } from "./providers.ts";
import { plainText } from "./text.tsx";

export interface Session {
  readonly signIn: "token" | "code";
  readonly cluster: string;
  readonly namespace: string;
  /** The identity providers of the server. */
  readonly providers: readonly Provider[];
  /** Whether the page has tried what it had when it was opened. */
  readonly wasUsed: Signal<boolean>;
}

const sessionPath = "session";

/** Asks how one signs in here. */
export async function readSession(): Promise<Omit<Session, "wasUsed">> {
  const own = { signIn: "token", cluster: location.origin, namespace: "", providers: [] } as const;
  try {
    const response = await fetch(sessionPath, { redirect: "error", credentials: "omit" });
    return { ...own, ...((await response.json()) as Partial<Session>) }; // it is our own server's
  } catch {
    return own;
  }
}

/** Returns the access that a code gives. Rejects with an error that says why there is none. */
export async function redeem({ cluster, namespace }: Omit<Session, "wasUsed">, code: string): Promise<SignedIn> {
  const response = await fetch(sessionPath, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ code }),
    redirect: "error",
    credentials: "omit",
  });
  const { token, message } = (await response.json()) as { readonly token?: string; readonly message?: string };
  if (token === undefined) throw new Error(message ?? "the code was refused");
  return { kind: "code", token, cluster, namespace };
}

/** Returns the access of a certificate that the browser shows; `undefined` where the server does not know who asks. */
export async function withCertificate(): Promise<SignedIn | undefined> {
  const access: SignedIn = { kind: "certificate", token: "", cluster: location.origin, namespace: "" };
  const name = await userName(new Api(access, false)).catch(() => "");
  return name === "" || name === "system:anonymous" ? undefined : access;
}

/** Returns the name of the user, as the server knows it. Rejects with `ApiFailure`. */
async function userName(api: Api): Promise<string> {
  interface Review {
    readonly status?: { readonly userInfo?: { readonly username?: string } };
  }
  const review = await api.json<Review>({
    method: "POST",
    path: "/apis/authentication.k8s.io/v1/selfsubjectreviews",
    body: JSON.stringify({ apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" }),
  });
  return review.status?.userInfo?.username ?? "";
}

const withToken = (token: string): Promise<SignedIn> =>
  checked({ kind: "token", token, cluster: location.origin, namespace: "" });

/** Returns the access of a token, if the server takes it. */
export async function checked(access: SignedIn): Promise<SignedIn> {
  try {
    await userName(new Api(access, false));
  } catch (error) {
    if (!(error instanceof ApiFailure)) throw error;
    if (error.code === 401) {
      const isPasted = access.provided === undefined;
      throw new Error(isPasted ? "the server does not know this token" : "the server does not take this sign-in");
    }
    // It knows the user, who may not ask for more, or is too old for the question.
    if (error.code !== 403 && error.code !== 404) throw error;
  }
  return access;
}

interface SignInProps {
  readonly session: Session;
  readonly onSignIn: (access: SignedIn) => void;
}

export function SignIn({ session, onSignIn }: SignInProps) {
  const problem = useSignal("");
  const isBusy = useSignal(false);
  const field = useRef<HTMLInputElement>(null);
  const isCode = session.signIn === "code";
  useEffect(() => field.current?.focus(), []);
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const text = field.current?.value.trim().replace(/^.*#code=/, "") ?? "";
    if (text === "") return;
    isBusy.value = true;
    problem.value = "";
    try {
      onSignIn(isCode ? await redeem(session, text) : await withToken(text));
    } catch (error) {
      problem.value = failureText(error);
      field.current?.select();
    }
    isBusy.value = false;
  };
  return (
    <main class="sign-in">
      <h1>Binnacle console</h1>
      <p class="dim">{session.cluster}</p>
      {session.providers.map((provider) => (
        <ProviderButton
          key={provider.issuer}
          provider={provider}
          label={`Sign in at ${plainText(provider.issuer)}`}
          onSignIn={async (access) => onSignIn(await checked(access))}
        />
      ))}
      <form onSubmit={(event) => void submit(event)}>
        <label for="secret">{isCode ? "Code or link" : "Token"}</label>
        <input id="secret" ref={field} type="password" autocomplete="off" spellcheck={false} required />
        <button type="submit" disabled={isBusy.value}>
          Sign in
        </button>
      </form>
      <p role="alert" class="problem">
        {problem.value}
      </p>
      {isCode ? (
        <p class="dim">
          Press Enter in the terminal where <code>binnacle console</code> runs: it prints a new link, which is good once
          and for a minute.
        </p>
      ) : (
        <p class="dim">
          <code>binnacle token create NAME</code> makes a token for a service account, and <code>binnacle console</code>{" "}
          signs in by your kubeconfig, with no token to copy. The token stays in the memory of this page: it is gone
          when you reload or close it.
        </p>
      )}
    </main>
  );
}
