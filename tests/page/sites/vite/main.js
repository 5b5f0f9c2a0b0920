import { AligndAttention } from "alignd-attention";

const view = document.createElement("alignd-attention");
if (!(view instanceof AligndAttention)) throw new Error("another element has the name");
view.result = await (await fetch("/reply.json")).json();
view.addEventListener("wordselect", ({ detail }) => { document.title = detail.text; });
document.body.append(view);
