/* Compiles when the package's types and those that openapi-typescript makes of /openapi.json go together. */
import type { components } from "./api.js";
import type { AttentionReply, AttentionRequest, Model, Request, TranslateReply } from "./client.js";

type Schemas = components["schemas"];

/* What the package lets one ask for is asked for; every field of the document has its name there. */
export const translate = (body: Request): Schemas["TranslateRequest"] => body;
export const attention = (body: AttentionRequest): Schemas["AttentionRequest"] => body;
export const known: Exclude<keyof Schemas["TranslateRequest"], keyof Request | "stream"> extends never ? true : false = true;
export const knownToo: Exclude<keyof Schemas["AttentionRequest"], keyof AttentionRequest | "stream" | "target"> extends never ? true : false = true;
export const included: Exclude<NonNullable<Schemas["TranslateRequest"]["include"]>[number], NonNullable<Request["include"]>[number]> extends never ? true : false = true;
/* What the server answers is what the package promises. */
export const model = (one: Schemas["Model"]): Pick<Model, "name" | "state" | "reason" | "source" | "target" | "task" | "architecture" | "parameters" | "alignment_head" | "limits"> => one;
export const translations = (reply: Schemas["Translations"]): Pick<TranslateReply, "model" | "source" | "target"> => reply;
export const attentions = (reply: Schemas["Attentions"]): Pick<AttentionReply, "model" | "source" | "target"> => reply;
