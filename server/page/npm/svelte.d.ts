/* Types of <alignd-attention> in Svelte 5's markup: import type {} from "alignd-attention/svelte"; */
import type { HTMLAttributes } from "svelte/elements";
import type { AligndAttention, Attributes, Listeners, Reply } from "./index.js";

declare module "svelte/elements" {
  export interface SvelteHTMLElements {
    /* Omit would make everything `any`, since HTMLAttributes has an index. */
    "alignd-attention": Attributes & Listeners & { result?: Reply | null }
      & Pick<HTMLAttributes<AligndAttention>, "class" | "dir" | "hidden" | "id" | "lang" | "style" | "tabindex" | "title">;
  }
}
