// What the pages need beside htmx: copying, and pausing live updates. It is loaded before htmx, so
// that a paused page opens no stream.
(() => {
  "use strict";
  const paused = () => sessionStorage.getItem("paused") === "true";

  const say = (text) => {
    const state = document.getElementById("live-state");
    if (state.textContent !== text) state.textContent = text;
  };

  const frozen = () => document.body.classList.contains("frozen");

  // The title of the tab has how much needs an operator, where the page says it; of a page that is not live with a "?".
  const showNeeds = () => {
    const needs = document.querySelector("[data-needs]")?.dataset.needs;
    if (needs === undefined) return;
    const count = (needs === "0" ? "" : needs) + (frozen() ? "?" : "");
    document.title = (count && `(${count}) `) + document.title.replace(/^\([\d+?]+\) /, "");
  };

  // What a page that is not live shows is as old as its last update: said above it, and its times are marked.
  let updated = new Date();
  const stale = (why) => {
    const line = document.getElementById("stale");
    line.hidden = !why;
    line.textContent = why && `${why} This page shows ${updated.toLocaleTimeString()}.`;
    document.body.classList.toggle("frozen", Boolean(why));
    showNeeds();
  };

  // A connection on which nothing arrives is lost, too: its server hangs, or cannot be reached. To end it is to have
  // htmx try it again.
  let connection, silence;
  const lost = () => {
    say("Not live");
    stale(connection ? "The connection is lost; it is tried again." : "There is no connection: load this page again.");
  };
  const listen = () => {
    clearTimeout(silence);
    silence = setTimeout(() => {
      lost();
      connection?.reader?.cancel();
    }, Number(document.getElementById("main").dataset.silence));
  };

  const showPause = () => {
    const button = document.getElementById("live-pause");
    button.setAttribute("aria-pressed", String(paused()));
    button.textContent = paused() ? "Resume live updates" : "Pause live updates";
    if (paused()) {
      say("Paused");
      stale("Live updates are paused.");
    }
  };

  document.addEventListener("DOMContentLoaded", () => {
    const button = document.getElementById("live-pause");
    if (!button) return; // a page that does not update
    showPause();
    if (!paused()) listen();
    new MutationObserver(showNeeds)
      .observe(document.getElementById("main"), { childList: true, subtree: true, characterData: true, attributes: true });
    button.addEventListener("click", () => {
      sessionStorage.setItem("paused", String(!paused()));
      location.reload(); // a paused page opens no stream, so nothing is read for it
    });
  });

  // A page in the background opens no stream either: a browser has six for each host, and each costs reads.
  let late = false;
  document.addEventListener("htmx:before:request", (event) => {
    if (document.hidden) late = true;
    if (paused() || document.hidden) event.preventDefault();
  });
  document.addEventListener("visibilitychange", () => {
    if (late && !document.hidden) location.reload();
  });
  document.addEventListener("htmx:sse:error", lost);
  document.addEventListener("htmx:sse:after:connection", (event) => {
    connection = event.detail.connection;
    listen();
    if (!frozen()) say("Live"); // else once the page has been read again
  });
  document.addEventListener("htmx:sse:after:message", () => {
    updated = new Date();
    listen();
    say("Live");
    if (frozen()) stale("");
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest("button.copy");
    if (!button) return;
    const words = button.textContent;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Not allowed: select the text";
    }
    setTimeout(() => { button.textContent = words; }, 1500);
  });
})();
