import type { Answer, Sentence, Warning } from "./index.js";

/* written by server/api/docs.py: fields of requests */
/** Fields of `/translate` and `/attention`. */
export interface Request {
  /** text to translate: a string, or an array of 1 to 64 strings */
  text: string | string[];
  /** a model name from /models; by default the first that fits source and target */
  model?: string;
  /** language code of the text; without it, or auto: detected, of each text by itself, if target is given */
  source?: string;
  /** language code of the translation */
  target?: string;
  /** of a model that writes several languages: which one, as variants of /models names it; by default that of target */
  variant?: string;
  /** split texts into sentences; default true, or false when a translation is given */
  split_sentences?: boolean;
  /** replace unknown words by the source words that they are aligned with */
  replace_unknowns?: boolean;
  /** what the text is: text, html or xml; well-formed markup in text stays as it is, too */
  format?: "text" | "html" | "xml";
  /** what each sentence contains besides its text; all: everything that the model has, except heads and beam */
  include?: string | ("tokens" | "log_probs" | "attention" | "scores" | "soft_alignment" | "alignment" | "words" | "phrases" | "offsets" | "entropy" | "top_k" | "beam" | "quality" | "heads" | "timing" | "eos" | "all")[];
  /** significant digits of the weights of attention and alignment */
  digits?: number;
  /** how words.alignment links words. best: each target word with its best source word; mutual: those that are best in both directions; balanced: mutual, after the weights are brought to sum 1 by columns and rows in turn; several: the best of each word on either side if it is sure enough, so that a compound has a link with each word that it stands for */
  links?: "best" | "mutual" | "balanced" | "several";
  /** text that each translation must begin with */
  prefix?: string;
  /** text that the translation of a single sentence must end with; what stands between it and a prefix is decoded */
  suffix?: string;
  /** false: leave out the warning doubtful */
  warnings?: boolean;
  /** how the translation addresses its reader: more (vous, Sie) or less (tu, du) formally; with prefer_ no warning is given where that fails, and a language without such forms is not refused */
  formality?: "default" | "more" | "less" | "prefer_more" | "prefer_less";
  /** true: exactly what the model does; nothing is kept but what protect names, no number is checked, nothing is estimated unasked */
  verbatim?: boolean;
  /** target phrases that must be used to translate these source phrases; or the name of a glossary that the server keeps */
  glossary?: string | { [name: string]: string };
  /** what is not translated and stays as it is: strings, found as whole words, and patterns in RE2's syntax */
  protect?: (string | { pattern: string })[];
  /** how to search */
  strategy?: "greedy" | "beam" | "sample" | "exact";
  /** size of the beam; by default the model's, which is 5 for most */
  beam_size?: number;
  /** number of hypotheses to return; with beam at most beam_size, with greedy 1 */
  n_best?: number;
  /** score = log_prob / length ^ length_penalty; 0: none; by default the model's, which is 1 for most */
  length_penalty?: number;
  /** minimum number of target tokens */
  min_length?: number;
  /** maximum number of target tokens; by default the model's ratio to the source */
  max_length?: number;
  /** score += coverage_penalty * sum over the source tokens of log(min(1, attention received)) */
  coverage_penalty?: number;
  /** no sequence of this many tokens may occur twice; 0: off */
  no_repeat_ngram?: number;
  /** factor on the log-probability of a token that has already occurred */
  repetition_penalty?: number;
  /** log-probabilities are divided by it; only for strategy sample */
  temperature?: number;
  /** draw only from this many of the best tokens; 0: all; only for strategy sample */
  top_k?: number;
  /** draw only from the fewest best tokens that together have this probability; only for strategy sample */
  top_p?: number;
  /** the same seed gives the same texts; random by default; only for strategy sample */
  seed?: number;
}
export interface AttentionRequest extends Request {
  /** the translation to score and align instead of alignd's own: a string if text is a string, otherwise an array as long as text */
  translation?: string | string[];
  /** attention weights for these steps, instead of the decoder's own */
  force_attention?: { step: number; weights: number[] }[];
}
/* end of fields of requests */
export interface Translated { text: string; sentences: Sentence[]; warnings?: Warning[]; detected?: { language: string; confidence: number }; model?: string; source?: string; pivot?: [string, string] }
export interface TranslateReply { model: string; source: string; target: string; translations: Translated[] }
export interface AttentionReply { model: string; source: string; target: string; results: Translated[] }
/** One that is not ready lacks what only loading tells; one whose folder cannot be read has its name, `state` and `reason` alone. */
export interface Model {
  name: string;
  state: "cold" | "fetching" | "loading" | "ready" | "failed";
  /** Of one that is being downloaded, 0 to 1. */
  progress?: number;
  /** Of one that was downloaded. */
  from?: string;
  version?: string;
  licence?: string;
  attribution?: string;
  reason?: string;
  source?: string;
  target?: string;
  task?: string;
  architecture?: string;
  parameters?: number;
  alignment_head?: boolean;
  style?: string;
  score?: string;
  integrity?: "unlisted" | "checking" | "checked";
  sha256?: string;
  limits?: { max_source_tokens: number; max_target_ratio: number; max_target_tokens: number };
  [more: string]: unknown;
}
export interface Options { signal?: AbortSignal }
export type StreamEvent = ["token", { text?: string; token?: string; log_prob?: number; [more: string]: unknown }] | ["result", TranslateReply & AttentionReply & Answer] | [string, Record<string, unknown>];

/** `status` 0: the server cannot be reached, or its answer was cut off. `retryAfter`: seconds, 0 if the server said nothing. */
export class AligndError extends Error {
  readonly status: number;
  readonly code?: string;
  readonly field?: string;
  readonly retryAfter: number;
}

export class Client {
  /** server: its address, "" for that of the page. retries: how often a busy server (429, 503) is asked again.
   * fetch: what answers, if not the environment's own. */
  constructor(server?: string, options?: { key?: string; retries?: number; fetch?: typeof fetch });
  translate(body: Request, options?: Options): Promise<TranslateReply>;
  attention(body: AttentionRequest, options?: Options): Promise<AttentionReply>;
  models(options?: Options): Promise<Model[]>;
  json(path: string, body?: object, options?: Options): Promise<any>;
  send(path: string, body?: object, options?: Options): Promise<Response>;
  /** "token" as they are decided (greedy, sample), "result" last. Leaving the loop ends the request. */
  stream(path: string, body: object, options?: Options): AsyncGenerator<StreamEvent>;
}
