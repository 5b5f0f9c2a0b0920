import { AligndAttention } from "alignd-attention";

const view = document.createElement("alignd-attention");
if (!(view instanceof AligndAttention)) throw new Error("another element has the name");
fetch("/reply.json").then((reply) => reply.json()).then((reply) => { view.result = reply; });
view.addEventListener("wordselect", ({ detail }) => { document.title = detail.text; });
document.body.append(view);
