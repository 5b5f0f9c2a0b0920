/* The style sheet of the views that are loaded on demand. */

const TEXT = `
progress { accent-color: var(--accent); width: min(16rem, 50%); }
.words { display: flex; flex-wrap: wrap; gap: .25rem; margin-bottom: 1.25rem; font-family: var(--serif); }
.words button { padding: .125rem .5rem; min-height: 2rem; }
.answer { font-size: var(--s2); margin-bottom: 1rem; }
.answer b { font-family: var(--serif); }
.share { height: .625rem; background: var(--soft); border-radius: 3px; overflow: hidden; display: flex; forced-color-adjust: none; }
.share i { background: var(--accent); width: calc(var(--p) * 100%); }
.share .written { background: var(--field); }
.share .lost { background: var(--warn); }
.lean .track { display: inline-block; position: relative; width: 8rem; height: .75rem; margin-inline-end: .75rem; vertical-align: middle; background: linear-gradient(var(--field), var(--field)) 50% / 1px 100% no-repeat; forced-color-adjust: none; }
.lean i { position: absolute; inset: .125rem auto .125rem 50%; width: calc(var(--p) * 50%); background: var(--accent); }
.lean .less i { inset-inline: auto 50%; background: var(--warn); }
td.lean { text-align: start; }
.fits { width: 100%; max-width: 44rem; }
.fits th, .fits td { white-space: normal; overflow-wrap: anywhere; padding-inline: .25rem; }
.legend, .read { color: var(--muted); font-size: var(--s0); }
#panel .file { display: inline-flex; align-items: center; min-height: 2.25rem; padding: .25rem .875rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--ink); font-size: inherit; cursor: pointer; position: relative; }
#panel .file:hover { border-color: var(--accent); color: var(--accent); }
#panel .file:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
.drop { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: 1rem 1.125rem; margin-bottom: 1rem; border: 1px dashed var(--field); border-radius: 12px; color: var(--muted); font-size: var(--s0); }
.drop.over { border-color: var(--accent); background: var(--soft); }
#panel .drop .file { color: var(--ink); font-size: var(--s1); }
.corpus { width: 100%; table-layout: fixed; }
.corpus th:first-child { width: 3.25rem; }
.corpus th:nth-child(n + 4) { width: 5.75rem; }
.corpus td { vertical-align: top; }
.corpus .passage { font: var(--s1)/1.45 var(--serif); text-align: start; white-space: normal; overflow-wrap: anywhere; }
.corpus .passage button { font: inherit; border: 0; background: none; padding: 0; width: 100%; text-align: start; color: var(--accent); min-height: 0; }
.corpus th:nth-child(-n + 3) { text-align: start; }
.corpus th button { padding: 0; min-height: 1.875rem; font-weight: 600; color: inherit; }
@media (max-width: 48rem) { /* a line is two: its numbers, and below them its texts */
  .corpus, .corpus tbody, .corpus thead { display: block; }
  .corpus thead { position: sticky; top: 0; background: var(--paper); z-index: 1; }
  .corpus tr { display: grid; grid-template-columns: 2rem 1fr 1fr 1.3fr 1fr; padding: .25rem 0; border-bottom: 1px solid var(--line); }
  .corpus td, .corpus th, .corpus th:first-child, .corpus th:nth-child(n + 4) { border: 0; grid-row: 1; padding: .125rem 0; width: auto; }
  .corpus th button { font-size: .75rem; }
  .corpus .passage { grid-row: auto; grid-column: 1 / -1; }
  .corpus th:nth-child(2), .corpus th:nth-child(3) { display: none; }
}
.chosen:not(:empty) { margin-bottom: 1.5rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
.chosen alignd-attention + alignd-attention { margin-top: 1rem; }
#panel form.links { margin: 1.25rem 0 1rem; }
#panel form.links textarea { font: var(--s1)/1.4 ui-monospace, monospace; min-height: 2.5rem; }
@media (pointer: coarse), (max-width: 40rem) { .words button, #panel .file, .corpus th button, .corpus .passage button { min-height: 2.5rem; min-width: 2.5rem; } .lean .track { width: 4rem; } }
@media print { .words, .drop, #panel .buttons { display: none; } }
`;

let used = false;
export function useViewSheet() {
  if (used) return;
  used = true;
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(TEXT);
  document.adoptedStyleSheets.push(sheet);
}
