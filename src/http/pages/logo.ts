/** The sign of the product, which the console has in console/src/theme/logo.tsx. */
export const logoSvg =
  '<svg xmlns="http://www.w3.org/2000/svg" width="32" height="32" viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8" fill="#2a56db"/><path d="M9 7.5v17M23 7.5v17M9 13.5h14" stroke="#fff" stroke-width="3.2" stroke-linecap="round"/><path d="M12.8 21.2c1.1-1.3 2.1-1.3 3.2 0s2.1 1.3 3.2 0" fill="none" stroke="#93b6fb" stroke-width="2.4" stroke-linecap="round"/></svg>'

/** As the address of an icon. Pages need no further request for it. */
export const faviconUrl = `data:image/svg+xml,${encodeURIComponent(logoSvg)}`
