import "alignd-attention";
import { useState } from "react";
import { createRoot } from "react-dom/client";

/* alignd/ and en-fr/ are folders of the site: the npm package alignd, and a model. */
function Translator() {
  const [text, setText] = useState("The house is small."), [word, setWord] = useState("");
  return <main>
    <textarea aria-label="Text" value={text} onChange={({ target }) => setText(target.value)} />
    <alignd-attention engine="alignd/index.js" model="en-fr/" text={text}
      onwordselect={({ detail }) => setWord(detail.text)} />
    <output>{word}</output>
  </main>;
}
createRoot(document.getElementById("root")).render(<Translator />);
