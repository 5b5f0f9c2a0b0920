/* Progress bar of long requests, with a button to cancel them. */
import { button, el, note } from "./dom.js";
import { failure } from "./trouble.js";
import { t } from "./say.js";

/* Draw what is found already, or else what ask({signal, tell}) finds. Meanwhile tell(done, all) moves a progress bar. A
 * button cancels the request, and so does the removal of `place`; draw(found) is then not called. again(): repeats the
 * request. */
export async function waiting(place, { found, ask, draw, again }) {
  if (found) return draw(found);
  const mine = new AbortController(), bar = el("progress", { max: 1, value: 0, "aria-label": t("Asked") }),
    said = el("span");
  place.replaceChildren(el("div", { class: "again" }, bar, said,
    button(t("Cancel"), () => mine.abort(), { id: "cancel" })));
  const leave = new MutationObserver(() => { if (!place.isConnected) mine.abort(); });
  leave.observe(document.getElementById("panel"), { childList: true });
  const tell = (done, all) => {
    Object.assign(bar, { max: all, value: done });
    said.textContent = t("{0} of {1}", done, all);
  };
  try {
    const answer = await ask({ signal: mine.signal, tell });
    if (!mine.signal.aborted) draw(answer);
  } catch (error) {
    place.replaceChildren(mine.signal.aborted
      ? note(t("Cancelled. "), button(t("Ask again"), again, { id: "ask-again" })) : failure(error, again));
  } finally {
    leave.disconnect();
  }
}
