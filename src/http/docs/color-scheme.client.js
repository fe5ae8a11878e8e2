// Shows the documentation in the scheme that was chosen in the console. Runs before the page is painted.
try {
  const scheme = localStorage.getItem('mantine-color-scheme-value')
  if (scheme === 'light' || scheme === 'dark') document.documentElement.dataset.scheme = scheme
} catch {
  // Without storage, the page has the scheme of the system.
}
