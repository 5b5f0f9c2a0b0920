import type { AttentionReply, AttentionRequest, Model, Options, Request, StreamEvent, TranslateReply } from "./types/client.js";
import type { Warning } from "./types/index.js";

export type { AttentionReply, AttentionRequest, Model, Request, StreamEvent, TranslateReply };

/** What the engine refuses. */
export class AligndError extends Error {
  /** as in HTTP; 0: the engine could not be opened or has ended */
  status: number;
  code?: string;
  /** the field of the request that is wrong */
  field?: string;
}

/**
 * Models in memory and the threads that decode: several in a page that is cross-origin isolated, where calls are decoded
 * together; elsewhere one, which answers calls one after the other. A call whose options.signal aborts is cancelled; on
 * one thread it is decoded to its end if its turn has come.
 */
export class Alignd {
  /**
   * Opens the models in these folders: paths, or addresses from which a folder's files can be fetched.
   * options: flags of `alignd --help` under "Serving", such as "--compute=float32"; "--workers=2": so many threads,
   * where there are threads, by default one less than processors and at most 8; "--threads=false": one everywhere
   */
  static load(folders: string | URL | (string | URL)[], settings?: { options?: string[] }): Promise<Alignd>;
  /** How many threads decode. */
  readonly threads: number;
  translate(request: Request, options?: Options): Promise<TranslateReply>;
  attention(request: AttentionRequest, options?: Options): Promise<AttentionReply>;
  align(request: Record<string, unknown>, options?: Options): Promise<Record<string, unknown> & { warnings?: Warning[] }>;
  detect(request: { q: string }, options?: Options): Promise<{ language: string; confidence: number }[]>;
  models(): Promise<{ models: Model[] }>;
  languages(): Promise<{ code: string; name: string; targets: string[] }[]>;
  formats(): Promise<{ name: string; extensions: string[]; media_types: string[]; max_bytes: number }[]>;
  /** Translates a file. The ending of its name says what it is; the other fields are those of `POST /documents`. */
  document(file: Uint8Array, fields: { filename: string; [field: string]: string }): Promise<Uint8Array>;
  /** Sends any request, and resolves to the bytes of the reply. */
  call(what: string, request?: string | Uint8Array | object, options?: Options): Promise<Uint8Array>;
  /**
   * Yields the events of "translate" or "attention": "token" as they are decided (greedy, sample), "sentence", "result"
   * last. Leaving the loop aborts the call.
   */
  stream(what: string, request: Request | AttentionRequest, options?: Options): AsyncGenerator<StreamEvent>;
  /**
   * Sends a request with "stream": true (a document's fields have stream=true), and resolves to its server-sent events
   * as they come: what the body of fetch's reply is. To cancel the stream is to abort the call.
   */
  events(what: string, request: string | Uint8Array | object, options?: Options): Promise<ReadableStream<Uint8Array>>;
  /** Ends the engine. Calls that have not been answered are rejected. */
  close(): Promise<void>;
}
