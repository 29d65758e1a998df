/**
 * Texts of others: names, annotations, messages. Characters that are not seen or that turn the direction of a line are
 * shown as escapes, and long texts are cut until somebody asks for all of it. Nothing is ever parsed as HTML.
 */
import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";

/** Control characters, marks of direction, invisible spaces and joiners, line separators, and tags. */
const unseen =
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Texts of ASCII alone, which most are, and which are shown as they are. */
const usual = /^[\t\n -~]*$/;

/** Returns the parts of a text: what is shown as it is, and the escapes between. */
function textParts(text: string): readonly { readonly text: string; readonly isEscape: boolean }[] {
  if (usual.test(text)) return text === "" ? [] : [{ text, isEscape: false }];
  const parts: { text: string; isEscape: boolean }[] = [];
  let end = 0;
  for (const { 0: character, index } of text.matchAll(unseen)) {
    if (index > end) parts.push({ text: text.slice(end, index), isEscape: false });
    parts.push({ text: `\\u{${character.codePointAt(0)!.toString(16)}}`, isEscape: true });
    end = index + character.length;
  }
  if (end < text.length) parts.push({ text: text.slice(end), isEscape: false });
  return parts;
}

/** Returns a text with escapes, for places that take nothing but text. */
export const plainText = (text: string): string =>
  usual.test(text)
    ? text
    : textParts(text)
        .map((part) => part.text)
        .join("");

interface TextProps {
  readonly of: string;
  /** The number of characters that are shown at first. */
  readonly max?: number;
}

const shownMax = 2000;

export function Text({ of: value, max = shownMax }: TextProps) {
  const isWhole = useSignal(false);
  const isCut = value.length > max && !isWhole.value;
  const shown = isCut ? value.slice(0, max) : value;
  const parts: ComponentChildren[] = textParts(shown).map((part, at) =>
    part.isEscape ? (
      <span class="escape" key={at}>
        {part.text}
      </span>
    ) : (
      part.text
    ),
  );
  return (
    <bdi>
      {parts}
      {isCut && (
        <button type="button" class="small" onClick={() => (isWhole.value = true)}>
          … show all {value.length.toLocaleString("en")} characters
        </button>
      )}
    </bdi>
  );
}

/** A time as its age, with the time itself as its title. */
export function Age({ of: time, now }: { readonly of: string | undefined; readonly now: number }) {
  if (time === undefined) return <span class="dim">unknown</span>;
  return (
    <time dateTime={time} title={time}>
      {ageText(time, now)}
    </time>
  );
}

/** Returns the age of a time in one or two units, as tables of the API have it. */
export function ageText(time: string, now: number): string {
  const seconds = Math.max(0, Math.floor((now - Date.parse(time)) / 1000));
  if (Number.isNaN(seconds)) return "unknown";
  if (seconds < 120) return `${seconds}s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 10) return `${minutes}m${seconds % 60 === 0 ? "" : `${seconds % 60}s`}`;
  if (minutes < 180) return `${minutes}m`;
  const hours = Math.floor(minutes / 60);
  if (hours < 8) return `${hours}h${minutes % 60 === 0 ? "" : `${minutes % 60}m`}`;
  if (hours < 48) return `${hours}h`;
  const days = Math.floor(hours / 24);
  if (days < 8) return `${days}d${hours % 24 === 0 ? "" : `${hours % 24}h`}`;
  return days < 730 ? `${days}d` : `${Math.floor(days / 365)}y`;
}
