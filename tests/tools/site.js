// The scripts of the theme wrap tables and add buttons to blocks of code. This gives keys and screen readers their part.

// Keys reach a table if it scrolls. The width of the window decides.
const tables = new ResizeObserver((found) => {
  for (const { target } of found) {
    if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
    else target.removeAttribute("tabindex");
  }
});

const adapt = () => {
  for (const each of document.querySelectorAll(".md-typeset__scrollwrap:not([role])")) {
    each.setAttribute("role", "group");
    each.setAttribute("aria-label", "Table");
    tables.observe(each);
  }
  // One button is no landmark.
  for (const each of document.querySelectorAll("nav.md-code__nav:not([role])")) each.setAttribute("role", "none");
};

new MutationObserver(adapt).observe(document, { childList: true, subtree: true });
adapt();
