/** One of a token's or word's places, half open: [start, end). */
export interface Place { start: number; end: number; start_utf16: number; end_utf16: number }

/* written by server/api/docs.py: members of a sentence */
/** A sentence as `/attention` and `/translate` answer it. What is drawn needs the members that are not
 * optional, and a matrix. n: the number of target tokens, m: of source tokens. */
export interface Sentence {
  source_text: string;
  text: string;
  /** m tokens */
  source_tokens: string[];
  /** n tokens of the translation */
  tokens: string[];
  /** hypotheses are ordered by it, best first */
  score?: number;
  log_prob?: number;
  finish_reason?: "eos" | "length" | "budget";
  /** strategy exact: no translation has a better score */
  optimal?: boolean;
  /** log-probability of each target token */
  log_probs: number[];
  /** [n][m]: weights of the source tokens for each target token; each row sums to 1 */
  attention?: number[][];
  /** [n][m]: the attention's scores before the softmax; null: none */
  scores?: ((number | null)[])[];
  /** [n][m]: what the alignment head says of each target token; attention if there is none */
  soft_alignment?: number[][];
  /** pairs of indexes: source token, target token; by soft_alignment */
  alignment?: [number, number][];
  words?: { source: string[]; target: string[]; attention: number[][]; soft_alignment: number[][]; alignment: [number, number][]; offsets: { source: Place[]; target: Place[] } };
  /** minimal phrase pairs that are consistent with words.alignment, in the order of the translation */
  phrases?: { source: Place; target: Place }[];
  quality?: { sentence: number; words: number[] };
  offsets: { source: Place[]; target: Place[]; span?: { source: Place; target: Place } };
  /** runs that came through as they are; with offsets */
  opaque?: ({ source: Place; target: Place; kind: "emoji" | "symbol" | "word" | "code" | "number" | "markup" | "url" | "email" | "protect" })[];
  /** in nats, for each target token */
  entropy?: number[];
  /** the five most likely tokens at each step */
  top_k?: { token: string; log_prob: number }[][];
  timing?: { queue_ms: number; decode_ms: number; steps: number };
  /** what the heads of a transformer looked at; of the best hypothesis */
  heads?: { encoder?: number[][][][]; decoder?: number[][][][]; cross?: number[][][][] };
  /** the search tree */
  beam?: ({ id: number; parent: number | null; step: number; token: string; log_prob: number; score: number; state: "kept" | "pruned" | "finished" })[];
  /** all hypotheses, best first; only if n_best > 1 */
  hypotheses?: Sentence[];
  [more: string]: unknown;
}
/* end of members of a sentence */
/** What is likely wrong: the text is in another language (`language`: its code), has many unknown tokens, or was shortened. */
export interface Warning { code: "language" | "untranslated" | "unknown" | "shortened" | "numbers" | "signs" | "glossary" | "doubtful" | "encoding" | "changed"; message: string; language?: string; source?: string[]; target?: string[]; quality?: number; words?: Place[]; entries?: { source: string; target: string }[] }
export interface Answer { model?: string; source?: string; target?: string; text?: string; sentences: Sentence[]; warnings?: Warning[]; pivot?: [string, string] }
/** A reply of `/attention` or `/translate`, or one of its results. */
export type Reply = Answer | { results: Answer[] } | { translations: Answer[] };

export type View = "threads" | "map" | "lines" | "table" | "heads" | "step";

export interface WordSelect { side: "source" | "target"; index: number; sentence: number; text: string; tokens: number[]; pinned: number }
export interface Alternative { sentence: number; step: number; token: string }
export interface Force { sentence: number; steps: number[]; tokens: number[] }

export interface AligndAttentionEventMap {
  wordselect: CustomEvent<WordSelect>;
  alternative: CustomEvent<Alternative>;
  force: CustomEvent<Force>;
  headselect: CustomEvent<{ head: string }>;
  stepselect: CustomEvent<{ sentence: number; step: number }>;
  result: CustomEvent<{ result: Answer }>;
  error: CustomEvent<{ error: Error & { status: number; field?: string } }>;
}

/** The attributes, as the markup of a framework has them. */
export interface Attributes {
  server?: string; engine?: string; src?: string; model?: string; source?: string; target?: string; text?: string; translation?: string;
  view?: View; look?: "alignment" | "attention"; units?: "words" | "tokens"; eos?: boolean; threshold?: number | string;
  theme?: "light" | "dark"; label?: string; head?: string; step?: number | string; drag?: boolean;
}
/** Listeners as React and Svelte name them. */
export type Listeners = { [K in keyof AligndAttentionEventMap as `on${K}`]?: (event: AligndAttentionEventMap[K]) => unknown };

export class AligndAttention extends HTMLElement {
  /** What is drawn. Set it to a reply: no server is needed then. */
  get result(): Answer | null;
  set result(reply: Reply | null);
  view: View;
  /** The API key of a server that asks for one. */
  key?: string;
  /** The size of a map's cells in px; otherwise what there is room for. */
  cell?: number;
  /** The number of the sentence that is explored. */
  active: number;
  /** The target word that stays lit, or -1. */
  pinned: number;
  readonly sentence: Sentence | undefined;
  /** Asks the server now; done by itself when `server` or `engine`, and `text`, are there. */
  ask(): Promise<void>;
  release(): void;
  addEventListener<K extends keyof AligndAttentionEventMap>(type: K, listener: (this: AligndAttention, event: AligndAttentionEventMap[K]) => unknown, options?: boolean | AddEventListenerOptions): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject, options?: boolean | AddEventListenerOptions): void;
}

declare global {
  interface HTMLElementTagNameMap { "alignd-attention": AligndAttention }
}
