/* For other pages: <script type="module" src="https://SERVER/embed.js"></script> defines <alignd-attention>
 * (npm/README.md). */
export { AligndAttention } from "./page/element.js";
