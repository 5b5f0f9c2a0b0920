import type { AttentionReply, AttentionRequest, Model, Options, Request, TranslateReply } from "./types/client.js";
import type { Warning } from "./types/index.js";

export type { AttentionReply, AttentionRequest, Model, Request, TranslateReply };

/** What the engine refuses. */
export class AligndError extends Error {
  /** as in HTTP; 0: the engine could not be opened or has ended */
  status: number;
  code?: string;
  /** the field of the request that is wrong */
  field?: string;
}

/**
 * Models in memory and the thread that decodes. Calls are answered one after the other. One whose options.signal aborts
 * before its turn is not answered.
 */
export class Alignd {
  /**
   * Opens the models in these folders: paths, or addresses from which a folder's files can be fetched.
   * options: flags of `alignd --help` under "Serving", such as "--compute=float32"
   */
  static load(folders: string | URL | (string | URL)[], settings?: { options?: string[] }): Promise<Alignd>;
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
  /** Ends the engine. Calls that have not been answered are rejected. */
  close(): Promise<void>;
}
