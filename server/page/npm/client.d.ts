import type { Answer, Sentence, Warning } from "./index.js";

/** Fields of `/translate` and `/attention`; `/openapi.json` describes them. */
export interface Request {
  text: string | string[];
  model?: string;
  source?: string;
  target?: string;
  /** Of a model that writes several languages: which one. */
  variant?: string;
  strategy?: "greedy" | "beam" | "sample" | "exact";
  beam_size?: number;
  n_best?: number;
  length_penalty?: number;
  coverage_penalty?: number;
  temperature?: number;
  top_k?: number;
  top_p?: number;
  seed?: number;
  min_length?: number;
  max_length?: number;
  no_repeat_ngram?: number;
  repetition_penalty?: number;
  prefix?: string;
  replace_unknowns?: boolean;
  split_sentences?: boolean;
  glossary?: { [phrase: string]: string } | string;
  protect?: (string | { pattern: string })[];
  digits?: number;
  /** How `words.alignment` links words. */
  links?: "best" | "mutual" | "balanced" | "several";
  format?: "text" | "html" | "xml";
  /** true: what the model does, without opaque runs, comparison of numbers and signs, and doubt. */
  verbatim?: boolean;
  /** false: without the warning "doubtful". */
  warnings?: boolean;
  /** Names with commas between them, or all, or an array of names. */
  include?: string | ("tokens" | "log_probs" | "attention" | "soft_alignment" | "alignment" | "words" | "offsets" | "entropy" | "top_k" | "beam" | "timing" | "eos" | "quality" | "heads" | "all")[];
}
export interface AttentionRequest extends Request {
  translation?: string | string[];
  force_attention?: { step: number; weights: number[] }[];
}
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
  /** server: its address, "" for that of the page. retries: how often a busy server (429, 503) is asked again. */
  constructor(server?: string, options?: { key?: string; retries?: number });
  translate(body: Request, options?: Options): Promise<TranslateReply>;
  attention(body: AttentionRequest, options?: Options): Promise<AttentionReply>;
  models(options?: Options): Promise<Model[]>;
  json(path: string, body?: object, options?: Options): Promise<any>;
  send(path: string, body?: object, options?: Options): Promise<Response>;
  /** "token" as they are decided (greedy, sample), "result" last. Leaving the loop ends the request. */
  stream(path: string, body: object, options?: Options): AsyncGenerator<StreamEvent>;
}
