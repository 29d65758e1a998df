/** The window that comes back from an identity provider: it gives the answer to the page that waits for it, and closes. */
import { type AnswerTaken, type ProviderAnswer, signInChannel } from "./providers.ts";

/** The time in milliseconds after which nobody waits for the answer. */
const waitMs = 3000;

/** Gives the answer away, and shows in `root` how that ended if the window stays. */
export function giveAnswer(answer: ProviderAnswer, root: HTMLElement): void {
  const main = document.createElement("main");
  main.className = "sign-in";
  main.role = "status";
  root.append(main);
  main.textContent = "Signing in …";
  const channel = new BroadcastChannel(signInChannel);
  const timer = setTimeout(() => {
    channel.close();
    main.textContent = "No page of the console waits for this sign-in. Close this window, and begin at the console.";
  }, waitMs);
  channel.onmessage = ({ data }: MessageEvent<ProviderAnswer | AnswerTaken>) => {
    if (!("taken" in data) || data.taken !== answer.state) return;
    clearTimeout(timer);
    channel.close();
    main.textContent = "The console goes on in its own window. This one can be closed.";
    close();
  };
  channel.postMessage(answer);
}
