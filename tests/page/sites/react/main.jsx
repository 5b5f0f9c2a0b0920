import "alignd-attention";
import { useEffect, useState } from "react";
import { createRoot } from "react-dom/client";

function Translation() {
  const [result, setResult] = useState(null), [word, setWord] = useState("");
  useEffect(() => { fetch("/reply.json").then((reply) => reply.json()).then(setResult); }, []);
  return <><alignd-attention result={result} onwordselect=
    {({ detail }) => setWord(detail.text)} /><p id="word">{word}</p></>;
}
createRoot(document.getElementById("root")).render(<Translation />);
