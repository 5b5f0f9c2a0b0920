/* An anywidget module (https://anywidget.dev) for notebooks that wraps the element. Traits: result, server, model_name,
 * text, translation, view, look, theme; `selected` is the chosen word, the detail of the element's wordselect event.
 * README.md has the Python side. */
import "./src/element.js";

const ATTRIBUTES = { server: "server", model_name: "model", text: "text", translation: "translation", view: "view",
  look: "look", theme: "theme" };

function render({ model, el }) {
  const view = document.createElement("alignd-attention");
  const write = (trait) => {
    const value = model.get(trait);
    if (value === undefined || value === null || value === "") view.removeAttribute(ATTRIBUTES[trait]);
    else view.setAttribute(ATTRIBUTES[trait], value);
  };
  const draw = () => { if (model.get("result")) view.result = model.get("result"); };
  const changes = [...Object.keys(ATTRIBUTES).map((trait) => [`change:${trait}`, () => write(trait)]),
    ["change:result", draw]];
  for (const [, act] of changes) act();
  for (const [name, act] of changes) model.on(name, act);
  view.addEventListener("wordselect", ({ detail }) => {
    model.set("selected", detail);
    model.save_changes();
  });
  el.append(view);
  return () => { for (const [name, act] of changes) model.off(name, act); };
}

export default { render };
