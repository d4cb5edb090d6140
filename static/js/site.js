// Small helps. Every page works without them.
document.documentElement.classList.add("has-script");

// Copy a code sample; the button says what happened.
document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  const text = document.getElementById(button.dataset.copy)?.textContent ?? "";
  const word = button.querySelector("[data-word]");
  button.dataset.before ??= word.textContent;
  try {
    await navigator.clipboard.writeText(text);
    word.textContent = button.dataset.done;
  } catch {
    window.getSelection().selectAllChildren(document.getElementById(button.dataset.copy));
    word.textContent = button.dataset.failed;
  }
  setTimeout(() => { word.textContent = button.dataset.before; }, 2000);
});

// A choice of language for samples holds for all of them, and for the next page.
const SAMPLE = "sample-language";
function chooseSample(language) {
  for (const radio of document.querySelectorAll(`.tab-list input[value="${CSS.escape(language)}"]`)) radio.checked = true;
}
document.addEventListener("change", (event) => {
  if (!event.target.matches(".tab-list input[data-language]")) return;
  try { localStorage.setItem(SAMPLE, event.target.value); } catch { /* storage may be off */ }
  const before = event.target.getBoundingClientRect().top;
  chooseSample(event.target.value);
  window.scrollBy(0, event.target.getBoundingClientRect().top - before);
});
try {
  const kept = localStorage.getItem(SAMPLE);
  if (kept) chooseSample(kept);
} catch { /* storage may be off */ }

// Say a moment in the reader's own zone, too.
const language = document.documentElement.lang;
function sayLocally(root) {
  for (const time of root.querySelectorAll("time[data-moment]")) {
    const moment = new Date(time.dateTime);
    time.title = moment.toLocaleString(language, { dateStyle: "long", timeStyle: "long" });
  }
}
sayLocally(document);
document.addEventListener("htmx:load", (event) => sayLocally(event.detail.elt));

// A menu closes when one clicks elsewhere or presses Escape.
document.addEventListener("click", (event) => {
  for (const menu of document.querySelectorAll("details.menu[open]")) if (!menu.contains(event.target)) menu.open = false;
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape") return;
  for (const menu of document.querySelectorAll("details.menu[open]")) {
    menu.open = false;
    menu.querySelector("summary").focus();
  }
});
