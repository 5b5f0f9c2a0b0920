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
.legend, .read { color: var(--muted); font-size: var(--s0); }
.file { display: inline-flex; align-items: center; min-height: 2.25rem; padding: .25rem .875rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--ink); font-size: inherit; cursor: pointer; position: relative; }
.file:hover { border-color: var(--accent); color: var(--accent); }
.file:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
.drop { display: flex; flex-wrap: wrap; align-items: center; gap: .5rem 1rem; padding: 1rem 1.125rem; margin-bottom: 1rem; border: 1px dashed var(--field); border-radius: 12px; color: var(--muted); font-size: var(--s0); }
.drop.over { border-color: var(--accent); background: var(--soft); }
.drop .file { color: var(--ink); font-size: var(--s1); }
.corpus td { text-align: end; }
.corpus .text { text-align: start; max-width: min(24rem, 60vw); overflow: hidden; text-overflow: ellipsis; }
.corpus .text button { border: 0; background: none; padding: .25rem 0; width: 100%; overflow: hidden; text-overflow: ellipsis; text-align: start; color: var(--accent); min-height: 1.875rem; }
.corpus th:nth-child(-n + 3) { text-align: start; }
.corpus th button { padding: 0; min-height: 1.875rem; font-weight: 600; color: inherit; }
.chosen:not(:empty) { margin-bottom: 1.5rem; padding-bottom: 1rem; border-bottom: 1px solid var(--line); }
.chosen alignd-attention + alignd-attention { margin-top: 1rem; }
.scroll + .buttons { margin-top: 1rem; }
#panel form.links { margin: 1.25rem 0 1rem; }
#panel form.links textarea { font: var(--s1)/1.4 ui-monospace, monospace; min-height: 2.5rem; }
@media (pointer: coarse), (max-width: 40rem) { .words button, .file, .corpus th button, .corpus .text button { min-height: 2.5rem; min-width: 2.5rem; } .lean .track { width: 4rem; } }
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
