/* Defines <alignd-attention>. */
export { AligndAttention } from "./src/element.js";
