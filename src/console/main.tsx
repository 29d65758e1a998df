/** The entry of the console: signs in, and shows the pages. */
import { signal, useSignal } from "@preact/signals";
import { render } from "preact";
import type { SignedIn } from "./api.ts";
import { App } from "./app-state.ts";
import { readProviderAnswer } from "./providers.ts";
import { Shell } from "./shell.tsx";
import { readSession, redeem, SignIn, type Session, withCertificate } from "./sign-in.tsx";

function Console({ session, first }: { readonly session: Session; readonly first: SignedIn | undefined }) {
  const app = useSignal<App | undefined>(undefined);
  const signIn = (access: SignedIn | undefined): void => {
    app.value = access === undefined ? undefined : new App(access, signIn);
  };
  if (app.value === undefined && first !== undefined && !session.wasUsed.value) {
    session.wasUsed.value = true;
    signIn(first);
  }
  return app.value === undefined ? (
    <SignIn session={session} onSignIn={signIn} />
  ) : (
    <Shell key={app.value} app={app.value} />
  );
}

async function start(): Promise<void> {
  const code = /^#code=([\w-]+)$/.exec(location.hash)?.[1];
  // The code is good once, and does not stay in the address.
  if (code !== undefined) history.replaceState(null, "", location.pathname);
  const root = document.getElementById("console")!;
  const answer = readProviderAnswer(location.search);
  if (answer !== undefined) {
    history.replaceState(null, "", location.pathname);
    return (await import("./provider-return.ts")).giveAnswer(answer, root);
  }
  const session = { ...(await readSession()), wasUsed: signal(false) };
  const first =
    session.signIn === "code"
      ? code === undefined
        ? undefined
        : await redeem(session, code).catch(() => undefined)
      : await withCertificate();
  render(<Console session={session} first={first} />, root);
}

void start();
