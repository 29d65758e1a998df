/** A button that signs in at an identity provider, in a window of its own. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { type SignedIn, failureText } from "./api.ts";
import type { Provider } from "./providers.ts";
import { plainText } from "./text.tsx";

interface ProviderButtonProps {
  readonly provider: Provider;
  readonly label: string;
  /** Takes the access; rejects with an error if the server does not. */
  readonly onSignIn: (access: SignedIn) => Promise<void>;
}

export function ProviderButton({ provider, label, onSignIn }: ProviderButtonProps) {
  const note = useSignal("");
  const problem = useSignal("");
  const pending = useRef(new AbortController());
  useEffect(() => () => pending.current.abort(), []);
  const begin = async (): Promise<void> => {
    pending.current.abort();
    const { signal } = (pending.current = new AbortController());
    problem.value = "";
    // A browser lets only clicks open windows, so it is opened before anything is waited for.
    const opened = open("about:blank", "_blank", "popup,width=520,height=720");
    if (opened === null) {
      problem.value = "The browser has opened no window: allow windows of this page, and try again.";
      return;
    }
    note.value = "Go on in the new window. If it is gone, begin again.";
    try {
      const { signInAt } = await import("./provider-sign-in.ts");
      await onSignIn(await signInAt(provider, opened, signal));
    } catch (error) {
      if (signal.aborted) return;
      problem.value = failureText(error);
    }
    note.value = "";
  };
  return (
    <div class="provider">
      <button type="button" onClick={() => void begin()}>
        {label}
      </button>
      {note.value !== "" && <p role="status">{note.value}</p>}
      {problem.value !== "" && (
        <p role="alert" class="problem">
          {plainText(problem.value)}
        </p>
      )}
    </div>
  );
}
