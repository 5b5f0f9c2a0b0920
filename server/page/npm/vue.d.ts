/* Types of <alignd-attention> in Vue 3's templates: import type {} from "alignd-attention/vue"; */
import type { DefineComponent } from "vue";
import type { AligndAttentionEventMap, Attributes, Reply } from "./index.js";

type On = { [K in keyof AligndAttentionEventMap as `on${Capitalize<K>}`]?: (event: AligndAttentionEventMap[K]) => unknown };

declare module "vue" {
  interface GlobalComponents {
    "alignd-attention": DefineComponent<Attributes & On & { result?: Reply | null }>;
  }
}
