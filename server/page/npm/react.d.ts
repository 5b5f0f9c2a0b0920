/* Types of <alignd-attention> in React 19's JSX: import type {} from "alignd-attention/react"; */
import type { ClassAttributes, HTMLAttributes } from "react";
import type { AligndAttention, Attributes, Listeners, Reply } from "./index.js";

declare module "react" {
  namespace JSX {
    interface IntrinsicElements {
      "alignd-attention": Attributes & Listeners & Omit<HTMLAttributes<AligndAttention>, keyof Attributes | "results">
        & ClassAttributes<AligndAttention> & { result?: Reply | null };
    }
  }
}
